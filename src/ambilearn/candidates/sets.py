"""The internal representation of candidate sets: a list of (row, label) pairs."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ambilearn._utils.array_checks import as_numbers
from ambilearn._utils.labels import is_missing, label_array
from ambilearn._utils.text import html_table, pluralize, shorten_repr
from ambilearn._utils.types import Array, Label


@dataclass(frozen=True, eq=False)
class CandidateSets:
    """The candidate labels of every row, as a list of (row, label) pairs.

    The pairs are ordered by row, then by label, as in a CSR matrix. This list is called the
    *support*: all confidences outside of it are zero, so a vector with one entry per pair
    (22 thousand for Yahoo!News) replaces an n×l matrix (2.5 million).

    Parameters
    ----------
    classes : ndarray of shape (n_labels,)
        The labels, in the order of the columns.
    indptr : ndarray of shape (n_rows + 1,)
        Row *i* has the pairs ``indptr[i]:indptr[i + 1]``.
    labels : ndarray of shape (n_pairs,)
        Column of each pair, ascending within a row.
    sparse_mask : bool, default=False
        Whether the sets were given as a sparse mask. Results of shape (n_rows, n_labels) are then
        also sparse, so that no dense matrix of this shape is needed with many labels.
    weights : ndarray of shape (n_pairs,), optional
        Evidence for each candidate, such as its number of votes: positive, in any unit, compared
        within a row only. None if the candidates of every row have equal weights.
    row_weights : ndarray of shape (n_rows,), optional
        Nonnegative weight of each row in a fit; None if all rows have equal weight. ``fit``
        multiplies them by its ``sample_weight``, and a method that does not support weights raises
        an error. Scores do not use them.

    See Also
    --------
    as_candidates : Builds this object from every accepted form.

    Raises
    ------
    ValueError
        If the arrays do not fit together, a set is empty, or a weight is not valid.

    Notes
    -----
    The object has a length and a shape, and its rows can be indexed and iterated over, so it can be
    the y of scikit-learn's splits, searches and scores. A row is a set of labels, or a dictionary
    of labels and weights. ``numpy.asarray`` returns the mask or the table of weights.

    Examples
    --------
    >>> from ambilearn.candidates import as_candidates
    >>> sets = as_candidates([{"cat", "dog"}, {"dog"}, {"cat": 3, "emu": 1}])
    >>> sets
    <CandidateSets: 3 rows, 3 labels, 1.67 candidates per row, weighted>
    >>> sets[2]
    {'cat': 3.0, 'emu': 1.0}
    >>> len(sets[:2])
    2
    """

    classes: Array
    indptr: NDArray[np.intp]
    labels: NDArray[np.intp]
    sparse_mask: bool = False
    weights: NDArray[np.float64] | None = None
    row_weights: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        classes = np.array(label_array(self.classes))  # a copy, which becomes classes_ of models
        label_positions(classes)
        indptr = _as_indices(self.indptr, "indptr", len(self.labels))
        labels = _as_indices(self.labels, "labels", len(classes) - 1)
        if not len(indptr) or indptr[0] != 0 or indptr[-1] != len(labels):
            raise ValueError(
                f"indptr must begin with 0 and end with the number of pairs, {len(labels)}."
            )
        if len(empty := np.flatnonzero(indptr[1:] <= indptr[:-1])):
            raise ValueError(
                f"The candidate set of row {empty[0]} is empty, or indptr decreases: every row "
                "needs at least one candidate label."
            )
        ascending = labels[1:] > labels[:-1]
        ascending[indptr[1:-1] - 1] = True  # between rows
        if not ascending.all():
            row = np.searchsorted(indptr, np.argmin(ascending), side="right") - 1
            raise ValueError(f"The labels of row {row} are not ascending, or one occurs twice.")
        vars(self).update(classes=classes, indptr=indptr, labels=labels)
        for name, size in (("weights", len(labels)), ("row_weights", len(self))):
            if getattr(self, name) is not None:
                vars(self)[name] = _as_weights(getattr(self, name), name, size)

    @classmethod
    def _unchecked(cls, *fields: Any) -> "CandidateSets":
        """Sets from arrays that are known to be valid."""
        sets = cls.__new__(cls)
        vars(sets).update(zip(cls.__dataclass_fields__, fields, strict=True))
        return sets

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, tuple):  # scikit-learn indexes the rows of an array by [rows, ...]
            if len(rows) != 2 or rows[1] is not Ellipsis:
                raise IndexError("Candidate sets are indexed by row only, as in sets[:10].")
            rows = rows[0]
        if isinstance(rows, slice):
            return self._take(np.arange(len(self))[rows])
        index = np.asarray(rows)
        if index.ndim == 0 and index.dtype.kind in "iu":
            row = range(len(self))[int(index)]
            return next(iter(self._take([row])))
        if index.ndim != 1 or (index.size and index.dtype.kind not in "iub"):
            raise IndexError(
                f"Candidate sets are indexed by row numbers, a slice or a boolean mask; got "
                f"{rows!r}."
            )
        return self._take(index if index.size else index.astype(np.intp))

    def __iter__(self) -> Iterator[set[Label] | dict[Label, float]]:
        if self.weights is None:
            return iter(self.to_sets())
        flat, weights = self.classes[self.labels].tolist(), self.weights.tolist()
        spans = zip(self.indptr[:-1], self.indptr[1:], strict=True)
        return (dict(zip(flat[a:b], weights[a:b], strict=True)) for a, b in spans)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("Candidate sets can only be converted to an array by a copy.")
        table: Array = self.to_sparse().toarray()
        return table if dtype is None else table.astype(dtype)

    def __repr__(self) -> str:
        weighted = "" if self.weights is None else ", weighted"
        mean = len(self.labels) / max(len(self), 1)
        return (
            f"<CandidateSets: {pluralize(len(self), 'row')}, "
            f"{pluralize(len(self.classes), 'label')}, {mean:.3g} candidates per row{weighted}>"
        )

    def _repr_html_(self) -> str:
        """The first rows, for a notebook."""
        title = repr(self).strip("<>")
        rows = ((i, ", ".join(map(str, row))) for i, row in enumerate(self))
        return html_table(title, ["row", "candidates"], rows)

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Arrays may share the memory of the pickle; SciPy fails if one of these is an index.
        copied = {k: v.copy() if isinstance(v, np.ndarray) else v for k, v in state.items()}
        vars(self).update(copied)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and number of classes."""
        return len(self), len(self.classes)

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """Number of candidates of each row."""
        return np.diff(self.indptr)

    def covers(self, labels: Array) -> NDArray[np.bool_]:
        """Whether each row's set contains the given label, shape (n_rows,)."""
        labels = label_array(labels) if isinstance(labels, (list, tuple)) else np.asarray(labels)
        if labels.shape != (len(self),):
            raise ValueError(
                f"There are candidate sets for {len(self)} rows but labels of shape "
                f"{labels.shape}: pass one label per row."
            )
        position = label_positions(self.classes)
        columns = np.array([position.get(label, -1) for label in labels.tolist()])
        rows = pair_rows(self)
        return np.bincount(rows, self.labels == columns[rows], len(self)) > 0

    def _take(self, rows: ArrayLike) -> "CandidateSets":
        picked = self._to_csr(np.arange(len(self.labels)))[np.asarray(rows)]
        return self._unchecked(
            self.classes,
            picked.indptr.astype(np.intp),
            picked.indices.astype(np.intp),
            self.sparse_mask,
            None if self.weights is None else self.weights[picked.data],
            None if self.row_weights is None else self.row_weights[np.asarray(rows)],
        )

    def _to_csr(self, values: Array) -> sparse.csr_array:
        parts = values, self.labels, self.indptr
        return sparse.csr_array(parts, shape=self.shape)

    def to_mask(self) -> NDArray[np.bool_]:
        """Boolean mask of shape (n_rows, n_labels)."""
        mask = np.zeros(self.shape, dtype=bool)
        mask[pair_rows(self), self.labels] = True
        return mask

    def to_sparse(self) -> sparse.csr_array:
        """CSR table of the weights, or boolean CSR mask if there are none."""
        ones = np.ones(len(self.labels), dtype=bool)
        return self._to_csr(ones if self.weights is None else self.weights)

    def to_sets(self) -> list[set[Label]]:
        """Python sets of labels, without weights; ``list(sets)`` keeps the weights."""
        flat = self.classes[self.labels].tolist()
        return [set(flat[a:b]) for a, b in zip(self.indptr[:-1], self.indptr[1:], strict=True)]


def pair_rows(sets: CandidateSets) -> NDArray[np.intp]:
    """Row of each pair, shape (n_pairs,)."""
    return np.repeat(np.arange(len(sets)), sets.sizes)


def with_weights(sets: CandidateSets, weights: NDArray[np.float64]) -> CandidateSets:
    """Add a weight for each pair, unless the weights are equal within every row."""
    equal = np.array_equal(weights, weights[sets.indptr[:-1]][pair_rows(sets)])
    return sets if equal else replace(sets, weights=weights)


def _as_indices(values: ArrayLike, name: str, largest: int) -> NDArray[np.intp]:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(f"{name} must be a one-dimensional array of integers.")
    if array.size and (array.min() < 0 or array.max() > largest):
        raise ValueError(f"{name} must be between 0 and {largest}.")
    return array.astype(np.intp, copy=False)


def _as_weights(values: ArrayLike, name: str, size: int) -> NDArray[np.float64]:
    array = as_numbers(values, name)
    if array.shape != (size,):
        raise ValueError(f"{name} has the shape {array.shape} instead of ({size},).")
    may_be_zero = name == "row_weights"
    valid = np.isfinite(array) & ((array >= 0) if may_be_zero else (array > 0))
    if not valid.all():
        first = np.argmin(valid)
        raise ValueError(
            f"{name} must be finite and {'not negative' if may_be_zero else 'positive'}, but entry "
            f"{first} is {array[first]:g}."
        )
    return array


def label_positions(classes: Array) -> dict[Label, int]:
    """Column of each class; raises an error for equal or missing classes."""
    positions = {label: j for j, label in enumerate(classes.tolist())}
    if len(positions) != len(classes):
        [(duplicate, _)] = Counter(classes.tolist()).most_common(1)
        raise ValueError(
            f"The class {shorten_repr(duplicate)} is listed more than once: the classes, or the "
            "columns of a mask, need different names."
        )
    for label in classes.tolist():
        if is_missing(label):
            raise ValueError(f"The classes contain a missing value ({label!r}): name every class.")
    return positions
