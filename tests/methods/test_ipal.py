import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from literal import unit_rows
from literal_methods import ipal, uniform
from optimality import assert_on_candidate_simplices
from problems import ambiguous, random_mask, support

from ambilearn import IPAL
from ambilearn.base import normalize_candidate_votes
from ambilearn.methods import ipal as module
from ambilearn.methods.ipal import restore_class_mass


def fixed(iterations=30, **parameters):
    """IPAL with a fixed number of propagation steps."""
    return IPAL(max_iter=iterations, tol=0, **parameters)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.95])
@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_the_published_algorithm(seed, alpha):
    X, Y, _ = ambiguous(n=60, d=12, n_labels=5, seed=seed)
    model = fixed(alpha=alpha, n_neighbors=6).fit(X[:45], Y[:45])
    literal = ipal(X[:45], Y[:45], X[45:], k=6, alpha=alpha, iterations=30)
    np.testing.assert_allclose(model.graph_.toarray(), literal.H, atol=1e-6)
    np.testing.assert_allclose(model.label_distributions_, literal.F, atol=1e-6)
    np.testing.assert_array_equal(model.transduction_, literal.labels)
    np.testing.assert_allclose(-model.decision_function(X[45:]), literal.residuals, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X[45:]), literal.residuals.argmin(axis=1))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lost", "MSRCv2", "FG-NET"])
def test_real_data_agrees_with_the_published_algorithm(real_split, name):
    X, Y, _, X_test, _ = real_split(name)
    model = fixed(100).fit(X, Y)
    literal = ipal(X, Y, X_test[:100], iterations=100)
    np.testing.assert_array_equal(model.transduction_, literal.labels)
    found, known = -model.decision_function(X_test[:100]), np.asarray(Y).any(axis=0)
    np.testing.assert_allclose(found[:, known], literal.residuals[:, known], atol=1e-4)
    assert (found[:, ~known] > found[:, known].max(axis=1, keepdims=True)).all()  # never predicted
    # Neighbors of one direction share a weight here; scipy gives it all to one of them. Both
    # rebuild the row equally well.
    H, unit = model.graph_.toarray(), unit_rows(X)
    differing = np.flatnonzero(np.abs(H - literal.H).max(axis=1) > 1e-6)
    assert len(differing) <= (10 if name == "MSRCv2" else 0)
    for i in differing:
        used = unit[(H[i] > 0) | (literal.H[i] > 0)]
        assert np.max(used @ used.T - np.eye(len(used))) > 1 - 1e-12
        rebuilt = [
            unit_rows((weights @ unit)[None])[0] @ unit[i] for weights in (H[i], literal.H[i])
        ]
        assert rebuilt[0] == pytest.approx(rebuilt[1], abs=1e-7)
    if not len(differing):
        np.testing.assert_allclose(model.label_distributions_, literal.F, atol=1e-4)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.floats(0, 0.99), st.integers(2, 8))
def test_graph_and_confidences_are_feasible(seed, alpha, k):
    X, Y, _ = ambiguous(n=25, extra=0.4, seed=seed)
    model = fixed(alpha=alpha, n_neighbors=k).fit(X, Y)
    H = model.graph_.toarray()
    assert (H >= 0).all()
    assert (np.diag(H) == 0).all()
    assert ((H > 0).sum(axis=1) <= k).all()
    sums = H.sum(axis=1)
    np.testing.assert_allclose(sums[sums > 0], 1, atol=1e-12)
    F = model.label_distributions_
    assert_on_candidate_simplices(F, Y)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_only_directions_matter(factor):
    X, Y, _ = ambiguous(n=60, d=15)  # more dimensions than neighbors: unique weights
    lengths = np.random.default_rng(0).uniform(0.5, 2, size=(60, 1)) * factor
    model, other = IPAL().fit(X, Y), IPAL().fit(lengths * X, Y)
    np.testing.assert_allclose(model.label_distributions_, other.label_distributions_, atol=1e-8)
    np.testing.assert_allclose(
        model.decision_function(X), other.decision_function(5 * X), atol=1e-7
    )


def test_a_fixed_point_of_the_propagation_is_reached():
    X, Y, _ = ambiguous(n=60)
    model = IPAL(n_neighbors=5, tol=1e-13, max_iter=5000).fit(X, Y)
    # Undo the correction of the class masses: F is proportional, label by label.
    start, H = uniform(Y), model.graph_.toarray()
    F = start
    for _ in range(3000):
        F = (0.95 * H @ F + 0.05 * start) * Y
        F = uniform(F)
    corrected = uniform(F * start.sum(axis=0) / F.sum(axis=0))
    np.testing.assert_allclose(model.label_distributions_, corrected, atol=1e-9)


def test_class_masses_are_restored(monkeypatch):
    """Before the rows are normalized once more, each label has the mass it had in the beginning."""
    seen = {}
    restore = module.restore_class_mass

    def spy(candidates, f, prior):
        seen["mass"] = np.bincount(candidates.labels, restore(candidates, f, prior))
        seen["prior"] = np.bincount(candidates.labels, prior)
        seen["before"] = np.bincount(candidates.labels, f)
        return restore(candidates, f, prior)

    monkeypatch.setattr(module, "restore_class_mass", spy)
    X, Y, _ = ambiguous(n=60, extra=0.5)
    IPAL().fit(X, Y)
    assert np.abs(seen["before"] - seen["prior"]).max() > 1  # there was something to restore
    np.testing.assert_allclose(seen["mass"], seen["prior"])


def test_residuals_of_labels_by_hand():
    """x = (3, 4)/5 is rebuilt from (1, 0) of label a and (0, 1) of label b with 0.6 and 0.8."""
    model = IPAL(n_neighbors=2).fit([[1.0, 0.0], [0.0, 1.0], [-1.0, -0.1]], ["a", "b", "c"])
    residuals = -model.decision_function([[3.0, 4.0]])
    np.testing.assert_allclose(residuals, [[0.8, 0.6, 1.0]], atol=1e-9)
    assert model.predict([[3.0, 4.0]]).tolist() == ["b"]
    np.testing.assert_allclose(model.predict_proba([[3.0, 4.0]]), [[1 / 3, 2 / 3, 0]], atol=1e-9)


def test_residuals_above_one_change_the_confidences_of_their_row_only():
    x, y = np.cos(np.deg2rad(80)), np.sin(np.deg2rad(80))
    model = IPAL(n_neighbors=2).fit([[x, y], [x, -y], [-1.0, 0.0]], [0, 1, 2])
    # The first row is the sum of both neighbors, each times 1 / 2x; without either, it is far away.
    new = [[1.0, 0.0], [x, y]]
    np.testing.assert_allclose(-model.decision_function(new), [[1 / (2 * x)] * 2 + [1], [0, 1, 1]])
    np.testing.assert_allclose(model.predict_proba(new), [[0, 0, 1], [1, 0, 0]], atol=1e-9)


def test_rows_without_reconstruction_keep_equal_shares():
    """Opposite directions: all weights are zero, and nothing is divided by their sum."""
    X = [[1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]]
    model = IPAL(n_neighbors=2).fit(X, [{0, 1}, {0, 1}, {2}])
    assert model.graph_.nnz == 0
    np.testing.assert_allclose(model.label_distributions_, [[0.5, 0.5, 0]] * 2 + [[0, 0, 1]])
    np.testing.assert_allclose(model.decision_function([[0.0, 0.0]]), 0)
    np.testing.assert_allclose(model.predict_proba([[0.0, 0.0]]), 1 / 3)


def test_stops_by_tolerance():
    X, Y, _ = ambiguous(n=60)
    loose, tight = IPAL(tol=1e-2).fit(X, Y), IPAL(tol=1e-6, max_iter=1000).fit(X, Y)
    assert loose.n_iter_ < IPAL().fit(X, Y).n_iter_ < tight.n_iter_ < 1000
    assert IPAL(alpha=0.0).fit(X, Y).n_iter_ == 1  # nothing spreads


def test_a_label_that_is_never_a_candidate_is_never_predicted():
    """Also if no neighbor explains the row, so that all residuals are equal."""
    X, Y, _ = ambiguous(n=40, d=6, n_labels=3, seed=0)
    wider = np.c_[np.zeros(40, dtype=bool), Y]
    model, other = IPAL().fit(X, wider), IPAL().fit(X, Y)
    for new in (X, -X, 0 * X):
        assert (model.predict(new) > 0).all()
        proba = model.predict_proba(new)
        assert not proba[:, 0].any()
        np.testing.assert_allclose(proba[:, 1:], other.predict_proba(new), atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_restored_masses_are_the_prior_ones(seed):
    rng = np.random.default_rng(seed)
    sets = support(random_mask(rng, 12, 5))
    f = normalize_candidate_votes(sets, rng.random(len(sets.labels)))
    restored = restore_class_mass(sets, f, sets.prior())
    masses = (np.bincount(sets.labels, each, 5) for each in (restored, sets.prior()))
    np.testing.assert_allclose(*masses)
    ratios = restored / f  # one number for each label
    for label in range(5):
        assert np.ptp(ratios[sets.labels == label]) < 1e-12


def test_half_of_the_mass_gives_geometric_means():
    sets = support([{0, 1}, {0, 1}, {0, 1}])
    f = np.array([0.9, 0.1, 0.9, 0.1, 0.9, 0.1])
    half = restore_class_mass(sets, f, sets.prior(), share=0.5)
    masses = np.bincount(sets.labels, half, 2)
    np.testing.assert_allclose(masses, np.sqrt([2.7 * 1.5, 0.3 * 1.5]))
    np.testing.assert_array_equal(restore_class_mass(sets, f, sets.prior(), share=0.0), f)


def test_a_label_without_mass_stays_without():
    sets = support([{0, 1}, {0, 1}, {0}])
    restored = restore_class_mass(sets, np.array([1.0, 0.0, 1.0, 0.0, 1.0]), sets.prior())
    np.testing.assert_allclose(restored, [2 / 3, 0, 2 / 3, 0, 2 / 3])
