"""The command ``ambilearn paper run``: run experiments and store their results."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ambilearn._utils.text import pluralize
from ambilearn.cli.console import Console, check_memory_limit, describe_error
from ambilearn.cli.options import WRITTEN_FILE, add_options, data_home_option
from ambilearn.experiments.spec import (
    DEFAULT_SEARCH,
    MAX_RUNS,
    PAPER,
    SCORINGS,
    Spec,
    SpecError,
    load_spec,
    parse_search,
)
from ambilearn.experiments.task import SELECTIONS, Content, Result, Task
from ambilearn.registry import find_method

if TYPE_CHECKING:
    from ambilearn.experiments.store import Store


OUTPUT = Path("out")
FOLDER = click.Path(file_okay=False, path_type=Path)

experiment_options = add_options(
    click.argument("names", nargs=-1, metavar="[NAME]..."),
    click.option("--quick", is_flag=True, help="Smaller version of each experiment."),
    click.option(
        "--runs", type=click.IntRange(1, MAX_RUNS), metavar="N", help="Number of random splits."
    ),
    click.option(
        "--scaling",
        type=click.Choice(["all", "train", "none"]),
        help="Rows over which features are z-scored. By default as defined in the experiment.",
    ),
    click.option(
        "--store",
        type=WRITTEN_FILE,
        default=OUTPUT / "results.sqlite",
        metavar="FILE",
        help="SQLite file with the results.",
    ),
)


def chosen_specs(
    names: tuple[str, ...], quick: bool, runs: int | None, scaling: str | None
) -> list[Spec]:
    """The named experiments, or all experiments of the paper."""
    try:
        specs = [load_spec(name) for name in names or PAPER]
    except SpecError as error:
        raise click.UsageError(str(error)) from error
    specs = [spec.quick_version() if quick else spec for spec in specs]
    specs = [replace(spec, runs=runs) if runs else spec for spec in specs]
    if scaling is None:
        return specs
    return [replace(spec, protocol={**spec.protocol, "scaling": scaling}) for spec in specs]


@click.command()
@experiment_options
@click.option("--methods", metavar="A,B", help="Only these methods, such as PL-CL or plcl.")
@click.option("--data", "sets", metavar="A,B", help="Only these data sets.")
@click.option(
    "--select",
    type=click.Choice(SELECTIONS),
    default="fixed",
    help="How hyper-parameters are chosen, for methods that the paper tunes. oracle uses the test "
    "labels, as an upper bound.",
)
@click.option(
    "--search",
    default=DEFAULT_SEARCH,
    metavar="HOW",
    help="Points of the paper's grid to try: random:N, halving:N, or grid for all.",
)
@click.option(
    "--scoring",
    type=click.Choice(SCORINGS),
    default=SCORINGS[0],
    help="Score of a label-free choice: covering rate or approximated accuracy.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Number of processes; by default one per core.",
)
@click.option("--again", is_flag=True, help="Repeat tasks with a stored result.")
@data_home_option
def run(
    select: str,
    search: str,
    scoring: str,
    methods: str | None,
    sets: str | None,
    store: Path,
    jobs: int | None,
    data_home: Path | None,
    again: bool,
    **choice: Any,
) -> None:
    """Run the paper's experiments and store their results.

    NAME is an experiment of the paper (real-world, transductive, controlled, ablation,
    sensitivity, convergence), demo, oracle or oracle-controlled (tuning on the test labels), or
    your own TOML file; by default all of the paper. Stop the command at any time: the next run
    continues and does not repeat stored results. The exit status is 1 if a task failed.
    """
    check_memory_limit()
    from ambilearn.datasets.registry import find_dataset

    try:
        how = parse_search(search, scoring)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    tasks = [task for spec in chosen_specs(**choice) for task in spec.tasks(select, how)]
    if (wanted := _listed(sets, find_dataset)) is not None:
        tasks = [task for task in tasks if task.data in wanted]
    if (wanted := _listed(methods, find_method)) is not None:
        tasks = [task for task in tasks if task.method in wanted]
    if not tasks:
        raise click.UsageError("No tasks match these --methods and --data.")
    if _run(tasks, store, jobs or -1, data_home, again):
        raise SystemExit(1)


def _run(tasks: list[Task], path: Path, jobs: int, data_home: Path | None, again: bool) -> int:
    """Run the tasks that are not in the store, with messages; return the number of failed tasks."""
    from ambilearn.experiments.run import missing_tasks, run_tasks
    from ambilearn.experiments.store import Store

    console = Console()
    tasks = _with_local_data(console, tasks, data_home)
    with Store(path) as store:
        if not again:
            describe_other_code(console, store)
        missing = missing_tasks(tasks, store, again=again)
        n_tasks = len({task.key for task in tasks})
        console.say(
            f"{n_tasks} tasks, {n_tasks - len(missing)} of them already in {path}; "
            f"{len(missing)} to do"
        )
        note = Progress(console, len(missing)).note
        try:
            counts = run_tasks(
                missing, store, jobs=jobs, data_home=data_home, again=again, on_result=note
            )
        except BrokenPipeError:  # click handles it
            raise
        except (KeyboardInterrupt, OSError, MemoryError) as error:
            what = describe_error(error) if isinstance(error, Exception) else "Stopped."
            raise click.ClickException(
                f"{what} All results so far are in {path}; run the same command again to continue."
            ) from error
        finally:
            console.close()
        console.say(f"{counts['done']} done, {counts['failed']} failed.")
        if counts["failed"]:
            describe_failures(console, store, missing)
    return counts["failed"]


class Progress:
    """Number of finished tasks and remaining time."""

    def __init__(self, console: Console, n_tasks: int) -> None:
        from ambilearn._utils.text import TimeLeft

        self._console, self._n_tasks, self._time_left = console, n_tasks, TimeLeft()
        self._n_done = self._n_failed = 0

    def note(self, result: Result) -> None:
        """Count and show a finished task."""
        self._n_done += 1
        self._n_failed += result.status == "failed"
        # Tasks of a run follow each other, so that their mean time is that of the next runs.
        left = self._time_left.describe(self._n_done, self._n_tasks - self._n_done)
        failed = f", {self._n_failed} failed" if self._n_failed else ""
        self._console.stage(f"measuring: {self._n_done}/{self._n_tasks} tasks{left}{failed}")


def _with_local_data(console: Console, tasks: list[Task], data_home: Path | None) -> list[Task]:
    """Tasks whose data set is on this machine, with a message about the other data sets."""
    from ambilearn.datasets import DataNotFoundError, list_datasets
    from ambilearn.datasets.registry import find_dataset

    here = {entry.name for entry in list_datasets(data_home=data_home) if entry.available}
    for name in sorted({task.data for task in tasks} - here):
        find_dataset(name)  # an unknown name is an error
        console.say(
            f"{name} is not on this machine and is skipped. Download it with: "
            f"ambilearn data fetch {name}"
        )
    if not here.intersection(task.data for task in tasks):
        raise DataNotFoundError(
            "None of the data sets is on this machine. Download them with the commands above, or "
            "run an experiment that needs no download: `ambilearn paper run demo --quick`."
        )
    return [task for task in tasks if task.data in here]


def _listed(text: str | None, find: Callable[[str], Any]) -> set[str] | None:
    """Names of the listed data sets or methods; None without the option."""
    try:
        return None if text is None else {find(name.strip()).name for name in text.split(",")}
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def describe_other_code(console: Console, store: "Store") -> None:
    """Print how many results were measured with another version of the code."""
    from ambilearn.experiments.run import environment

    def code(content: Content) -> tuple[str | None, str | None]:
        return content["commit"], content["versions"].get("ambilearn")

    ours = code(environment())
    n_other = sum(count for content, count in store.environments() if code(content) != ours)
    if n_other:
        console.say(
            f"{pluralize(n_other, 'result')} in the store were measured with another version of "
            "the code and are kept; --again measures them again."
        )


def describe_failures(console: Console, store: "Store", tasks: Sequence[Task]) -> None:
    """Print each kind of error once, with one failed task."""
    seen: dict[tuple[str, str], Result] = {}
    for result in store.results(task.key for task in tasks).values():
        if result.status == "failed":
            last = result.error.strip().splitlines()[-1]
            seen.setdefault((result.task["method"], last), result)
    for (method, last), result in seen.items():
        console.say(f"  {method} on {result.task['data']}, run {result.task['run']}: {last}")
