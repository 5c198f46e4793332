"""Changes of the labels from fit to fit, by hand."""

import numpy as np
import pytest

from ambilearn.review.progress import FitHistory

FIRST = np.array(["a"] * 100)
ANSWERS = [{row: "a"} for row in range(40)]


def changed(*rows):
    labels = FIRST.copy()
    labels[list(rows)] = "b"
    return labels


def test_settled_rows_are_not_counted():
    history = FitHistory(FIRST)
    assert history.count_changed(changed(1, 2, 3), [2]) == 2
    mixed = changed(1).astype(object)
    mixed[5] = 7  # a label of another type, which a person gave
    assert history.count_changed(mixed, []) == 2


@pytest.mark.parametrize(
    ("n_now", "now", "message"),
    [
        (20, changed(50, 51), "The last 20 answers corrected 0 labels and changed 2 others: "),
        (40, changed(*range(50, 54)), "The last 40 answers corrected 0 labels and changed 4 "),
        (20, changed(5), "The last 20 answers corrected 0 labels and changed 0 others: "),
        (20, changed(50, 51, 52), None),  # more than one label per ten answers
        (19, FIRST, None),  # too few
        (41, FIRST, None),  # answers were taken back since
    ],
)
def test_little_change(n_now, now, message):
    history = FitHistory(FIRST)
    history.add(0, FIRST)
    assert history.describe_little_change(ANSWERS) is None
    history.add(n_now, now)
    found = history.describe_little_change(ANSWERS)
    assert found is None if message is None else found.startswith(message)


@pytest.mark.parametrize("n_corrected", [2, 3])
def test_corrections_count_as_changes(n_corrected):
    history = FitHistory(FIRST)
    history.add(0, FIRST)
    history.add(20, changed(*range(n_corrected)))
    answers = [{row: "b" if row < n_corrected else "a"} for row in range(20)]
    found = history.describe_little_change(answers)
    assert (found is None) == (n_corrected == 3)
    assert n_corrected == 3 or "corrected 2 labels and changed 0 others" in found


def test_the_latest_fit_that_is_early_enough_is_compared():
    history = FitHistory(FIRST)
    for n_answers, labels in [(0, FIRST), (5, changed(60)), (15, changed(60, 61)), (25, FIRST)]:
        history.add(n_answers, labels)
    found = history.describe_little_change(ANSWERS)
    assert found.startswith("The last 20 answers corrected 0 labels and changed 1 other:")
