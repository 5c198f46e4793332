import warnings

import array_api_strict as strict
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from literal import solve_qp
from problems import CandidateCounts, random_mask, support
from scipy import sparse
from sklearn.exceptions import DataConversionWarning, NotFittedError

from ambilearn import as_candidates
from ambilearn.base import normalize_candidate_votes, normalize_votes, project_rows, rank_last

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


@pytest.mark.parametrize("xp", [np, strict])
@pytest.mark.parametrize("scale", [0.0, 1.0, -1.0, 1e150])
def test_labels_that_are_ranked_last_are_below_all_others(xp, scale):
    scores = xp.asarray([[3.0, 1.0, 2.0], [-3.0, -1.0, -2.0], [0.0, 0.0, 0.0]]) * scale
    found = np.asarray(rank_last(scores, xp.asarray([True, False, False])))
    np.testing.assert_array_equal(found[:, 1:], np.asarray(scores)[:, 1:])
    assert (found[:, 0] < found[:, 1:].min(axis=1)).all()
    assert np.isfinite(found).all()


votes = hnp.arrays(
    float,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8),
    elements=st.one_of(st.just(0.0), st.floats(1e-3, 1e3)),
)


@given(votes)
def test_row_shares_lie_on_the_simplex_and_keep_the_order(values):
    shares = normalize_votes(values)
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    for row, share in zip(values, shares, strict=True):
        assert (np.diff(share[np.argsort(row, kind="stable")]) >= 0).all()
        assert (share[row == 0] == 0).all() or (row == 0).all()


def test_row_shares_by_hand():
    np.testing.assert_allclose(
        normalize_votes(np.array([[3.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])),
        [[0.75, 0.25, 0, 0], [0.25, 0.25, 0.25, 0.25]],
    )


@pytest.mark.parametrize("seed", range(5))
def test_candidate_shares_are_row_shares_of_the_candidates(seed):
    rng = np.random.default_rng(seed)
    mask = random_mask(rng, 12, 5)
    sets = support(mask)
    values = rng.random(mask.shape) * (rng.random(mask.shape) < 0.6)
    shares = sets.scatter(normalize_candidate_votes(sets, sets.gather(values)))
    for row, candidates, share in zip(values, mask.astype(bool), shares, strict=True):
        np.testing.assert_allclose(share[candidates], normalize_votes(row[None, candidates])[0])
        assert (share[~candidates] == 0).all()


rows = hnp.arrays(
    float,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=8),
    elements=st.floats(-50, 50, width=32),
)


@given(rows)
def test_projection_is_feasible_and_optimal(values):
    """KKT: v − p is the same number τ on the positive entries and at most τ on the zeros."""
    p = project_rows(values)
    assert (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12)
    shift = values - p
    tau = np.where(p > 0, shift, -np.inf).max(axis=1, keepdims=True)
    np.testing.assert_allclose(
        np.where(p > 0, shift, tau), np.broadcast_to(tau, p.shape), atol=1e-9
    )
    assert (shift <= tau + 1e-9).all()


@given(rows)
def test_projection_keeps_the_order(values):
    p = project_rows(values)
    best = np.argmax(values, axis=1)[:, None]
    assert (np.take_along_axis(p, best, axis=1)[:, 0] == p.max(axis=1)).all()


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_interior_point(seed):
    rng = np.random.default_rng(seed)
    v = 2 * rng.normal(size=7)
    expected = solve_qp(np.eye(7), -v, np.ones((1, 7)), np.ones(7))
    np.testing.assert_allclose(project_rows(v[None])[0], expected, atol=1e-7)


@pytest.mark.parametrize("far", [1e9, 1e16, -1e16, 1e300])
def test_rows_far_from_the_simplex_are_projected_onto_it(far):
    p = project_rows(np.array([[0.0, -3.0], [1.0, 1.0], [-2.0, 0.0]]) + far)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(p[1], 0.5)
    if abs(far) < 1e16:  # where the differences are not lost
        np.testing.assert_allclose(p, [[1, 0], [0.5, 0.5], [0, 1]])
