import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from problems import random_mask, support

from ambilearn.methods._votes import (
    normalize_candidate_votes,
    normalize_votes,
    restore_class_mass,
)

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
