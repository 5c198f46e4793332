"""The console of all commands: messages, progress and errors."""

import errno
import io
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from textwrap import TextWrapper
from time import monotonic
from typing import Any

import click

from ambilearn import __version__
from ambilearn._utils.warnings import InterruptedWarning, run_to_end
from ambilearn.datasets.errors import DatasetError

DEBUG = "AMBILEARN_DEBUG"  # if this variable is set, unexpected errors show a traceback

# Errors of the input or the system, not of ambilearn.
EXPECTED = (DatasetError, OSError, ImportError, MemoryError)

_DISK_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}

MIN_ADDRESS_SPACE = 2**30  # bytes; with less, the numerical libraries crash or hang
LOG_WIDTH = 200  # columns of a log file, wide enough for all tables


class Console:
    """Messages and, in a terminal, the current stage of the work.

    Text is on the screen when a call returns, so that even a short stage is visible. With
    ``stderr`` it is written to standard error, for commands whose standard output is a table.
    ``rich`` is a console to write to instead, and ``every`` the seconds between two progress lines
    in a log file. ``interrupted`` is whether Ctrl-C ended a computation early.
    """

    def __init__(self, *, stderr: bool = False, rich: Any = None, every: float = 30.0) -> None:
        from rich.console import Console as RichConsole

        self.rich = rich or RichConsole(stderr=stderr, highlight=False)
        if not self.rich.is_terminal or self.rich.width < 1:  # with COLUMNS=0
            self.rich.width = LOG_WIDTH
        # Characters that the stream cannot encode are printed as question marks.
        stream = self.rich.file
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")
        self.interrupted = False
        self._live: Any = None
        self._spinner: Any = None
        self._stage, self._printed, self._every = "", 0.0, every

    def say(self, text: str, style: str | None = None) -> None:
        """Print text without markup; a terminal breaks lines between words, but not commands."""
        self.close()
        text = printable(text)
        if self.rich.is_terminal and not text.startswith(" "):
            fill = TextWrapper(self.rich.width, break_long_words=False, break_on_hyphens=False).fill
            text = "\n".join(map(fill, text.split("\n")))
        self.rich.print(text, markup=False, soft_wrap=True, style=style)

    def error(self, text: str) -> None:
        """Print an error message on standard error."""
        self.close()
        click.secho(printable(text), err=True, fg="red")

    def print(self, renderable: Any) -> None:
        """Print a table of rich, or text with its markup."""
        self.close()
        self.rich.print(renderable)

    def table(self, columns: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
        """Print a table; columns named ``>name`` are aligned to the right, the last is wrapped."""
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False)
        for name in columns:
            justify: Any = "right" if name.startswith(">") else "left"
            table.add_column(name.lstrip(">"), justify=justify, no_wrap=name is not columns[-1])
        for row in rows:
            table.add_row(*(Text(printable(str(cell))) for cell in row))
        self.print(table)

    def show(self, text: str) -> None:
        """Show the current step in a terminal."""
        if not self.rich.is_interactive:
            return
        from rich.live import Live
        from rich.spinner import Spinner
        from rich.text import Text

        if self._live is None:
            self._spinner = Spinner("dots", Text(printable(text)), style="status.spinner")
            self._live = Live(
                self._spinner, console=self.rich, refresh_per_second=12.5, transient=True
            )
            # rich cannot stop a display that has been started in part.
            run_to_end(lambda: self._live.start(refresh=True))
        else:
            self._spinner.update(text=Text(printable(text)))
            self._live.refresh()

    def stage(self, text: str) -> None:
        """Show a stage that may take long; in a log file, write one line for each stage.

        Text after a colon, as in ``choosing: 3 of 16``, is progress within a stage, which is
        written to a log file at intervals.
        """
        self.show(text)
        if self.rich.is_interactive:
            return
        stage = text.partition(":")[0]
        if stage != self._stage:
            self._stage, self._printed = stage, monotonic()
            self.say(f"{stage} …")
        elif text != stage and monotonic() - self._printed >= self._every:
            self._printed = monotonic()
            self.say(f"{text} …")

    def close(self) -> None:
        """End the spinner."""
        if self._live is not None:
            live, self._live = self._live, None
            run_to_end(live.stop)


def check_memory_limit() -> None:
    """Raise an error if the memory limit of the process is too low."""
    if sys.platform == "win32":  # has no such limit
        return
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < MIN_ADDRESS_SPACE:
        raise click.ClickException(
            f"The memory of a process is limited to {limit / 2**20:.0f} MB, and "
            f"{MIN_ADDRESS_SPACE / 2**20:.0f} MB are needed. Raise the limit (`ulimit -v`)."
        )


def describe_error(error: Exception) -> str:
    """The message for an error: what happened and what to do."""
    if isinstance(error, MemoryError):
        return "There is not enough memory. Close other programs, or use fewer --jobs."
    if not isinstance(error, EXPECTED):
        return (
            f"unexpected {type(error).__name__}: {' '.join(str(error).split())}\n"
            f"This is a bug in ambilearn {__version__}. Please report it with your command and "
            f"its output when {DEBUG}=1 is set."
        )
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    where = f"{error.filename}: " if error.filename else ""
    advice = " Free some disk space, or write to another disk." if error.errno in _DISK_FULL else ""
    return f"{where}{error.strerror}.{advice}"


@contextmanager
def user_console() -> Iterator[Console]:
    """A console on standard error that prints each warning and error as one line.

    Warnings about the input are printed before the fit. If Ctrl-C has ended a computation early,
    the command ends with the exit status 130, after it has written its results.
    """
    check_memory_limit()
    console = Console(stderr=True)
    printed: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        console.interrupted |= isinstance(message, InterruptedWarning)
        text = " ".join(str(message).split())
        if text not in printed:
            printed.add(text)
            console.say(f"Warning: {text}", style="yellow")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        try:
            yield console
        except (ValueError, ImportError) as error:
            raise click.ClickException(" ".join(str(error).split())) from error
        except MemoryError as error:
            raise click.ClickException(
                "There is not enough memory. Use fewer landmarks (--set n_landmarks=500), or a "
                "method without a kernel: --method plknn, ipal or plda."
            ) from error
        finally:
            console.close()
    if console.interrupted:
        raise click.exceptions.Exit(130)


def printable(text: str) -> str:
    r"""Text without control characters, which could change the terminal.

    >>> printable("red\x1b[31m")
    'red�[31m'
    """
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)
