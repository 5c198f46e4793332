"""Candidate sets as a first-class citizen: rows like an array's, weights, and scikit-learn's y."""

import pickle
import re
from dataclasses import replace
from inspect import signature

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.model_selection import (
    GridSearchCV,
    ShuffleSplit,
    cross_val_predict,
    cross_val_score,
    train_test_split,
)
from sklearn.utils.multiclass import type_of_target

from ambilearn import PLKNN
from ambilearn.backend import HOST
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.datasets import make_candidates

ROWS = [{"cat", "dog"}, {"dog"}, {"cat", "emu"}, {"emu"}]
WEIGHTED = [{"cat": 3, "dog": 1}, {"dog": 2}, {"cat": 0.5, "emu": 0.25}, {"emu"}]


@pytest.fixture
def sets():
    return as_candidates(ROWS)


@pytest.fixture
def weighted():
    return as_candidates(WEIGHTED)


def test_it_has_a_length_a_shape_and_a_short_repr(sets, weighted):
    assert len(sets) == 4
    assert sets.shape == (4, 3)
    assert repr(sets) == "<CandidateSets: 4 rows, 3 labels, 1.5 candidates per row>"
    assert repr(weighted) == "<CandidateSets: 4 rows, 3 labels, 1.5 candidates per row, weighted>"
    assert repr(sets[:1]) == "<CandidateSets: 1 row, 3 labels, 2 candidates per row>"


def test_one_row_is_a_set_and_with_weights_a_dictionary(sets, weighted):
    assert sets[0] == {"cat", "dog"}
    assert sets[-1] == sets[np.int64(3)] == {"emu"}
    assert weighted[0] == {"cat": 3.0, "dog": 1.0}
    assert weighted[3] == {"emu": 1.0}
    for outside in (4, -5):
        with pytest.raises(IndexError):
            sets[outside]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (slice(1, 3), [1, 2]),
        (slice(None, None, -2), [3, 1]),
        ([2, 0, 2], [2, 0, 2]),
        (np.array([True, False, False, True]), [0, 3]),
        ((np.array([3, 1]), ...), [3, 1]),
        (slice(2, 2), []),
    ],
)
def test_rows_are_indexed_like_an_array(sets, weighted, rows, expected):
    assert list(sets[rows]) == [ROWS[i] for i in expected]
    assert list(weighted[rows]) == [weighted[i] for i in expected]
    assert sets[rows].classes.tolist() == ["cat", "dog", "emu"]


def test_odd_indices(sets):
    assert sets[np.array(2)] == sets[2]
    assert len(sets[[]]) == 0
    for odd in ("a", None, 1.5, [[0, 1]], [0.5]):
        with pytest.raises(IndexError, match="row numbers, a slice or a boolean mask"):
            sets[odd]


def test_covers_needs_one_label_per_row(sets):
    with pytest.raises(ValueError, match="4 rows but labels of shape"):
        sets.covers(["cat"])


def test_the_public_names_are_few(sets):
    assert len([name for name in dir(sets) if not name.startswith("_")]) == 12


def test_columns_cannot_be_indexed(sets):
    for index in ((0, 1), (slice(None), 0, 0)):
        with pytest.raises(IndexError, match="by row only"):
            sets[index]


def test_iteration_round_trips(sets, weighted):
    assert list(sets) == sets.to_sets() == ROWS
    assert as_candidates(list(sets)).to_sets() == ROWS
    assert list(as_candidates(list(weighted))) == list(weighted)


def test_the_array_is_the_mask_or_the_table_of_weights(sets, weighted):
    assert np.asarray(sets).dtype == bool
    np.testing.assert_array_equal(np.asarray(sets), sets.to_mask())
    np.testing.assert_array_equal(np.asarray(sets, dtype=int)[0], [1, 1, 0])
    table = [[3, 1, 0], [0, 2, 0], [0.5, 0, 0.25], [0, 0, 1]]
    np.testing.assert_array_equal(np.asarray(weighted), table)
    with pytest.raises(ValueError, match="converted to an array by a copy"):
        sets.__array__(copy=False)


def test_it_is_the_y_of_splits_searches_and_scores():
    X, truth = load_iris(return_X_y=True)
    sets, _ = make_candidates(truth, random_state=0)
    X_train, X_test, train, test, _, true = train_test_split(X, sets, truth, random_state=0)
    assert isinstance(train, CandidateSets)
    assert (len(train), len(test)) == (len(X_train), len(X_test))
    assert all(label in row for label, row in zip(true.tolist(), test, strict=True))
    cv = ShuffleSplit(2, random_state=0)
    scores = cross_val_score(PLKNN(), X, sets, cv=cv)
    np.testing.assert_array_equal(scores, cross_val_score(PLKNN(), X, sets.to_mask(), cv=cv))
    assert len(cross_val_score(PLKNN(), X, sets)) == 5  # scikit-learn's own folds
    search = GridSearchCV(PLKNN(), {"n_neighbors": [1, 5]}, cv=cv).fit(X, sets)
    assert search.predict(X).shape == truth.shape
    assert cross_val_predict(PLKNN(), X, sets, cv=3).shape == truth.shape


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_method_learns_from_unpickled_sets(protocol):
    """Large arrays of an older protocol share the memory of the pickle."""
    X, y = load_iris(return_X_y=True)
    X, sets = np.tile(X, (4, 1)), as_candidates([{label, 0} for label in np.tile(y, 4).tolist()])
    unpickled = pickle.loads(pickle.dumps(sets, protocol))
    assert list(unpickled) == list(sets)
    expected = PLKNN().fit(X, sets).label_distributions_
    np.testing.assert_array_equal(PLKNN().fit(X, unpickled).label_distributions_, expected)


def test_scikit_learn_treats_it_as_multilabel(sets, weighted):
    # So that it splits by KFold: there are no classes to stratify by.
    assert type_of_target(sets) == "multilabel-indicator"
    assert type_of_target(weighted) == "continuous-multioutput"


FORMS = {
    "dictionaries": WEIGHTED,
    "table": np.array([[3, 1, 0], [0, 2, 0], [0.5, 0, 0.25], [0, 0, 1]]),
    "sparse table": sparse.csr_array([[3, 1, 0], [0, 2, 0], [0.5, 0, 0.25], [0, 0, 1]]),
    "with zeros": [{"cat": 3, "dog": 1, "emu": 0}, "dog", {"cat": 0.5, "emu": 0.25}, ["emu"]],
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_weights_is_the_same(form):
    sets = as_candidates(FORMS[form], classes=["cat", "dog", "emu"])
    assert sets.to_sets() == ROWS
    pairs = HOST.support(sets)
    shares = pairs.scatter(pairs.prior())
    np.testing.assert_allclose(
        shares, [[0.75, 0.25, 0], [0, 1, 0], [2 / 3, 0, 1 / 3], [0, 0, 1]], rtol=1e-15
    )


def test_a_data_frame_of_weights_names_its_labels():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"dog": [0.3, 1.0], "cat": [0.7, 0.0]})
    sets = as_candidates(frame, classes=["cat", "dog"])
    assert list(sets) == [{"cat": 0.7, "dog": 0.3}, {"dog": 1.0}]


def test_the_parameters_are_documented_in_their_order():
    parameters = CandidateSets.__doc__.partition("See Also")[0]
    described = re.findall(r"^    (\w+) : ", parameters, re.MULTILINE)
    assert described == list(signature(CandidateSets).parameters)


def test_weights_of_rows_are_taken_with_the_rows(sets):
    weights = np.arange(1.0, len(sets) + 1)
    weighted = replace(sets, row_weights=weights)
    assert weighted[1:].row_weights.tolist() == weights[1:].tolist()
    assert weighted[[1, 0, 1]].row_weights.tolist() == [2, 1, 2]
    _, held_out = train_test_split(weighted, test_size=1, shuffle=False)
    assert held_out.row_weights.tolist() == weights[-1:].tolist()


def test_labels_of_several_types_are_covered():
    sets = as_candidates([{1}, {"x"}], classes=[1, "x"])
    assert sets.covers([1, "x"]).tolist() == [True, True]


VALID = {"classes": np.array(["a", "b", "c"]), "indptr": [0, 2, 3], "labels": [0, 2, 1]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indptr": [0, 3, 3]}, "set of row 1 is empty"),
        ({"indptr": [0, 0, 3]}, "set of row 0 is empty"),
        ({"indptr": [0, 2]}, "end with the number of pairs, 3"),
        ({"indptr": [1, 2, 3]}, "begin with 0"),
        ({"indptr": []}, "begin with 0"),
        ({"indptr": [0, 4, 3]}, "indptr must be between 0 and 3"),
        ({"indptr": [0.0, 2.0, 3.0]}, "indptr must be a one-dimensional array of integers"),
        ({"labels": [0, 3, 1]}, "labels must be between 0 and 2"),
        ({"labels": [0, -1, 1]}, "labels must be between 0 and 2"),
        ({"labels": [2, 0, 1]}, "labels of row 0 are not ascending"),
        ({"labels": [1, 1, 1]}, "labels of row 0 are not ascending, or one occurs twice"),
        ({"indptr": [0, 1, 3], "labels": [0, 2, 1]}, "labels of row 1 are not ascending"),
        ({"classes": np.array(["a", "b", "a"])}, "'a' is listed more than once"),
        ({"classes": [1.0, 2.0, None]}, "contain a missing value"),
        ({"weights": [1.0, 2.0]}, r"weights has the shape \(2,\) instead of \(3,\)"),
        ({"weights": [1.0, -2.0, 3.0]}, "weights must be finite and positive, but entry 1 is -2"),
        ({"weights": [1.0, 0.0, 3.0]}, "entry 1 is 0"),
        ({"weights": [1.0, 2.0, np.inf]}, "entry 2 is inf"),
        ({"row_weights": [1.0]}, r"row_weights has the shape \(1,\) instead of \(2,\)"),
        ({"row_weights": [0.0, -1.0]}, "must be finite and not negative, but entry 1 is -1"),
        ({"row_weights": [np.nan, 1.0]}, "entry 0 is nan"),
    ],
    ids=repr,
)
def test_invalid_arrays_are_rejected(change, message):
    sets = CandidateSets(**VALID, weights=[3, 1, 1], row_weights=[0, 2])
    assert list(sets) == [{"a": 3.0, "c": 1.0}, {"b": 1.0}]
    with pytest.raises(ValueError, match=message):
        CandidateSets(**(VALID | change))


def test_the_classes_are_a_copy():
    classes = VALID["classes"].copy()
    sets = CandidateSets(**(VALID | {"classes": classes}))
    classes[0] = "z"
    assert sets.classes[0] == "a"
