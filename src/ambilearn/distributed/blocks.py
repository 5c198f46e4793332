"""Rows and candidate sets of Dask collections: block by block, checked where they lie.

A block is a handful of rows in the memory of some worker, or not yet read. The process that calls
``fit`` learns only how many rows each block has, which labels occur, and what is wrong, if
anything.
"""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import dask
import dask.array as da
import dask.bag as db
import numpy as np
from dask import delayed
from dask.delayed import Delayed
from distributed import futures_of, wait
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import _num_samples

from ambilearn.base import check_magnitude
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.joined_labels import warn_of_joined_labels


class RowBlocks:
    """Training rows and their candidate sets, in as many blocks as X has.

    Parameters
    ----------
    X : dask array, dask data frame, list of delayed blocks, or anything local
        Rows. The number of rows of a block need not be known.
    y : dask array, series, data frame or bag, list of delayed blocks, or anything local
        Candidate sets of the rows in any form that :func:`~ambilearn.candidates.as_candidates`
        knows. Need not be cut into blocks as X is.

    Attributes
    ----------
    rows : list of Delayed
        Blocks of X: float64 arrays or CSR matrices.
    masks : list of Delayed
        Their candidate sets: boolean CSR masks over ``classes``.
    starts : ndarray of shape (n_blocks + 1,)
        Number of the first row of every block, and the number of rows.
    shape : tuple of int
        Rows and features.
    classes : ndarray of shape (l,)
        All labels.
    sparse_mask : bool
        Whether y came as a sparse mask.
    """

    def __init__(self, X: Any, y: Any) -> None:
        if y is None:
            as_candidates(y)  # says what y may be
        if isinstance(y, CandidateSets):
            y = y.to_sets()
        rows, sets = delayed_blocks(X), delayed_blocks(y)
        row_facts, set_facts = dask.compute(
            [delayed(_row_facts)(block) for block in rows],
            [delayed(_set_facts)(block) for block in sets],
        )
        self.starts = _starts(row_facts)
        starts_of_sets = _starts(set_facts)
        if self.starts[-1] != starts_of_sets[-1]:
            raise ValueError(
                f"X has {self.starts[-1]} rows but y has candidate sets for {starts_of_sets[-1]}: "
                "they must be of equal length, one set for each row of X in the same order."
            )
        _raise_problem(row_facts, self.starts)
        _raise_problem(set_facts, starts_of_sets)
        self.shape = (int(self.starts[-1]), _common_width(row_facts))
        if self.shape[0] < 2:
            raise ValueError(f"X has {self.shape[0]} sample(s): at least 2 rows are needed.")
        self.classes = _all_classes(set_facts)
        self.sparse_mask = any(facts.sparse for facts in set_facts)

        self.rows = [delayed(_as_rows)(block) for block in rows]
        classes = delayed(self.classes, traverse=False)
        masks = [delayed(_as_mask)(block, classes) for block in sets]
        self.masks = _cut_alike(masks, starts_of_sets, self.starts)

    def __getitem__(self, rows: NDArray[np.intp]) -> Any:
        """Some rows, given by ascending numbers: fetched, as an array or CSR matrix."""
        owners = np.searchsorted(self.starts[:-1], rows, side="right") - 1
        parts = [
            delayed(_take)(self.rows[block], rows[owners == block] - self.starts[block])
            for block in np.unique(owners)
        ]
        return stack(dask.compute(*parts))


def delayed_blocks(collection: Any) -> list[Delayed]:
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


def persist_now(parts: Iterable[Any]) -> tuple[Any, ...]:
    """Compute collections, keep them where they are computed, and wait until all are there.

    Only then may one let go of what they were made from: delayed objects do not hold on to it.
    """
    kept = dask.persist(*parts)
    futures = futures_of(kept)
    if futures:
        wait(futures)
    return kept


def stack(parts: Any) -> Any:
    """Blocks of rows, all dense or all sparse, one below the other."""
    if len(parts) == 1:
        return parts[0]
    return sparse.vstack(parts, "csr") if sparse.issparse(parts[0]) else np.concatenate(parts)


class _Facts(NamedTuple):
    """What the process that calls ``fit`` learns of a block."""

    n_rows: int
    width: int | None = None
    classes: NDArray[Any] | None = None
    mask: bool = False
    sparse: bool = False
    single: bool = False  # every row has one candidate
    problem: Exception | None = None


def _row_facts(block: Any) -> _Facts:
    n_rows = _num_samples(block)
    try:
        X = _as_rows(block)
        if n_rows:
            _check_finite(X)
            check_magnitude(X)
    except (ValueError, TypeError) as error:
        return _Facts(n_rows, problem=error)
    return _Facts(n_rows, X.shape[1], sparse=sparse.issparse(X))


def _as_rows(block: Any) -> Any:
    return check_array(
        block,
        accept_sparse="csr",
        dtype=np.float64,
        ensure_all_finite=False,
        ensure_min_samples=0,
        input_name="X",
    )


def _check_finite(X: Any) -> None:
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
        f"Input X contains {what}: row {i}, column {j}. Fill in missing features, for instance by "
        "sklearn.impute.SimpleImputer, or drop the row."
    )


def _set_facts(block: Any) -> _Facts:
    n_rows = _num_samples(block)
    is_sparse = sparse.issparse(block)
    shape = getattr(block, "shape", ())
    mask = len(shape) == 2 and (is_sparse or shape[1] != 1)
    if not n_rows:
        return _Facts(0, width=shape[1] if mask else None, mask=mask, sparse=is_sparse)
    try:
        sets = as_candidates(block)
    except (ValueError, TypeError) as error:
        return _Facts(n_rows, problem=error)
    single = bool(np.all(sets.sizes == 1))
    return _Facts(n_rows, sets.n_labels, sets.classes, mask, is_sparse, single)


def _as_mask(block: Any, classes: NDArray[Any]) -> sparse.csr_array:
    if not _num_samples(block):
        return sparse.csr_array((0, len(classes)), dtype=bool)
    return as_candidates(block, classes=classes).to_sparse()


def _starts(facts: list[_Facts]) -> NDArray[np.intp]:
    return np.concatenate([[0], np.cumsum([block.n_rows for block in facts], dtype=np.intp)])


def _raise_problem(facts: list[_Facts], starts: NDArray[np.intp]) -> None:
    """Raise what is wrong in the first block that has something, with the rows' own numbers."""
    for block, start in zip(facts, starts[:-1], strict=True):
        if block.problem:
            text = str(block.problem)
            text = re.sub(r"\brow (\d+)", lambda m, s=start: f"row {s + int(m[1])}", text)
            raise (TypeError if isinstance(block.problem, TypeError) else ValueError)(text)


def _common_width(facts: list[_Facts]) -> int:
    widths = [block.width for block in facts]
    for number, width in enumerate(widths):
        if width != widths[0]:
            raise ValueError(
                f"Block {number} of X has {width} columns but block 0 has {widths[0]}: all rows "
                "must have the same features."
            )
    if len({block.sparse for block in facts if block.n_rows}) > 1:
        raise ValueError("Some blocks of X are sparse and some are dense: make them all alike.")
    return int(widths[0])


def _all_classes(facts: list[_Facts]) -> NDArray[Any]:
    """The classes that a local fit would find in all blocks together."""
    facts = [block for block in facts if block.classes is not None]
    if len({block.mask for block in facts}) > 1:
        raise ValueError("Some blocks of y are masks and some are not: make them all alike.")
    found = [block.classes for block in facts]
    if facts[0].mask:
        for number, classes in enumerate(found):
            if not np.array_equal(classes, found[0]):
                raise ValueError(
                    f"Block {number} of the mask y has {len(classes)} columns, block 0 has "
                    f"{len(found[0])}, or their names differ: one column for each label, in the "
                    "same order."
                )
        return found[0]
    kinds = {classes.dtype.kind for classes in found}
    if kinds == {"O"} or len(kinds) > 1:
        return as_candidates([classes.tolist() for classes in found]).classes
    classes = np.unique(np.concatenate(found))
    if classes.dtype.kind == "U" and all(block.single for block in facts):
        warn_of_joined_labels(classes.tolist())
    return classes


def _cut_alike(
    masks: list[Delayed], have: NDArray[np.intp], want: NDArray[np.intp]
) -> list[Delayed]:
    """The same rows in blocks that start at other rows."""
    if np.array_equal(have, want):
        return masks
    cut = []
    for first, last in pairwise(want):
        overlaps = np.flatnonzero((have[:-1] < last) & (have[1:] > first))
        parts = [
            delayed(_slice)(masks[b], max(first - have[b], 0), last - have[b]) for b in overlaps
        ]
        # An empty block overlaps with nothing: take no row of some block.
        cut.append(delayed(_stack_all)(*parts or [delayed(_slice)(masks[0], 0, 0)]))
    return cut


def _stack_all(*parts: Any) -> Any:
    return stack(parts)


def _slice(block: Any, first: int, last: int) -> Any:
    return block[first:last]


def _take(block: Any, rows: NDArray[np.intp]) -> Any:
    return block[rows]
