"""Messages before and after a run of experiments."""

from collections.abc import Sequence

from ambilearn._utils.text import format_duration, pluralize
from ambilearn.cli.console import Console
from ambilearn.experiments.environment import environment
from ambilearn.experiments.store import Store
from ambilearn.experiments.task import Result, Task
from ambilearn.experiments.time_left import TimeLeft


def describe_missing_data(console: Console, names: Sequence[str]) -> None:
    """Print the data sets that are skipped, and how to download them."""
    for name in names:
        console.say(
            f"{name} is not on this machine and is skipped. Download it with: "
            f"ambilearn data fetch {name}"
        )


def describe_other_code(console: Console, store: Store) -> None:
    """Print how many results were measured with another version of the code."""
    ours = environment()["commit"], environment()["versions"].get("ambilearn")
    n_other = sum(
        count
        for content, count in store.environments()
        if (content["commit"], content["versions"].get("ambilearn")) != ours
    )
    if n_other:
        console.say(
            f"{pluralize(n_other, 'result')} in the store were measured with another version of "
            "the code and are kept; --again measures them again."
        )


def describe_damage(console: Console, store: Store) -> None:
    """Print how many results are damaged."""
    if n_damaged := store.n_damaged():
        console.say(
            f"{pluralize(n_damaged, 'result')} in {store.path} cannot be read because the file is "
            "damaged; `ambilearn reproduce` measures them again.",
            style="yellow",
        )


def describe_plan(
    console: Console, store: Store, tasks: Sequence[Task], missing: Sequence[Task], left: TimeLeft
) -> None:
    """Print the number of tasks, of stored results and of tasks to do, and the expected time."""
    n_tasks = len({task.key for task in tasks})
    seconds = left.seconds() if missing else None
    time = "" if seconds is None else f", in about {format_duration(seconds)}"
    console.say(
        f"{n_tasks} tasks, {n_tasks - len(missing)} of them already in {store.path}; "
        f"{len(missing)} to do{time}"
    )


def describe_failures(console: Console, store: Store, tasks: Sequence[Task]) -> None:
    """Print each kind of error once, with one failed task."""
    seen: dict[tuple[str, str], Result] = {}
    for result in store.results(task.key for task in tasks).values():
        if result.status == "failed":
            last = result.error.strip().splitlines()[-1]
            seen.setdefault((result.task["method"], last), result)
    for (method, last), result in seen.items():
        console.say(f"  {method} on {result.task['data']}, run {result.task['run']}: {last}")
