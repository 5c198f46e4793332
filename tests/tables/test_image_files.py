"""Files that a column of images names."""

from pathlib import Path

import pandas as pd
import pytest

from ambilearn.datasets.errors import InvalidFileError
from ambilearn.tables import fit_table, read_candidate_table
from ambilearn.tables.columns import Column
from ambilearn.tables.image_files import (
    ImageColumn,
    find_image_column,
    find_image_files,
)
from ambilearn.tables.methods import choose_default


@pytest.fixture
def folder(tmp_path):
    inside = tmp_path / "inside"
    (inside / "pics").mkdir(parents=True)
    (inside / "pics" / "a.png").write_bytes(b"")
    (tmp_path / "secret.png").write_bytes(b"")
    (inside / "link.png").symlink_to(tmp_path / "secret.png")
    return inside


def test_files_in_the_folder_are_found(folder):
    path = str(folder / "pics" / "a.png")
    cells = ["pics/a.png", " pics/../pics/a.png ", path, (folder / "pics" / "a.png").as_uri()]
    assert find_image_files("t, column 'p'", cells, [folder]) == [path] * 4


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("", r"t, column 'p', row 1: the cell is empty"),
        (None, "row 1: the cell is empty"),
        (float("nan"), "row 1: the cell is empty"),
        ("pics/b.png", r"row 1: the image 'pics/b\.png' is not found\. Paths are relative to"),
        ("pics", "row 1: the image 'pics' is not found"),
        ("a\0b.png", "row 1: .* is not found"),
        ("../secret.png", r"row 1: .* is outside the allowed folders\. .*--image-folder"),
        ("link.png", "row 1: .* is outside the allowed folders"),
        ("/etc/passwd", "row 1: .* is outside the allowed folders"),
        ("https://example.org/a.png", r"row 1: .* is not a file\. Download the images"),
        ("data:image/png;base64,AAAA", "row 1: .* is not a file"),
    ],
)
def test_other_cells_are_rejected_with_their_row(folder, cell, message):
    with pytest.raises(InvalidFileError, match=message):
        find_image_files("t, column 'p'", ["pics/a.png", cell], [folder])


def test_paths_are_absolute_if_the_folders_are_not(folder, monkeypatch):
    path = str(folder / "pics" / "a.png")
    for start, name in [(folder, "."), (folder.parent, "inside"), (folder / "pics", "..")]:
        monkeypatch.chdir(start)
        assert find_image_files("t", ["pics/a.png"], [Path(name)]) == [path]


def test_a_further_folder_is_allowed(folder):
    assert find_image_files("t", ["secret.png"], [folder, folder.parent]) == [
        str(folder.parent / "secret.png")
    ]


def test_the_column_passes_the_files_on():
    frame = pd.DataFrame({"photo": ["a.png", "b.png"]})
    column = ImageColumn().fit(frame)
    assert column.feature_names_in_.tolist() == ["photo"]
    assert column.transform(frame).tolist() == [["a.png"], ["b.png"]]


@pytest.fixture
def table(folder):
    path = folder / "t.csv"
    path.write_text("photo,age,names\npics/a.png,3,x|y\npics/a.png,4,y\npics/a.png,5,x\n")
    return path


def test_images_are_the_only_feature(table, folder):
    read = read_candidate_table(table, candidates="names", image="photo")
    assert read.features.columns == (Column("photo", "image"),)
    assert list(read.features.left_out) == ["age"]
    assert read.X["photo"].to_list() == [str(folder / "pics" / "a.png")] * 3
    assert choose_default(read) == ("deepplcl", "for images")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"image": "foto"}, "has no column 'foto'. Did you mean 'photo'"),
        ({"image": "names"}, "Column 'names' cannot hold the images"),
        ({"image": "photo", "exclude": ["photo"]}, "Column 'photo' cannot hold the images"),
        ({"image": "photo", "features": ["age"]}, "cannot be combined with image"),
        ({"image": "photo", "categorical": ["age"]}, "cannot be combined with image"),
    ],
)
def test_options_that_contradict_each_other(table, options, message):
    with pytest.raises(ValueError, match=message):
        read_candidate_table(table, candidates="names", **options)


def test_a_method_that_cannot_learn_from_images_is_rejected(table):
    read = read_candidate_table(table, candidates="names", image="photo")
    with pytest.raises(ValueError, match="PLCL cannot learn from the images in column 'photo'"):
        fit_table(read, "plcl")


def test_image_column_is_the_first_with_mostly_images():
    columns = {
        "id": ["1", "2", "3"],
        "some": ["a.png", "note", "other"],
        "photo": ["a.png", "", "b.jpg"],
        "second": ["c.png", "d.png", "e.png"],
    }
    assert find_image_column(columns) == "photo"
    assert find_image_column({"id": ["1"], "empty": ["", " "]}) is None
