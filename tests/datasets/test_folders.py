import sys

import pytest

from ambilearn.datasets.folders import search_folders, user_cache


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


def test_an_empty_variable_is_ignored(monkeypatch, private_machine):
    monkeypatch.setenv("AMBILEARN_DATA", "")
    assert search_folders() == [private_machine]


def test_without_pooch_only_the_given_folders_are_searched(monkeypatch, tmp_path):
    """Files that somebody put there load in an environment that cannot download."""
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert search_folders() == []
    with pytest.raises(ImportError, match="cache of downloads needs pooch"):
        user_cache()
    monkeypatch.setenv("AMBILEARN_DATA", str(tmp_path / "named"))
    assert search_folders(tmp_path / "given") == [tmp_path / "given", tmp_path / "named"]


def test_a_tilde_is_the_home_folder(monkeypatch, tmp_path):
    for name in ("HOME", "USERPROFILE"):  # the latter on Windows
        monkeypatch.setenv(name, str(tmp_path))
    assert search_folders("~/data")[0] == tmp_path / "data"
