"""The command ``ambilearn reproduce``: run experiments and store their results."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ambilearn.cli.console import Console
from ambilearn.cli.errors import check_memory_limit, describe_error
from ambilearn.cli.experiment_options import (
    choice_option,
    chosen_specs,
    common_options,
    experiment_option,
    file_option,
    path_type,
    work_option,
)
from ambilearn.cli.help_sections import SectionedCommand


@click.command(cls=SectionedCommand)
@common_options
@experiment_option("--methods", metavar="A,B", help="Only these methods, such as PL-CL or plcl.")
@experiment_option("--data", "sets", metavar="A,B", help="Only these data sets.")
@choice_option(
    "--select",
    type=click.Choice(["fixed", "label-free", "oracle"]),
    default="fixed",
    show_default=True,
    help="How hyper-parameters are chosen, for methods that the paper tunes. oracle uses the test "
    "labels, as an upper bound.",
)
@choice_option(
    "--search",
    default="halving:16",
    show_default=True,
    metavar="HOW",
    help="Points of the paper's grid to try: random:N, halving:N, or grid for all.",
)
@choice_option(
    "--scoring",
    type=click.Choice(["covering", "approximated"]),
    default="covering",
    show_default=True,
    help="Score of a label-free choice: covering rate or approximated accuracy.",
)
@work_option(
    "--jobs",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Number of processes; by default one per core.",
)
@work_option(
    "--cluster",
    metavar="ADDRESS",
    help="Address of a Dask scheduler, or `local` to start a cluster on this machine.",
)
@work_option("--again", is_flag=True, help="Repeat tasks with a stored result.")
@file_option(
    "--data-home",
    type=path_type(file_okay=False),
    metavar="FOLDER",
    help="Folder with the data files; by default AMBILEARN_DATA, then your user cache.",
)
def reproduce(
    names: tuple[str, ...],
    quick: bool,
    runs: int | None,
    scaling: str | None,
    store: Path,
    jobs: int | None,
    cluster: str | None,
    select: str,
    search: str,
    scoring: str,
    methods: str | None,
    sets: str | None,
    data_home: Path | None,
    again: bool,
) -> None:
    """Run the paper's experiments and store their results.

    NAME is an experiment of the paper (real-world, transductive, controlled, ablation,
    sensitivity, convergence), demo, oracle or oracle-controlled (tuning on the test labels), or
    your own TOML file. By default all experiments of the paper are run. You can stop the command
    at any time; the next run continues and does not repeat stored results. The exit status is 1 if
    a task failed.
    """
    check_memory_limit()
    from ambilearn.datasets.registry import find_dataset
    from ambilearn.experiments.search import parse_search
    from ambilearn.registry import find_method

    try:
        how = parse_search(search, scoring)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    specs = chosen_specs(names, quick, runs, scaling)
    tasks = [task for spec in specs for task in spec.tasks(select, how)]
    if (wanted := _listed(sets, find_dataset)) is not None:
        tasks = [task for task in tasks if task.data in wanted]
    if (wanted := _listed(methods, find_method)) is not None:
        tasks = [task for task in tasks if task.method in wanted]
    if not tasks:
        raise click.UsageError("No tasks match these --methods and --data.")
    try:
        n_failed = _run(tasks, store, jobs or -1, cluster, data_home, again)
    except KeyboardInterrupt as stop:
        raise click.ClickException(f"Stopped. {_how_to_continue(store)}") from stop
    if n_failed:
        raise SystemExit(1)


def _run(
    tasks: list[Any],
    path: Path,
    jobs: int,
    cluster: str | None,
    data_home: Path | None,
    again: bool,
) -> int:
    """Run the tasks that are not in the store, with messages; return the number of failed tasks."""
    from joblib import cpu_count

    from ambilearn.cli.progress import TaskBar
    from ambilearn.cli.reproduce_summary import (
        describe_damage,
        describe_failures,
        describe_other_code,
        describe_plan,
    )
    from ambilearn.experiments.run import missing_tasks, run_tasks
    from ambilearn.experiments.store import Store
    from ambilearn.experiments.time_left import TimeLeft

    console = Console()
    if cluster in (None, "local"):  # the machines of another cluster may have the data
        tasks = _with_local_data(console, tasks, data_home)
    with Store(path) as store:
        describe_damage(console, store)
        if not again:
            describe_other_code(console, store)
        missing = missing_tasks(tasks, store, again=again)
        time_left = TimeLeft(missing, store, cpu_count() if jobs == -1 else jobs)
        describe_plan(console, store, tasks, missing, time_left)
        with _explain_errors(path), TaskBar(console, len(missing), time_left) as bar:
            summary = run_tasks(
                missing,
                store,
                jobs=jobs,
                cluster=cluster,
                data_home=data_home,
                again=again,
                on_result=bar.note,
                on_wait=lambda text: console.say(f"{text} …"),
            )
        others = f", {summary.elsewhere} of them by another runner" if summary.elsewhere else ""
        console.say(f"{summary.done} done, {summary.failed} failed{others}.")
        if summary.failed:
            describe_failures(console, store, missing)
    return summary.failed


@contextmanager
def _explain_errors(store: Path) -> Iterator[None]:
    """Add how to continue to errors of the system."""
    try:
        yield
    except BrokenPipeError:  # click handles it
        raise
    except (OSError, MemoryError) as error:
        raise click.ClickException(f"{describe_error(error)} {_how_to_continue(store)}") from error


def _how_to_continue(store: Path) -> str:
    return f"All results so far are in {store}; run the same command again to continue."


def _with_local_data(console: Console, tasks: list[Any], data_home: Path | None) -> list[Any]:
    """Tasks whose data set is on this machine, with a message about the other data sets."""
    from ambilearn.cli.reproduce_summary import describe_missing_data
    from ambilearn.datasets import DataNotFoundError, list_datasets
    from ambilearn.datasets.registry import find_dataset

    here = {entry.name for entry in list_datasets(data_home=data_home) if entry.available}
    missing = sorted({task.data for task in tasks} - here)
    for name in missing:
        find_dataset(name)  # an unknown name is an error
    describe_missing_data(console, missing)
    if not here.intersection(task.data for task in tasks):
        raise DataNotFoundError(
            "None of the data sets is on this machine. Download them with the commands above, or "
            "run an experiment that needs no download: `ambilearn reproduce demo --quick`."
        )
    return [task for task in tasks if task.data in here]


def _listed(text: str | None, find: Callable[[str], Any]) -> set[str] | None:
    """Names of the listed data sets or methods; None without the option."""
    try:
        return None if text is None else {find(name.strip()).name for name in text.split(",")}
    except ValueError as error:
        raise click.UsageError(str(error)) from error
