import warnings
from math import ceil

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from ambilearn import PLKNN
from ambilearn.bridges import candidates_from_conformal, candidates_from_prediction_sets
from ambilearn.bridges.conformal import _conformal_quantile

SCORES = ["lac", "aps"]


def miscalibrated(n, l, rng):
    """Probabilities that are wrong (too sharp), and labels drawn from the right ones."""
    right = rng.dirichlet(np.ones(l), size=n)
    labels = (right.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=l - 1)
    sharp = right**3
    return sharp / sharp.sum(axis=1, keepdims=True), labels


def by_the_definition(new, known, labels, alpha, conformity_score):
    """Row by row and label by label, as the papers write it."""

    def score(p, j):
        if conformity_score == "lac":
            return 1 - p[j]
        return sum(p[k] for k in range(len(p)) if p[k] > p[j] or (p[k] == p[j] and k <= j))

    scores = sorted(score(p, y) for p, y in zip(known, labels, strict=True))
    quantile = scores[ceil((len(scores) + 1) * (1 - alpha)) - 1]
    sets = [{j for j in range(len(p)) if score(p, j) <= quantile + 1e-12} for p in new]
    return [s or {int(np.argmax(p))} for s, p in zip(sets, new, strict=True)]


@pytest.mark.parametrize("conformity_score", SCORES)
@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.5, 0.9])
def test_the_definition(conformity_score, alpha):
    rng = np.random.default_rng(0)
    known, labels = miscalibrated(57, 5, rng)
    new, _ = miscalibrated(40, 5, rng)
    sets = candidates_from_conformal(
        new, known, labels, alpha=alpha, conformity_score=conformity_score
    )
    expected = by_the_definition(new, known, labels, alpha, conformity_score)
    assert sets.to_sets() == expected


@pytest.mark.parametrize("conformity_score", SCORES)
@pytest.mark.parametrize(("m", "alpha"), [(19, 0.1), (60, 0.1), (60, 0.3)])
def test_coverage_on_average(conformity_score, m, alpha):
    """Mean over 300 draws of calibration and new rows, within four standard errors."""
    rng = np.random.default_rng(m)
    coverage = []
    for _ in range(300):
        known, labels = miscalibrated(m, 6, rng)
        new, truth = miscalibrated(100, 6, rng)
        sets = candidates_from_conformal(
            new, known, labels, alpha=alpha, conformity_score=conformity_score
        )
        coverage.append(sets.covers(truth).mean())
    margin = 4 * np.std(coverage) / np.sqrt(len(coverage))
    assert np.mean(coverage) > 1 - alpha - margin
    # Continuous scores: at most 1/(m + 1) above, and what the filled-up empty sets add.
    assert np.mean(coverage) < 1 - alpha + 1 / (m + 1) + margin + 0.02


@pytest.mark.parametrize("alpha", [0.1, 0.25, 0.7])
def test_the_coverage_of_exchangeable_numbers_is_exact(alpha):
    """Each of n different numbers in turn, compared with the quantile of the others."""
    numbers = np.random.default_rng(3).random(20)
    covered = [
        number <= _conformal_quantile(np.delete(numbers, i), alpha)
        for i, number in enumerate(numbers)
    ]
    assert sum(covered) == round(20 * (1 - alpha))


def test_the_rank_does_not_depend_on_rounding():
    assert 10 * (1 - 0.7) > 3
    assert _conformal_quantile(np.arange(9.0), 0.7) == 2.0


@pytest.mark.parametrize("conformity_score", SCORES)
def test_coverage_on_real_rows(conformity_score):
    X, y = load_digits(return_X_y=True)
    X_train, X, y_train, y = train_test_split(X, y, train_size=300, random_state=0)
    X_known, X_new, y_known, y_new = train_test_split(X, y, random_state=0)
    model = GaussianNB(var_smoothing=0.01).fit(X_train, y_train)
    sets = candidates_from_conformal(
        model.predict_proba(X_new),
        model.predict_proba(X_known),
        y_known,
        alpha=0.05,
        conformity_score=conformity_score,
    )
    assert 0.93 < sets.covers(y_new).mean() < 0.99
    assert 1 < sets.sizes.mean() < 4
    assert (PLKNN().fit(X_new, sets).transduction_ == y_new).mean() > 0.75


def test_labels_of_an_overconfident_classifier_stay_apart():
    known = np.array([[1.0, 1e-30, 1e-40]] * 99)
    sets = candidates_from_conformal(known[:1], known, [1] * 50 + [0] * 49, conformity_score="aps")
    assert sets.to_sets() == [{0, 1}]


@pytest.mark.parametrize("conformity_score", SCORES)
def test_a_smaller_alpha_gives_larger_sets(conformity_score):
    rng = np.random.default_rng(1)
    known, labels = miscalibrated(200, 5, rng)
    new, _ = miscalibrated(50, 5, rng)
    masks = [
        candidates_from_conformal(
            new, known, labels, alpha=alpha, conformity_score=conformity_score
        ).to_mask()
        for alpha in (0.05, 0.3, 0.6)
    ]
    assert (masks[0] >= masks[1]).all()
    assert (masks[1] >= masks[2]).all()
    assert masks[0].sum() > masks[2].sum()


def test_aps_excludes_the_label_that_exceeds_the_quantile():
    """The calibration rows score 0.75, the labels of the new rows 0.5, 0.75, 1 and 0.5, 1, 1."""
    known = np.tile([0.75, 0.125, 0.125], (20, 1))
    sets = candidates_from_conformal(
        [[0.5, 0.25, 0.25], [0.5, 0.5, 0.0]], known, [0] * 20, alpha=0.1, conformity_score="aps"
    )
    assert sets.to_sets() == [{0, 1}, {0}]


def test_aps_differs_from_mapie():
    """MAPIE takes a random part of the probability off, and adds the label that passes."""
    rng = np.random.default_rng(5)
    known, labels = miscalibrated(400, 6, rng)
    new, _ = miscalibrated(200, 6, rng)

    def cumulated(p):
        order = np.argsort(-p, axis=1)
        scores = np.empty_like(p)
        np.put_along_axis(scores, order, np.take_along_axis(p, order, axis=1).cumsum(axis=1), 1)
        return scores

    def theirs(part):
        """Sets of MAPIE's formula, with the part (random there) as given."""
        own = known[np.arange(400), labels]
        scores = np.sort(cumulated(known)[np.arange(400), labels] - part * own)
        return cumulated(new) - new < scores[ceil(401 * 0.9) - 1]

    ours = candidates_from_conformal(new, known, labels, conformity_score="aps").to_mask()
    assert (theirs(0.0) >= ours).all()  # nothing taken off: ours, and the label that passes
    assert (theirs(0.0).sum(axis=1) - ours.sum(axis=1)).max() == 1
    assert not (theirs(rng.random(400)) == ours).all()


def test_an_empty_set_gets_the_most_likely_label():
    known = np.tile([1.0, 0.0, 0.0], (50, 1))
    sets = candidates_from_conformal([[0.4, 0.5, 0.1]], known, np.zeros(50, int))
    assert sets.to_sets() == [{1}]


def test_too_few_calibration_rows_make_every_label_a_candidate():
    known = np.full((8, 2), 0.5)
    with pytest.warns(UserWarning, match=r"alpha=0.1 needs at least 9 calibration rows, not 8"):
        sets = candidates_from_conformal([[0.9, 0.1]], known, [0] * 8)
    assert sets.to_sets() == [{0, 1}]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        candidates_from_conformal([[0.9, 0.1]], np.full((9, 2), 0.5), [0] * 9)


def test_labels_by_name():
    rng = np.random.default_rng(2)
    known, labels = miscalibrated(100, 3, rng)
    new, _ = miscalibrated(10, 3, rng)
    names = np.array(["cat", "dog", "fox"])
    expected = candidates_from_conformal(new, known, labels).to_mask()
    named = candidates_from_conformal(new, known, names[labels], classes=names)
    framed = candidates_from_conformal(
        pd.DataFrame(new, columns=names), pd.DataFrame(known, columns=names), names[labels]
    )
    for sets in (named, framed):
        assert sets.classes.tolist() == names.tolist()
        assert (sets.to_mask() == expected).all()


KNOWN = [[0.6, 0.4], [0.3, 0.7]]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((KNOWN, KNOWN, [0, 1]), {"alpha": 0}, "alpha must be a number between 0 and 1, got 0"),
        ((KNOWN, KNOWN, [0, 1]), {"alpha": "x"}, "a number between 0 and 1, got 'x'"),
        ((KNOWN, KNOWN, [0, 1]), {"alpha": None}, "a number between 0 and 1, got None"),
        ((KNOWN, KNOWN, [0, 1]), {"alpha": 5}, "alpha must be .*0.1 for a coverage of 90 %"),
        ((KNOWN, KNOWN, [0, 1]), {"conformity_score": "raps"}, "'lac' or 'aps', got 'raps'"),
        (([[2.0, -1]], KNOWN, [0, 1]), {}, "Row 0 of probabilities .*not decision scores"),
        ((KNOWN, [[0.5, 0.5], [3, 2]], [0, 1]), {}, "Row 1 of calibration_probabilities"),
        ((KNOWN, KNOWN, [0]), {}, "has 2 rows but there are 1 calibration_labels"),
        ((KNOWN, np.empty((0, 2)), []), {}, "at least one"),
        ((KNOWN, KNOWN, ["a", "b"]), {}, "label 'a' of row 0 is not among the classes: pass"),
        ((KNOWN, [[0.2, 0.3, 0.5]], [0]), {}, "3 columns but there are 2 classes"),
    ],
)
def test_invalid_arguments_are_rejected(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        candidates_from_conformal(*arguments, **options)


SETS = np.array([[True, True, False], [False, False, True]])


@pytest.mark.parametrize("sets", [SETS, SETS[:, :, None], SETS.astype(int), SETS.tolist()])
def test_prediction_sets(sets):
    assert candidates_from_prediction_sets(sets).to_sets() == [{0, 1}, {2}]
    named = candidates_from_prediction_sets(sets, classes=["a", "b", "c"])
    assert named.to_sets() == [{"a", "b"}, {"c"}]


def test_prediction_sets_in_a_frame():
    frame = pd.DataFrame(SETS, columns=list("xyz"))
    assert candidates_from_prediction_sets(frame).to_sets() == [{"x", "y"}, {"z"}]


def test_empty_prediction_sets():
    sets = SETS.copy()
    sets[1] = False
    with pytest.raises(ValueError, match=r"set of row 1 is empty \(1 such row\)\. Pass the prob"):
        candidates_from_prediction_sets(sets)
    probabilities = [[0.2, 0.3, 0.5], [0.4, 0.4, 0.2]]
    filled = candidates_from_prediction_sets(sets[:, :, None], probabilities)
    assert filled.to_sets() == [{0, 1}, {0}]
    assert not sets[1].any()
    with pytest.raises(ValueError, match=r"shape \(2, 3\) but probabilities \(1, 3\)"):
        candidates_from_prediction_sets(sets, probabilities[:1])


def test_rejected_prediction_sets():
    with pytest.raises(ValueError, match=r"2 confidence levels, shape \(2, 3, 2\): choose one"):
        candidates_from_prediction_sets(np.dstack([SETS, SETS]))
    with pytest.raises(ValueError, match="pass only the array of the sets"):
        candidates_from_prediction_sets((np.array([0, 2]), SETS))
    with pytest.raises(
        ValueError,
        match=r"^prediction_sets is not 0/1: row 0, column 0 has the value 0\.5\. Pass True or 1",
    ):
        candidates_from_prediction_sets([[0.5, 0.5]])


def test_calibration_labels_in_a_column():
    P = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.3, 0.7]])
    y = np.array(["a", "b", "a", "b"])
    rows = {"calibration_probabilities": P, "classes": ["a", "b"]}
    expected = candidates_from_conformal(P, calibration_labels=y, **rows).to_sets()
    for labels in (y[:, None], pd.DataFrame({"y": y})):
        found = candidates_from_conformal(P, calibration_labels=labels, **rows)
        assert found.to_sets() == expected
    with pytest.raises(ValueError, match=r"calibration_labels must have the shape .*\(2, 2\)"):
        candidates_from_conformal(P, calibration_labels=y.reshape(2, 2), **rows)
