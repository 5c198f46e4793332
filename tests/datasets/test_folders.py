import os

import pytest

from ambilearn.datasets.folders import search_folders, user_cache, written_whole


def test_the_user_cache_is_where_the_operating_system_has_it(private_machine):
    assert user_cache() == private_machine


def test_folders_are_searched_in_the_documented_order(tmp_path, monkeypatch, private_machine):
    assert search_folders() == [private_machine]
    monkeypatch.setenv("AMBILEARN_DATA", str(tmp_path / "mine"))
    assert search_folders("given") == [
        type(tmp_path)("given"),
        tmp_path / "mine",
        private_machine,
    ]


def test_an_empty_variable_is_no_folder(monkeypatch, private_machine):
    monkeypatch.setenv("AMBILEARN_DATA", "")
    assert search_folders() == [private_machine]


def test_a_tilde_is_the_home_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert search_folders("~/data")[0] == tmp_path / "data"


def test_a_file_appears_only_when_it_is_complete(tmp_path):
    target = tmp_path / "file"
    with written_whole(target) as file:
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
        with written_whole(target) as file:
            file.write(b"new")
            raise error

    with pytest.raises(error):
        fail_halfway()
    assert target.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]
