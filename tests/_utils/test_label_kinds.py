import datetime
from itertools import product

import numpy as np
import pytest

from ambilearn._utils.label_kinds import check_comparable_labels


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


def test_labels_that_are_equal_in_python_are_accepted():
    for one, other in [
        (1, True),
        (1, 1.0),
        (1, np.int8(1)),
        (2, np.float32(2)),
        ("a", np.str_("a")),
    ]:
        assert one == other
        check_comparable_labels(array([one]), array([other]), "y", "the classes")


def test_the_message_names_both_with_an_example():
    day = datetime.date(2020, 1, 1)
    with pytest.raises(ValueError, match=r"^y_true has objects as labels, such as datetime.date"):
        check_comparable_labels(array([day]), TEXT[0], "y_true", "the predictions")
    with pytest.raises(ValueError, match=r"the predictions are text, such as '1'"):
        check_comparable_labels(NUMBERS[0], TEXT[0], "y_true", "the predictions")
