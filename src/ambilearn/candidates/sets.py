"""The one form of candidate sets inside the library: the (row, label) pairs that exist."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ambilearn._utils.text import pluralize


@dataclass(frozen=True, eq=False)
class CandidateSets:
    """The candidate labels of every row, as the list of (row, label) pairs that exist.

    The pairs are ordered by row, then by label, as in a CSR matrix. That list is called the
    *support*: a confidence exists only there, so a vector with one entry per pair (22 thousand
    for Yahoo!News) replaces an n×l matrix (2.5 million).

    Parameters
    ----------
    classes : ndarray of shape (n_labels,)
        The labels, in the order of the columns.
    indptr : ndarray of shape (n_rows + 1,)
        Row *i* owns the pairs ``indptr[i]:indptr[i + 1]``.
    labels : ndarray of shape (n_pairs,)
        Column of each pair, ascending within a row.
    sparse_mask : bool, default=False
        Whether the sets came as a sparse mask. Results of the shape (n_rows, n_labels) are then
        sparse too: who has many labels gives and gets no dense matrix of that shape.
    weights : ndarray of shape (n_pairs,), optional
        How much speaks for each candidate, such as its votes: positive, in any unit, compared
        within a row only. None where the candidates of every row are all alike.
    row_weights : ndarray of shape (n_rows,), optional
        How much each row counts in a fit: not negative; None if all rows count the same. ``fit``
        multiplies them by its ``sample_weight``, and a method that cannot weight rows refuses
        them. Scores do not use them.

    See Also
    --------
    as_candidates : Builds this from what a user has.

    Notes
    -----
    It has a length, a shape, rows to iterate over and to index like an array's, so it can be the y
    of scikit-learn's splits, searches and scores. One row is a set of labels; with weights it is a
    dictionary. As an array it is the mask, or the table of weights.

    Examples
    --------
    >>> from ambilearn.candidates import as_candidates
    >>> sets = as_candidates([{"cat", "dog"}, {"dog"}, {"cat": 3, "emu": 1}])
    >>> sets
    <CandidateSets: 3 rows, 3 labels, 1.67 candidates a row, weighted>
    >>> sets[2]
    {'cat': 3.0, 'emu': 1.0}
    >>> len(sets[:2])
    2
    """

    classes: NDArray[Any]
    indptr: NDArray[np.intp]
    labels: NDArray[np.intp]
    sparse_mask: bool = False
    weights: NDArray[np.float64] | None = None
    row_weights: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, tuple):  # scikit-learn indexes the rows of an array by [rows, ...]
            if len(rows) != 2 or rows[1] is not Ellipsis:
                raise IndexError("Candidate sets are indexed by row only, as in sets[:10].")
            rows = rows[0]
        if isinstance(rows, slice):
            return self.take(np.arange(self.n_rows)[rows])
        index = np.asarray(rows)
        if index.ndim == 0 and index.dtype.kind in "iu":
            row = range(self.n_rows)[int(index)]
            return next(iter(self.take([row])))
        if index.ndim != 1 or (index.size and index.dtype.kind not in "iub"):
            raise IndexError(
                f"Candidate sets are indexed by row numbers, a slice or a boolean mask; got "
                f"{rows!r}."
            )
        return self.take(index if index.size else index.astype(np.intp))

    def __iter__(self) -> Iterator[set[Any] | dict[Any, float]]:
        if self.weights is None:
            return iter(self.to_sets())
        return iter(self.to_dicts())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("Candidate sets are no array: one can only be made as a copy.")
        table: NDArray[Any] = self.to_weight_table().toarray()
        return table if dtype is None else table.astype(dtype)

    def __repr__(self) -> str:
        weighted = "" if self.weights is None else ", weighted"
        mean = len(self.labels) / max(self.n_rows, 1)
        return (
            f"<CandidateSets: {pluralize(self.n_rows, 'row')}, "
            f"{pluralize(self.n_labels, 'label')}, {mean:.3g} candidates a row{weighted}>"
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and labels, as of a mask."""
        return self.n_rows, self.n_labels

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    @property
    def n_labels(self) -> int:
        """Number of labels, whether or not they are a candidate anywhere."""
        return len(self.classes)

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """Number of candidates of each row."""
        return np.diff(self.indptr)

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """Row of each pair."""
        return np.repeat(np.arange(self.n_rows), self.sizes)

    @property
    def arrays(self) -> tuple[NDArray[Any] | None, ...]:
        """Everything the sets consist of, for a comparison by content."""
        return self.classes, self.indptr, self.labels, self.weights, self.row_weights

    def covers(self, labels: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether each row's set contains the label given for it, shape (n_rows,)."""
        labels = np.asarray(labels)
        if labels.shape != (self.n_rows,):
            raise ValueError(
                f"There are candidate sets of {self.n_rows} rows but labels of shape "
                f"{labels.shape}: give one label for each row."
            )
        position = {label: j for j, label in enumerate(self.classes.tolist())}
        columns = np.array([position.get(label, -1) for label in labels.tolist()])
        return np.bincount(self.rows, self.labels == columns[self.rows], self.n_rows) > 0

    def take(self, rows: ArrayLike) -> "CandidateSets":
        """The candidate sets of some rows, given by index or boolean mask; same classes."""
        picked = self._to_csr(np.arange(len(self.labels)))[np.asarray(rows)]
        return CandidateSets(
            self.classes,
            picked.indptr.astype(np.intp),
            picked.indices.astype(np.intp),
            self.sparse_mask,
            None if self.weights is None else self.weights[picked.data],
            None if self.row_weights is None else self.row_weights[np.asarray(rows)],
        )

    def _to_csr(self, values: NDArray[Any]) -> sparse.csr_array:
        parts = values, self.labels, self.indptr
        return sparse.csr_array(parts, shape=self.shape)

    def to_mask(self) -> NDArray[np.bool_]:
        """Boolean mask of shape (n_rows, n_labels)."""
        mask = np.zeros((self.n_rows, self.n_labels), dtype=bool)
        mask[self.rows, self.labels] = True
        return mask

    def to_sparse(self) -> sparse.csr_array:
        """Boolean CSR mask of shape (n_rows, n_labels)."""
        return self._to_csr(np.ones(len(self.labels), dtype=bool))

    def to_weight_table(self) -> sparse.csr_array:
        """CSR table of the weights, from which equal sets can be built; a mask without any."""
        return self.to_sparse() if self.weights is None else self._to_csr(self.weights)

    def to_sets(self) -> list[set[Any]]:
        """Back to a list of Python sets of labels."""
        flat = self.classes[self.labels].tolist()
        return [set(flat[a:b]) for a, b in zip(self.indptr[:-1], self.indptr[1:], strict=True)]

    def to_dicts(self) -> list[dict[Any, float]]:
        """Back to a list of dictionaries of labels and their weights, 1.0 without any."""
        flat = self.classes[self.labels].tolist()
        weights = ([1.0] * len(flat)) if self.weights is None else self.weights.tolist()
        spans = zip(self.indptr[:-1], self.indptr[1:], strict=True)
        return [dict(zip(flat[a:b], weights[a:b], strict=True)) for a, b in spans]
