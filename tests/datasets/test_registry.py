import re

import pytest

from ambilearn.datasets import DatasetError, UnknownDatasetError
from ambilearn.datasets.registry import find_dataset, registry

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
