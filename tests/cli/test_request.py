"""What a command learns from: options that are checked, images, and the method."""

from pathlib import Path

import pytest

from ambilearn import registry
from ambilearn.cli.request import Request
from ambilearn.tables.description import FileFormat, TableDescription

FORMAT = {"encoding": "cp1252", "delimiter": ";", "decimal": ",", "sheet": "2", "format": "tsv"}
ROLES = {"sep": "/", "truth": "t", "min_votes": 2, "missing": "skip", "na_is_label": True}
IMAGES = ["--candidates", "names", "--image", "photo"]


@pytest.fixture
def photos():
    """A table in which a column names images."""
    rows = "".join(f"{i}.jpg,{i % 4},{'a|b' if i % 3 else 'b'}\n" for i in range(30))
    Path("photos.csv").write_text(f"photo,size,names\n{rows}")
    return "photos.csv"


def test_the_description_of_the_table_has_the_options():
    """What they do is tested with the tables and their readers."""
    form = {"candidates": ("names",), "given_label": None}
    form |= dict.fromkeys(["item", "annotator", "answer", "features_from"])
    found = Request.from_options("t.csv", form | FORMAT | ROLES | {"seed": 3, "tune": True})
    assert found.table == TableDescription(
        source="t.csv", candidates=("names",), file=FileFormat(**FORMAT), **ROLES
    )
    assert (found.seed, found.tune) == (3, True)


def test_images_are_no_feature_of_other_methods(run, photos):
    _, err = run.succeeds("clean", photos, *IMAGES, "--method", "plknn", "--out", "o.csv")
    assert "1 feature: number: size" in err


@pytest.mark.parametrize(
    ("command", "out"), [("clean", "o.csv"), ("fit", "o"), ("review", "o.html")]
)
def test_the_column_of_images_must_exist(run, photos, command, out):
    options = [*IMAGES[:3], "foto", "--method", "plknn", "--out", out]
    err = run.fails(command, photos, *options)
    assert "photos.csv has no column 'foto'. Did you mean 'photo'?" in err


def test_without_other_columns_the_message_names_the_method_for_images(run):
    Path("photos.csv").write_text("photo,names\na.jpg,x|y\nb.jpg,y\nc.jpg,x\n")
    err = run.fails("fit", "photos.csv", *IMAGES, "--out", "m.model")
    assert "because 'photo' holds images." in " ".join(err.split())
    assert "--method deepplcl" in " ".join(err.split())


def test_a_network_learns_from_the_images_alone(run, photos):
    options = [*IMAGES, "--method", "deepplcl", "--features", "size", "--out", "m.model"]
    err = run.fails("fit", photos, *options, status=2)
    assert "--features, --categorical and --embed cannot be combined with --image" in " ".join(
        err.split()
    )


def test_a_method_whose_extra_is_missing_says_what_to_install(run, photos, monkeypatch):
    monkeypatch.setattr(registry, "_is_installed", lambda package: False)
    err = run.fails("fit", photos, *IMAGES, "--method", "deepplcl", "--out", "m.model")
    assert "Error: DeepPLCL needs torch: pip install 'ambilearn[deep]'" in err
    assert "rows" not in err
