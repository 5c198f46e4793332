"""Blocks of rows and candidate sets of Dask collections, checked on the workers.

A block is a set of consecutive rows in the memory of a worker, or not yet loaded. The process that
calls ``fit`` receives only a summary of each block: the number of rows, the labels, and errors.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from operator import getitem
from typing import Any, NamedTuple, TypeAlias

import dask
import dask.array as da
import dask.bag as db
import numpy as np
from dask import delayed
from dask.delayed import Delayed
from dask.sizeof import sizeof
from distributed import futures_of, get_client, wait
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array, gen_batches

from ambilearn._utils.array_checks import check_feature_types, check_structure
from ambilearn._utils.damaged_inputs import canonical_rows
from ambilearn._utils.sklearn_compat import _num_samples
from ambilearn._utils.suspicious_labels import warn_of_joined_labels
from ambilearn._utils.types import AnyCandidates, Array, Matrix
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.validation import check_magnitude, check_row_weights

# Results of Dask, or what tasks pass to each other.
Parts: TypeAlias = tuple[Any, ...]


class BlockSummary(NamedTuple):
    """Summary of a block of X or y."""

    n_rows: int
    width: int = 0
    classes: Array | None = None
    mask: bool = False
    sparse: bool = False
    single: bool = False  # every row has one candidate
    problem: Exception | None = None


class RowBlocks:
    """Training rows and their candidate sets, in the blocks of X.

    Parameters
    ----------
    X : dask array, dask data frame, list of delayed blocks, or anything local
        Rows. Block sizes can be unknown.
    y : dask array, series, data frame or bag, list of delayed blocks, or anything local
        Candidate sets of the rows in any form that :func:`~ambilearn.candidates.as_candidates`
        accepts. The blocks can differ from those of X.
    sample_weight : dask array, list of delayed blocks, or anything local, optional
        Weight of every row.

    Attributes
    ----------
    rows : list of Delayed
        Blocks of X: float64 arrays or CSR matrices.
    masks : list of Delayed
        Candidate sets of the blocks: CSR masks over ``classes``, or tables of weights.
    weights : list of Delayed or None
        Validated row weights of the blocks; None if all weights are equal.
    row_weights : ndarray of shape (n,) or None
        Row weights in one array.
    starts : ndarray of shape (n_blocks + 1,)
        Number of the first row of every block, and the number of rows.
    shape : tuple of int
        Rows and features.
    classes : ndarray of shape (l,)
        All labels.
    sparse_mask : bool
        Whether y is a sparse mask.
    """

    def __init__(self, X: Matrix, y: AnyCandidates, sample_weight: Matrix | None = None) -> None:
        if y is None:
            as_candidates(y)  # raises an error with the accepted forms of y
        row_weights = None
        if isinstance(y, CandidateSets):
            y, row_weights = replace(y, row_weights=None), y.row_weights
        rows, sets = delayed_blocks(X), delayed_blocks(y)
        of_rows, of_sets = dask.compute(
            [delayed(summarize_rows)(block) for block in rows],
            [delayed(summarize_sets)(block) for block in sets],
        )
        self.starts = _starts(of_rows)
        starts_of_sets = _starts(of_sets)
        if self.starts[-1] != starts_of_sets[-1]:
            raise ValueError(
                f"X has {self.starts[-1]} rows but y has candidate sets for {starts_of_sets[-1]}: "
                "they must have the same length, one set for each row of X in the same order."
            )
        raise_problem(of_rows, self.starts)
        raise_problem(of_sets, starts_of_sets)
        self.shape = (int(self.starts[-1]), common_width(of_rows))
        if self.shape[0] < 2:
            raise ValueError(f"X has {self.shape[0]} sample(s): at least 2 rows are required.")
        self.classes = all_classes(of_sets)
        self.sparse_mask = any(block.sparse for block in of_sets)

        self.rows = [delayed(as_rows)(block) for block in rows]
        classes = delayed(self.classes, traverse=False)
        masks = [delayed(as_mask)(block, classes) for block in sets]
        self.masks = _realign(masks, starts_of_sets, self.starts)
        self.row_weights = self._check_weights(sample_weight, row_weights)
        self.weights: list[Delayed | None] = [None] * len(self.rows)
        if self.row_weights is not None:
            slices = pairwise(self.starts)
            self.weights = [delayed(self.row_weights[first:last]) for first, last in slices]

    def _check_weights(
        self, sample_weight: Matrix | None, row_weights: NDArray[np.float64] | None
    ) -> NDArray[np.float64] | None:
        if sample_weight is not None:
            # One number per row is small enough to be checked in this process, as in a local fit.
            blocks = dask.compute(*delayed_blocks(sample_weight))
            arrays = [np.asarray(block, dtype=np.float64).ravel() for block in blocks]
            sample_weight = np.concatenate(arrays)
        return check_row_weights(sample_weight, np.empty((self.shape[0], 0)), row_weights)

    def __getitem__(self, rows: NDArray[np.intp]) -> Matrix:
        """Fetch rows by ascending indices, as an array or CSR matrix."""
        owners = np.searchsorted(self.starts[:-1], rows, side="right") - 1
        parts = [
            delayed(getitem)(self.rows[block], rows[owners == block] - self.starts[block])
            for block in np.unique(owners)
        ]
        return stack(dask.compute(*parts))


def delayed_blocks(collection: Matrix) -> list[Delayed]:
    """Blocks of consecutive rows of a Dask collection; anything local is one block."""
    if isinstance(collection, da.Array):
        if collection.ndim == 2 and collection.numblocks[1] > 1:
            collection = collection.rechunk({1: -1})
        return list(collection.to_delayed().ravel())
    if isinstance(collection, db.Bag):
        return [delayed(list)(block) for block in collection.to_delayed()]
    if isinstance(collection, Delayed):
        return [collection]
    if hasattr(collection, "to_delayed"):
        return list(collection.to_delayed())
    if isinstance(collection, (list, tuple)) and any(isinstance(b, Delayed) for b in collection):
        return list(collection)
    return [delayed(collection, traverse=False)]


def persist_now(parts: Iterable[Any], **options: Any) -> Parts:
    """Compute collections, keep the results on the workers, and wait for them.

    The inputs may be released only afterwards: delayed objects do not keep references to them.
    """
    kept: Parts = dask.persist(*parts, **options)
    futures = futures_of(kept)
    if futures:
        wait(futures)
    return kept


def persist_in_turn(parts: Sequence[Any]) -> Parts:
    """As :func:`persist_now`, but in batches of two collections per thread of the cluster.

    A worker fetches the inputs of all its assigned tasks at once, regardless of its memory.
    """
    try:
        threads = sum(get_client().nthreads().values())
    except ValueError:  # no cluster: nothing is fetched
        return persist_now(parts)
    groups = gen_batches(len(parts), max(1, 2 * threads))
    return tuple(kept for group in groups for kept in persist_now(parts[group]))


def stack(parts: Sequence[Matrix]) -> Matrix:
    """Concatenate blocks of rows, all dense or all sparse."""
    if len(parts) == 1:
        return parts[0]
    return sparse.vstack(parts, "csr") if sparse.issparse(parts[0]) else np.concatenate(parts)


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


def _starts(summaries: list[BlockSummary]) -> NDArray[np.intp]:
    return np.concatenate([[0], np.cumsum([block.n_rows for block in summaries], dtype=np.intp)])


def _realign(masks: list[Delayed], have: NDArray[np.intp], want: NDArray[np.intp]) -> list[Delayed]:
    """Same rows in blocks that start at the rows ``want``."""
    if np.array_equal(have, want):
        return masks
    cut = []
    for first, last in pairwise(want):
        overlaps = np.flatnonzero((have[:-1] < last) & (have[1:] > first))
        parts = [
            delayed(getitem)(masks[b], slice(max(first - have[b], 0), last - have[b]))
            for b in overlaps
        ]
        # An empty block has no overlap: take zero rows of the first block.
        cut.append(delayed(stack)(parts or [delayed(getitem)(masks[0], slice(0))]))
    return cut


@sizeof.register(sparse.sparray)
def attribute_bytes(held: object) -> int:
    """Bytes of all attributes; ``sizeof.register(cls, attribute_bytes)`` makes Dask use it.

    Dask spills and moves results by their sizes. It assumes about fifty bytes for objects that it
    does not know, so a worker with many of them would run out of memory before spilling any.
    """
    return sum(map(sizeof, vars(held).values()))
