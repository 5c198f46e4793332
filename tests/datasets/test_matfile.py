import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from ambilearn.datasets import InvalidFileError, read_mat


@pytest.fixture
def small():
    """Seven rows, three features, four labels, of which the last never occurs."""
    y = np.array([0, 1, 2, 0, 1, 2, 0])
    mask = np.zeros((7, 4), dtype=int)
    mask[np.arange(7), y] = 1
    mask[[0, 2, 5], [1, 0, 1]] = 1
    return {
        "data": np.arange(21.0).reshape(7, 3),
        "partial_target": mask.T,
        "target": np.eye(4, dtype=int)[y].T,
    }


@pytest.fixture
def write(tmp_path):
    def write(content, **options):
        savemat(tmp_path / "small.mat", content, **options)
        return tmp_path / "small.mat"

    return write


FORMS = {"dense": np.asarray, "sparse": sparse.csc_array, "bool": lambda m: np.asarray(m) > 0}


@pytest.mark.parametrize("turn_data", [False, True])
@pytest.mark.parametrize("turn_labels", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("compressed", [False, True])
def test_every_orientation_and_form(small, write, turn_data, turn_labels, form, compressed):
    turned = {
        key: m.T if (turn_data if key == "data" else turn_labels) else m for key, m in small.items()
    }
    for key in ("partial_target", "target"):
        turned[key] = FORMS[form](turned[key].astype(float))
    data = read_mat(write(turned, do_compression=compressed))
    np.testing.assert_array_equal(data.X, small["data"])
    assert data.X.dtype == np.float64
    assert data.X.flags.c_contiguous
    np.testing.assert_array_equal(data.candidates.to_mask(), small["partial_target"].T)
    np.testing.assert_array_equal(data.y, [0, 1, 2, 0, 1, 2, 0])
    np.testing.assert_array_equal(data.classes, [0, 1, 2, 3])  # also the one that never occurs
    np.testing.assert_array_equal(data.candidates.classes, data.classes)
    assert data.name == "small"


def test_the_orientation_is_found_if_sizes_are_ambiguous(write):
    """As many labels as rows: only the content tells rows from columns."""
    target = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]])  # labels × rows
    X = np.arange(8.0).reshape(4, 2)
    for matrix in (target, target.T):
        data = read_mat(write({"data": X, "target": matrix, "partial_target": matrix}))
        np.testing.assert_array_equal(data.y, [0, 0, 1, 1])


def test_the_usual_orientation_wins_if_both_are_possible(write):
    target = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    data = read_mat(write({"data": np.ones((3, 2)), "target": target}))
    np.testing.assert_array_equal(data.y, target.argmax(axis=0))


def test_without_candidates(small, write):
    del small["partial_target"]
    data = read_mat(write(small), name="called")
    assert data.candidates is None
    assert data.name == "called"
    np.testing.assert_array_equal(data.y, [0, 1, 2, 0, 1, 2, 0])


def test_without_true_labels(small, write):
    del small["target"]
    data = read_mat(write(small))
    assert data.y is None
    assert len(data.candidates) == 7


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("partial_target", np.s_[:, 4], [1, 0, 0, 0], r"true label 1 of row 4 is not among"),
        ("target", np.s_[3, 2], 1, r"more than one true label in row 2"),
        ("target", np.s_[:, 6], 0, r"target: .*row 6"),
        ("partial_target", np.s_[:, 3], 0, r"partial_target: .*row 3 is empty"),
        ("partial_target", np.s_[0, 1], 2, r"partial_target is not 0/1: row 1"),
        ("data", np.s_[5, 2], np.nan, r"value nan in row 5, column 2"),
        ("data", np.s_[5, 2], np.inf, r"value inf in row 5, column 2"),
    ],
)
def test_invalid_numbers_are_named_with_their_row(small, write, name, place, value, message):
    small[name][place] = value
    with pytest.raises(InvalidFileError, match=message):
        read_mat(write(small))


def test_sizes_that_do_not_agree(small, write):
    with pytest.raises(InvalidFileError, match=r"\(5, 3\).*\(4, 7\)"):
        read_mat(write(small | {"data": np.ones((5, 3))}))
    with pytest.raises(InvalidFileError, match="differ in size"):
        read_mat(write(small | {"target": small["target"][:3]}))


@pytest.mark.parametrize("missing", ["data", "both labels"])
def test_variables_that_are_missing(small, write, missing):
    for key in ["data"] if missing == "data" else ["partial_target", "target"]:
        del small[key]
    with pytest.raises(InvalidFileError, match="must have the variables `data` and"):
        read_mat(write(small))
