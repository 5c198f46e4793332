"""The journal keeps every answer, whatever happens to the process."""

import errno
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from ambilearn.datasets.errors import InvalidFileError
from ambilearn.review import journal as journal_module
from ambilearn.review.journal import Journal, JournalInUseError, ReviewedRows, read_answers, replay
from ambilearn.review.service import label_parser

TEXTS = ["anna|bob", "bob", "anna|bob"]
ROWS = ReviewedRows(TEXTS, {"town": ["Rome", "Oslo", "Rome"], "size": np.array([1, 2, 3])})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.journal"


def write(path, n=3):
    with Journal(path, ROWS) as journal:
        for i in range(n):
            journal.append({"id": f"a{i}", "kind": "skip", "row": i})
    return path.read_bytes()


def read(path):
    with Journal(path, ROWS) as journal:
        return [entry["id"] for entry in journal.entries]


def test_entries_are_read_again(path):
    write(path)
    assert read(path) == ["a0", "a1", "a2"]
    assert [json.loads(line).get("n") for line in path.read_bytes().splitlines()] == [None, 1, 2, 3]
    assert os.stat(path).st_mode & 0o077 == 0  # answers and tokens are not for others


def test_an_incomplete_last_line_is_ignored_wherever_it_was_cut(path):
    content = write(path)
    ends = [i + 1 for i, byte in enumerate(content) if byte == 10]
    for size in range(ends[0], len(content) + 1, 3):
        path.write_bytes(content[:size])
        expected = [f"a{i}" for i in range(sum(end <= size for end in ends) - 1)]
        assert read(path) == expected
        with Journal(path, ROWS) as journal:
            journal.append({"id": "new", "kind": "skip", "row": 0})
        assert read(path) == [*expected, "new"]


def test_a_cut_header_begins_a_new_journal(path):
    path.write_bytes(write(path)[:20])
    assert read(path) == []
    assert read(path) == []


def test_a_damaged_line_is_rejected_and_kept_even_at_the_end(path):
    lines = write(path).splitlines(keepends=True)
    for damaged, line in [
        ([*lines[:-1], b"\0\0\0\0\n"], 4),
        ([lines[0], b"garbage\n", lines[2]], 2),
        ([lines[0], *lines[2:]], 2),
        ([*lines, b"[" * 100_000 + b"\n"], 5),
    ]:
        path.write_bytes(b"".join(damaged))
        with pytest.raises(InvalidFileError, match=f"line {line}: this line of the journal is d"):
            read(path)
        assert path.read_bytes() == b"".join(damaged)


ANSWER = {"kind": "answer", "random": False, "labels": {"0": "anna"}, "found": {"0": "bob"},
          "candidates": {"0": "anna|bob"}}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": {"-1": "anna"}}, "it is not complete"),
        ({name: {"3": "anna"} for name in ("labels", "found", "candidates")}, "there is no row"),
        ({name: {"00": "anna"} for name in ("labels", "found", "candidates")}, "there is no row"),
        ({"labels": {"0": ""}}, "row 0 has no label"),
        ({"found": {"0": ""}}, "A label must not be empty"),
        ({"labels": {"0": 3}}, "row 0 has no label"),
        ({"labels": {"0": "x" * 100_001}}, "row 0 has no label"),
        ({"labels": {"0": "anna|bob"}}, "A label must not be empty or contain"),
        ({"labels": {}}, "it is not complete"),
        ({"found": {"0": None}}, "it is not complete"),
        ({"found": None}, "it is not complete"),
        ({"candidates": {"0": "bob"}}, "row 0 has other candidates in the table"),
        ({"random": 1}, "it is not complete"),
        ({"kind": "delete"}, "of another kind"),
        ({"kind": ["answer"]}, "of another kind"),
        ({"kind": "skip", "row": 3}, "of another kind"),
        ({"kind": "skip", "row": True}, "of another kind"),
        ({"kind": "undo"}, "undoes one that does not exist"),
        ({"id": "x\n"}, "its number or name"),
        ({"n": 7}, "its number or name"),
        ({"released": [3]}, "its random rows"),
        ({"released": 1}, "its random rows"),
    ],
)
def test_an_entry_that_no_review_writes_is_rejected(path, change, message):
    write(path, 0)
    entry = {"n": 1, "id": "x", **ANSWER} | change
    with path.open("a") as file:
        file.write(json.dumps(entry) + "\n")
    with pytest.raises(InvalidFileError, match="line 2") as caught:
        Journal(path, ROWS, label_parser(["anna", "bob"]))
    assert message in str(caught.value)


def test_an_answer_that_occurs_twice_is_rejected(path):
    write(path, 1)
    with path.open("a") as file:
        file.write(json.dumps({"n": 2, "id": "a0", **ANSWER}) + "\n")
    with pytest.raises(InvalidFileError, match="line 3"):
        read(path)


def test_rows_and_columns_that_are_new_change_nothing(path):
    write(path)
    longer = ReviewedRows(
        [*TEXTS, "cleo"],
        {"town": ["Rome", "Oslo", "Rome", None], "size": np.array([1, 2, 3, np.nan]), "new": [0]},
    )
    with Journal(path, longer) as journal:
        journal.append({"id": "b", "kind": "skip", "row": 3})
    with pytest.raises(InvalidFileError, match="line 5"):
        Journal(path, ROWS)  # without the row that was skipped


@pytest.mark.parametrize(
    ("texts", "columns", "message"),
    [
        (TEXTS[:2], {"town": ["Rome"] * 2, "size": [1, 2]}, "had 3 rows and has 2"),
        (["bob", *TEXTS[::2]], {"town": ["Rome"] * 3, "size": [1, 2, 3]}, "the candidates have"),
        (TEXTS, {"town": ["Rome"] * 3, "size": [1, 2, 3]}, "'town' has changed"),
        (TEXTS, {"size": np.array([3, 2, 1]), "town": ["Rome", "Oslo", "Rome"]}, "'size' has ch"),
        (TEXTS, {"town": ["Rome", "Oslo", "Rome"]}, "the column 'size' is missing"),
    ],
)
def test_other_rows_are_rejected_and_nothing_changes(path, texts, columns, message):
    content = write(path)
    with pytest.raises(InvalidFileError, match="save the answers: ambilearn review") as caught:
        Journal(path, ReviewedRows(texts, columns))
    assert message in str(caught.value)
    assert path.read_bytes() == content


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"{}\n", b"[1]\n", b'{"format": "other"}\n'])
def test_other_files_are_rejected_and_not_changed(path, content):
    path.write_bytes(content)
    with pytest.raises(InvalidFileError, match="is not the journal of a review"):
        Journal(path, ROWS)
    assert path.read_bytes() == content


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_no_journal(path):
    os.mkfifo(path)
    assert not journal_module.is_journal(path)
    with pytest.raises(InvalidFileError, match="is not the journal of a review"):
        Journal(path, ROWS)


def test_a_journal_of_another_version_is_rejected(path):
    content = write(path).replace(b'"version":2', b'"version":3')
    path.write_bytes(content)
    with pytest.raises(InvalidFileError, match="another version"):
        read(path)


def test_there_is_one_writer(path):
    with Journal(path, ROWS), pytest.raises(JournalInUseError, match="in use by another"):
        Journal(path, ROWS)
    assert read(path) == []  # free again


def test_a_full_disk_leaves_complete_lines(path, monkeypatch):
    with Journal(path, ROWS) as journal:
        journal.append({"id": "a", "kind": "skip", "row": 0})
        before = path.read_bytes()

        def fail(_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="No space"):
            journal.append({"id": "b", "kind": "skip", "row": 0})
        monkeypatch.undo()
        assert path.read_bytes() == before
        journal.append({"id": "c", "kind": "skip", "row": 0})
        assert [entry["n"] for entry in journal.entries] == [1, 2]
    assert read(path) == ["a", "c"]


@pytest.mark.parametrize("content", [b"important notes", b'{"a": 1}', b"{", b'{"format":"x"'])
def test_another_file_without_a_complete_line_is_not_overwritten(path, content):
    path.write_bytes(content)
    if content == b"{":  # may be the start of a header that was not written completely
        assert read(path) == []
        return
    with pytest.raises(InvalidFileError, match="is not the journal of a review"):
        read(path)
    assert path.read_bytes() == content


def test_a_closed_journal_is_an_error_of_the_system(path):
    journal = Journal(path, ROWS)
    journal.close()
    with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
        journal.append({"id": "a", "kind": "skip", "row": 0})


def lose(path):
    """Ways in which another program changes a file that is open."""

    def replaced():
        path.with_name("other").write_bytes(b"other content\n")
        os.replace(path.with_name("other"), path)

    def copied():  # as a program does that synchronizes folders
        path.with_name("other").write_bytes(path.read_bytes())
        os.replace(path.with_name("other"), path)

    return {
        "removed": path.unlink,
        "renamed": lambda: path.rename(path.with_name("renamed")),
        "replaced": replaced,
        "copied": copied,
        "truncated": lambda: os.truncate(path, 40),
        "emptied": lambda: path.write_bytes(b""),
        "edited": lambda: path.write_bytes(path.read_bytes().replace(b"a0", b"b7")),
        "longer": lambda: path.write_bytes(path.read_bytes() + b"x\n"),
    }


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not remove open files")
@pytest.mark.parametrize("way", sorted(lose(Path())))
@pytest.mark.parametrize("at_the_end", [False, True])
def test_answers_are_written_again_when_another_program_changes_the_journal(path, way, at_the_end):
    with Journal(path, ROWS) as journal:
        journal.append({"id": "a0", "kind": "skip", "row": 0})
        journal.append({"id": "a1", "kind": "skip", "row": 1})
        lose(path)[way]()
        left = path.read_bytes() if path.exists() else None
        if at_the_end:
            journal.keep()
        else:
            journal.append({"id": "a2", "kind": "skip", "row": 2})
        assert path.name in journal.notice
        assert (journal.path == path) == (left is None)
        if left is not None:
            assert path.read_bytes() == left
            assert f"--journal {journal.path.name}" in journal.notice
        journal.append({"id": "a3", "kind": "skip", "row": 0})
    known = ["a0", "a1", "a3"] if at_the_end else ["a0", "a1", "a2", "a3"]
    assert read(journal.path) == known
    if left is not None:
        with pytest.raises(InvalidFileError, match="has the later answers of this review"):
            Journal(path, ROWS)


def test_a_journal_that_is_only_touched_stays(path):
    with Journal(path, ROWS) as journal:
        journal.append({"id": "a0", "kind": "skip", "row": 0})
        os.utime(path, (1, 1))
        journal.append({"id": "a1", "kind": "skip", "row": 0})
        assert journal.notice is None
    assert read(path) == ["a0", "a1"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not remove open files")
def test_answers_are_not_confirmed_while_they_cannot_be_written_again(path, monkeypatch):
    with Journal(path, ROWS) as journal:
        journal.append({"id": "a0", "kind": "skip", "row": 0})
        path.unlink()

        def fail(_):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fail)
            with pytest.raises(OSError, match="No space"):
                journal.append({"id": "a1", "kind": "skip", "row": 1})
        assert [entry["id"] for entry in journal.entries] == ["a0"]
        assert not path.exists()
        journal.append({"id": "a1", "kind": "skip", "row": 1})
    assert read(path) == ["a0", "a1"]


def test_a_file_system_without_locks_is_named(path, monkeypatch):
    def fail(file):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(journal_module, "_lock_file", fail)
    with pytest.raises(OSError, match=r"cannot be locked .* on a disk of this machine") as caught:
        Journal(path, ROWS)
    assert not isinstance(caught.value, JournalInUseError)


def test_answers_are_read_without_the_table(path):
    with Journal(path, ROWS) as journal:
        for number, label in enumerate(["anna", "zoe", None]):
            rows = {"0": label, "2": "bob"} if number == 1 else {"0": label}
            entry = ANSWER | {"labels": rows, "found": dict.fromkeys(rows, "bob")}
            entry["candidates"] = dict.fromkeys(rows, "anna|bob")
            journal.append({"id": f"x{number}", **entry})
        journal.append({"id": "u", "kind": "undo"})
        assert replay(journal.entries).labels == {0: "zoe", 2: "bob"}
    labels, texts, random = read_answers(path)
    assert (labels, random) == ({0: "zoe", 2: "bob"}, set())
    assert texts == {0: "anna|bob", 2: "anna|bob"}
    path.write_text(path.read_text().replace("zoe", "half \\ud800"))
    with pytest.raises(InvalidFileError, match="line 3: this line of the journal is damaged"):
        read_answers(path)
    path.write_text("notes")
    with pytest.raises(InvalidFileError, match="is not the journal of a review"):
        read_answers(path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not remove open files")
def test_a_journal_that_is_changed_again_has_the_next_number(path):
    with Journal(path, ROWS) as journal:
        for number in (2, 3):
            journal.path.write_bytes(b"other content\n")
            journal.append({"id": f"a{number}", "kind": "skip", "row": 0})
            assert journal.path == path.with_name(f"{path.name}-{number}")
    assert read(journal.path) == ["a2", "a3"]
    with pytest.raises(InvalidFileError, match=f"{path.name}-3 has the later answers"):
        Journal(path, ROWS)
