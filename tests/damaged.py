"""Sparse matrices whose parts contradict each other: SciPy reads outside of them, or crashes."""

import numpy as np
from scipy import sparse

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
KINDS = ("array", "matrix")


def make_sparse(table, sparse_format, kind="array"):
    return getattr(sparse, f"{sparse_format}_{kind}")(np.asarray(table))


def _entry(part, place, value):
    def damage(matrix):
        getattr(matrix, part)[place] = value

    return damage


def _cut(part, n=1):
    def damage(matrix):
        setattr(matrix, part, getattr(matrix, part)[:n])

    return damage


def _falling(matrix):
    matrix.indptr[1], matrix.indptr[2] = matrix.indptr[2], 0


def _coordinate(axis, value):
    def damage(matrix):
        matrix.coords[axis][0] = value

    return damage


def _float_indices(matrix):
    matrix.indices = matrix.indices.astype(float)


def _unsigned_indices(matrix):
    matrix.indices = matrix.indices.astype(np.uint32)


def _flat_blocks(matrix):
    matrix.data = matrix.data.reshape(-1)


def _wide_blocks(matrix):
    matrix.data = np.ones((len(matrix.data), 1, 5))


def _key(place):
    def damage(matrix):
        matrix._dict[place] = 1.0

    return damage


def _same_diagonal(matrix):
    matrix.offsets = np.zeros_like(matrix.offsets)


_compressed = {
    "index too large": (_entry("indices", 0, 10**6), "index of 1000000, outside 0 …"),
    "negative index": (_entry("indices", 0, -5), "index of -5, outside 0 …"),
    "indptr too large": (_entry("indptr", 1, 10**6), "an entry of indptr of 1000000, outside"),
    "indptr ends late": (_entry("indptr", -1, 10**6), "an entry of indptr of 1000000, outside"),
    "indptr begins late": (_entry("indptr", 0, 1), "indptr does not start with 0, or decreases"),
    "indptr falls": (_falling, "indptr does not start with 0, or decreases"),
    "indptr too short": (_cut("indptr"), r"indptr has the shape \(1,\) instead of"),
    "indices too short": (_cut("indices"), "it has 1 (row|column) indices for"),
    "data too short": (_cut("data"), "an entry of indptr of . outside|, outside 0 … 1"),
    "indices are no integers": (
        _float_indices,
        "type float64, which is not a signed integer",
    ),
    "indices are unsigned": (_unsigned_indices, "type uint32, which is not a signed integer"),
}
# (format, what) → (how to damage a matrix in place, what is said of it)
DAMAGES = {
    **{(fmt, what): how for fmt in ("csr", "csc", "bsr") for what, how in _compressed.items()},
    ("bsr", "data of no blocks"): (_flat_blocks, "its values have 1 dimension"),
    ("bsr", "blocks that do not fit"): (_wide_blocks, r"blocks of the shape \(1, 5\) do not fill"),
    ("coo", "row too large"): (_coordinate(0, 10**6), "row index of 1000000, outside 0 …"),
    ("coo", "column too large"): (_coordinate(1, 10**6), "column index of 1000000, outside 0 …"),
    ("coo", "negative row"): (_coordinate(0, -1), "row index of -1, outside 0 …"),
    ("coo", "data too short"): (_cut("data"), "row indices for 1 values"),
    ("dia", "offsets too short"): (_cut("offsets"), "it has 1 offsets for . diagonals"),
    ("dia", "data too short"): (_cut("data"), "offsets for 1 diagonals"),
    ("dia", "one diagonal twice"): (_same_diagonal, "a duplicate diagonal"),
    ("lil", "column too large"): (_entry("rows", 0, [10**6]), "column index of 1000000, outside"),
    ("lil", "negative column"): (_entry("rows", 0, [-7]), "column index of -7, outside"),
    ("lil", "too many values"): (_entry("data", 0, [1.0] * 4), "row 0 has 1 column indices for 4"),
    ("lil", "no list"): (_entry("data", 0, None), "row 0 has no list of columns and of values"),
    ("lil", "rows too short"): (_cut("rows"), "it has 1 lists of columns and 3 of values"),
    ("dok", "row too large"): (_key((10**6, 0)), "row index of 1000000, outside 0 …"),
    ("dok", "negative column"): (_key((0, -4)), "column index of -4, outside 0 …"),
}


def make_damaged(sparse_format, what, kind="array"):
    """A mask of three rows and two labels that is damaged, and what is to be said of it."""
    matrix = make_sparse([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], sparse_format, kind)
    damage, message = DAMAGES[sparse_format, what]
    damage(matrix)
    return matrix, message
