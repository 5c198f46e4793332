"""What a person wants to know before and after a run of experiments."""

from collections.abc import Sequence

from ambilearn._utils.text import format_duration, pluralize
from ambilearn.cli.console import Console
from ambilearn.experiments.environment import environment
from ambilearn.experiments.store import Store
from ambilearn.experiments.task import Result, Task
from ambilearn.experiments.time_left import TimeLeft


def describe_missing_data(console: Console, names: Sequence[str]) -> None:
    """Data sets that are left out, and how to have them."""
    for name in names:
        console.say(
            f"{name} is not on this machine and is left out. To have it: "
            f"ambilearn data fetch {name}"
        )


def describe_other_code(console: Console, store: Store) -> None:
    """Results of other code stay valid, but nobody should be surprised by them."""
    ours = environment()["commit"], environment()["versions"].get("ambilearn")
    foreign = sum(
        count
        for content, count in store.environments()
        if (content["commit"], content["versions"].get("ambilearn")) != ours
    )
    if foreign:
        console.say(
            f"{foreign} results in the store were made by another version of the code and are "
            "kept as they are; --again measures anew."
        )


def describe_damage(console: Console, store: Store) -> None:
    """Results that are not as they were stored."""
    if n_damaged := store.n_damaged():
        console.say(
            f"{pluralize(n_damaged, 'result')} in {store.path} cannot be read, for the file was "
            "damaged: they count as missing, and `ambilearn reproduce` measures them again.",
            style="yellow",
        )


def describe_plan(
    console: Console, store: Store, tasks: Sequence[Task], missing: Sequence[Task], left: TimeLeft
) -> None:
    """How many tasks there are, how many are done already, and how long the others will take."""
    n_tasks = len({task.key for task in tasks})
    time = f", in about {format_duration(left.seconds())}" if missing else ""
    console.say(
        f"{n_tasks} tasks, {n_tasks - len(missing)} of them in {store.path} already; "
        f"{len(missing)} to do{time}"
    )


def describe_failures(console: Console, store: Store, tasks: Sequence[Task]) -> None:
    """Each kind of error once, with a task that it befell."""
    seen: dict[tuple[str, str], Result] = {}
    for result in store.results(task.key for task in tasks).values():
        if result.status == "failed":
            last = result.error.strip().splitlines()[-1]
            seen.setdefault((result.task["method"], last), result)
    for (method, last), result in seen.items():
        console.say(f"  {method} on {result.task['data']}, run {result.task['run']}: {last}")
