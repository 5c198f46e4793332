"""Output files of commands: checks before the work, and writing tables."""

import os
import stat
import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from ambilearn._utils.files import check_writable as check_file_writable
from ambilearn._utils.text import pluralize
from ambilearn.cli.console import Console
from ambilearn.tables.description import FileFormat


def check_outputs(
    outputs: Iterable[str | Path | None], inputs: Iterable[str | Path | None] = ()
) -> None:
    """Raise an error for outputs that cannot be written or would overwrite another file.

    One file may have several names: symbolic and hard links, and redirected standard streams.

    In both arguments, ``-`` is a standard stream, and None is no file.
    """
    read = set().union(*(_identify(file, stream=0) for file in inputs if file is not None))
    written: set[Hashable] = set()
    for file in outputs:
        if file is None:
            continue
        for folder in (Path(file).parent, Path(os.path.realpath(file)).parent):
            if not folder.is_dir():
                raise click.ClickException(f"{file}: the folder {folder} does not exist.")
        names = _identify(file, stream=1)
        if names & read:
            raise click.ClickException(
                f"{_describe(file)} would overwrite an input file. Choose another name."
            )
        if names & written:
            raise click.ClickException(
                f"{_describe(file)} would be written twice. Choose another name for one output."
            )
        written |= names
        if str(file) == "-":
            continue
        try:
            check_file_writable(Path(file))
        except OSError as error:
            folder = Path(os.path.realpath(file)).parent
            raise click.ClickException(
                f"{file} cannot be written ({error.strerror}). Choose another file, or make it and "
                f"the folder {folder} writable."
            ) from error


def _identify(file: str | Path, stream: int) -> set[Hashable]:
    """Identity of a file that does not depend on its name: the real path, or device and inode."""
    try:
        status = os.fstat(stream) if str(file) == "-" else os.stat(file)
    except OSError:  # a closed stream, or a new file
        return set() if str(file) == "-" else {os.path.normcase(os.path.realpath(file))}
    if not stat.S_ISREG(status.st_mode):
        return set()  # a terminal or a pipe is not replaced
    return {(status.st_dev, status.st_ino)}


def _describe(file: str | Path) -> str:
    return "Standard output" if str(file) == "-" else str(file)


def table_writer(
    console: Console,
    source: str,
    out: Path,
    file: FileFormat,
    *,
    sep: str = "|",
    escape_formulas: bool = False,
) -> Callable[[Any, Sequence[str]], None]:
    """Function that writes the result of a command; an unsupported format raises an error.

    In ``source``, the input, and ``out``, ``-`` is a standard stream. ``file`` is how the input is
    read.
    """
    from ambilearn.tables.writing import check_writable, format_of_name, write_table

    format, delimiter = file.format_of(source) or "csv", file.delimiter
    if str(out) == "-":
        if sys.stdout is None:
            raise click.ClickException("Standard output is closed. Use --out FILE.")
        target: Any = sys.stdout.buffer
        format = "csv" if format == "xlsx" else format  # Excel files cannot be written
    else:
        target, written = out, format_of_name(str(out))
        format, delimiter = written, delimiter if written == format else None
    check_writable(format)

    def write(frame: Any, text_columns: Sequence[str]) -> None:
        if target is out:
            console.show("writing the table")
        else:
            console.close()  # the spinner would be mixed with the rows
        write_table(
            frame,
            target,
            format=format,
            delimiter=delimiter,
            decimal=file.decimal,
            sep=sep,
            text_columns=text_columns,
            escape_formulas=escape_formulas,
        )
        if target is not out:
            target.flush()
        else:
            console.say(
                f"wrote {out}: {pluralize(len(frame), 'row')}, "
                f"{pluralize(len(frame.columns), 'column')}"
            )

    return write
