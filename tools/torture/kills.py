"""Commands killed at a random moment: each output file is the old or the complete new one."""

import atexit
import hashlib
import os
import shutil
import signal
import sqlite3
import sys
import time
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from loopback import serve

from ambilearn.datasets.registry import registry
from ambilearn.tables.model_file import load_model
from torture.commands import call_main, fork, run_command, wait_for
from torture.oracle import Defect
from torture.samples import SPEC, csv_bytes, store_bytes
from torture.target import Target

OLD = b"content before the command\n"
N_RESULTS = 16  # of the sample experiment
FILE = bytes(range(256)) * 4000

LEARN = ("table.csv", "--candidates", "names", "--method", "plknn")
CLEAN = ("clean", *LEARN, "--out", "out.csv")
RUN = ("paper", "run", "mine.toml", "--jobs", "1", "--store", "store.sqlite")
COMMANDS = {
    "clean": CLEAN,
    "clean to Parquet": (*CLEAN[:-1], "out.parquet"),
    "fit": ("fit", *LEARN, "--out", "out.model"),
    "review": ("review", *LEARN, "--out", "out.html", "--fast"),
    "report": ("paper", "report", "mine.toml", "--store", "store.sqlite", "--out", "out.html"),
    "run": RUN,
    "fetch": ("data", "fetch", "lost", "--data-home", "data", "--force"),
}


def output_of(command: str) -> str | None:
    """The file that a command writes; None if it adds to a store."""
    if command == "fetch":
        return "data/lost.mat"
    return next((word for word in COMMANDS[command] if word.startswith("out.")), None)


def prepare(command: str, folder: Path, done: int = 0) -> None:
    """Write the input files of a command, and an old output file."""
    if command == "report" or output_of(command) is None:
        (folder / "mine.toml").write_text(SPEC)
        store = folder / "store.sqlite"
        store.write_bytes(store_bytes())
        if command != "report":
            with closing(sqlite3.connect(store)) as connection, connection:
                connection.execute(
                    "DELETE FROM results WHERE key NOT IN "
                    "(SELECT key FROM results ORDER BY key LIMIT ?)",
                    [done],
                )
    else:
        rows = [[str(i % 7), f"t{i % 5}", "a|b" if i % 3 else "b|c"] for i in range(60)]
        (folder / "table.csv").write_bytes(csv_bytes(["x", "town", "names"], rows))
    output = output_of(command)
    if output:
        (folder / output).parent.mkdir(exist_ok=True)
        (folder / output).write_bytes(OLD)


@cache
def start_server() -> None:
    """Serve one data file of the registry until this process ends."""
    folder = Path("server").absolute()
    folder.mkdir(exist_ok=True)
    (folder / "lost.mat").write_bytes(FILE)
    checksum = f"sha256:{hashlib.sha256(FILE).hexdigest()}"
    known = registry()
    known["lost"] = replace(known["lost"], checksum=checksum, size=len(FILE), file="lost.mat")
    running = ExitStack()
    os.environ["AMBILEARN_MIRROR"] = running.enter_context(serve(folder)).url
    atexit.register(running.close)


@cache
def undisturbed(command: str) -> tuple[float, int, bytes]:
    """Seconds, number of audit events and output file of a command that is not killed."""
    if command == "fetch":
        start_server()
    here = Path.cwd()
    folder = here / f"undisturbed {command}"
    for _ in range(2):  # the first run imports the modules that forked copies then share
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        prepare(command, folder)
        os.chdir(folder)
        try:
            assert run_command(*COMMANDS[command]).done
        finally:
            os.chdir(here)
    events, times = folder / "events", []
    for _ in range(3):  # the shortest time is used, because the machine may be busy
        prepare(command, folder)
        started = time.monotonic()
        child = fork(lambda: _run(command, folder, count_to=events), folder)
        assert wait_for(child, folder).status == 0, (folder / "stderr").read_text()
        times.append(time.monotonic() - started)
    output = output_of(command)
    content = (folder / output).read_bytes() if output else b""
    return min(times), int(events.read_text()), content


def _run(
    command: str, folder: Path, die_at: int | None = None, count_to: Path | None = None
) -> int:
    """Run a command in a folder; kill it at an audit event, or count the events."""
    os.chdir(folder)
    count = 0

    def hook(event: str, arguments: Any) -> None:
        nonlocal count
        count += 1
        if count == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    status = call_main(COMMANDS[command])
    if count_to is not None:
        count_to.write_text(str(count))
    return status


def draw_kill(commands: list[str]) -> Any:
    """Function that draws which command is killed, and when."""

    def draw(random: Random, number: int) -> dict[str, Any]:
        # At an event (a file opened, renamed, removed, …), or after a share of the usual time.
        moment = ["event", "time"][number % 2]
        share = random.random() if random.random() < 0.6 else random.uniform(0.8, 1.05)
        command = commands[number // 2 % len(commands)]
        return {"command": command, "moment": moment, "share": round(share, 4),
                "done": random.randrange(N_RESULTS)}  # fmt: skip

    return draw


def check_kill(case: dict[str, Any], folder: Path) -> bool:
    """After a kill, each file is old or complete; the next run completes all files."""
    command = case["command"]
    seconds, events, whole = undisturbed(command)
    if output_of(command) is None:  # the time depends on the number of missing results
        seconds, events = (each * (1 - case["done"] / N_RESULTS) for each in (seconds, events))
    prepare(command, folder, case["done"])
    present = {path.relative_to(folder) for path in folder.rglob("*")}
    before = _results(folder)
    streams = folder.with_name("streams")
    streams.mkdir(exist_ok=True)
    if case["moment"] == "event":
        die_at = 1 + int(case["share"] * events)
        child = fork(lambda: _run(command, folder, die_at), streams)
    else:
        child = fork(lambda: _run(command, folder), streams)
        time.sleep(case["share"] * seconds)
        os.kill(child, signal.SIGKILL)
    ended = wait_for(child, streams)
    if ended.status not in (0, -signal.SIGKILL):
        raise Defect("wrong", f"status {ended.status} before the kill: {ended.err}", "status")
    _check_output(command, folder, whole, allow_old=True)
    after = _results(folder)
    _check_results(before, after)
    again = wait_for(fork(lambda: _run(command, folder), streams), streams)
    if again.status != 0:
        raise Defect("lost", f"the next run fails: {again.err[-300:]}", "next run fails")
    _check_output(command, folder, whole, allow_old=False)
    final = _results(folder)
    _check_results(after, final)
    if output_of(command) is None and len(final) != N_RESULTS:
        raise Defect("lost", f"{len(final)} results of {N_RESULTS}", "results missing")
    left = {path.relative_to(folder) for path in folder.rglob("*")} - present
    left.discard(Path("store.sqlite-lock"))  # stays, empty
    if left:
        raise Defect(
            "wrong", f"the next run leaves {sorted(map(str, left))}", f"leftover {command}"
        )
    return ended.status == 0


def _check_output(command: str, folder: Path, whole: bytes, allow_old: bool) -> None:
    output = output_of(command)
    if output is None:
        return
    if not (folder / output).exists():
        raise Defect("lost", f"{output} is missing", f"{command} missing")
    content = (folder / output).read_bytes()
    if allow_old and content == OLD:
        return
    # Models and reports contain the time: only their lengths are compared.
    same = content == whole or (
        command in ("fit", "report") and abs(len(content) - len(whole)) < 200 and content != OLD
    )
    if not same:
        raise Defect("destroyed", f"{output} is neither old nor complete", f"{command} half")
    if command == "fit":
        load_model(folder / output)


def _results(folder: Path) -> dict[str, Any]:
    """All rows of the store."""
    store = folder / "store.sqlite"
    if not store.exists():
        return {}
    with closing(sqlite3.connect(store)) as connection:
        return {row[0]: row for row in connection.execute("SELECT * FROM results")}


def _check_results(before: dict[str, Any], after: dict[str, Any]) -> None:
    if lost := set(before) - set(after):
        raise Defect("lost", f"{len(lost)} results are lost", "results lost")
    if again := [key for key in before if before[key] != after[key]]:
        raise Defect("doubled", f"{len(again)} results were measured again", "measured again")


TARGETS = [
    Target(
        "kills",
        "kills",
        draw_kill(list(COMMANDS)),
        check_kill,
        share=26,
        outcomes=("ended before", "killed"),
    ),
]
