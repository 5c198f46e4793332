"""Summaries of blocks: number of rows, labels and errors.

Blocks are checked on the workers; only their summaries are sent to the process that calls ``fit``.
"""

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from ambilearn._utils.array_checks import canonical_rows, check_feature_types, check_structure
from ambilearn._utils.labels import warn_of_joined_labels
from ambilearn._utils.sklearn_compat import _num_samples
from ambilearn._utils.types import Array, Matrix
from ambilearn.candidates import as_candidates
from ambilearn.validation import check_magnitude


class BlockSummary(NamedTuple):
    """Summary of a block of X or y."""

    n_rows: int
    width: int = 0
    classes: Array | None = None
    mask: bool = False
    sparse: bool = False
    single: bool = False  # every row has one candidate
    problem: Exception | None = None


def summarize_rows(block: Matrix) -> BlockSummary:
    """Check and summarize a block of X."""
    n_rows = _num_samples(block)
    try:
        X = as_rows(block)
        if n_rows:
            _check_finite(X)
            check_magnitude(X)
    except (ValueError, TypeError) as error:
        return BlockSummary(n_rows, problem=error)
    return BlockSummary(n_rows, X.shape[1], sparse=sparse.issparse(X))


def as_rows(block: Matrix) -> Matrix:
    """A block of X as a float64 array or CSR matrix."""
    check_structure(block, "X")
    check_feature_types(block)
    X = check_array(
        block,
        accept_sparse="csr",
        dtype=np.float64,
        ensure_all_finite=False,
        ensure_min_samples=0,
        input_name="X",
    )
    return canonical_rows(X) if sparse.issparse(X) else X


def _check_finite(X: Matrix) -> None:
    wrong = np.flatnonzero(~np.isfinite(X.data if sparse.issparse(X) else X.ravel()))
    if not len(wrong):
        return
    if sparse.issparse(X):
        X = X.tocoo()
        i, j, value = X.row[wrong[0]], X.col[wrong[0]], X.data[wrong[0]]
    else:
        i, j = divmod(int(wrong[0]), X.shape[1])
        value = X[i, j]
    what = "NaN" if np.isnan(value) else "infinity"
    raise ValueError(
        f"Input X contains {what}: row {i}, column {j}. Impute missing features, for instance with "
        "sklearn.impute.SimpleImputer, or drop the row."
    )


def summarize_sets(block: Matrix) -> BlockSummary:
    """Check and summarize a block of y."""
    n_rows = _num_samples(block)
    is_sparse = sparse.issparse(block) or getattr(block, "sparse_mask", False)
    shape: tuple[int, ...] = getattr(block, "shape", ())
    mask = len(shape) == 2 and (is_sparse or shape[1] != 1)
    if not n_rows:
        return BlockSummary(0, width=shape[1] if mask else 0, mask=mask, sparse=is_sparse)
    try:
        sets = as_candidates(block)
        if sets.row_weights is not None:
            raise ValueError("The blocks of y have row_weights: pass them as sample_weight.")
    except (ValueError, TypeError) as error:
        return BlockSummary(n_rows, problem=error)
    single = bool(np.all(sets.sizes == 1))
    return BlockSummary(n_rows, len(sets.classes), sets.classes, mask, is_sparse, single)


def as_mask(block: Matrix, classes: Array) -> sparse.csr_array:
    """Block of y as a boolean mask over all classes, or as a table of weights if it has weights."""
    if not _num_samples(block):
        return sparse.csr_array((0, len(classes)), dtype=bool)
    return as_candidates(block, classes=classes).to_sparse()


def raise_problem(summaries: list[BlockSummary], starts: NDArray[np.intp]) -> None:
    """Raise the error of the first invalid block, with row numbers of the whole collection."""
    for block, start in zip(summaries, starts[:-1], strict=True):
        if block.problem:
            text = _shift_row_numbers(int(start), str(block.problem))
            raise (TypeError if isinstance(block.problem, TypeError) else ValueError)(text)


def _shift_row_numbers(start: int, text: str) -> str:
    return re.sub(r"\brow (\d+)", lambda found: f"row {start + int(found[1])}", text)


def common_width(summaries: list[BlockSummary]) -> int:
    """Number of features of X, which must be the same in all blocks."""
    widths = [block.width for block in summaries]
    for number, width in enumerate(widths):
        if width != widths[0]:
            raise ValueError(
                f"Block {number} of X has {width} columns but block 0 has {widths[0]}: all rows "
                "must have the same features."
            )
    if len({block.sparse for block in summaries if block.n_rows}) > 1:
        raise ValueError(
            "Some blocks of X are sparse and some are dense: convert them to the same format."
        )
    return widths[0]


def all_classes(summaries: list[BlockSummary]) -> Array:
    """Classes of all blocks, the same as in a local fit."""
    found = [block.classes for block in summaries if block.classes is not None]
    summaries = [block for block in summaries if block.classes is not None]
    if len({block.mask for block in summaries}) > 1:
        raise ValueError(
            "Some blocks of y are masks and some are not: convert them to the same form."
        )
    if summaries[0].mask:
        for number, classes in enumerate(found):
            if not np.array_equal(classes, found[0]):
                raise ValueError(
                    f"Block {number} of the mask y has {len(classes)} columns and block 0 has "
                    f"{len(found[0])}, or their names differ: all blocks must have one column per "
                    "label, in the same order."
                )
        return found[0]
    kinds = {classes.dtype.kind for classes in found}
    if kinds == {"O"} or len(kinds) > 1:
        return as_candidates([classes.tolist() for classes in found]).classes
    classes = np.unique(np.concatenate(found))
    if classes.dtype.kind == "U" and all(block.single for block in summaries):
        warn_of_joined_labels(classes.tolist())
    return classes
