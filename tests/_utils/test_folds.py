import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold

from ambilearn._utils.folds import split_rows


def test_a_number_is_a_number_of_shuffled_folds():
    X = np.zeros((7, 1))
    expected = KFold(3, shuffle=True, random_state=5).split(X)
    for found, fold in zip(split_rows(3, X, 7, 5), expected, strict=True):
        np.testing.assert_array_equal(found[0], fold[0])
        np.testing.assert_array_equal(found[1], fold[1])


@pytest.mark.parametrize(
    ("cv", "message"),
    [(8, "Too few rows for the 8 folds"), (StratifiedKFold(2), "neither labels nor groups")],
)
def test_splits_that_are_not_possible(cv, message):
    with pytest.raises(ValueError, match=message):
        split_rows(cv, np.zeros((7, 1)), 7, None)
