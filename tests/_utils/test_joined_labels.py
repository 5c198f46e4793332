import warnings

import numpy as np
import pandas as pd
import pytest

from ambilearn import PLKNN, as_candidates
from ambilearn._utils.joined_labels import warn_of_joined_labels

X = np.arange(8.0)[:, None]
JOINED = ["anna|bob", "bob", "bob|cleo", "anna", "cleo", "anna|cleo", "bob|anna", "cleo"]


@pytest.mark.parametrize(
    "y", [JOINED, np.array(JOINED), np.array(JOINED, dtype=object), pd.Series(JOINED)]
)
def test_text_with_a_separator_is_one_label_with_a_warning(y):
    with pytest.warns(UserWarning, match=r"'anna\|bob', which is taken as one label") as caught:
        model = PLKNN(n_neighbors=2).fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert "anna|bob" in model.classes_.tolist()


def test_the_advice_in_the_message_works():
    with pytest.warns(UserWarning, match="split it with y = ") as caught:
        as_candidates(JOINED)
    advice = str(caught[0].message).partition("y = ")[2].partition(", or read")[0]
    sets = as_candidates(eval(advice, {"y": JOINED}))
    assert sets.classes.tolist() == ["anna", "bob", "cleo"]
    assert sets.to_sets()[:2] == [{"anna", "bob"}, {"bob"}]


@pytest.mark.parametrize(
    "names",
    [
        ["a|b", "b|c", "a|c"],  # no row is certain, and b is in different places
        ["a ; b", "b", "a"],  # the parts are labels of their own
        ["cat, dog", "dog, fox", "fox"],
        ["a|b|c", "b|c", "c|d", "d"],
    ],
)
def test_joined_labels_are_detected(names):
    with pytest.warns(UserWarning, match="taken as one label"):
        warn_of_joined_labels(names)


@pytest.mark.parametrize(
    "names",
    [
        ["Smith, John", "Smith, Jane", "Doe, John"],  # a part always has the same place
        ["north; wet", "north; dry", "south; wet"],
        ["Animalia", "Animalia;Chordata", "Animalia;Chordata;Mammalia"],  # a taxonomy
        ["Korea, North", "Korea, South", "France"],
        ["a|b", "cat", "dog", "fox"],  # one odd name
        ["|", "||", "a|", "|a"],
        ["cat", "dog"],
        ["yes/no", "no/yes"],
        [],
        [1, 2, 3],
        [("a", "b"), None, "a|b"],
    ],
)
def test_single_labels_with_a_separator_cause_no_warning(names):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_joined_labels(names)


def test_sets_masks_and_numbers_cause_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_candidates([text.split("|") for text in JOINED])
        as_candidates(np.eye(3)[[0, 1, 2, 0]])
        as_candidates([0, 1, 2, 1, 0, 2])
