from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from ambilearn.candidates import as_candidates
from ambilearn.confidence import find_doubtful, tuned_ridge
from ambilearn.confidence.tuned_ridge import tuned_outputs


def data(n=40):
    X, y = make_blobs(n, n_features=3, centers=3, cluster_std=4.0, random_state=0)
    return X, y


def literal(X, y, kernel, ridge, weights=None):
    """Outputs at each row of a kernel ridge classifier that is fitted to all other rows."""
    weights = np.ones(len(X)) if weights is None else weights
    K, T = kernel(X, X), np.eye(y.max() + 1)[y]
    outputs = np.empty_like(T)
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        n = rest.sum()
        M = np.block(
            [
                [K[np.ix_(rest, rest)] + ridge * np.diag(1 / weights[rest]), np.ones((n, 1))],
                [np.ones((1, n)), np.zeros((1, 1))],
            ]
        )
        solved = np.linalg.solve(M, np.vstack([T[rest], np.zeros((1, T.shape[1]))]))
        outputs[i] = K[i, rest] @ solved[:-1] + solved[-1]
    return outputs


@pytest.mark.parametrize("weighted", [False, True])
def test_outputs_are_those_of_the_best_fits_without_each_row(weighted):
    X, y = data()
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(y)) if weighted else None
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    v = np.ones(len(y)) if weights is None else weights
    mean = np.sqrt(squared).sum() / (len(y) * (len(y) - 1))
    if weighted:
        pairs = np.outer(v, v)
        repeated = pairs.sum() - np.sum(v**2) + np.sum(v * np.maximum(v - 1, 0))
        mean = np.sum(pairs * np.sqrt(squared)) / repeated

    def best(fits):
        errors = [v @ ((H - np.eye(3)[y]) ** 2).sum(axis=1) for H in fits]
        return fits[int(np.argmin(errors))]

    ridges = (0.03, 0.3, 1.0, 3.0)
    gaussian = [
        literal(X, y, lambda a, b, w=w: np.exp(-squared / (2 * (w * mean) ** 2)), ridge, weights)
        for w in (0.35, 0.5, 0.7, 1.0)
        for ridge in ridges
    ]
    linear = [literal(X, y, lambda a, b: a @ b.T, r * mean**2 / 2, weights) for r in ridges]
    expected = (2 * best(gaussian) + best(linear)) / 3
    sets = replace(as_candidates(y), row_weights=weights)
    np.testing.assert_allclose(tuned_outputs(X, sets), expected, atol=1e-7)


def test_the_unit_of_the_features_does_not_matter():
    X, y = data()
    sets = as_candidates(y)
    np.testing.assert_allclose(tuned_outputs(X, sets), tuned_outputs(1000 * X + 3, sets), atol=1e-6)


def test_sparse_rows_give_the_same_outputs():
    X, y = data()
    X = np.where(X > 0, X, 0)
    sets = as_candidates(y)
    np.testing.assert_allclose(
        tuned_outputs(X, sets), tuned_outputs(sparse.csr_array(X), sets), atol=1e-8
    )


def test_large_data_are_tuned_on_some_rows_and_use_landmarks(monkeypatch):
    X, y = data(120)
    sets = as_candidates(y)
    exact = tuned_outputs(X, sets)
    monkeypatch.setattr(tuned_ridge, "_MAX_TUNING_ROWS", 50)
    some = tuned_outputs(X, sets, random_state=1)
    np.testing.assert_array_equal(some, tuned_outputs(X, sets, random_state=1))
    monkeypatch.setattr(tuned_ridge, "MAX_EXACT_ROWS", 100)
    monkeypatch.setattr(tuned_ridge, "DEFAULT_N_LANDMARKS", 60)
    low_rank = tuned_outputs(X, sets)
    assert (low_rank != exact).any()
    for outputs in (some, low_rank):
        assert np.mean(outputs.argmax(axis=1) == exact.argmax(axis=1)) > 0.9


def test_equal_rows():
    outputs = tuned_outputs(np.ones((6, 2)), as_candidates([0, 1, 0, 1, 0, 1]))
    assert np.isfinite(outputs).all()


def test_one_row_is_too_few():
    with pytest.raises(ValueError, match=r"^X has one row: at least two are needed to find wrong"):
        find_doubtful([[1.0, 2.0]], ["a"])
