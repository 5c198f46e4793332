"""Runs that are killed while they start their workers, or soon after."""

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

from torture.kills import N_RESULTS, _check_results, _results, prepare
from torture.oracle import Defect
from torture.target import Target

PATIENCE = 60.0  # seconds that a worker may outlive its runner, on a busy machine


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


def _run(*options: str) -> list[str]:
    command = [sys.executable, "-m", "ambilearn", "paper", "run", "mine.toml"]
    return [*command, "--store", "store.sqlite", *options]


def draw_early_kill(random: Random, number: int) -> dict[str, Any]:
    """Seconds after which a runner is killed: while it starts its workers, or soon after."""
    return {"seconds": round(random.uniform(0.0, 4.0), 3), "done": random.randrange(N_RESULTS)}


def check_early_kill(case: dict[str, Any], folder: Path) -> bool:
    """When a runner is killed, all its workers end, and no result is lost."""
    prepare("run", folder, case["done"])
    before = _results(folder)
    with _started(_run("--jobs", "2"), folder, stderr=subprocess.DEVNULL) as runner:
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


TARGETS = [
    Target("early-kills", "kills", draw_early_kill, check_early_kill, share=5,
           outcomes=("ended before", "killed")),
]  # fmt: skip
