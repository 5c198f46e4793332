"""``ambilearn reproduce``: say what will happen, run it, say what happened."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from joblib import cpu_count

from ambilearn.cli.progress import ProgressBar, TimeLeft, duration
from ambilearn.datasets import DataNotFoundError, list_datasets
from ambilearn.datasets.registry import find_dataset
from ambilearn.experiments.environment import environment
from ambilearn.experiments.run import missing_tasks, run_tasks
from ambilearn.experiments.store import Store
from ambilearn.experiments.task import Task


def reproduce(
    tasks: Sequence[Task],
    store_path: Path,
    *,
    jobs: int,
    cluster: str | None,
    data_home: str | os.PathLike[str] | None,
    again: bool,
    console: Any,
) -> int:
    """Run tasks with progress on the console; returns the number of failed ones.

    Data sets that are not on this machine are named and left out, unless a cluster's machines
    may have them.
    """
    if cluster in (None, "local"):
        tasks = _leave_out_missing_data(tasks, data_home, console)
        if not tasks:
            raise DataNotFoundError(
                "None of the data sets is on this machine: nothing was done. Fetch them as said "
                "above, or try what needs no download: `ambilearn reproduce demo --quick`."
            )
    with Store(store_path) as store:
        _warn_of_other_code(store, again, console)
        missing = missing_tasks(tasks, store, again=again)
        unique = len({task.key for task in tasks})
        n_jobs = cpu_count() if jobs == -1 else jobs
        time_left = TimeLeft(missing, store, n_jobs)
        _say(
            console,
            f"{unique} tasks, {unique - len(missing)} of them in {store_path} already; "
            f"{len(missing)} to do"
            + (f", in about {duration(time_left.seconds())}" if missing else ""),
        )
        with ProgressBar(console, len(missing), time_left) as bar:
            summary = run_tasks(
                missing,
                store,
                jobs=jobs,
                cluster=cluster,
                data_home=data_home,
                again=again,
                on_result=bar.note,
            )
        _say(console, f"{summary.done} done, {summary.failed} failed.")
        if summary.failed:
            _show_errors(store, missing, console)
        return summary.failed


def _leave_out_missing_data(
    tasks: Sequence[Task], data_home: str | os.PathLike[str] | None, console: Any
) -> list[Task]:
    here = {entry.name for entry in list_datasets(data_home=data_home) if entry.available}
    for name in sorted({task.data for task in tasks} - here):
        find_dataset(name)  # a name that is nowhere is an error, and no data set to be fetched
        _say(
            console,
            f"{name} is not on this machine and is left out. To have it: "
            f"ambilearn data fetch {name}",
        )
    return [task for task in tasks if task.data in here]


def _warn_of_other_code(store: Store, again: bool, console: Any) -> None:
    """Results of other code stay valid by default, but nobody should be surprised by them."""
    ours = environment()["commit"], environment()["versions"].get("ambilearn")
    foreign = sum(
        count
        for content, count in store.environments()
        if (content["commit"], content["versions"].get("ambilearn")) != ours
    )
    if foreign and not again:
        _say(
            console,
            f"{foreign} results in the store were made by another version of the code and are "
            "kept as they are; --again measures anew.",
        )


def _show_errors(store: Store, tasks: Sequence[Task], console: Any) -> None:
    """Each kind of error once, with a task that it befell."""
    seen = {}
    for result in store.results(task.key for task in tasks).values():
        if result.status == "failed":
            last = result.error.strip().splitlines()[-1]
            seen.setdefault((result.task["method"], last), result)
    for (method, last), result in seen.items():
        _say(console, f"  {method} on {result.task['data']}, run {result.task['run']}: {last}")


def _say(console: Any, text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)
