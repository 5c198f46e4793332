"""The registry, and downloads over real HTTP on the loopback interface."""

import os
import re
import shutil
import sys
from dataclasses import replace

import pytest
from loopback import serve

from ambilearn.datasets import (
    ChecksumError,
    DataNotFoundError,
    DatasetError,
    NetworkError,
    UnknownDatasetError,
)
from ambilearn.datasets.registry import checksum, fetch_file, find_dataset, find_file, registry

# Rows, features, labels, mean candidates: the two characteristics tables of the paper.
PAPER = {
    "fg-net": (1002, 262, 78, 7.48),
    "lost": (1122, 108, 16, 2.23),
    "msrcv2": (1758, 48, 23, 3.16),
    "mirflickr": (2780, 1536, 14, 2.76),
    "soccer-player": (17472, 279, 171, 2.09),
    "yahoo-news": (22991, 163, 219, 1.91),
    "ecoli": (336, 7, 8, None),
    "glass": (214, 9, 6, None),
    "vehicle": (846, 18, 4, None),
    "steel": (1941, 27, 7, None),
}


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_tables(name):
    info = registry()[name]
    assert (info.rows, info.features, info.labels, info.mean_candidates) == PAPER[name]


def test_all_data_sets_of_the_paper_and_three_without_download():
    assert set(registry()) == {*PAPER, "iris", "wine", "digits"}
    assert {n for n, info in registry().items() if not info.file} == {"iris", "wine", "digits"}


@pytest.mark.parametrize("name", PAPER)
def test_sources_are_pinned_and_checksummed(name):
    info = registry()[name]
    assert re.fullmatch(
        r"https://raw\.githubusercontent\.com/[\w./-]+/[0-9a-f]{40}/[\w/.%-]+", info.source
    )
    assert re.fullmatch(r"sha256:[0-9a-f]{64}|gitblob:[0-9a-f]{40}", info.checksum)
    assert info.license
    assert info.description
    assert info.reference


def test_a_mirror_does_not_change_the_recorded_source(monkeypatch):
    info = registry()["soccer-player"]
    monkeypatch.setenv("AMBILEARN_MIRROR", "https://mirror.example/pll/")
    assert info.download_url == "https://mirror.example/pll/Soccer%20Player.mat"
    assert info.source.startswith("https://raw.githubusercontent.com/")


@pytest.mark.parametrize("name", ["yahoo-news", "Yahoo!News", "Yahoo! News", " yahoo_news "])
def test_names_as_people_write_them(name):
    assert find_dataset(name).name == "yahoo-news"


def test_an_unknown_name_gets_a_suggestion_and_the_list():
    with pytest.raises(UnknownDatasetError, match=r"'lots'.*Did you mean 'lost'\?.*fg-net"):
        find_dataset("lots")
    assert issubclass(UnknownDatasetError, DatasetError)
    assert issubclass(UnknownDatasetError, ValueError)


def test_column_layout_agrees_with_the_sizes():
    for info in registry().values():
        if info.feature_names is not None:
            assert len(set(info.feature_names)) == info.features
        if info.class_names is not None:
            assert len(set(info.class_names)) == info.labels


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


def at(info, server):
    """The entry, with its source at a server."""
    return replace(info, folder_url=server.url + "/")


def left_in(folder):
    return sorted(os.listdir(folder)) if folder.exists() else []


def test_a_missing_file_is_downloaded_once(shop, home):
    folder, info = shop
    with serve(folder) as server:
        path = fetch_file(at(info, server), home)
        assert fetch_file(at(info, server), home) == path == home / info.file
        assert server.requests == ["/tiny%20set.mat"]
    assert path.read_bytes() == (folder / info.file).read_bytes()
    assert left_in(home) == [info.file]


def test_downloads_go_to_the_user_cache_by_default(shop, private_machine, monkeypatch):
    folder, info = shop
    with serve(folder) as server:
        assert fetch_file(at(info, server)) == private_machine / info.file
        monkeypatch.setenv("AMBILEARN_DATA", str(folder.parent / "mine"))
        path = fetch_file(at(info, server), force=True)
        assert path == folder.parent / "mine" / info.file


@pytest.mark.parametrize("package", ["pooch", "requests"])
def test_without_the_extra_only_local_files_are_found(shop, monkeypatch, package):
    folder, info = shop
    monkeypatch.setitem(sys.modules, package, None)
    assert fetch_file(info, folder) == folder / info.file
    message = rf"Downloading tiny set\.mat needs {package}: pip install 'ambilearn\[data\]'$"
    with pytest.raises(ImportError, match=message):
        fetch_file(info)


def test_without_search_folders_the_error_names_the_settings(shop, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(
        DataNotFoundError, match=r"searched: no folder, .* AMBILEARN_DATA are not set"
    ):
        fetch_file(shop[1], download=False)


def test_a_mirror_is_used_when_set(shop, home, monkeypatch):
    folder, info = shop
    with serve(folder) as server:
        monkeypatch.setenv("AMBILEARN_MIRROR", server.url)
        assert fetch_file(info, home).is_file()  # its own source does not answer


def test_each_folder_of_the_search_order_is_found(shop, tmp_path, private_machine, monkeypatch):
    folder, info = shop
    second = tmp_path / "second"
    for place in (second, private_machine):
        place.mkdir(parents=True)
        shutil.copy(folder / info.file, place)
    assert find_file(info) == private_machine / info.file
    monkeypatch.setenv("AMBILEARN_DATA", str(second))
    assert find_file(info) == second / info.file
    assert find_file(info, folder) == folder / info.file
    assert find_file(info, tmp_path / "elsewhere") == second / info.file


@pytest.mark.parametrize("scheme", ["sha256", "gitblob"])
def test_both_checksum_schemes_are_verified_after_a_download(shop, home, scheme):
    folder, info = shop
    info = replace(info, checksum=checksum(folder / info.file, scheme), size=None)
    with serve(folder) as server:
        assert fetch_file(at(info, server), home).is_file()
    with serve(folder, "flip") as server, pytest.raises(ChecksumError, match=scheme):
        fetch_file(at(info, server), home, force=True)


def test_missing_file_without_download(shop, home):
    _, info = shop
    with pytest.raises(DataNotFoundError) as caught:
        fetch_file(info, home, download=False)
    for part in (info.file, str(home), "ambilearn data fetch tiny", info.source):
        assert part in str(caught.value)
    assert isinstance(caught.value, FileNotFoundError)


FAULTS = {  # of a server: the error, and its message
    "404": (DataNotFoundError, r"status 404.*MIRROR"),
    "503": (NetworkError, "status 503"),
    "cut": (NetworkError, r"IncompleteRead\([1-9]\d* bytes read.*try again"),
    "half": (ChecksumError, r"Nothing was kept"),
    "flip": (ChecksumError, "checksum sha256:"),
    "stall": (NetworkError, "Read timed out"),
    "pause": (NetworkError, "Read timed out"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_a_server_are_explained_and_leave_nothing(shop, home, fault):
    folder, info = shop
    error, message = FAULTS[fault]
    with serve(folder, fault) as server:
        with pytest.raises(error, match=message) as caught:
            fetch_file(at(info, server), home, timeout=0.2 if fault in ("stall", "pause") else 30)
        assert not server.release.is_set()
    if fault == "half":
        assert f"{info.size // 2} bytes instead of {info.size}" in str(caught.value)
    assert left_in(home) == []


def test_no_network(shop, home):
    _, info = shop
    with pytest.raises(NetworkError) as caught:  # the source does not answer
        fetch_file(info, home)
    assert "refused" in str(caught.value)
    assert str(home) in str(caught.value)
    assert isinstance(caught.value, ConnectionError)
    assert left_in(home) == []


def test_flipped_bit_on_disk_is_found_and_force_repairs_it(shop, home):
    folder, info = shop
    with serve(folder) as server:
        path = fetch_file(at(info, server), home)
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        with pytest.raises(ChecksumError, match=f"fetch --force --data-home {home} tiny`"):
            fetch_file(at(info, server), home)
        assert path.read_bytes() == content  # the user's file is not changed without --force
        fetch_file(at(info, server), home, force=True)
    assert checksum(path) == info.checksum


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
