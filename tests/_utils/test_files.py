import os

import pytest

from ambilearn._utils.files import atomic_write


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
def test_a_failure_keeps_the_old_file_and_leaves_nothing_else(tmp_path, error):
    target = tmp_path / "file"
    target.write_bytes(b"old")

    def fail_halfway():
        with atomic_write(target) as file:
            file.write(b"new")
            raise error

    with pytest.raises(error):
        fail_halfway()
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_an_old_file_is_replaced_in_one_step(tmp_path):
    target = tmp_path / "file"
    target.write_bytes(b"old")
    with atomic_write(target) as file:
        file.write(b"new")
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"


def test_two_writers_do_not_meet(tmp_path):
    """Each has a temporary file of its own; who ends last is read."""
    target = tmp_path / "file"
    with atomic_write(target) as first, atomic_write(target) as second:
        first.write(b"first")
        second.write(b"second")
    assert target.read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["file"]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_write(tmp_path / "none" / "file"):
        pass
