import warnings

import click
import pytest

from ambilearn.cli.own_data_options import (
    check_output,
    method_parameters,
    printable,
    source_and_format,
    user_console,
)


@pytest.mark.parametrize(
    ("table", "format", "expected"),
    [
        ("t.csv", None, "csv"),
        ("folder/T.PARQUET", None, "parquet"),
        ("t.txt", "tsv", "tsv"),
        ("t.txt", None, ""),
        ("t.csv", "jsonl", "jsonl"),
    ],
)
def test_the_format_of_a_file(table, format, expected):
    assert source_and_format(table, format) == (table, expected)


@pytest.mark.parametrize(("format", "expected"), [(None, "csv"), ("parquet", "parquet")])
def test_standard_input_is_csv_unless_told(format, expected):
    source, found = source_and_format("-", format)
    assert hasattr(source, "read")
    assert found == expected


def test_landmarks_go_before_settings():
    assert method_parameters(("reg=1", "n_landmarks=5"), 7) == {"reg": 1, "n_landmarks": 7}
    assert method_parameters((), None) == {}


def test_a_folder_that_is_not_there(tmp_path):
    check_output(tmp_path / "t.csv")
    with pytest.raises(click.ClickException, match="does not exist"):
        check_output(tmp_path / "no" / "t.csv")


def test_warnings_become_lines_each_once(capsys):
    with user_console() as console:
        for _ in range(2):
            warnings.warn("be\n  careful", UserWarning, stacklevel=1)
        warnings.warn("for developers", DeprecationWarning, stacklevel=1)
        console.say("done")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "done\nWarning: be careful\n"


@pytest.mark.parametrize("error", [ValueError, ImportError])
def test_errors_become_one_line(error, capsys):
    def work():
        warnings.warn("before", UserWarning, stacklevel=1)
        raise error("two\nlines")

    with pytest.raises(click.ClickException) as caught, user_console():
        work()
    assert caught.value.message == "two lines"
    assert "Warning: before" in capsys.readouterr().err


def test_other_errors_are_bugs_and_stay():
    with pytest.raises(ZeroDivisionError), user_console():
        raise ZeroDivisionError


def test_a_log_file_gets_a_line_for_each_stage(capsys):
    with user_console() as console:
        console.progress("quick")
        for i in range(3):
            console.stage(f"choosing: {i} of 3")
        console.stage("fitting")
    assert capsys.readouterr().err == "choosing …\nfitting …\n"


def test_text_is_printed_as_it_is(capsys):
    with user_console() as console:
        console.say("[bold]" + "x" * 300 + "\x07\x1b[2J")
    assert capsys.readouterr().err == "[bold]" + "x" * 300 + "��[2J\n"


def test_printable_keeps_what_people_write():
    assert printable("Zoë 身長 🙂\nnext") == "Zoë 身長 🙂\nnext"
    assert printable("a\x00\x9b\u202e") == "a���"
