import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from ambilearn._utils.fit_cache import NO_CACHE, FitCache
from ambilearn.base import PartialLabelClassifier


class CandidateCounts(PartialLabelClassifier):
    """The smallest method there is: every row gets the share of each label among the candidates."""

    def _fit(self, X, candidates, cache):
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


def test_score_refuses_what_does_not_fit(fitted):
    with pytest.raises(ValueError, match="2 columns but there are 3 classes"):
        fitted.score(X, np.ones((4, 2)))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fitted.score(X, ["a", "b"])


def test_score_refuses_labels_that_are_never_predicted():
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
    with pytest.raises(ValueError, match="X has 4 rows but y has candidate sets for 3"):
        CandidateCounts().fit(X, SETS[:3])
    with pytest.raises(ValueError, match="contains NaN"):
        CandidateCounts().fit(np.full_like(X, np.nan), SETS)
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        CandidateCounts().fit(X[:1], SETS[:1])
    with pytest.raises(ValueError, match="expecting 2 features"):
        fitted.predict(X[:, :1])


@pytest.mark.parametrize("scale", [1e155, 1e-160])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_features_out_of_range_are_refused(fitted, scale, form):
    with pytest.raises(ValueError, match="Scale the features"):
        CandidateCounts().fit(form(X * scale), SETS)
    with pytest.raises(ValueError, match="Scale the features"):
        fitted.predict(form(X * scale))


def test_zero_features_are_in_range():
    CandidateCounts().fit(np.zeros_like(X), SETS)
    CandidateCounts().fit(sparse.csr_array(np.zeros_like(X)), SETS)


def test_blocks_of_new_rows_do_not_matter(monkeypatch):
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(30, 3)), rng.integers(4, size=30)
    model = NearestMean().fit(rows, labels)
    whole = model.predict(rows), model.predict_proba(rows)
    monkeypatch.setattr("ambilearn._utils.blocks.LIMIT", 2 * 7 * 4)
    np.testing.assert_array_equal(model.predict(rows), whole[0])
    np.testing.assert_allclose(model.predict_proba(rows), whole[1])
    assert len(list(model._confidence_blocks(rows)[1])) == 5


class NearestMean(CandidateCounts):
    def _fit(self, X, candidates, cache):
        super()._fit(X, candidates, cache)
        self.means_ = self.label_distributions_.T @ X

    def _scores(self, X):
        return X @ self.means_.T


class Forgetful(PartialLabelClassifier):
    """Learns nothing, and returns what a `fit` would return."""

    def _fit(self, X, candidates, cache):
        return self

    def _scores(self, X):
        return np.zeros((X.shape[0], len(self.classes_)))


def test_a_method_that_sets_no_confidences_is_told_so():
    with pytest.raises(AttributeError, match=r"Forgetful.*label_distributions_"):
        Forgetful().fit(np.eye(4), [1, 2, 1, 2])


def test_the_cache_reaches_the_method_and_is_routed_nowhere():
    class Curious(CandidateCounts):
        def _fit(self, X, candidates, cache):
            super()._fit(X, candidates, cache)
            self.cache_ = cache

    X, y, cache = np.eye(4), [1, 2, 1, 2], FitCache()
    assert Curious().fit(X, y, cache=cache).cache_ is cache
    assert Curious().fit(X, y).cache_ is NO_CACHE
    assert not hasattr(Curious(), "set_fit_request")
