"""A Dask worker is killed during a fit: the result does not change."""

import atexit
import os
import signal
import threading
import time
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from torture.oracle import Defect
from torture.target import Target


@cache
def _cluster() -> tuple[ExitStack, Any]:
    """Two worker processes with one thread each, until this process ends."""
    import dask
    from distributed import Client, LocalCluster

    running = ExitStack()
    running.enter_context(dask.config.set({"distributed.comm.timeouts.connect": 60}))
    cluster = running.enter_context(
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit=0,
            dashboard_address="127.0.0.1:0",
            local_directory=str(Path("dask").absolute()),
        )
    )
    atexit.register(running.close)
    return running, running.enter_context(Client(cluster))


@cache
def _problem() -> tuple[Any, Any]:
    import dask.array as da

    random = np.random.default_rng(0)
    labels = random.integers(3, size=120)
    X = 2.5 * np.eye(3, 4)[labels] + random.normal(size=(120, 4))
    mask = np.eye(3, dtype=bool)[labels] | (random.random((120, 3)) < 0.3)
    return da.from_array(X, chunks=(30, 4)), da.from_array(mask, chunks=(30, 3))


def _fit() -> Any:
    from ambilearn.distributed import DistributedPLCL

    X, mask = _problem()
    model = DistributedPLCL(n_landmarks=20, random_state=0, max_iter=5).fit(X, mask)
    return np.asarray(model.predict_proba(X))


@cache
def _undisturbed() -> tuple[float, Any]:
    _cluster()
    _fit()
    started = time.monotonic()
    result = _fit()
    return time.monotonic() - started, result


def draw_dask_kill(random: Random, number: int) -> dict[str, Any]:
    """Which worker is killed, and when, as a fraction of the time of a fit."""
    return {"share": round(random.random(), 4), "worker": number % 2}


def check_dask_kill(case: dict[str, Any], folder: Path) -> bool:
    """The fit continues with the remaining worker and gives the same result."""
    seconds, expected = _undisturbed()
    workers = _worker_processes()
    killer = threading.Timer(
        case["share"] * seconds, os.kill, (workers[case["worker"]], signal.SIGKILL)
    )
    killer.start()
    try:
        result = _fit()
    finally:
        killer.join()
    if not np.allclose(result, expected, atol=1e-10):
        raise Defect("wrong", f"differs by {np.abs(result - expected).max():.1e}", "result")
    return False


def _worker_processes() -> list[int]:
    """Process ids of both workers, after a killed worker is replaced."""
    for attempt in range(1, 13):
        with suppress(OSError, KeyError):  # a worker that is ending
            _cluster()[1].wait_for_workers(2, timeout=10)
            processes = sorted(_cluster()[1].run(os.getpid).values())
            if len(processes) == 2:
                return processes
        if attempt % 4 == 0:
            # Dask may not replace a worker that is killed during its start; this is not tested.
            _cluster()[0].close()
            _cluster.cache_clear()
        time.sleep(0.2)
    raise Defect("hang", "no two workers")


TARGETS = [
    Target("dask-kills", "kills", draw_dask_kill, check_dask_kill, share=5,
           outcomes=("ended before", "killed")),
]  # fmt: skip
