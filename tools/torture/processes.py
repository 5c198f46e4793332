"""Runners that are killed early, schedulers that are lost, and open ports."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

from torture.commands import Ended, check_ended, run_command
from torture.kills import N_RESULTS, _check_results, _results, prepare
from torture.oracle import Defect
from torture.target import Target

PATIENCE = 60.0  # seconds that a worker may outlive its runner, on a busy machine
LOOPBACK = {"127.0.0.1", "::1"}

_SCHEDULER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=1, **options) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@contextmanager
def _started(command: list[str], folder: Path, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Process that ends with all its child processes when the block ends."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        **options,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdin, process.stdout):
            stream.close()


def _reproduce(*options: str) -> list[str]:
    command = [sys.executable, "-m", "ambilearn", "reproduce", "mine.toml"]
    return [*command, "--store", "store.sqlite", *options]


def draw_early_kill(random: Random, number: int) -> dict[str, Any]:
    """Seconds after which a runner is killed: while it starts its workers, or soon after."""
    return {"seconds": round(random.uniform(0.0, 4.0), 3), "done": random.randrange(N_RESULTS)}


def check_early_kill(case: dict[str, Any], folder: Path) -> bool:
    """When a runner is killed, all its workers end, and no result is lost."""
    prepare("reproduce", folder, case["done"])
    before = _results(folder)
    with _started(_reproduce("--jobs", "2"), folder, stderr=subprocess.DEVNULL) as runner:
        # Workers inherit the output, which is closed when the last of them ends.
        reader = threading.Thread(target=runner.stdout.read, daemon=True)
        reader.start()
        time.sleep(case["seconds"])
        runner.kill()
        runner.wait()
        reader.join(PATIENCE)
        if reader.is_alive():
            raise Defect("hang", f"workers outlive their runner by {PATIENCE:g} s", "workers")
    _check_results(before, _results(folder))
    return runner.returncode == 0


def draw_lost_scheduler(random: Random, number: int) -> dict[str, Any]:
    """Seconds after which the scheduler of a run is killed."""
    return {"seconds": round(random.uniform(0.0, 8.0), 3)}


def check_lost_scheduler(case: dict[str, Any], folder: Path) -> bool:
    """When its scheduler is lost, a run ends with one message, and the next run continues."""
    prepare("reproduce", folder)
    (folder / "scheduler.py").write_text(_SCHEDULER)
    environment = os.environ | {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "5s"}
    scheduler_command = [sys.executable, "scheduler.py"]
    with _started(scheduler_command, folder, stderr=subprocess.DEVNULL) as scheduler:
        address = scheduler.stdout.readline().decode().strip()
        command = _reproduce("--cluster", address)
        with _started(command, folder, stderr=subprocess.PIPE, env=environment) as runner:
            killer = threading.Timer(case["seconds"], os.killpg, (scheduler.pid, signal.SIGKILL))
            killer.start()
            try:
                out, err = runner.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired as error:
                raise Defect("hang", "a run without its scheduler does not end") from error
            finally:
                killer.cancel()
    check_ended(Ended(runner.returncode, out, err.decode("utf-8", "replace")))
    if b"bug in ambilearn" in err:
        raise Defect("traceback", err.decode("utf-8", "replace")[-300:], "unexpected error")
    before = _results(folder)
    spec, store = folder / "mine.toml", folder / "store.sqlite"
    run_command("reproduce", spec, "--store", store, "--jobs", 1)
    _check_results(before, _results(folder))
    if len(_results(folder)) != N_RESULTS:
        raise Defect("lost", "the next run does not continue", "next run")
    return runner.returncode == 0


def draw_ports(random: Random, number: int) -> dict[str, Any]:
    """Command that starts a cluster, and number of workers."""
    return {"jobs": 1 + number % 2}


def check_ports(case: dict[str, Any], folder: Path) -> bool:
    """A cluster that a command starts listens only on this machine."""
    import psutil

    prepare("reproduce", folder)
    command = _reproduce("--cluster", "local", "--jobs", str(case["jobs"]))
    seen = set()
    with _started(command, folder, stderr=subprocess.DEVNULL) as runner:
        deadline = time.monotonic() + 2 * PATIENCE
        while runner.poll() is None and time.monotonic() < deadline:
            with suppress(psutil.Error):  # the process has ended
                here = psutil.Process(runner.pid)
                for process in [here, *here.children(recursive=True)]:
                    seen |= listening_addresses(process)
            time.sleep(0.1)
        if runner.poll() is None:
            raise Defect("hang", "a run on a local cluster does not end")
    if exposed := seen - LOOPBACK:
        raise Defect("exposed", f"listens on {sorted(exposed)}", "ports")
    return runner.returncode == 0


def listening_addresses(process: Any) -> set[str]:
    """Addresses on which a process listens."""
    found = process.net_connections(kind="inet")
    return {each.laddr.ip for each in found if each.status == "LISTEN"}


TARGETS = [
    Target("early-kills", "kills", draw_early_kill, check_early_kill, share=5,
           outcomes=("ended before", "killed")),
    Target("lost-schedulers", "kills", draw_lost_scheduler, check_lost_scheduler, share=5,
           outcomes=("ended before", "lost")),
    Target("ports", "commands", draw_ports, check_ports, share=1, outcomes=("closed", "failed")),
]  # fmt: skip
