"""Masks and tables of weights, dense and sparse."""

from decimal import Decimal

import numpy as np
import pytest
from damaged import FORMATS, KINDS, make_sparse
from scipy import sparse

from ambilearn.candidates import as_candidates

MASK = np.array([[1, 1, 0], [0, 1, 0], [1, 0, 1]])
FORMS_OF_MASKS = {
    "int": MASK,
    "bool": MASK.astype(bool),
    "float": MASK.astype(float),
    "object": MASK.astype(object),
    "csr_array": sparse.csr_array(MASK),
    "csc_array": sparse.csc_array(MASK),
    "csr_matrix bool": sparse.csr_matrix(MASK.astype(bool)),
    "coo_array float": sparse.coo_array(MASK.astype(float)),
}


@pytest.mark.parametrize("form", FORMS_OF_MASKS)
def test_every_unnamed_mask_gives_the_same_sets(form):
    sets = as_candidates(FORMS_OF_MASKS[form])
    np.testing.assert_array_equal(sets.to_mask(), MASK)
    assert sets.classes.tolist() == [0, 1, 2]


def test_sparse_mask_with_unsorted_indices_duplicates_and_zeros():
    messy = sparse.csr_array(
        (np.array([1, 1, 0, 1.0]), np.array([2, 0, 1, 1]), np.array([0, 3, 4])), shape=(2, 3)
    )
    kept = messy.copy()
    assert as_candidates(messy).to_sets() == [{0, 2}, {1}]
    np.testing.assert_array_equal(messy.data, kept.data)  # the user's matrix is untouched
    np.testing.assert_array_equal(messy.indices, kept.indices)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sparse_format", FORMATS)
def test_every_sparse_format_is_read(sparse_format, kind):
    sets = as_candidates(make_sparse(MASK, sparse_format, kind))
    np.testing.assert_array_equal(sets.to_mask(), MASK)


def test_small_integers_are_added_up_without_overflow():
    parts = np.array([100, 100, 1], dtype=np.int8), ([0, 0, 1], [1, 1, 0])
    sets = as_candidates(sparse.coo_array(parts, shape=(2, 2)))
    assert sets.to_sets() == [{1}, {0}]
    parts = np.array([100, 100, 50], dtype=np.uint8), ([0, 0, 0], [1, 1, 0])
    assert as_candidates(sparse.coo_array(parts, shape=(1, 2)))[0] == {0: 50.0, 1: 200.0}


@pytest.mark.parametrize("dtype", [object, str, bytes])
def test_digits_as_text_are_no_weights(dtype):
    """They are labels in columns of annotators."""
    with pytest.raises(ValueError, match=r"neither a mask nor a table of weights: row 0 .*'1'"):
        as_candidates(np.array([["1", "2"], ["2", "3"]], dtype=dtype))


def test_numbers_of_several_types_are_weights():
    table = np.array([[Decimal("0.5"), True], [np.float32(2), 1]], dtype=object)
    assert as_candidates(table).to_sparse().toarray().tolist() == [[0.5, 1.0], [2.0, 1.0]]
