"""The journal keeps every answer, whatever happens to the process."""

import errno
import json
import os

import pytest

from ambilearn.datasets.errors import InvalidFileError
from ambilearn.serve.journal import Journal, JournalInUseError

ABOUT = {"the content of the table": "abc", "--sep": "|"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.journal"


def write(path, n=3):
    with Journal(path, ABOUT) as journal:
        for i in range(n):
            journal.append({"id": f"a{i}", "kind": "skip", "row": i})
    return path.read_bytes()


def read(path):
    with Journal(path, ABOUT) as journal:
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
        with Journal(path, ABOUT) as journal:
            journal.append({"id": "new"})
        assert read(path) == [*expected, "new"]


def test_a_cut_header_begins_a_new_journal(path):
    path.write_bytes(write(path)[:20])
    assert read(path) == []
    assert read(path) == []


def test_a_garbled_last_line_is_ignored_and_one_before_is_rejected(path):
    lines = write(path).splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + b"\0\0\0\0\n")
    assert read(path) == ["a0", "a1"]
    path.write_bytes(lines[0] + b"garbage\n" + lines[2])
    with pytest.raises(InvalidFileError, match="line 2: this line of the journal is damaged"):
        read(path)
    path.write_bytes(lines[0] + lines[2] + lines[3])
    with pytest.raises(InvalidFileError, match="line 2"):
        read(path)


@pytest.mark.parametrize(
    ("about", "message"),
    [
        (ABOUT | {"the content of the table": "abd"}, "the content of the table was 'abc' and is"),
        (ABOUT | {"--sep": ";"}, "--sep was '|' and is ';'"),
        ({"the content of the table": "abc"}, "--sep was '|' and is None"),
    ],
)
def test_another_table_or_other_options_are_rejected_and_nothing_changes(path, about, message):
    content = write(path)
    with pytest.raises(InvalidFileError) as caught:
        Journal(path, about)
    assert message in str(caught.value)
    assert path.read_bytes() == content


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"{}\n", b"[1]\n", b'{"format": "other"}\n'])
def test_other_files_are_rejected_and_not_changed(path, content):
    path.write_bytes(content)
    with pytest.raises(InvalidFileError, match="is not the journal of a review"):
        Journal(path, ABOUT)
    assert path.read_bytes() == content


def test_a_journal_of_another_version_is_rejected(path):
    content = write(path).replace(b'"version":1', b'"version":2')
    path.write_bytes(content)
    with pytest.raises(InvalidFileError, match="another version"):
        read(path)


def test_there_is_one_writer(path):
    with Journal(path, ABOUT), pytest.raises(JournalInUseError, match="in use by another"):
        Journal(path, ABOUT)
    assert read(path) == []  # free again


def test_a_full_disk_leaves_complete_lines(path, monkeypatch):
    with Journal(path, ABOUT) as journal:
        journal.append({"id": "a"})
        before = path.read_bytes()

        def fail(_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="No space"):
            journal.append({"id": "b"})
        monkeypatch.undo()
        assert path.read_bytes() == before
        journal.append({"id": "c"})
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
    journal = Journal(path, ABOUT)
    journal.close()
    with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
        journal.append({"id": "a", "kind": "skip", "row": 0})
