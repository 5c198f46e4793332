import warnings
from dataclasses import replace

import array_api_strict as strict
import numpy as np
import pandas as pd
import pytest
from problems import ambiguous
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import DataConversionWarning, NotFittedError
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
from ambilearn.base import (
    PartialLabelClassifier,
    WeightedRowsClassifier,
    forget_fit,
    rank_last,
    unchanged_on_error,
    unfitted_on_error,
)


class CandidateCounts(PartialLabelClassifier):
    """The smallest method there is: every row gets the share of each label among the candidates."""

    def _fit(self, rows, candidates):
        mask = candidates.sets.to_mask()
        self.label_distributions_ = mask / mask.sum(axis=1, keepdims=True)
        self.shares_ = self.label_distributions_.mean(axis=0)

    def _scores(self, X):
        return np.tile(self.shares_, (X.shape[0], 1))


X = np.arange(8.0).reshape(4, 2)
SETS = [{"a", "b"}, {"b"}, {"b", "c"}, {"c", "a"}]


@pytest.fixture
def fitted():
    return CandidateCounts().fit(X, SETS)


def test_fit_sets_classes_and_transduction(fitted):
    assert fitted.classes_.tolist() == ["a", "b", "c"]
    assert fitted.transduction_.tolist() == ["a", "b", "b", "a"]  # ties go to the first class
    assert fitted.n_features_in_ == 2


def test_predictions_follow_the_scores(fitted):
    assert fitted.predict(X[:2]).tolist() == ["b", "b"]
    np.testing.assert_allclose(fitted.decision_function(X[:1]), [[0.25, 0.5, 0.25]])
    np.testing.assert_allclose(fitted.predict_proba(X[:1]), [[0.25, 0.5, 0.25]])


def test_two_labels_have_one_decision_column():
    model = CandidateCounts().fit(X, [{"a"}, {"b"}, {"b"}, {"a", "b"}])
    np.testing.assert_allclose(model.decision_function(X), 0.25)
    assert model.predict_proba(X).shape == (4, 2)


def test_one_label_is_always_predicted():
    model = CandidateCounts().fit(X, [{"only"}] * 4)
    assert model.predict(X).tolist() == ["only"] * 4
    np.testing.assert_allclose(model.predict_proba(X), 1)


def test_score_is_accuracy_on_labels_and_covering_rate_on_sets(fitted):
    assert fitted.score(X, ["b", "a", "b", "c"]) == 0.5
    assert fitted.score(X, np.array(["b", "a", "new", "c"])) == 0.25  # unseen labels are wrong
    assert fitted.score(X, SETS) == 0.75
    assert fitted.score(X, ["b", "a", "b", "c"], sample_weight=[3, 1, 0, 0]) == 0.75


@pytest.mark.parametrize(
    "form", [np.asarray, sparse.csr_array, lambda m: pd.DataFrame(m, columns=["a", "b", "c"])]
)
def test_score_with_a_mask(fitted, form):
    mask = np.array([[1, 1, 0], [0, 1, 0], [0, 1, 1], [1, 0, 1]])
    assert fitted.score(X, form(mask)) == 0.75


def test_score_with_reordered_columns(fitted):
    mask = pd.DataFrame({"c": [0, 0, 1, 1], "b": [1, 1, 1, 0], "a": [1, 0, 0, 1]})
    assert fitted.score(X, mask) == 0.75


def test_score_rejects_what_does_not_fit(fitted):
    with pytest.raises(ValueError, match="2 columns but there are 3 classes"):
        fitted.score(X, np.ones((4, 2)))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fitted.score(X, ["a", "b"])


def test_score_rejects_labels_that_are_never_predicted():
    numbers = CandidateCounts().fit(X, [{1, 2}, {2}, {2, 3}, {3, 1}])
    assert numbers.score(X, [2, 1, 2, 3]) == 0.5
    assert numbers.score(X, [2.0, 1.0, 2.0, 3.0]) == 0.5
    assert numbers.score(X, [7, 8, 9, 7]) == 0.0  # unseen, but of the same kind
    for y in (["2", "1", "2", "3"], [{"2", "1"}, {"2"}, {"3"}, {"1"}]):
        with pytest.raises(ValueError, match=r"y has text as labels, .* model are numbers"):
            numbers.score(X, y)
    mask = pd.DataFrame(np.eye(4, dtype=int)[:, :3] | [[1, 0, 0]], columns=["1", "2", "3"])
    with pytest.raises(ValueError, match="y has text as labels"):
        numbers.score(X, mask)


def test_score_of_a_model_that_is_not_fitted():
    for y in (["a", "b", "a", "b"], np.ones((4, 3), dtype=int)):
        with pytest.raises(NotFittedError):
            CandidateCounts().score(X, y)


def test_errors_before_and_in_fit(fitted):
    with pytest.raises(NotFittedError):
        CandidateCounts().predict(X)
    with pytest.raises(ValueError, match="X has 4 rows but y has 3"):
        CandidateCounts().fit(X, SETS[:3])
    with pytest.raises(ValueError, match="contains NaN"):
        CandidateCounts().fit(np.full_like(X, np.nan), SETS)
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        CandidateCounts().fit(X[:1], SETS[:1])
    with pytest.raises(ValueError, match="expecting 2 features"):
        fitted.predict(X[:, :1])


@pytest.mark.parametrize("scale", [1e155, 1e-160])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_features_out_of_range_are_rejected(fitted, scale, form):
    with pytest.raises(ValueError, match="Scale the features"):
        CandidateCounts().fit(form(X * scale), SETS)
    with pytest.raises(ValueError, match="Scale the features"):
        fitted.predict(form(X * scale))


def test_blocks_of_new_rows_do_not_matter(monkeypatch):
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(30, 3)), rng.integers(4, size=30)
    model = NearestMean().fit(rows, labels)
    whole = model.predict(rows), model.predict_proba(rows)
    monkeypatch.setattr("ambilearn._utils.limits.LIMIT", 2 * 7 * 4)
    np.testing.assert_array_equal(model.predict(rows), whole[0])
    np.testing.assert_allclose(model.predict_proba(rows), whole[1])
    assert len(list(model._confidence_blocks(rows, "predict")[1])) == 5


class NearestMean(CandidateCounts):
    def _fit(self, rows, candidates):
        super()._fit(rows, candidates)
        self.means_ = self.label_distributions_.T @ rows.X

    def _scores(self, X):
        return X @ self.means_.T


class Forgetful(PartialLabelClassifier):
    """Learns nothing, and returns what a `fit` would return."""

    def _fit(self, rows, candidates):
        return self

    def _scores(self, X):
        return np.zeros((X.shape[0], len(self.classes_)))


def test_a_method_that_sets_no_confidences_is_an_error():
    with pytest.raises(AttributeError, match=r"Forgetful.*label_distributions_"):
        Forgetful().fit(np.eye(4), [1, 2, 1, 2])


# --- weights of rows ----------------------------------------------------------------------------


class CountsWeights(WeightedRowsClassifier, CandidateCounts):
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


# --- what is scored -----------------------------------------------------------------------------


def test_a_column_of_labels_is_scored_as_labels(fitted):
    labels = ["b", "a", "new", "c"]
    column = np.array(labels, dtype=object)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataConversionWarning)
        assert fitted.score(X, column) == fitted.score(X, labels) == 0.25
        assert fitted.score(X, np.array(labels)[:, None]) == 0.25
        assert fitted.score(X, pd.DataFrame({"truth": labels})) == 0.25


def test_candidate_sets_with_labels_of_their_own_are_scored(fitted):
    sets = as_candidates([{"b"}, {"new"}, {"b", "new"}, {"a"}])
    assert fitted.score(X, sets) == fitted.score(X, sets.to_sets()) == 0.5


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array])
def test_sparse_rows_are_a_csr_array_in_a_method(form):
    """Products of ``*`` are elementwise, whatever the user passes."""

    class Squares(CandidateCounts):
        def _fit(self, rows, candidates):
            super()._fit(rows, candidates)
            self.squares_ = (rows.X * rows.X).toarray()

    np.testing.assert_array_equal(Squares().fit(form(X), SETS).squares_, X**2)


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


@pytest.mark.parametrize("xp", [np, strict])
@pytest.mark.parametrize("scale", [0.0, 1.0, -1.0, 1e150])
def test_labels_that_are_ranked_last_are_below_all_others(xp, scale):
    scores = xp.asarray([[3.0, 1.0, 2.0], [-3.0, -1.0, -2.0], [0.0, 0.0, 0.0]]) * scale
    found = np.asarray(rank_last(scores, xp.asarray([True, False, False])))
    np.testing.assert_array_equal(found[:, 1:], np.asarray(scores)[:, 1:])
    assert (found[:, 0] < found[:, 1:].min(axis=1)).all()
    assert np.isfinite(found).all()
