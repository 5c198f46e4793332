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
    "index too large": _entry("indices", 0, 10**6),
    "negative index": _entry("indices", 0, -5),
    "indptr too large": _entry("indptr", 1, 10**6),
    "indptr ends late": _entry("indptr", -1, 10**6),
    "indptr begins late": _entry("indptr", 0, 1),
    "indptr falls": _falling,
    "indptr too short": _cut("indptr"),
    "indices too short": _cut("indices"),
    "data too short": _cut("data"),
    "indices are no integers": _float_indices,
    "indices are unsigned": _unsigned_indices,
}
# (format, what) → how to damage a matrix in place
DAMAGES = {
    **{(fmt, what): how for fmt in ("csr", "csc", "bsr") for what, how in _compressed.items()},
    ("bsr", "data of no blocks"): _flat_blocks,
    ("bsr", "blocks that do not fit"): _wide_blocks,
    ("coo", "row too large"): _coordinate(0, 10**6),
    ("coo", "column too large"): _coordinate(1, 10**6),
    ("coo", "negative row"): _coordinate(0, -1),
    ("coo", "data too short"): _cut("data"),
    ("dia", "offsets too short"): _cut("offsets"),
    ("dia", "data too short"): _cut("data"),
    ("dia", "one diagonal twice"): _same_diagonal,
    ("lil", "column too large"): _entry("rows", 0, [10**6]),
    ("lil", "negative column"): _entry("rows", 0, [-7]),
    ("lil", "too many values"): _entry("data", 0, [1.0] * 4),
    ("lil", "no list"): _entry("data", 0, None),
    ("lil", "rows too short"): _cut("rows"),
    ("dok", "row too large"): _key((10**6, 0)),
    ("dok", "negative column"): _key((0, -4)),
}


def make_damaged(sparse_format, what, kind="array"):
    """A mask of three rows and two labels that is damaged."""
    matrix = make_sparse([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], sparse_format, kind)
    DAMAGES[sparse_format, what](matrix)
    return matrix
