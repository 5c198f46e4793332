from dataclasses import replace

import array_api_strict as strict
import numpy as np
import pandas as pd
import pytest
from problems import CandidateCounts, ambiguous
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ambilearn import (
    IPAL,
    LALO,
    PLAGGD,
    PLCL,
    PLCP,
    PLDA,
    PLKNN,
    SURE,
    PLStacking,
    PLVoting,
    as_candidates,
)
from ambilearn.base import PartialLabelClassifier
from ambilearn.fitting import WeightedRowsMixin, forget_fit, unchanged_on_error, unfitted_on_error

X = np.arange(8.0).reshape(4, 2)
SETS = [{"a", "b"}, {"b"}, {"b", "c"}, {"c", "a"}]


@pytest.fixture
def fitted():
    return CandidateCounts().fit(X, SETS)


class Forgetful(PartialLabelClassifier):
    """Learns nothing, and returns what a `fit` would return."""

    def _fit(self, rows, candidates):
        return self

    def _scores(self, X):
        return np.zeros((X.shape[0], len(self.classes_)))


def test_a_method_that_sets_no_confidences_is_an_error():
    with pytest.raises(AttributeError, match=r"Forgetful.*label_distributions_"):
        Forgetful().fit(np.eye(4), [1, 2, 1, 2])


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array])
def test_sparse_rows_are_a_csr_array_in_a_method(form):
    """Products of ``*`` are elementwise, whatever the user passes."""

    class Squares(CandidateCounts):
        def _fit(self, rows, candidates):
            super()._fit(rows, candidates)
            self.squares_ = (rows.X * rows.X).toarray()

    np.testing.assert_array_equal(Squares().fit(form(X), SETS).squares_, X**2)


# --- weights of rows ----------------------------------------------------------------------------


class CountsWeights(WeightedRowsMixin, CandidateCounts):
    """Keeps the weights of the rows."""

    def _fit(self, rows, candidates):
        super()._fit(rows, candidates)
        self.row_weights_ = candidates.row_weights


def test_weights_that_candidate_sets_have_are_used_and_multiplied():
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    sets = replace(as_candidates(SETS), row_weights=weights)
    model = CountsWeights()
    assert model.fit(X, sets).row_weights_.tolist() == weights.tolist()
    assert model.fit(X, sets, sample_weight=[2, 2, 1, 1]).row_weights_.tolist() == [2, 4, 3, 4]
    assert model.fit(X, sets, sample_weight=1 / weights).row_weights_ is None
    assert model.fit(X[1:], sets[1:]).row_weights_.tolist() == weights[1:].tolist()
    assert model.fit(X, SETS).row_weights_ is None


def test_weights_that_a_method_cannot_use_are_rejected():
    sets = replace(as_candidates(SETS), row_weights=np.array([1.0, 2.0, 3.0, 4.0]))
    with pytest.raises(ValueError, match="CandidateCounts cannot weight rows: omit sample_weight"):
        CandidateCounts().fit(X, sets)
    CandidateCounts().fit(X, replace(sets, row_weights=np.ones(4)))


# --- a fit that fails ---------------------------------------------------------------------------


class Fails(CandidateCounts):
    """Fails in the middle of a fit."""

    def _fit(self, rows, candidates):
        self.half_ = 1
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("rows", "sets", "message"),
    [
        (X * 1e80, SETS, "largest entry of X"),
        (X, [{"a"}] * 3, "equal length"),
        (X, None, "y is None"),
        (X[:, 0], SETS, "Expected 2D array"),
    ],
)
def test_rejected_data_leave_an_earlier_fit_as_it_was(rows, sets, message):
    frame = pd.DataFrame(X, columns=["one", "two"])
    model, new = CandidateCounts().fit(frame, SETS), CandidateCounts()
    before = vars(model).copy()
    wider = np.column_stack([rows, rows]) if np.ndim(rows) == 2 else rows
    for each in (model, new):
        with pytest.raises(ValueError, match=message):
            each.fit(wider, sets)
    assert vars(model) == before
    with pytest.raises(NotFittedError):
        check_is_fitted(new)


def test_a_fit_that_ends_half_way_leaves_the_model_unfitted(fitted):
    fitted.__class__ = Fails
    for model in (Fails(), fitted):
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, SETS)
        with pytest.raises(NotFittedError):
            check_is_fitted(model)


# --- arrays of the caller -----------------------------------------------------------------------


METHODS = [PLCL(), PLCL(kernel="linear"), SURE(n_landmarks=9, random_state=0), PLAGGD(), LALO()]
METHODS += [IPAL(), PLKNN(), PLDA(), PLCP(max_iter=1), PLVoting(), PLStacking()]


@pytest.mark.parametrize("form", ["array", "csr_array", "csr_matrix", "frame", "device"])
@pytest.mark.parametrize("method", METHODS, ids=lambda each: type(each).__name__)
def test_a_fitted_model_does_not_depend_on_the_arrays_of_the_caller(method, form, request):
    rows, mask, _ = ambiguous(n=40)
    forms = {
        "array": np.array,
        "csr_array": sparse.csr_array,
        "csr_matrix": sparse.csr_matrix,
        "frame": lambda X: pd.DataFrame(X.copy()),
        "device": strict.asarray,
    }
    if form == "device":
        request.getfixturevalue("dispatch")
        if not method._computes_on_devices:
            pytest.skip("not supported on a device")
    given, new, sets = forms[form](rows), forms[form](rows + 0.1), as_candidates(mask)
    model = clone(method).fit(given, sets)
    before = np.asarray(model.decision_function(new))
    if sparse.issparse(given):
        given.data[:] = 3 - given.data
    else:
        given *= -1
        given += 3
    for array in (sets.classes, sets.labels, sets.indptr):
        array[:] = 0
    np.testing.assert_array_equal(np.asarray(model.decision_function(new)), before)
    assert np.asarray(model.classes_).tolist() == list(range(mask.shape[1]))


# --- state after a failed fit -------------------------------------------------------------------


@pytest.fixture
def model():
    return DummyClassifier(strategy="prior").fit([[0], [1]], [0, 1])


def test_fitted_attributes_are_deleted_and_parameters_are_kept(model):
    forget_fit(model, keep=["classes_"])
    assert [name for name in vars(model) if name.endswith("_")] == ["classes_"]
    forget_fit(model)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    assert model.strategy == "prior"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_estimator_unfitted(model, error):
    with unfitted_on_error(model):
        model.more_ = 1
    assert model.more_ == 1
    with pytest.raises(error), unfitted_on_error(model):
        raise error
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_estimator_is_unchanged_after_an_error(model, error):
    before = vars(model).copy()

    def change_and_fail():
        with unchanged_on_error(model):
            model.classes_, model.more_ = [], 1
            raise error

    with pytest.raises(error):
        change_and_fail()
    assert vars(model) == before
    with unchanged_on_error(model):
        model.more_ = 1
    assert model.more_ == 1
