"""Commands whose streams are closed, full, or not read."""

import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

from torture.commands import Ended, check_ended
from torture.kills import COMMANDS, LEARN, OLD, prepare
from torture.oracle import Defect
from torture.target import Target

# Shell redirections for good and bad streams.
STREAMS = {
    "stdin": {"open": "< table.csv", "closed": "<&-", "full": "< /dev/null", "broken": "< <(true)"},
    "stdout": {"open": "> out", "closed": ">&-", "full": "> /dev/full", "broken": "> >(true)"},
    "stderr": {"open": "2> err", "closed": "2>&-", "full": "2> /dev/full", "broken": "2> >(true)"},
}
STREAM_COMMANDS = {
    "clean": ("clean", *LEARN),
    "clean to a file": COMMANDS["clean"],
    "clean from stdin": ("clean", "-", *LEARN[1:], "--out", "out.csv"),
    "fit": COMMANDS["fit"],
    "list": ("data", "list"),
    "tables": ("paper", "tables", "mine.toml", "--store", "store.sqlite"),
    "run": COMMANDS["run"],
    "help": ("--help",),
    "version": ("--version",),
    "mistake": ("clean", "nowhere.csv", "--candidates", "names"),
}


def draw_streams(random: Random, number: int) -> dict[str, Any]:
    """A command, and the state of its three streams; usually one is bad."""
    states = dict.fromkeys(STREAMS, "open")
    for name in random.sample(list(STREAMS), random.choice([1, 1, 2, 3])):
        states[name] = random.choice(["closed", "full", "broken"])
    return {"command": random.choice(list(STREAM_COMMANDS))} | states


def check_streams(case: dict[str, Any], folder: Path) -> bool:
    """With bad streams a command succeeds, or fails without a traceback."""
    prepare("clean", folder)
    if case["command"] in ("tables", "run"):
        prepare("run", folder, done=5)
    redirects = " ".join(STREAMS[name][case[name]] for name in STREAMS)
    command = [sys.executable, "-m", "ambilearn", *STREAM_COMMANDS[case["command"]]]
    script = f'"$@" {redirects}; echo $? > status'
    subprocess.run(["bash", "-c", script, "bash", *command], cwd=folder, timeout=120)
    status = int((folder / "status").read_text())
    if status > 128:
        raise Defect("crash", f"status {status}", str(status))
    if case["stderr"] == "open" and case["stdout"] != "broken":  # a broken pipe causes no message
        check_ended(Ended(status, err=(folder / "err").read_text("utf-8", "replace")))
    elif status not in (0, 1, 2):
        raise Defect("wrong", f"exit status {status}", f"exit status {status}")
    to_stdout = case["command"] in ("clean", "list", "tables", "help", "version")
    if to_stdout and status == 0 and case["stdout"] == "full":
        raise Defect("lost", "output to a full stream is lost, exit 0", "full")
    output = {"clean to a file": "out.csv", "fit": "out.model"}.get(case["command"])
    if output and status == 0 and (folder / output).read_bytes() == OLD:
        raise Defect("lost", f"{output} was not written, exit 0", "not written")
    return status == 0


TARGETS = [
    Target(
        "streams",
        "closed streams",
        draw_streams,
        check_streams,
        share=6,
        outcomes=("succeeded", "failed with a message"),
    )
]
