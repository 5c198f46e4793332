import itertools

import numpy as np
import pytest
from scipy import sparse, stats

from ambilearn.candidates import as_candidates
from ambilearn.datasets import make_candidates
from ambilearn.datasets.false_labels import (
    confusion_probabilities,
    coupled_label_sampler,
    distinct_label_sampler,
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize(("n_labels", "r"), [(4, 1), (4, 2), (5, 2), (5, 4), (6, 3)])
def test_all_sets_of_r_false_labels_are_equally_likely(rng, n_labels, r):
    true, n = 2, 30_000
    mask = distinct_label_sampler(np.full(n, true), n_labels, r, rng)(slice(0, n))
    assert not mask[:, true].any()
    others = [j for j in range(n_labels) if j != true]
    expected = {tuple(c) for c in itertools.combinations(others, r)}
    codes = mask @ (1 << np.arange(n_labels))
    found, counts = np.unique(codes, return_counts=True)
    assert {tuple(np.flatnonzero((c >> np.arange(n_labels)) & 1)) for c in found} == expected
    if len(expected) > 1:
        assert stats.chisquare(counts).pvalue > 1e-9


@pytest.mark.parametrize("true", [0, 3, 5])
@pytest.mark.parametrize("partner", [1, 4])
def test_the_label_that_is_not_coupled_is_any_other(rng, true, partner):
    n_labels, n = 6, 20_000
    coupled = np.full(n_labels, partner)
    mask = coupled_label_sampler(np.full(n, true), n_labels, coupled, 0.0, rng)(slice(0, n))
    counts = mask.sum(axis=0)
    assert counts[true] == counts[partner] == 0
    assert stats.chisquare(np.delete(counts, [true, partner])).pvalue > 1e-9


def test_confusion_of_a_small_example(rng):
    truth = as_candidates(np.array([0, 1, 2]))
    proba = [[0.6, 0.3, 0.1], [0.0, 1.0, 0.0], [0.2, 0.4, 0.4]]
    found = confusion_probabilities(truth, None, proba, 0.5, rng)(slice(0, 3))
    np.testing.assert_allclose(found, [[0, 0.5, 1 / 6], [0, 0, 0], [0.25, 0.5, 0]], rtol=1e-6)


def test_with_two_labels_the_other_is_the_false_label(rng):
    codes = np.repeat([0, 1], 50)
    X = codes[:, None] + rng.normal(size=(100, 1))
    found = confusion_probabilities(as_candidates(codes), X, None, 1.0, rng)(slice(0, 100))
    np.testing.assert_array_equal(found, np.eye(2)[1 - codes])


def test_sparse_features(rng):
    X = sparse.random_array((90, 6), density=0.5, rng=rng, format="csr")
    codes = np.arange(90) % 3
    found = confusion_probabilities(as_candidates(codes), X, None, 1.0, rng)(slice(0, 90))
    np.testing.assert_allclose(found.max(axis=1), 1.0)
    assert (found[np.arange(90), codes] == 0).all()


def test_tiny_probabilities_of_a_classifier():
    """The most probable false label is a candidate, also if single precision has no such number."""
    proba = [[1, 1e-50, 1e-60], [1e-46, 1, 1e-47], [1e-10, 1e-12, 1]]
    sets, _ = make_candidates([0, 1, 2], kind="instance", proba=proba, random_state=0)
    assert [len(each) > 1 for each in sets.to_sets()] == [True] * 3
    with pytest.raises(ValueError, match="NaN or infinity in row 1"):
        make_candidates([0, 1], kind="instance", proba=[[1, 0], [np.inf, 1]], random_state=0)


def test_a_label_with_one_row_is_too_rare_for_a_classifier():
    X = np.arange(11.0)[:, None]
    with pytest.raises(ValueError, match="too few rows of each label"):
        make_candidates(["a"] * 10 + ["b"], kind="instance", X=X, random_state=0)
