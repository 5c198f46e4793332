"""The console itself: what is on the screen, or in a log file, when a call has returned."""

import errno
import io
import os
import signal
import warnings

import click
import pytest
from rich.console import Console as RichConsole
from rich.table import Table

from ambilearn import __version__
from ambilearn.cli.console import EXPECTED, LOG_WIDTH, Console, describe_error, user_console
from ambilearn.datasets.errors import DatasetError

STAGES = ["reading the table", "fitting PLCL", "writing the table"]


@pytest.fixture
def screen():
    """A terminal of eighty columns, which keeps everything that was ever drawn."""
    return io.StringIO()


@pytest.fixture
def console(screen):
    rich = RichConsole(file=screen, force_terminal=True, width=80, color_system=None)
    console = Console(rich=rich)
    yield console
    console.close()


@pytest.fixture
def log():
    return Console(rich=RichConsole(file=io.StringIO(), force_terminal=False))


def written(console):
    return console.rich.file.getvalue()


# ---- in a terminal


@pytest.mark.parametrize("method", ["show", "stage"])
def test_a_stage_is_visible_when_the_call_returns(console, screen, method):
    for text in STAGES:
        assert text not in screen.getvalue()
        getattr(console, method)(text)
        assert text in screen.getvalue()


def test_a_printed_line_ends_the_spinner(console, screen):
    console.show("reading the table")
    console.say("done")
    before, _, line = screen.getvalue().rpartition("\x1b[2K")  # the spinner's line is erased
    assert "reading the table" in before
    assert line == "done\n"
    assert screen.getvalue().count("\x1b[?25l") == screen.getvalue().count("\x1b[?25h")  # cursor


def test_the_current_stage_is_text_without_markup(console, screen):
    console.show("reading [bold]t.csv[/bold] \x07")
    assert "reading [bold]t.csv[/bold] \N{REPLACEMENT CHARACTER}" in screen.getvalue()


@pytest.mark.parametrize("part", ["push_render_hook", "pop_render_hook"])
def test_control_c_while_the_spinner_starts_or_ends(console, screen, part, monkeypatch):
    """The spinner is complete before the command ends, and the cursor is visible again."""
    change = getattr(console.rich, part)

    def interrupted(*arguments):
        signal.raise_signal(signal.SIGINT)
        change(*arguments)

    monkeypatch.setattr(console.rich, part, interrupted)

    def work():
        try:
            console.show("reading")
        finally:
            console.close()

    with pytest.raises(KeyboardInterrupt):
        work()
    assert screen.getvalue().count("\x1b[?25l") == screen.getvalue().count("\x1b[?25h") == 1
    console.close()


def test_a_terminal_that_cannot_draw_gets_lines(screen, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    console = Console(rich=RichConsole(file=screen, force_terminal=True, width=80))
    console.show("reading the table")
    console.stage("fitting PLCL")
    console.say("done")
    assert screen.getvalue() == "fitting PLCL …\ndone\n"


def test_a_terminal_without_columns_gets_complete_lines(screen, monkeypatch):
    """All messages were lost."""
    monkeypatch.setenv("COLUMNS", "0")
    console = Console(rich=RichConsole(file=screen, force_terminal=True, color_system=None))
    console.say("done")
    assert screen.getvalue() == "done\n"


def test_lines_break_between_words_but_commands_do_not(console, screen):
    console.say(f"\n{'word ' * 20}end {'x' * 90}")
    console.say(f"  ambilearn {'word ' * 20}")
    *lines, command = screen.getvalue().splitlines()
    assert [len(line) for line in lines] == [0, 79, 23, 90]
    assert command == f"  ambilearn {'word ' * 20}"


# ---- in a log file


def test_a_log_file_gets_a_line_for_each_stage(log):
    log.show("quick")
    for i in range(3):
        log.stage(f"choosing: {i} of 3")
    log.stage("fitting")
    assert written(log) == "choosing …\nfitting …\n"


def test_a_log_file_gets_progress_lines_at_intervals():
    log = Console(rich=RichConsole(file=io.StringIO(), force_terminal=False), every=0)
    for text in ("choosing", "choosing: 1 of 2", "choosing: 2 of 2", "fitting"):
        log.stage(text)
    assert written(log) == "choosing …\nchoosing: 1 of 2 …\nchoosing: 2 of 2 …\nfitting …\n"


def test_tables_are_not_cut_in_a_log_file(log):
    table = Table("x" * 120, box=None, pad_edge=False)
    table.add_row("y" * 120)
    log.print(table)
    assert written(log).splitlines() == ["x" * 120, "y" * 120]
    assert log.rich.width == LOG_WIDTH


def test_text_is_printed_unchanged(log):
    log.say("[bold]" + "x" * 300 + "\x07\x1b[2J")
    assert written(log) == "[bold]" + "x" * 300 + "��[2J\n"


def test_characters_that_the_stream_cannot_encode_are_replaced():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", errors="strict", newline="\n")
    console = Console(rich=RichConsole(file=stream))
    console.say("2 – Zoë")
    stream.flush()
    assert raw.getvalue() == b"2 ? Zo?\n"


def test_errors_go_to_standard_error(capsys):
    console = Console()
    console.say("fine")
    console.error("lost: \x1b[31mnot found")
    captured = capsys.readouterr()
    assert captured.out == "fine\n"
    assert captured.err == "lost: �[31mnot found\n"


# ---- warnings and errors of the library


def test_warnings_become_lines_each_once(capsys):
    with user_console() as console:
        for _ in range(2):
            warnings.warn("be\n  careful", UserWarning, stacklevel=1)
        warnings.warn("for developers", DeprecationWarning, stacklevel=1)
        console.say("done")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "Warning: be careful\ndone\n"


@pytest.mark.parametrize("error", [ValueError, ImportError])
def test_errors_become_one_line(error, capsys):
    def work():
        warnings.warn("before", UserWarning, stacklevel=1)
        raise error("two\nlines")

    with pytest.raises(click.ClickException) as caught, user_console():
        work()
    assert caught.value.message == "two lines"
    assert "Warning: before" in capsys.readouterr().err


def test_too_little_memory_gives_advice():
    with pytest.raises(click.ClickException, match="Use fewer landmarks"), user_console():
        raise MemoryError


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (DatasetError("iris is damaged."), "iris is damaged."),
        (MemoryError(), "There is not enough memory. Close other programs, or use fewer --jobs."),
        (OSError("a message of its own."), "a message of its own."),
        (
            FileNotFoundError(errno.ENOENT, "No such file or directory", "t.csv"),
            "t.csv: No such file or directory.",
        ),
        (PermissionError(errno.EACCES, "Permission denied"), "Permission denied."),
    ],
)
def test_expected_errors_are_reported_as_they_are(error, message):
    assert isinstance(error, EXPECTED)
    assert describe_error(error) == message


def test_a_full_disk_has_advice():
    full = os.strerror(errno.ENOSPC)
    text = describe_error(OSError(errno.ENOSPC, full, "out.csv"))
    assert text == f"out.csv: {full}. Free some disk space, or write to another disk."


def test_an_unexpected_error_explains_how_to_report_it():
    error = ZeroDivisionError("a\n  b")
    assert not isinstance(error, EXPECTED)
    first, second = describe_error(error).splitlines()
    assert first.startswith(f"unexpected {type(error).__name__}: ")
    assert f"ambilearn {__version__}" in second
    assert "report it with your command and its output when AMBILEARN_DEBUG=1 is set" in second
