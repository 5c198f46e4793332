import csv
import errno
import io
import os
import re
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from protected import open_folder, read_only

import ambilearn
from ambilearn._utils.files import CsvLines, atomic_write, check_writable

needs_modes = pytest.mark.skipif(sys.platform == "win32", reason="needs the modes of POSIX")

IMPORTS = """
import os, sys
from pathlib import Path
from ambilearn._utils.files import atomic_write
"""


def write(target, content):
    with atomic_write(target) as file:
        file.write(content)


def fail_halfway(target, error):
    with atomic_write(target) as file:
        file.write(b"new")
        raise error


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_appears_only_when_it_is_complete(tmp_path):
    target = tmp_path / "file"
    with atomic_write(target) as file:
        file.write(b"half")
        file.flush()
        assert not target.exists()
        file.write(b" and half")
    assert target.read_bytes() == b"half and half"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_failed_write_keeps_the_old_file(tmp_path, error):
    target = tmp_path / "file"
    target.write_bytes(b"old")
    with pytest.raises(error):
        fail_halfway(target, error)
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_concurrent_writers_do_not_interfere(tmp_path):
    """Each has a separate temporary file; the last one that is closed is kept."""
    target = tmp_path / "file"
    with atomic_write(target) as first, atomic_write(target) as second:
        first.write(b"first")
        second.write(b"second")
    assert target.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["file"]


def test_missing_folder_raises(tmp_path):
    target = tmp_path / "none" / "file"
    with pytest.raises(FileNotFoundError) as caught:
        write(target, b"new")
    assert caught.value.filename == str(target)  # not that of a temporary file
    assert str(caught.value).endswith(f"{str(target)!r}")


def test_folder_as_target_raises(tmp_path):
    with pytest.raises(OSError):  # noqa: PT011  (PermissionError on Windows)
        write(tmp_path, b"new")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("letter", ["x", "\N{CJK UNIFIED IDEOGRAPH-6587}"])
def test_long_file_names(tmp_path, letter):
    """The name of the temporary file was too long."""
    target = tmp_path / (letter * (240 // len(letter.encode())))
    write(target, b"new")
    assert target.read_bytes() == b"new"


@needs_modes
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o666])
def test_a_file_keeps_its_mode(tmp_path, mode):
    """A private file became readable by all."""
    target = tmp_path / "file"
    target.write_bytes(b"old")
    target.chmod(mode)
    with atomic_write(target) as file:
        file.write(b"new")
        assert mode_of(Path(file.name)) & ~mode == 0  # nor can it be read meanwhile
    assert target.read_bytes() == b"new"
    assert mode_of(target) == mode


@needs_modes
def test_a_file_keeps_its_group(tmp_path):
    """Its owner, too, where the system allows it: to root alone."""
    target = tmp_path / "file"
    target.write_bytes(b"old")
    for group in os.getgroups():
        os.chown(target, -1, group)
        write(target, b"new")
        assert target.stat().st_gid == group
    if os.geteuid() == 0:
        os.chown(target, 65534, 65534)
        write(target, b"new")
        assert (target.stat().st_uid, target.stat().st_gid) == (65534, 65534)


@needs_modes
@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_a_new_file_has_the_mode_that_the_user_gives_to_new_files(tmp_path, umask):
    before = os.umask(umask)
    try:
        write(tmp_path / "file", b"new")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "file") == 0o666 & ~umask


def test_write_protected_file_is_unchanged(tmp_path):
    target = tmp_path / "file"
    target.write_bytes(b"old")
    target.chmod(0o444)
    if os.access(target, os.W_OK):
        pytest.skip("this user may write to every file")
    with pytest.raises(PermissionError) as caught:
        write(target, b"new")
    assert caught.value.filename == str(target)
    assert target.read_bytes() == b"old"


def link(link, target):
    try:
        link.symlink_to(target)
    except OSError:
        pytest.skip("this user cannot make symbolic links")


def test_symbolic_links_are_kept(tmp_path):
    """It lost its target, which was left as it was."""
    (tmp_path / "far").mkdir()
    target = tmp_path / "far" / "file"
    target.write_bytes(b"old")
    link(tmp_path / "near", "far/file")
    write(tmp_path / "near", b"new")
    assert (tmp_path / "near").is_symlink()
    assert target.read_bytes() == b"new"
    assert os.listdir(tmp_path / "far") == ["file"]


def test_dangling_link_creates_its_target(tmp_path):
    link(tmp_path / "near", "later")
    write(tmp_path / "near", b"new")
    assert (tmp_path / "near").is_symlink()
    assert (tmp_path / "later").read_bytes() == b"new"


def test_circular_link_raises(tmp_path):
    link(tmp_path / "loop", "loop")
    with pytest.raises(OSError, match="loop"):
        write(tmp_path / "loop", b"new")
    assert os.listdir(tmp_path) == ["loop"]


@pytest.fixture
def pipe(tmp_path):
    """A pipe, what was read from it, and the thread that reads it."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs pipes with names")
    path, received = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: received.append(path.read_bytes()), daemon=True)
    reader.start()
    return path, received, reader


def test_pipe_is_written_in_place(tmp_path, pipe):
    """It was replaced by a regular file; in a container, the null device would be as well."""
    pipe, received, reader = pipe
    with atomic_write(pipe) as file:
        file.write(b"half ")
        file.seek(0)  # the file is seekable
        file.write(b"all of it")
    assert pipe.is_fifo()
    reader.join()
    assert received == [b"all of it"]
    assert os.listdir(tmp_path) == ["pipe"]


def test_failed_write_sends_nothing_to_a_pipe(pipe):
    pipe, received, reader = pipe
    with pytest.raises(ValueError):  # noqa: PT011
        fail_halfway(pipe, ValueError)
    reader.join()
    assert received == [b""]


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="needs /dev/stdout")
@pytest.mark.parametrize("into", ["file", "pipe"])
def test_standard_output_by_name_is_appended(tmp_path, into):
    """A file that it was sent to was replaced, together with what was said before."""
    code = IMPORTS + (
        "os.write(1, b'before ')\n"
        "with atomic_write(Path(sys.argv[1])) as file: file.write(b'all of it')\n"
        "os.write(1, b' after')\n"
    )
    # By a link, so that a mistake replaces that and nothing of the machine.
    (tmp_path / "link").symlink_to("/dev/stdout")
    command = [sys.executable, "-c", code, str(tmp_path / "link")]
    if into == "pipe":
        printed = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    else:
        with open(tmp_path / "out", "wb") as file:
            subprocess.run(command, stdout=file, check=True)
        printed = (tmp_path / "out").read_bytes()
    assert printed == b"before all of it after"


@pytest.mark.parametrize("n_killed", [1, 3])
def test_temporary_files_of_killed_processes_are_removed(tmp_path, n_killed):
    code = IMPORTS + (
        "with atomic_write(Path(sys.argv[1])) as file:\n"
        "    file.write(b'half'); file.flush(); os._exit(9)\n"
    )
    target = tmp_path / "fi[le"
    mine = [".fi[le.part", f".fi[le.{'g' * 32}.part", f"fi[le.{'a' * 32}.part"]
    for name in mine:
        (tmp_path / name).touch()
    for i in range(n_killed):
        subprocess.run([sys.executable, "-c", code, str(target)], check=False)
        assert len(os.listdir(tmp_path)) == len(mine) + 1, i
    write(target, b"new")
    assert sorted(os.listdir(tmp_path)) == sorted([*mine, target.name])


def test_all_files_are_written_atomically():
    """Reports, figures, tables, models and pages are complete or not there."""
    otherwise = re.compile(
        r"(?<!formatter\.)write_text\(|write_bytes\(|open\((?!\d)[^()]*\"[wax]"
        r"|os\.replace|\.rename\("
    )
    package = Path(ambilearn.__file__).parent
    found = {
        path.name
        for path in package.rglob("*.py")
        if otherwise.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"files.py"}


def test_full_disk_error_names_the_file(tmp_path):
    target = tmp_path / "table.csv"
    with pytest.raises(OSError, match="No space left") as caught, atomic_write(target):
        raise OSError(errno.ENOSPC, "No space left on device")  # as write() reports it
    assert caught.value.filename == str(target)
    with pytest.raises(OSError, match=r"^a message of its own$"), atomic_write(target):
        raise OSError("a message of its own")
    assert list(tmp_path.iterdir()) == []


def test_check_writable_leaves_no_file(tmp_path):
    (tmp_path / "old.txt").write_text("old")
    for name in ("new.txt", "old.txt"):
        check_writable(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["old.txt"]
    assert (tmp_path / "old.txt").read_text() == "old"
    with pytest.raises(FileNotFoundError):
        check_writable(tmp_path / "no folder" / "new.txt")
    check_writable(Path(os.devnull))  # even if its folder is not writable


def test_check_writable_raises_the_error_of_a_write():
    with open_folder() as folder:
        (folder / "old.txt").write_text("old")
        with read_only(folder):
            for name in ("new.txt", "old.txt"):
                with pytest.raises(PermissionError):
                    check_writable(folder / name)
                with pytest.raises(PermissionError), atomic_write(folder / name):
                    pass


def written(rows):
    text = io.StringIO()
    csv.writer(CsvLines(text.write), lineterminator=CsvLines.terminator).writerows(rows)
    return text.getvalue()


@pytest.mark.parametrize("cell", ["\r", "a\rb", "a\r", "\ra", "\n", "a\nb", "\r\n", "a\r\n"])
def test_line_breaks_are_in_quotes(cell):
    """A lone carriage return was not, before Python 3.13."""
    assert written([[cell, "x"]]) == f'"{cell}",x\n'
    assert written([["x", cell]]) == f'x,"{cell}"\n'


@given(st.lists(st.lists(st.text(st.sampled_from('\r\n", a')), min_size=1), min_size=1))
def test_the_reader_of_the_standard_library_reads_it_back(rows):
    assert list(csv.reader(io.StringIO(written(rows), newline=""))) == rows
