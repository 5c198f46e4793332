"""Labels that are probably wrong are recognized."""

import datetime
import random
import warnings
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from ambilearn import PLKNN, as_candidates
from ambilearn._utils.suspicious_labels import (
    check_comparable_labels,
    find_misspellings,
    warn_of_joined_labels,
)

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


@pytest.mark.parametrize(
    "rare",
    ["Anna", "ANNA", "annna", "annA", "aanna", "anna-", "bnna", "Annna"],
)
def test_case_and_one_letter(rare):
    assert find_misspellings({"anna": 50, rare: 5, "robert": 80}) == [(rare, "anna")]


def test_missing_letter():
    assert find_misspellings({"robert": 50, "robet": 5, "obert": 1}) == [
        ("obert", "robert"),
        ("robet", "robert"),
    ]


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        ({"anna": 49, "annna": 5}, "not ten times rarer"),
        ({"cat": 50, "bat": 1}, "three letters"),
        ({"abcd": 50, "abc": 1}, "three letters in one of them"),
        ({"type1": 50, "type2": 1}, "digits"),
        ({"anna": 50, "anan": 1}, "two letters"),
        ({"anna": 50, "hannah": 1}, "two letters"),
        ({"anna": 5, "annna": 0.5}, "too few rows"),
        ({1000: 50, 1001: 1}, "numbers"),
        ({("a", "b"): 50, None: 1, True: 3}, "other objects"),
        ({"a" * 41: 50, "a" * 40 + "b": 1}, "too long to be compared"),
        ({}, "no label"),
    ],
)
def test_other_labels(labels, why):
    assert find_misspellings(labels) == [], why


def test_names_that_differ_in_their_last_letter():
    """They are names of their own if they are frequent, too."""
    assert find_misspellings({"species_a": 800, "species_g": 5, "species_b": 60}) == []
    assert find_misspellings({"anna": 50, "anne": 4}) == [("anne", "anna")]
    assert find_misspellings({"anna": 80, "enna": 5}) == [("enna", "anna")]


def _differ_by_one(a, b):
    """By the definition: one letter changed, added or missing, in any case."""
    a, b = sorted((a.casefold(), b.casefold()), key=len)
    if len(a) == len(b):
        return sum(x != y for x, y in zip(a, b, strict=True)) <= 1
    return any(b[:i] + b[i + 1 :] == a for i in range(len(b)))


def test_pairs_are_those_of_the_definition():
    choose = random.Random(0)
    labels = {"".join(choose.choices("abAB", k=choose.randrange(4, 7))) for _ in range(120)}
    counts = {label: choose.choice([1, 3, 10, 40, 200]) for label in sorted(labels)}
    expected = {}
    for one, other in combinations(counts, 2):
        rare, frequent = sorted((one, other), key=counts.get)
        if counts[rare] * 10 <= counts[frequent] and _differ_by_one(one, other):
            expected[rare] = max(expected.get(rare, 0), counts[frequent])
    found = find_misspellings(counts)
    assert {rare: counts[frequent] for rare, frequent in found} == expected
    assert all(_differ_by_one(rare, frequent) for rare, frequent in found)
    assert len(expected) > 20


def test_labels_that_share_all_but_one_letter_are_not_compared_with_each_other():
    """Only the most frequent label of such a group is compared, which keeps the work linear."""
    counts = {f"abc{chr(0x20000 + i)}d": 1 for i in range(4_000)} | {"abced": 10}
    assert len(find_misspellings(counts)) == 4_000
    counts = {f"abc{chr(0x20000 + i)}d": 1 + 9 * (i % 2) for i in range(4_000)}
    assert len(find_misspellings(counts)) == 2_000


def array(labels):
    """An array of objects, as pandas has them."""
    made = np.empty(len(labels), dtype=object)
    made[:] = labels
    return made


NUMBERS = [np.array([1, 2]), np.array([1.0, 2.5]), np.array([True, False]), array([1, 2.5, True])]
TEXT = [np.array(["1", "2"]), array(["1", "b"])]
OBJECTS = [array([(1, 2), None]), np.array(["2020-01-01"], dtype="datetime64[D]")]
MIXED = array([1, "1"])


@pytest.mark.parametrize("same", [NUMBERS, TEXT, OBJECTS])
def test_labels_of_one_kind_are_comparable(same):
    for labels, others in product(same, same):
        check_comparable_labels(labels, others, "y", "the classes")


@pytest.mark.parametrize(
    ("some", "rest"), [(NUMBERS, TEXT), (TEXT, NUMBERS), (OBJECTS, TEXT), (NUMBERS, OBJECTS)]
)
def test_labels_of_different_kinds_are_rejected(some, rest):
    for labels, others in product(some, rest):
        with pytest.raises(ValueError, match=r"they can never be equal\. Convert both"):
            check_comparable_labels(labels, others, "y", "the classes")


def test_one_kind_in_common_is_enough():
    for labels in (*NUMBERS, *TEXT):
        check_comparable_labels(labels, MIXED, "y", "the classes")
        check_comparable_labels(MIXED, labels, "y", "the classes")
    with pytest.raises(ValueError, match="numbers and text as labels, such as 1, but the rest are"):
        check_comparable_labels(MIXED, OBJECTS[0], "y", "the rest")


def test_no_labels_are_comparable_with_any():
    check_comparable_labels(np.array([], dtype=int), TEXT[0], "y", "the classes")
    check_comparable_labels(TEXT[0], np.array([], dtype=object), "y", "the classes")


def test_the_message_names_both_with_an_example():
    day = datetime.date(2020, 1, 1)
    with pytest.raises(ValueError, match=r"^y_true has objects as labels, such as datetime.date"):
        check_comparable_labels(array([day]), TEXT[0], "y_true", "the predictions")
    with pytest.raises(ValueError, match=r"the predictions are text, such as '1'"):
        check_comparable_labels(NUMBERS[0], TEXT[0], "y_true", "the predictions")
