"""Run the command line in this process, or in a forked copy that can be killed."""

import io
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torture.oracle import Defect, describe, signature_of

PATIENCE = 120.0  # seconds after which a command is considered hung


@dataclass(frozen=True)
class Ended:
    """Exit status and output of a command."""

    status: int
    out: bytes = b""
    err: str = ""

    @property
    def done(self) -> bool:
        """Whether the command succeeded."""
        return self.status == 0


def run_command(*arguments: Any, stdin: bytes = b"") -> Ended:
    """Run a command in this process. It must succeed, or print one error message."""
    saved = sys.stdin, sys.stdout, sys.stderr
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), "utf-8")
    sys.stdout, sys.stderr = out, err
    try:
        status = call_main(arguments)
    except Exception as error:
        raise Defect("traceback", describe(error), signature_of(error)) from error
    finally:
        sys.stdin, sys.stdout, sys.stderr = saved
    ended = Ended(status, out.buffer.getvalue(), err.buffer.getvalue().decode("utf-8", "replace"))
    check_ended(ended)
    return ended


def call_main(arguments: Any) -> int:
    """Call the entry point as the installed command does; returns the exit status."""
    from ambilearn.__main__ import main

    saved = sys.argv
    sys.argv = ["ambilearn", *map(str, arguments)]
    try:
        main()
    except SystemExit as end:
        if isinstance(end.code, str):  # Python prints it and exits with 1
            print(end.code, file=sys.stderr)
            return 1
        return end.code or 0
    finally:
        sys.argv = saved
    return 0


def check_ended(ended: Ended) -> None:
    """A command exits with 0, or with 1 or 2 and a message; it never shows a traceback."""
    said = ended.out.decode("utf-8", "replace") + ended.err
    if "Traceback (most recent call last)" in said:
        last = said.strip().splitlines()[-1]
        raise Defect("traceback", last, last[:60])
    if ended.status < 0:
        raise Defect("crash", f"ended by {signal.Signals(-ended.status).name}: {ended.err[-300:]}")
    if ended.status not in (0, 1, 2):
        raise Defect("wrong", f"exit status {ended.status}: {ended.err[-300:]}", "exit status")
    if ended.status and not ended.err.strip():
        raise Defect("wrong", f"exit status {ended.status} without a message", "no message")


def fork(function: Callable[[], int], folder: Path) -> int:
    """Start a function in a copy of this process, with its output in files of the folder."""
    sys.stdout.flush(), sys.stderr.flush()
    child = os.fork()
    if child:
        return child
    status = 70
    try:
        os.setpgid(0, 0)  # so that its child processes can be ended with it
        for number, name in ((1, "stdout"), (2, "stderr")):
            file = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, number)
            os.close(file)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", 1, "utf-8", closefd=False)  # noqa: SIM115
        status = function()
        sys.stdout.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def wait_for(child: int, folder: Path, patience: float = PATIENCE) -> Ended:
    """Wait for a started function to end; raise if it takes too long."""
    deadline = time.monotonic() + patience
    pause = 0.001
    while True:
        ended, how = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > deadline:
            kill(child)
            raise Defect("hang", f"still running after {patience:g} s")
        time.sleep(pause)
        pause = min(2 * pause, 0.02)
    out = _content(folder / "stdout")
    return Ended(
        os.waitstatus_to_exitcode(how), out, _content(folder / "stderr").decode("utf-8", "replace")
    )


def kill(child: int) -> None:
    """Kill a child and all its child processes, and wait until it has ended."""
    for end in (os.killpg, os.kill):
        with suppress(ProcessLookupError):
            end(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""
