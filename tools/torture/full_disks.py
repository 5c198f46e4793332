"""Commands on a file system that is full."""

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
WORDS_OF_FULL = ("space", "full", "large", "limit", "room", "I/O")


@cache
def _may_mount() -> bool:
    place = Path("may mount")
    place.mkdir(exist_ok=True)
    if not _mount(place):
        return False
    _unmount(place)
    return True


def _mount(place: Path) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "torture", str(place)]
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        return False


def _unmount(place: Path) -> None:
    subprocess.run(["umount", "--lazy", str(place)], check=True, capture_output=True)


def draw_full_disk(random: Random, number: int) -> dict[str, Any]:
    """A command, how the disk is full, and how much room there is."""
    return {
        "command": random.choice(list(COMMANDS)),
        "way": random.choice(["disk", "limit"]),
        # Enough for what the command says, which goes to files of a like limit.
        "room": random.choice(
            [4_000, random.randrange(4_000, 20_000), random.randrange(4_000, 200_000)]
        ),
    }


def check_full_disk(case: dict[str, Any], folder: Path) -> bool:
    """Without room a command says so, and nothing is lost."""
    whole = undisturbed(case["command"])[2]
    disk = folder / "disk"
    disk.mkdir()
    mounted = case["way"] == "disk" and _may_mount() and _mount(disk)
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
        _fill(disk / "filler", case["room"])
        present.add(Path("filler"))

    def run() -> int:
        os.chdir(disk)
        if not mounted:
            resource.setrlimit(resource.RLIMIT_FSIZE, (case["room"], resource.RLIM_INFINITY))
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
            raise Defect("destroyed", f"{output} was replaced, and exit {ended.status}", command)
        if ended.done and len(content) < len(whole) - 200:
            raise Defect("lost", f"{output} is not complete, and exit 0", f"{command} half")
    if set(before) - set(_rows(disk)):
        raise Defect("lost", "results are lost", "results lost")
    if not ended.done and not any(word in ended.err for word in WORDS_OF_FULL):
        raise Defect("wrong", f"not a word of the full disk: {ended.err}", "no word of it")
    left = {path.relative_to(disk) for path in disk.rglob("*")} - present
    left = {path for path in left if not path.name.startswith("store.sqlite-")}
    if left:
        raise Defect("wrong", f"leaves {sorted(map(str, left))}", f"leftover {command}")
    return ended.done


def _fill(path: Path, room: int) -> None:
    """Leave so much room on a file system, and no more."""
    status = os.statvfs(path.parent)
    free = status.f_bavail * status.f_frsize
    path.write_bytes(bytes(max(free - room, 0)))


def _rows(folder: Path) -> dict[str, Any]:
    store = folder / "store.sqlite"
    if not store.exists():
        return {}
    # Read only: there may be no room for the log of a reader.
    with closing(sqlite3.connect(f"file:{store}?mode=ro&immutable=1", uri=True)) as connection:
        return {row[0]: row for row in connection.execute("SELECT * FROM results")}


TARGETS = [
    Target(
        "full-disks",
        "full disks",
        draw_full_disk,
        check_full_disk,
        share=4,
        outcomes=("done all the same", "failed with a word"),
    )
]
