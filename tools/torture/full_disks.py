"""Commands on a full file system."""

import os
import resource
import sqlite3
import subprocess
from contextlib import closing
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from torture.commands import call_main, check_ended, fork, wait_for
from torture.kills import COMMANDS, OLD, output_of, prepare, undisturbed
from torture.oracle import Defect
from torture.target import Target

DISK = 512 * 1024  # bytes of the small file system
FULL_DISK_WORDS = ("space", "full", "large", "limit", "I/O")


@cache
def _can_mount() -> bool:
    folder = Path("mount point")
    folder.mkdir(exist_ok=True)
    if not _mount(folder):
        return False
    _unmount(folder)
    return True


def _mount(folder: Path) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "torture", str(folder)]
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        return False


def _unmount(folder: Path) -> None:
    subprocess.run(["umount", "--lazy", str(folder)], check=True, capture_output=True)


def draw_full_disk(random: Random, number: int) -> dict[str, Any]:
    """A command, the kind of limit, and the free space in bytes."""
    return {
        "command": random.choice(list(COMMANDS)),
        "limit": random.choice(["disk", "file size"]),
        # Enough for the messages of the command, whose files have the same limit.
        "free": random.choice(
            [4_000, random.randrange(4_000, 20_000), random.randrange(4_000, 200_000)]
        ),
    }


def check_full_disk(case: dict[str, Any], folder: Path) -> bool:
    """Without space a command prints a message, and no result is lost."""
    whole = undisturbed(case["command"])[2]
    disk = folder / "disk"
    disk.mkdir()
    mounted = case["limit"] == "disk" and _can_mount() and _mount(disk)
    try:
        return _check_full_disk(case, disk, whole, mounted)
    finally:
        if mounted:
            _unmount(disk)


def _check_full_disk(case: dict[str, Any], disk: Path, whole: bytes, mounted: bool) -> bool:
    command = case["command"]
    prepare(command, disk, done=5)
    present = {path.relative_to(disk) for path in disk.rglob("*")}
    before = _rows(disk)
    if mounted:
        _fill(disk / "filler", case["free"])
        present.add(Path("filler"))

    def run() -> int:
        os.chdir(disk)
        if not mounted:
            resource.setrlimit(resource.RLIMIT_FSIZE, (case["free"], resource.RLIM_INFINITY))
        return call_main(COMMANDS[command])

    streams = disk.with_name("streams")
    streams.mkdir()
    ended = wait_for(fork(run, streams), streams)
    check_ended(ended)
    output = output_of(command)
    if output is not None:
        content = (disk / output).read_bytes() if (disk / output).exists() else None
        if content is None:
            raise Defect("lost", f"{output} is gone", f"{command} gone")
        if not ended.done and content != OLD:
            raise Defect("destroyed", f"{output} was replaced, exit {ended.status}", command)
        if ended.done and len(content) < len(whole) - 200:
            raise Defect("lost", f"{output} is not complete, exit 0", f"{command} half")
    if set(before) - set(_rows(disk)):
        raise Defect("lost", "results are lost", "results lost")
    if not ended.done and not any(word in ended.err for word in FULL_DISK_WORDS):
        raise Defect("wrong", f"the message does not name the full disk: {ended.err}", "message")
    left = {path.relative_to(disk) for path in disk.rglob("*")} - present
    left = {path for path in left if not path.name.startswith("store.sqlite-")}
    if left:
        raise Defect("wrong", f"leaves {sorted(map(str, left))}", f"leftover {command}")
    return ended.done


def _fill(path: Path, free: int) -> None:
    """Fill a file system up to the given free space."""
    status = os.statvfs(path.parent)
    path.write_bytes(bytes(max(status.f_bavail * status.f_frsize - free, 0)))


def _rows(folder: Path) -> dict[str, Any]:
    store = folder / "store.sqlite"
    if not store.exists():
        return {}
    # Read only: there may be no space for the log of a reader.
    with closing(sqlite3.connect(f"file:{store}?mode=ro&immutable=1", uri=True)) as connection:
        return {row[0]: row for row in connection.execute("SELECT * FROM results")}


TARGETS = [
    Target(
        "full-disks",
        "full disks",
        draw_full_disk,
        check_full_disk,
        share=4,
        outcomes=("succeeded", "failed with a message"),
    )
]
