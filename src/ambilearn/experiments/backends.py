"""Execution of tasks in processes on this machine (joblib) or on a Dask cluster.

Both functions take a function and a lazy stream of tasks and yield each result when it is done, so
that the caller can store it immediately. Both use one thread per task and give the same results.
"""

import logging
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from ambilearn._utils.optional import requires_extra
from ambilearn.experiments.task import Result, Task

Execute = Callable[[Task], Result]


def on_processes(function: Execute, tasks: Iterable[Task], jobs: int) -> Iterator[Result]:
    """Execute tasks on processes of this machine; yields the results as they are done.

    A task is taken when a process is nearly free, not before. -1 jobs are one per core. Raises
    ChildProcessError if the system killed a process.
    """
    from concurrent.futures.process import BrokenProcessPool

    from joblib import Parallel, delayed

    # No batches: a batch returns its first result only when its last task is done.
    pool = Parallel(
        n_jobs=jobs,
        return_as="generator_unordered",
        batch_size=1,
        pre_dispatch="2*n_jobs",
        initializer=_end_with_parent,
        initargs=(os.getpid(),),
    )
    try:
        yield from pool(delayed(function)(task) for task in tasks)
    except BrokenProcessPool as error:  # base class of joblib's exception
        raise ChildProcessError(
            "A worker process was killed, possibly by the system because memory ran out: use fewer "
            "--jobs."
        ) from error


def _end_with_parent(parent: int) -> None:
    """End this worker when its parent has ended; otherwise it would wait for work for minutes.

    The parent passes its process id because it can end before the worker starts.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def on_cluster(
    function: Execute, tasks: Iterable[Task], address: str, jobs: int
) -> Iterator[Result]:
    """Execute tasks on a Dask cluster; yields the results as they are done.

    ``address`` is that of a scheduler, or ``"local"`` to start a cluster of ``jobs`` workers here.
    A task is taken when a worker is nearly free, not before, and fails if its worker dies. Raises
    ConnectionError if there is no scheduler, or the connection to it is lost.
    """
    with requires_extra("dask", purpose="--cluster"):
        from distributed import Client, LocalCluster

    if address == "local":
        # Without an address, the dashboard would listen on all networks.
        cluster = LocalCluster(
            n_workers=None if jobs == -1 else jobs,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
        )
    else:
        cluster = None
    try:
        with (
            _silenced("distributed.client"),  # both log tracebacks if the scheduler is lost
            _silenced("distributed.batched"),
            _connect(Client, cluster, address) as client,
            _report_loss(client, address),
        ):
            yield from _run_on_client(client, function, iter(tasks))
    finally:
        if cluster is not None:
            cluster.close()


def _connect(client: Any, cluster: Any, address: str) -> Any:
    try:
        return client(cluster or address)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"There is no Dask scheduler at {address!r} ({error}): pass its address, such as "
            "tcp://host:8786, or `local` to start one on this machine."
        ) from error


@contextmanager
def _silenced(name: str) -> Iterator[None]:
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


@contextmanager
def _report_loss(client: Any, address: str) -> Iterator[None]:
    """Convert all errors caused by a lost scheduler to a ConnectionError."""
    from distributed import CancelledError
    from distributed.comm.core import CommClosedError

    try:
        yield
    except Exception as error:
        if client.status == "running" and not isinstance(error, CancelledError | CommClosedError):
            raise
        raise ConnectionError(
            f"The connection to the Dask scheduler at {address!r} was lost. Restart the scheduler "
            "if it has ended."
        ) from error


def _run_on_client(client: Any, function: Execute, waiting: Iterator[Task]) -> Iterator[Result]:
    from distributed import as_completed

    slots = 2 * max(1, sum(client.nthreads().values()))
    submitted = {}

    def submit(task: Task) -> object:
        future = client.submit(function, task, pure=False)
        submitted[future.key] = task
        return future

    stream = as_completed([submit(task) for task in islice(waiting, slots)])
    for future in stream:
        task = submitted.pop(future.key)
        failure = future.exception()
        if failure is None:
            yield future.result()
        else:
            text = "".join(traceback.format_exception(failure))
            yield Result(task.key, task.definition, "failed", error=text)
        for following in islice(waiting, 1):
            stream.add(submit(following))
