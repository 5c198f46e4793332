import itertools

import numpy as np
import pytest
from binomial import assert_binomial
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ambilearn.candidates import as_candidates
from ambilearn.datasets import add_noise, make_candidates
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


def test_tiny_probabilities_of_a_classifier():
    """The most probable false label is a candidate, also if single precision has no such number."""
    proba = [[1, 1e-50, 1e-60], [1e-46, 1, 1e-47], [1e-10, 1e-12, 1]]
    sets, _ = make_candidates([0, 1, 2], kind="instance", proba=proba, random_state=0)
    assert [len(each) > 1 for each in sets.to_sets()] == [True] * 3


KINDS = ["swap", "drop"]


def random_sets(n_rows, n_labels, seed):
    """Sets of every size, with and without the true label; and the true labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_labels, n_rows)
    mask = rng.random((n_rows, n_labels)) < rng.random((n_rows, 1))
    mask[np.arange(n_rows), y] |= rng.random(n_rows) < 0.8
    mask[~mask.any(axis=1), 0] = True
    return mask, y


@given(
    st.integers(1, 30),
    st.integers(2, 8),
    st.floats(0, 1),
    st.sampled_from(KINDS),
    st.integers(0, 2**32 - 1),
)
def test_only_the_true_label_is_removed(n_rows, n_labels, eta, kind, seed):
    before, y = random_sets(n_rows, n_labels, seed)
    noisy = add_noise(before, y, kind=kind, eta=eta, random_state=seed)
    after = noisy.to_mask()
    assert as_candidates(after).to_sets() == noisy.to_sets()  # pairs in order, distinct, none empty
    own = np.arange(n_rows), y
    lost = before[own] & ~after[own]
    np.testing.assert_array_equal(after[~lost], before[~lost])
    false_before, false_after = before.copy(), after.copy()
    false_before[own] = false_after[own] = False
    assert not (false_before & ~false_after).any()  # no false label leaves
    size = before.sum(axis=1)
    if kind == "swap":
        np.testing.assert_array_equal(after.sum(axis=1), size)
        assert not lost[size == n_labels].any()
    else:
        np.testing.assert_array_equal(after.sum(axis=1), size - lost)
        assert not lost[size == 1].any()


@pytest.mark.parametrize("kind", KINDS)
def test_noise_of_probability_zero_and_one(kind):
    mask, y = random_sets(300, 6, 0)
    kept = add_noise(mask, y, kind=kind, eta=0.0, random_state=0)
    np.testing.assert_array_equal(kept.to_mask(), mask)
    lost = add_noise(mask, y, kind=kind, eta=1.0, random_state=0)
    cannot = mask.all(axis=1) if kind == "swap" else mask.sum(axis=1) == 1
    np.testing.assert_array_equal(lost.covers(y), mask[np.arange(300), y] & cannot)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("eta", [0.02, 0.1, 0.4])
def test_rows_lose_their_label_with_probability_eta(kind, eta):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 20_000)
    sets, _ = make_candidates(y, r=2, random_state=0)
    lost = ~add_noise(sets, y, kind=kind, eta=eta, random_state=1).covers(y)
    assert_binomial(lost.sum(), len(y), eta)
    for label in range(5):
        assert_binomial(lost[y == label].sum(), (y == label).sum(), eta)


def test_the_replacement_label_is_uniform():
    mask = np.tile(np.array([1, 0, 1, 0, 0, 0]), (30_000, 1))
    y = np.zeros(len(mask), dtype=int)
    noisy = add_noise(mask, y, eta=1.0, random_state=0).to_mask()
    assert noisy[:, 2].all()
    for j in (1, 3, 4, 5):
        assert_binomial(noisy[:, j].sum(), len(mask), 1 / 4)


@pytest.mark.parametrize("kind", KINDS)
def test_more_noise_changes_a_superset_of_the_rows(kind):
    mask, y = random_sets(400, 6, 1)
    small, large = (
        add_noise(mask, y, kind=kind, eta=eta, random_state=3).to_mask() for eta in (0.1, 0.3)
    )
    changed = (small != mask).any(axis=1)
    assert 0 < changed.sum() < (large != mask).any(axis=1).sum()
    np.testing.assert_array_equal(small[changed], large[changed])


@pytest.mark.parametrize("kind", KINDS)
def test_labels_of_any_type_keep_type_and_order(kind):
    sets = as_candidates([{"b", "a"}, {"c"}, {"a", "c"}], classes=["c", "a", "b", "z"])
    noisy = add_noise(sets, ["a", "c", "c"], kind=kind, eta=1.0, random_state=0)
    assert noisy.classes.tolist() == ["c", "a", "b", "z"]
    assert not noisy.covers(["a", None, "c"]).any()
    if kind == "drop":
        assert noisy.to_sets() == [{"b"}, {"c"}, {"a"}]


def test_weights_follow_their_labels():
    sets = as_candidates([{"c": 3, "a": 1}, {"a": 2, "b": 5}, {"b": 1}], classes=list("abcd"))
    swapped = add_noise(sets, ["c", "a", "b"], eta=1.0, random_state=0)
    for row, (label, weight) in enumerate([("a", 1.0), ("b", 5.0)]):  # the false labels keep theirs
        other = {j: w for j, w in swapped[row].items() if j != label}
        assert swapped[row][label] == weight
        assert list(other.values()) == [[3.0, 2.0][row]]
    dropped = add_noise(sets, ["c", "a", "b"], kind="drop", eta=1.0, random_state=0)
    assert list(dropped) == [{"a": 1.0}, {"b": 5.0}, {"b": 1.0}]


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([0, 1], {"kind": "flip", "eta": 0.1}, "must be 'swap' or 'drop', got 'flip'"),
        ([0, 1], {"eta": 1.2}, "eta must be a number between 0 and 1"),
        ([0, 1], {"eta": "some"}, "eta must be a number between 0 and 1"),
        ([0, 1], {"eta": None}, "eta must be a number between 0 and 1"),
        ([0, 7], {"eta": 0.1}, "Row 1 has the candidate label 7, which is not among the 3"),
        (["0", "1"], {"eta": 0.1}, "'0', which is not among the 3 given classes"),
        ([0], {"eta": 0.1}, "2 rows but y has 1"),
        ([{0, 1}, {1}], {"eta": 0.1}, "one true label per row, but row 0 has 2"),
    ],
)
def test_invalid_arguments_are_rejected(y, options, message):
    with pytest.raises(ValueError, match=message):
        add_noise([{0, 1}, {1, 2}], y, **options)
