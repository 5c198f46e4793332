"""``ambilearn data``; downloads come from a loopback server."""

import os
import re
import shutil

import pytest
from loopback import serve

from ambilearn.datasets.registry import registry


def test_list_has_every_data_set_with_sizes_and_availability(run):
    out, _ = run.succeeds("data", "list")
    lines = {line.split()[0]: line.split() for line in out.splitlines() if line.strip()}
    for name, info in registry().items():
        candidates = f"{info.mean_candidates:.2f}" if info.mean_candidates else "–"
        numbers = [str(info.rows), str(info.features), str(info.labels)]
        here = "no" if info.file else "yes"
        assert lines[name] == [name, *numbers, candidates, here]
    assert all(len(line) <= 80 for line in out.splitlines()[: len(registry()) + 1])
    assert "ambilearn data fetch NAME" in out


def test_list_has_the_searched_folders(run, tmp_path, monkeypatch):
    monkeypatch.setenv("AMBILEARN_DATA", str(tmp_path / "mine"))
    out = run("data", "list", "--data-home", tmp_path / "given")[1].splitlines()[-3:]
    assert [line.strip() for line in out] == [
        str(tmp_path / "given"),
        str(tmp_path / "mine"),
        str(tmp_path / "cache" / "ambilearn"),
    ]


def test_fetch_of_an_embedded_data_set(run):
    out, _ = run.succeeds("data", "fetch", "iris")
    assert "part of scikit-learn" in out


def test_fetch_without_network_fails_and_continues(run, tmp_path):
    status, out, err = run("data", "fetch", "lost", "digits", "--data-home", tmp_path / "home")
    assert status == 1
    assert re.search(r"^lost: lost.mat could not be fetched .* refused", err)
    assert "Traceback" not in err
    assert "digits: part of scikit-learn" in out


def test_check_of_a_fresh_machine_succeeds(run):
    out, err = run.succeeds("data", "check")
    assert err == ""
    assert "lost           not on this machine" in out
    assert "digits         ok: 1797 rows, 64 features, 10 labels" in out


def test_check_of_a_missing_named_data_set_fails(run):
    assert run("data", "check", "lost")[0] == 1
    assert run("data", "check", "iris")[0] == 0
    assert run("data", "check", "nonsense")[0] == 2


def test_check_finds_a_wrong_file(run, tmp_path):
    (tmp_path / "lost.mat").write_text("nonsense")
    status, out, err = run("data", "check", "--data-home", tmp_path)
    assert status == 1
    assert "lost: " in err
    assert "is not the expected file (8 bytes)" in err
    assert f"ambilearn data fetch --force --data-home {tmp_path} lost" in err
    assert "digits         ok" in out  # the others are checked all the same


@pytest.fixture
def source(tmp_path, real_data_dir):
    """A folder to serve, with two of the paper's files."""
    folder = tmp_path / "source"
    folder.mkdir()
    for name in ("lost.mat", "glass.data"):
        if not (real_data_dir / name).is_file():
            pytest.skip(f"{name} is not here")
        shutil.copyfile(real_data_dir / name, folder / name)
    return folder


def test_fetch_check_list_of_real_files(run, source, tmp_path, monkeypatch):
    home = tmp_path / "home"
    with serve(source) as server:
        monkeypatch.setenv("AMBILEARN_MIRROR", server.url)
        status, out, err = run("data", "fetch", "Lost", "glass", "--data-home", home)
        assert (status, err) == (0, "")
        assert f"lost: {home / 'lost.mat'}" in out
        assert "license: academic use at your own risk" in out
        assert run("data", "fetch", "lost", "--data-home", home)[0] == 0
        assert server.requests == ["/lost.mat", "/glass.data"]  # nothing twice
        assert run("data", "fetch", "--force", "lost", "--data-home", home)[0] == 0
        assert server.requests[-1] == "/lost.mat"
        assert len(server.requests) == 3
    assert sorted(os.listdir(home)) == ["glass.data", "lost.mat"]
    out, _ = run.succeeds("data", "check", "lost", "glass", "--data-home", home)
    assert "ok: 1122 rows, 108 features, 16 labels, 2.23 candidates per row" in out
    assert re.search(r"^lost .* yes +$", run("data", "list", "--data-home", home)[1], re.MULTILINE)


@pytest.mark.slow
def test_a_terminal_shows_the_download(terminal, source, tmp_path, monkeypatch):
    with serve(source) as server:
        monkeypatch.setenv("AMBILEARN_MIRROR", server.url)
        status, screen = terminal("data", "fetch", "lost", "--data-home", tmp_path / "home")
    assert status == 0
    assert "downloading lost" in screen
