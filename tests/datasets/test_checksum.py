import hashlib
import json
import os

import pooch
import pytest

from ambilearn.datasets import ChecksumError
from ambilearn.datasets.checksum import checksum, remember_verified, verify, verify_once
from ambilearn.datasets.folders import user_cache


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"hello\n")
    return path


def test_sha256(file):
    assert checksum(file) == "sha256:" + hashlib.sha256(b"hello\n").hexdigest()


@pytest.mark.parametrize(
    ("content", "blob_id"),  # as `git hash-object` prints them
    [
        (b"", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"),
        (b"hello\n", "ce013625030ba8dba906f756967f9e9ca394464a"),
    ],
)
def test_git_blob_id(tmp_path, content, blob_id):
    path = tmp_path / "file"
    path.write_bytes(content)
    assert checksum(path, "gitblob") == f"gitblob:{blob_id}"


def test_a_file_larger_than_one_block(tmp_path):
    content = os.urandom((1 << 21) + 17)
    path = tmp_path / "file"
    path.write_bytes(content)
    assert checksum(path) == "sha256:" + hashlib.sha256(content).hexdigest()


def test_unknown_scheme(file):
    with pytest.raises(ValueError, match="md5"):
        checksum(file, "md5")


def test_a_wrong_file_is_named_with_both_checksums_and_advice(file):
    with pytest.raises(ChecksumError) as caught:
        verify(file, "sha256:" + "0" * 64, advice="Throw it away.")
    for part in (str(file), "6 bytes", "0" * 64, checksum(file), "Throw it away."):
        assert part in str(caught.value)


@pytest.fixture
def vouched(file):
    """The checksum that a note gives for a file, which has another by now."""
    expected = checksum(file)
    verify_once(file, expected, advice="")
    notes_path = user_cache() / "verified.json"
    notes = json.loads(notes_path.read_text())
    file.write_bytes(b"jello\n")
    status = file.stat()
    notes[str(file)] = [expected, status.st_size, status.st_mtime_ns, status.st_ctime_ns]
    notes_path.write_text(json.dumps(notes))
    return expected


def test_a_file_is_verified_again_only_if_it_changed(file, vouched):
    verify_once(file, vouched, advice="")  # not read again
    os.utime(file, (0, 0))
    with pytest.raises(ChecksumError):
        verify_once(file, vouched, advice="")


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps no time of the last change of a file")
def test_a_change_with_a_restored_time_is_detected(file, vouched):
    before = file.stat()
    while file.stat().st_ctime_ns == before.st_ctime_ns:  # the clock of file systems is coarse
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    with pytest.raises(ChecksumError):
        verify_once(file, vouched, advice="")


def test_a_record_is_valid_for_one_checksum(file):
    verify_once(file, checksum(file), advice="")
    with pytest.raises(ChecksumError):
        verify_once(file, "sha256:" + "0" * 64, advice="")


@pytest.mark.parametrize("junk", ["", "{", "[1, 2]", '{"x": ', "\0\0"])
def test_damaged_records_are_ignored(file, junk):
    user_cache().mkdir(parents=True)
    (user_cache() / "verified.json").write_text(junk)
    verify_once(file, checksum(file), advice="")
    with pytest.raises(ChecksumError):
        verify_once(file, "sha256:" + "0" * 64, advice="")


def test_records_that_cannot_be_written_are_ignored(file, monkeypatch, tmp_path):
    (tmp_path / "not-a-folder").write_text("")
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "not-a-folder" / name)
    remember_verified(file, checksum(file))
    verify_once(file, checksum(file), advice="")
    with pytest.raises(ChecksumError):
        verify_once(file, "sha256:" + "0" * 64, advice="")
