import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ambilearn.bridges.score_table import (
    are_probabilities,
    check_probabilities,
    score_table,
    sets_of_mask,
)

TABLE = [[0.2, 0.8], [0.5, 0.5]]


def test_a_list_becomes_an_array_and_labels_are_counted():
    table, classes = score_table(TABLE, None)
    assert table.dtype == np.float64
    assert table.tolist() == TABLE
    assert classes == [0, 1]


@pytest.mark.parametrize("classes", [["no", "yes"], np.array(["no", "yes"])])
def test_given_classes_name_the_columns(classes):
    assert score_table(TABLE, classes)[1] == ["no", "yes"]
    assert score_table(pd.DataFrame(TABLE), classes)[1] == ["no", "yes"]


def test_column_names_of_a_frame_are_the_classes():
    frame = pd.DataFrame(TABLE, columns=["no", "yes"])
    assert score_table(frame, None)[1] == ["no", "yes"]
    assert score_table(pa.Table.from_pandas(frame), None)[1] == ["no", "yes"]
    with pytest.raises(ValueError, match="remove classes, or reorder the columns"):
        score_table(frame, ["yes", "no"])


def test_messages_use_the_argument_name():
    with pytest.raises(ValueError, match=r"^probabilities contains NaN in row 0, column 1"):
        score_table([[0.1, np.nan]], None, "probabilities")
    with pytest.raises(ValueError, match=r"^probabilities has 2 columns but there are 3 classes"):
        score_table(TABLE, [1, 2, 3], "probabilities")


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_rounded_probabilities_are_probabilities(dtype):
    rows = np.random.default_rng(0).dirichlet(np.ones(5), size=50).astype(dtype)
    check_probabilities(rows.astype(float), "rows")
    assert are_probabilities(rows.astype(float))


@pytest.mark.parametrize("row", [[1.2, -0.2], [0.4, 0.4], [3.0, 1.0], [np.inf, 0.0]])
def test_the_error_names_the_row(row):
    with pytest.raises(ValueError, match=r"Row 1 of rows is not a probability .*predict_proba"):
        check_probabilities(np.array([[0.5, 0.5], row]), "rows")
    assert not are_probabilities(np.array([[0.5, 0.5], row]))


@pytest.mark.parametrize("dtype", [bool, int, float])
def test_masks_become_sets_also_of_a_single_label(dtype):
    sets = sets_of_mask(np.array([[1, 0], [1, 1]], dtype=dtype), ["no", "yes"])
    assert sets.to_sets() == [{"no"}, {"no", "yes"}]
    assert not sets.sparse_mask
    single = sets_of_mask(np.ones((3, 1), dtype=dtype), ["only"])
    assert single.to_sets() == [{"only"}] * 3


def test_invalid_sets_are_rejected():
    with pytest.raises(ValueError, match="row 1 is empty"):
        sets_of_mask(np.array([[1, 0], [0, 0]]), ["no", "yes"])
    with pytest.raises(ValueError, match="listed more than once"):
        sets_of_mask(np.ones((1, 2)), ["no", "no"])
