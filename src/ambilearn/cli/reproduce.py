"""The command ``ambilearn reproduce``: run experiments, and keep the results."""

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
    help="How hyper-parameters are chosen, for methods that the paper tunes. The oracle sees the "
    "test labels: an upper bound.",
)
@choice_option(
    "--search",
    default="halving:16",
    show_default=True,
    metavar="HOW",
    help="Points of the paper's grid that are tried: random:N, halving:N, or grid for all.",
)
@choice_option(
    "--scoring",
    type=click.Choice(["covering", "approximated"]),
    default="covering",
    show_default=True,
    help="What a label-free choice looks at: the covering rate, or approximated accuracy.",
)
@work_option(
    "--jobs",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Processes; without it, one per core.",
)
@work_option(
    "--cluster",
    metavar="ADDRESS",
    help="Use the Dask scheduler there, or start a cluster here: local.",
)
@work_option("--again", is_flag=True, help="Measure again what is in the store.")
@file_option(
    "--data-home",
    type=path_type(file_okay=False),
    metavar="FOLDER",
    help="Folder with the data files; without it AMBILEARN_DATA, then your user cache.",
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
    """Run the paper's experiments, and keep the results.

    What is in the store already is not run again. NAME is an experiment of it (real-world,
    transductive, controlled, ablation, sensitivity, convergence), demo, oracle or
    oracle-controlled (what tuning on the test labels would gain), or a TOML file of your own;
    without a name, all of the paper's. Stop it at any time and start it again. The exit status is
    1 if a task failed.
    """
    check_memory_limit()
    from ambilearn.experiments.search import parse_search

    try:
        how = parse_search(search, scoring)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    specs = chosen_specs(names, quick, runs, scaling)
    tasks = [task for spec in specs for task in spec.tasks(select, how)]
    if (wanted := _datasets(sets)) is not None:
        tasks = [task for task in tasks if task.data in wanted]
    if (wanted := _estimators(methods)) is not None:
        tasks = [task for task in tasks if task.method in wanted]
    if not tasks:
        raise click.UsageError("Nothing is left to do with these --methods and --data.")
    try:
        n_failed = _run(tasks, store, jobs or -1, cluster, data_home, again)
    except KeyboardInterrupt as stop:
        raise click.ClickException(f"Stopped. {_how_to_go_on(store)}") from stop
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
    """Say what will happen, do it, say what happened; the number of tasks that failed."""
    from joblib import cpu_count

    from ambilearn.cli.progress import TaskBar
    from ambilearn.cli.reproduce_summary import (
        describe_damage,
        describe_failures,
        describe_missing_data,
        describe_other_code,
        describe_plan,
    )
    from ambilearn.datasets import DataNotFoundError
    from ambilearn.experiments.run import missing_tasks, run_tasks
    from ambilearn.experiments.store import Store
    from ambilearn.experiments.time_left import TimeLeft

    console = Console()
    if cluster in (None, "local"):  # the machines of another cluster may have the data
        tasks, left_out = _split_by_data(tasks, data_home)
        describe_missing_data(console, left_out)
        if not tasks:
            raise DataNotFoundError(
                "None of the data sets is on this machine: nothing was done. Fetch them as said "
                "above, or try what needs no download: `ambilearn reproduce demo --quick`."
            )
    with Store(path) as store:
        describe_damage(console, store)
        if not again:
            describe_other_code(console, store)
        missing = missing_tasks(tasks, store, again=again)
        time_left = TimeLeft(missing, store, cpu_count() if jobs == -1 else jobs)
        describe_plan(console, store, tasks, missing, time_left)
        try:
            with TaskBar(console, len(missing), time_left) as bar:
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
        except (OSError, MemoryError) as error:
            if isinstance(error, BrokenPipeError):  # the reader has gone: click's to end
                raise
            raise click.ClickException(f"{describe_error(error)} {_how_to_go_on(path)}") from error
        others = f", {summary.elsewhere} of them by another runner" if summary.elsewhere else ""
        console.say(f"{summary.done} done, {summary.failed} failed{others}.")
        if summary.failed:
            describe_failures(console, store, missing)
    return summary.failed


def _how_to_go_on(store: Path) -> str:
    return f"What was done is kept in {store}; the same command goes on from there."


def _split_by_data(tasks: list[Any], data_home: Path | None) -> tuple[list[Any], list[str]]:
    """Tasks whose data set is on this machine, and the names of the data sets that are not."""
    from ambilearn.datasets import list_datasets
    from ambilearn.datasets.registry import find_dataset

    here = {entry.name for entry in list_datasets(data_home=data_home) if entry.available}
    left_out = sorted({task.data for task in tasks} - here)
    for name in left_out:
        find_dataset(name)  # a name that is nowhere is an error, and no data set to be fetched
    return [task for task in tasks if task.data in here], left_out


def _split_names(text: str | None) -> set[str] | None:
    return None if text is None else {name.strip() for name in text.split(",")}


def _datasets(text: str | None) -> set[str] | None:
    from ambilearn.datasets.registry import find_dataset

    names = _split_names(text)
    try:
        return names and {find_dataset(name).name for name in names}
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _estimators(text: str | None) -> set[str] | None:
    from ambilearn.registry import find_method

    names = _split_names(text)
    try:
        return names and {find_method(name).name for name in sorted(names)}
    except ValueError as error:
        raise click.UsageError(str(error)) from error
