"""Damaged matrices and rows that are no numbers are rejected; sparse rows get a canonical form."""

import numpy as np
import pandas as pd
import pytest
from damaged import DAMAGES, FORMATS, KINDS, make_damaged, make_sparse
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ambilearn._utils.array_checks import (
    check_structure,
)
from ambilearn._utils.damaged_inputs import canonical_rows, explain_unreadable

TABLE = np.array([[1.0, 0, 0, 2], [0, 0, 3, 0], [0, 0, 0, 0]])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("sparse_format", "what"), DAMAGES)
def test_damaged_matrices_are_rejected(sparse_format, what, kind):
    matrix = make_damaged(sparse_format, what, kind)
    message = rf"^Z is a damaged sparse matrix \({sparse_format}\): .+\. Rebuild it"
    with pytest.raises(ValueError, match=message):
        check_structure(matrix, "Z")


def test_every_format_has_a_damage():
    assert {sparse_format for sparse_format, _ in DAMAGES} == set(FORMATS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sparse_format", FORMATS)
@pytest.mark.parametrize("table", [TABLE, np.zeros((3, 2)), np.ones((2, 2)), TABLE[:0]])
def test_valid_matrices_are_accepted_unchanged(sparse_format, kind, table):
    matrix = make_sparse(table, sparse_format, kind)
    check_structure(matrix, "X")
    np.testing.assert_array_equal(matrix.toarray(), table)


def test_space_after_the_last_entry_is_ignored():
    matrix = with_room(TABLE)
    check_structure(matrix, "X")
    assert len(matrix.data) == 5
    np.testing.assert_array_equal(canonical_rows(matrix).data, [1, 2, 3])


def with_room(table):
    matrix = sparse.csr_array(table)
    matrix.data = np.append(matrix.data, [np.nan, 1e300])
    matrix.indices = np.append(matrix.indices, [99, -1]).astype(matrix.indices.dtype)
    return matrix


def test_diagonals_outside_the_matrix_are_valid():
    matrix = sparse.dia_array((np.ones((1, 3)), [7]), shape=(3, 3))
    check_structure(matrix, "X")
    assert matrix.toarray().sum() == 0


@pytest.mark.parametrize("n_dimensions", [1, 3])
def test_sparse_arrays_need_two_dimensions(n_dimensions):
    matrix = sparse.coo_array(np.ones((3, 2, 2)[:n_dimensions]))
    with pytest.raises(ValueError, match=rf"^y is a sparse array with {n_dimensions} dimension"):
        check_structure(matrix, "y")


@pytest.mark.parametrize("values", [np.array([1j, 2]), np.array([1, "a"], dtype=object)])
def test_sparse_entries_must_be_real_numbers(values):
    matrix = sparse.csr_array(np.eye(2))
    matrix.data = values
    with pytest.raises(ValueError, match=r"entries of type .* convert it, .* y\.astype\(float\)"):
        check_structure(matrix, "y")


@given(st.integers(0, 2**32 - 1))
def test_damage_is_detected_or_harmless(seed):
    """Random numbers in the parts of a CSR matrix: rejected, or as good as any other matrix."""
    rng = np.random.default_rng(seed)
    matrix = sparse.csr_array(rng.integers(2, size=(4, 3)))
    part = [matrix.indices, matrix.indptr][rng.integers(2)]
    if len(part):
        part[rng.integers(len(part))] = rng.integers(-2, 9)
    try:
        check_structure(matrix, "X")
    except ValueError:
        return
    dense = np.zeros(matrix.shape)
    for i in range(4):
        for place in range(matrix.indptr[i], matrix.indptr[i + 1]):
            dense[i, matrix.indices[place]] += matrix.data[place]
    np.testing.assert_array_equal(canonical_rows(matrix).toarray(), dense)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sparse_format", FORMATS)
def test_canonical_rows_are_csr_of_the_same_kind(sparse_format, kind):
    matrix = make_sparse(TABLE, sparse_format, kind)
    rows = canonical_rows(matrix)
    assert rows.format == "csr"
    assert isinstance(rows, sparse.sparray) == (kind == "array")
    np.testing.assert_array_equal(rows.toarray(), TABLE)


def test_canonical_rows_share_memory_if_possible():
    matrix = sparse.csr_array(TABLE)
    assert np.shares_memory(canonical_rows(matrix).data, matrix.data)


def test_canonical_rows_ignore_cached_flags():
    matrix = sparse.csr_array(TABLE)
    assert matrix.has_canonical_format
    matrix.indices[:2] = 3  # 1 + 2 in one place, now
    rows = canonical_rows(matrix)
    assert rows.nnz == 2
    np.testing.assert_array_equal(rows.toarray(), [[0, 0, 0, 3], [0, 0, 3, 0], [0, 0, 0, 0]])
    assert matrix.indices.tolist() == [3, 3, 2]  # the user's is as it was


@pytest.mark.parametrize(
    ("X", "said"),
    [
        ([[1, 2], [3, "red"]], "Row 1 of X is not a row of numbers .*'red'"),
        ([[1, 2], [3, 10**400]], "Row 1 of X is not a row of numbers .*too large"),
        ([[1, {}], [3, 4]], "Row 0 of X is not a row of numbers .*'dict'"),
        ([[1, 2], [3, [4]]], "Row 1 of X is not a row of numbers"),
        ([[1, 2], [3]], "Row 1 of X has 1 features but row 0 has 2"),
        (pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}), "Row 0 of X is not a row of numbers .*'x'"),
        (np.array([["1", "x"]]), "Row 0 of X is not a row of numbers .*'x'"),
    ],
)
@pytest.mark.parametrize("kind", [TypeError, ValueError])
def test_error_names_the_row_without_numbers(X, said, kind):
    with pytest.raises(kind, match=said):
        explain_unreadable(X, kind())


@pytest.mark.parametrize(
    "X",
    [
        [[1, 2], [3, 4]],
        [[1, np.nan]],
        np.array([[1j]]),
        pd.DataFrame({"a": pd.array([1, None], dtype="Float64")}),
        np.ones((2, 2, 2)),
        sparse.csr_array(np.eye(2)),
        [],
    ],
)
def test_readable_rows_raise_nothing(X):
    explain_unreadable(X, ValueError())
