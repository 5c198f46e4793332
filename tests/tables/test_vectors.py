import numpy as np
import pandas as pd
import pytest
from sentences import make_vectors

from ambilearn.datasets import InvalidFileError
from ambilearn.datasets.frames import read_frame
from ambilearn.tables import fit_table, load_model, read_candidate_table, save_model, write_table
from ambilearn.tables.columns import Column
from ambilearn.tables.vectors import find_kind_of_lists, parse_vectors

OPTIONS = {"candidates": "sets", "exclude": ["truth"]}


@pytest.mark.parametrize(
    "cells",
    [
        [[0.5, 1], [2, 3]],
        [(0.5, 1.0), (2.0, 3.0)],
        [np.array([0.5, 1]), np.array([2, 3], dtype=np.float32)],
        ["[0.5, 1]", " [2, 3.0]"],
        ["[0.5 1. ]", " [ 2.e+00\n  3.0]"],  # as NumPy prints an array
    ],
)
def test_every_form_of_a_list(cells):
    assert find_kind_of_lists("t, column 'v'", cells) == ("vector", 2)
    np.testing.assert_array_equal(parse_vectors("t", cells, 2), [[0.5, 1], [2, 3]])


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, [], (), np.array([]), "", " "])
def test_missing_cells_and_numbers(missing):
    cells = [missing, [1.0, None], [np.nan, 2]]
    assert find_kind_of_lists("t", cells) == ("vector", 2)
    nan = np.nan
    np.testing.assert_array_equal(
        parse_vectors("t", cells, 2), [[nan, nan], [1.0, nan], [nan, 2.0]]
    )


@pytest.mark.parametrize(
    "cells",
    [
        [],
        [None, ""],
        ["a", "b"],
        [1.0, 2.0],
        [["a", "b"]],
        [[True, False]],
        [[[1.0], [2.0]]],
        ["[1, 2]", "[sic] he wrote"],  # text that happens to begin like a list
        ["[0.1 0.2]", "[see 0.2]"],
        ["[0.1 1_0]"],
        ["[...] he wrote", "[...]"],
        ["[1 ... he wrote]"],
        ["[" * 5000],
        [{"a": 1}],
    ],
)
def test_what_is_no_vector(cells):
    assert find_kind_of_lists("t", cells) is None


def test_arrays_that_numpy_shortened_are_rejected():
    with pytest.raises(InvalidFileError, match=r"t, row 1: .*shortened with '\.\.\.'"):
        find_kind_of_lists("t", ["", "[1. 2. ... 5. 6.]"])


def test_another_length_is_named_with_its_row():
    cells = [[1.0] * 512, None, [1.0] * 300]
    with pytest.raises(InvalidFileError) as caught:
        find_kind_of_lists("t.parquet, column 'v'", cells)
    assert str(caught.value) == (
        "t.parquet, column 'v', row 2: a list of 300 numbers, where 512 are expected. All lists of "
        "a column must be of one length: correct the cell, leave it empty, or exclude the column."
    )


def test_a_vector_equals_its_numbers_in_separate_columns():
    frame = make_vectors()
    table = read_candidate_table(frame, **OPTIONS)
    (column,) = table.features.columns
    assert column == Column("embedding", "vector", 6)
    wide = pd.DataFrame(np.stack(frame["embedding"]), columns=[f"x{j}" for j in range(6)])
    other = read_candidate_table(wide.assign(sets=frame["sets"]), candidates="sets")
    np.testing.assert_array_equal(table.X.to_numpy(), other.X.to_numpy())
    assert table.X.columns.to_list() == [f"embedding[{j}]" for j in range(6)]
    np.testing.assert_array_equal(
        fit_table(table).choices(frame).scores, fit_table(other).choices(wide).scores
    )


@pytest.mark.parametrize("format", ["parquet", "jsonl", "csv"])
def test_files_and_models(tmp_path, format):
    frame = make_vectors()
    path = tmp_path / f"t.{format}"
    write_table(frame.assign(embedding=frame["embedding"].map(list)), path)
    table = read_candidate_table(path, **OPTIONS)
    assert table.features.columns[0].kind == "vector"
    fitted = fit_table(table, "plknn", {"n_neighbors": 5})
    save_model(fitted, tmp_path / "m.model")
    loaded = load_model(tmp_path / "m.model")
    assert loaded.columns == fitted.columns
    choices = loaded.choices(read_frame(path))
    np.testing.assert_array_equal(choices.scores, fitted.choices(frame).scores)
    assert (choices.labels == frame["truth"]).mean() > 0.9


def test_a_long_list_of_numbers_of_similar_size_is_an_embedding():
    frame = make_vectors()
    generator = np.random.default_rng(0)
    long = generator.normal(size=(40, 16)) * np.geomspace(1, 10, 16)
    uneven = long * np.where(np.arange(16) == 3, 1000, 1)
    kinds, options = {}, OPTIONS | {"exclude": ["embedding", "truth"]}
    for name, matrix in (("long", long), ("uneven", uneven), ("short", long[:, :15])):
        table = read_candidate_table(frame.assign(v=[*matrix]), **options)
        (column,) = table.features.columns
        kinds[name] = column.kind
    assert kinds == {"long": "embedding", "uneven": "vector", "short": "vector"}
