"""Standard streams, which may be closed, full or broken."""

import io
import os
import sys
from typing import Any

import click


class _IgnoringErrors(io.FileIO):
    """A file that ignores write errors: a lost message must not stop a command."""

    def write(self, content: "bytes | bytearray | memoryview") -> int:  # type: ignore[override]
        try:
            return super().write(content)
        except OSError:
            return len(content)


def prepare_streams() -> None:
    """Make standard streams safe to use; call it once, at the start of the process.

    The next file that is opened would get the descriptor of a closed stream, and messages would be
    written to this file. A file that cannot be read or written takes the descriptor instead.
    """
    for number, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_RDONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # takes the lowest free descriptor
    present: Any = sys.stderr
    below = present and getattr(present.buffer, "raw", present.buffer)
    if below is None or isinstance(below, io.FileIO):  # not a Windows console, which takes text
        sys.stderr = io.TextIOWrapper(
            io.BufferedWriter(_IgnoringErrors(2, "wb", closefd=False)),
            encoding="utf-8" if present is None else present.encoding,
            errors="backslashreplace",
            line_buffering=True,
        )


def standard_input() -> Any:
    """Standard input in bytes, if it is open."""
    if sys.stdin is None:
        raise click.ClickException("Standard input is closed. Use a file.")
    return sys.stdin.buffer


def standard_output() -> Any:
    """Standard output in bytes, if it is open."""
    if sys.stdout is None:
        raise click.ClickException("Standard output is closed. Use --out FILE.")
    return sys.stdout.buffer
