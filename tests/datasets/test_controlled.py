"""The generators: exact counts where the protocol is exact, binomial bounds where it is random."""

import numpy as np
import pytest
from binomial import assert_binomial
from hypothesis import given
from hypothesis import strategies as st

from ambilearn.candidates import as_candidates
from ambilearn.datasets import load_dataset, make_candidates

LABELS = [4, 7, 23, 78, 200]


def labels(n, n_labels, seed=0):
    return np.random.default_rng(seed).integers(0, n_labels, n)


@pytest.mark.parametrize("n_labels", LABELS)
@pytest.mark.parametrize("r", [1, 2, 3])
@pytest.mark.parametrize("p", [0.1, 0.3, 0.7, 1.0])
def test_controlled_counts_are_exact(n_labels, r, p):
    y = labels(997, n_labels)
    sets, statistics = make_candidates(y, p=p, r=r, classes=np.arange(n_labels), random_state=1)
    n_partial = int(np.floor(p * 997 + 0.5))
    assert sorted(np.unique(sets.sizes)) == ([1, r + 1] if p < 1 else [r + 1])
    assert (sets.sizes == r + 1).sum() == n_partial == statistics.n_partial
    assert statistics.share_partial == n_partial / 997
    assert statistics.mean_size == pytest.approx(1 + r * n_partial / 997)
    assert statistics.max_size == r + 1
    assert sets.covers(y).all()


@pytest.mark.parametrize(
    ("n", "p", "expected"),
    [
        (423, 0.5, 212),
        (971, 0.5, 486),
        (50, 0.29, 15),
        (10, 0.04, 0),
        (10, 0.05, 1),
        (107, 0.7, 75),
    ],
)
def test_the_number_of_partial_rows_is_rounded_half_up(n, p, expected):
    assert make_candidates(labels(n, 4), p=p, random_state=0)[1].n_partial == expected


@pytest.mark.parametrize("n_labels", LABELS)
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.4, 0.7, 1.0])
def test_the_coupled_label_comes_with_probability_epsilon(n_labels, epsilon):
    y = labels(500, n_labels)
    coupled_count, total = 0, 0
    for seed in range(20):
        sets, statistics = make_candidates(
            y, epsilon=epsilon, classes=np.arange(n_labels), random_state=seed
        )
        partner = statistics.coupled_labels
        assert (partner != np.arange(n_labels)).all()  # no label is coupled to itself
        mask = sets.to_mask()
        assert (sets.sizes == 2).all()
        assert mask[np.arange(500), y].all()
        hits = mask[np.arange(500), partner[y]]
        assert statistics.coupled_share == hits.mean()
        coupled_count += hits.sum()
        total += 500
    assert_binomial(coupled_count, total, epsilon)


@pytest.mark.parametrize("n_labels", LABELS)
@pytest.mark.parametrize("q", [0.0, 0.02, 0.3, 1.0])
def test_flips_are_independent_with_probability_q(n_labels, q):
    n = 20_000 // n_labels + 50
    y = labels(n, n_labels)
    false_count, total, pair_count = 0, 0, 0
    for seed in range(10):
        sets, statistics = make_candidates(
            y, kind="flip", q=q, classes=range(n_labels), random_state=seed
        )
        assert sets.covers(y).all()
        mask = sets.to_mask()
        mask[np.arange(n), y] = False
        false_count += mask.sum()
        total += n * (n_labels - 1)
        first, second = (
            (y + 1) % n_labels,
            (y + 2) % n_labels,
        )  # two false labels: together by chance only
        pair_count += (mask[np.arange(n), first] & mask[np.arange(n), second]).sum()
        assert statistics.mean_size == pytest.approx(1 + mask.sum() / n)
    assert_binomial(false_count, total, q)
    assert_binomial(pair_count, 10 * n, q * q)


def test_instance_dependent_flips_follow_the_given_probabilities():
    n, q = 40_000, 0.8
    y = np.zeros(n, dtype=int)
    proba = np.tile([0.5, 0.25, 0.2, 0.05, 0.0], (n, 1))
    sets, _ = make_candidates(
        y, kind="instance", q=q, proba=proba, classes=range(5), random_state=0
    )
    counts = sets.to_mask().sum(axis=0)
    assert counts[0] == n
    for j, relative in ((1, 1.0), (2, 0.8), (3, 0.2), (4, 0.0)):
        assert_binomial(counts[j], n, q * relative)


def test_with_q_one_the_most_probable_false_label_is_a_candidate():
    proba = np.random.default_rng(0).dirichlet(np.ones(6), 500)
    y = labels(500, 6)
    sets, statistics = make_candidates(y, kind="instance", proba=proba, random_state=0)
    proba[np.arange(500), y] = 0
    assert sets.covers(proba.argmax(axis=1)).all()
    assert sets.covers(y).all()
    assert statistics.share_partial == 1.0


@pytest.mark.filterwarnings("error")
def test_labels_too_rare_for_folds_are_supported():
    rng = np.random.default_rng(0)
    y = np.array([0] * 40 + [1] * 40 + [2])
    X = y[:, None] + rng.normal(size=(81, 2))
    sets, _ = make_candidates(y, kind="instance", X=X, classes=range(5), random_state=0)
    assert sets.covers(y).all()
    assert not sets.to_mask()[:, 3:].any()  # the classifier has not learned them
    with pytest.raises(ValueError, match="as proba="):
        make_candidates(np.arange(5), kind="instance", X=np.ones((5, 1)))


@pytest.mark.parametrize(
    "options",
    [
        {"p": 0.4, "r": 2},
        {"epsilon": 0.3},
        {"kind": "flip", "q": 0.2},
        {"kind": "instance", "q": 0.5},
        {"noise": "swap", "eta": 0.4},
        {"noise": "drop", "eta": 0.4},
    ],
)
def test_seeds_repeat_and_differ(options):
    iris = load_dataset("iris")
    if options.get("kind") == "instance":
        options = options | {"X": iris.X}
    if options.get("r") == 2:
        options = options | {"classes": [*iris.classes, "x-other"]}
    first, again, other = (
        make_candidates(iris.y, random_state=seed, **options)[0].to_mask() for seed in (5, 5, 6)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@given(
    st.integers(2, 40), st.integers(1, 60), st.floats(0, 1), st.integers(0, 2**32 - 1), st.data()
)
def test_invariants(n_labels, n, p, seed, data):
    r = data.draw(st.integers(1, n_labels - 1))
    y = np.random.default_rng(seed).integers(0, n_labels, n)
    sets, statistics = make_candidates(y, p=p, r=r, classes=range(n_labels), random_state=seed)
    assert set(sets.sizes) <= {1, r + 1}
    assert sets.covers(y).all()
    assert as_candidates(sets.to_mask()).to_sets() == sets.to_sets()  # pairs in order, distinct
    assert statistics.n_rows == n
    assert 0 <= statistics.ambiguity_degree <= 1


@pytest.mark.parametrize("eta", [0.1, 0.4])
@pytest.mark.parametrize(
    "options", [{"r": 2}, {"p": 0.5}, {"epsilon": 0.3}, {"kind": "flip", "q": 0.1}]
)
def test_swap_keeps_the_sizes_and_all_other_labels(options, eta):
    y = labels(5000, 6)
    clean, before = make_candidates(y, random_state=0, **options)
    noisy, statistics = make_candidates(y, noise="swap", eta=eta, random_state=0, **options)
    np.testing.assert_array_equal(noisy.sizes, clean.sizes)
    lost = ~noisy.covers(y)
    np.testing.assert_array_equal(noisy.to_mask()[~lost], clean.to_mask()[~lost])
    assert (noisy.to_mask() & clean.to_mask()).sum() == len(clean.labels) - lost.sum()
    assert statistics.n_without_truth == lost.sum()
    assert statistics.share_without_truth == lost.mean()
    assert (before.n_without_truth, before.share_without_truth) == (0, 0)
    assert_binomial(lost.sum(), 5000, eta)


@pytest.mark.parametrize("n_labels", [4, 23])
@pytest.mark.parametrize("q", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("eta", [0.1, 0.5, 1.0])
def test_the_share_without_truth_follows_the_formula(n_labels, q, eta):
    y = labels(20_000, n_labels)
    sets, statistics = make_candidates(
        y, kind="flip", q=q, noise="drop", eta=eta, classes=range(n_labels), random_state=0
    )
    assert (sets.sizes > 0).all()
    alone = (1 - q) ** (n_labels - 1)  # no false label
    drawn = 1 - eta * alone  # not empty
    lost = eta * (1 - alone) / drawn if drawn else 0.0
    assert_binomial(statistics.n_without_truth, 20_000, lost)
    assert statistics.n_without_truth == (~sets.covers(y)).sum()
    false = sets.to_mask()
    false[np.arange(len(y)), y] = False
    assert_binomial((~false.any(axis=1)).sum(), 20_000, (1 - eta) * alone / drawn if drawn else 1.0)
    for j in range(n_labels):
        rows = y != j
        assert_binomial(false[rows, j].sum(), rows.sum(), q / drawn if drawn else 0.0)


@pytest.mark.parametrize(
    "options", [{"r": 2, "p": 0.7}, {"epsilon": 0.3, "p": 0.7}, {"kind": "instance", "p": 0.7}]
)
def test_drop_removes_only_labels_of_partial_rows(options):
    y = labels(8000, 5)
    if options.get("kind") == "instance":
        options = options | {"proba": np.random.default_rng(0).dirichlet(np.ones(5), len(y))}
    sets, statistics = make_candidates(y, noise="drop", eta=0.3, random_state=0, **options)
    assert_binomial(statistics.n_without_truth, 8000, 0.7 * 0.3)
    assert (sets.sizes > 0).all()
    if "r" in options:  # 2400 rows are not partial; the others lose one of three
        sizes = np.bincount(sets.sizes)
        assert sizes[1] == 2400
        assert sizes[2] == statistics.n_without_truth


def test_a_row_without_possible_false_labels_keeps_its_label():
    proba = np.array([[1.0, 0, 0], [0, 0, 1.0]])  # the first row's only label is the true one
    sets, statistics = make_candidates(
        [0, 0], kind="instance", proba=proba, classes=range(3), noise="drop", eta=1.0
    )
    assert sets.to_sets() == [{0}, {2}]
    assert statistics.n_without_truth == 1


def test_labels_of_any_type_and_missing_classes():
    y = ["b", "a", "b"]
    sets, _ = make_candidates(y, classes=["a", "b", "c", "d"], r=3, random_state=0)
    assert sets.to_sets() == [set("abcd")] * 3
    assert sets.classes.tolist() == ["a", "b", "c", "d"]
    assert make_candidates(y, random_state=0)[0].to_sets() == [{"a", "b"}] * 3


@pytest.mark.parametrize("options", [{}, {"epsilon": 0.5}])
def test_one_label_has_no_false_labels(options):
    with pytest.raises(
        ValueError, match="only one label, so there is no false label: pass all labels"
    ):
        make_candidates([3, 3], **options)


def test_ambiguity_degree_of_a_small_example():
    proba = np.array([[0, 1, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0.0]])
    _, statistics = make_candidates(
        [0, 0, 0, 2], kind="instance", proba=proba, classes=range(3), random_state=0
    )
    # Label 1 is with two of the three rows of label 0, and with the only row of label 2.
    assert statistics.ambiguity_degree == 1.0
    _, statistics = make_candidates(
        [0, 0, 0, 1], kind="instance", proba=proba, classes=range(3), random_state=0
    )
    assert statistics.ambiguity_degree == pytest.approx(2 / 3)
    assert make_candidates([0, 1], p=0.0)[1].ambiguity_degree == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"p": -0.1}, "p must be a number between 0 and 1"),
        ({"p": 1.5}, "p must be"),
        ({"p": "all"}, "p must be"),
        ({"r": 0}, "r must be between 1 and 2"),
        ({"r": 3}, "r must be between 1 and 2"),
        ({"r": 1.5}, "r must be"),
        ({"epsilon": 2}, "epsilon must be a number"),
        ({"epsilon": 0.5, "r": 2}, "epsilon is defined only for r=1"),
        ({"q": 0.5}, "q is not used with kind='controlled'"),
        ({"X": [[1], [2], [3]]}, "X is not used with"),
        ({"kind": "flip"}, "needs q"),
        ({"kind": "flip", "q": 7}, "q must be"),
        ({"kind": "flip", "q": 0.1, "r": 2}, "r is not used with"),
        ({"kind": "flip", "q": 0.1, "epsilon": 0.2}, "epsilon is not used with"),
        ({"kind": "instance"}, "either X or proba"),
        ({"kind": "instance", "X": [[1]], "proba": [[1]]}, "either X or proba"),
        ({"kind": "instance", "proba": np.ones((3, 2))}, r"shape \(3, 3\)"),
        (
            {"kind": "instance", "proba": -np.ones((3, 3))},
            "a negative number, NaN .* row 0: pass",
        ),
        (
            {"kind": "instance", "proba": [[1, 0, 0], [0, np.inf, 1], [1, 0, 0]]},
            "NaN or infinity in row 1",
        ),
        ({"kind": "other"}, "kind must be"),
        ({"noise": "swap"}, "noise='swap' needs eta"),
        ({"noise": "flip", "eta": 0.1}, "noise must be 'swap' or 'drop', got 'flip'"),
        ({"eta": 0.1}, "eta needs noise"),
        ({"classes": ["a", "b"]}, "'c'"),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        make_candidates(["a", "b", "c"], **options)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([[0, 1], [1, 0]], "one true label per row"),
        (np.array([{1, 2}, {1}], dtype=object), "not sets"),
        ([1.0, np.nan], "NaN"),
    ],
)
def test_wrong_labels(y, message):
    with pytest.raises(ValueError, match=message):
        make_candidates(y)
