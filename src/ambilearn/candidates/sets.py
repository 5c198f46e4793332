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
        table = self.to_mask() if self.weights is None else self.scatter(self.weights)
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

    def gather(self, matrix: Any) -> NDArray[Any]:
        """Entries of an (n_rows, n_labels) array or CSR matrix on the support, one per pair."""
        return np.asarray(matrix[self.rows, self.labels]).ravel()

    def scatter(self, values: ArrayLike, off_support: ArrayLike = 0.0) -> NDArray[np.float64]:
        """Dense (n_rows, n_labels) matrix with values on the support and off it."""
        matrix = np.empty((self.n_rows, self.n_labels))
        matrix[...] = off_support
        matrix[self.rows, self.labels] = values
        return matrix

    def scatter_rows(
        self, values: NDArray[np.float64], off_support: ArrayLike, rows: slice
    ) -> NDArray[np.float64]:
        """The same of some rows only."""
        pairs = slice(self.indptr[rows.start], self.indptr[rows.stop])
        matrix = np.empty((rows.stop - rows.start, self.n_labels))
        matrix[...] = off_support
        matrix[self.rows[pairs] - rows.start, self.labels[pairs]] = values[pairs]
        return matrix

    @property
    def in_memory(self) -> "CandidateSets":
        """The same sets in the processor's memory: these, here."""
        return self

    def moved(self, values: NDArray[Any]) -> Any:
        """A support vector where the sets are, from the processor's memory: as it is, here."""
        return values

    def to_csr(self, values: NDArray[Any]) -> sparse.csr_array:
        """A support vector as CSR matrix of shape (n_rows, n_labels), without a copy."""
        parts = values, self.labels, self.indptr
        return sparse.csr_array(parts, shape=(self.n_rows, self.n_labels))

    def as_output(self, values: NDArray[np.float64], off_support: float = 0.0) -> Any:
        """A support vector in the form that a user gets: sparse where the mask came sparse.

        The sparse form stores every pair, also the zeros, and nothing else: what it does not store
        is ``off_support``.
        """
        if not self.sparse_mask:
            return self.scatter(values, off_support)
        return self.to_csr(values).copy()  # the user's, who may change it

    def best_pairs(self, values: NDArray[Any]) -> NDArray[np.intp]:
        """Pair of the largest value of each row, the first of equals, shape (n_rows,)."""
        hits = np.flatnonzero(values == self.largest(values)[self.rows])
        return hits[np.searchsorted(hits, self.indptr[:-1])]

    def best_labels(self, values: NDArray[Any]) -> NDArray[np.intp]:
        """Column of the largest value of each row, the first of equals."""
        return self.labels[self.best_pairs(values)]

    def largest(self, values: NDArray[Any]) -> NDArray[Any]:
        """Largest value of each row."""
        return np.maximum.reduceat(values, self.indptr[:-1])

    def best(self, matrix: Any) -> NDArray[Any]:
        """Label of the largest entry of each row of ``matrix`` among the row's candidates."""
        return self.classes[self.best_labels(self.gather(matrix))]

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
        picked = self.to_csr(np.arange(len(self.labels)))[np.asarray(rows)]
        return CandidateSets(
            self.classes,
            picked.indptr.astype(np.intp),
            picked.indices.astype(np.intp),
            self.sparse_mask,
            None if self.weights is None else self.weights[picked.data],
            None if self.row_weights is None else self.row_weights[np.asarray(rows)],
        )

    @property
    def total_weight(self) -> float:
        """Number of rows, or the sum of their weights."""
        return self.n_rows if self.row_weights is None else float(self.row_weights.sum())

    @cached_property
    def pair_weights(self) -> Any:
        """How much the row of each pair counts, one entry per pair; the number 1.0 if alike."""
        return 1.0 if self.row_weights is None else self.row_weights[self.rows]

    def uniform(self) -> NDArray[np.float64]:
        """Equal confidence for every candidate, :math:`1 / |S_i|`, one entry per pair."""
        return np.repeat(1.0 / self.sizes, self.sizes)

    @cached_property
    def relative_weights(self) -> NDArray[np.float64]:
        """Weight of every candidate over the largest in its row: one where all are alike."""
        if self.weights is None:
            return np.ones(len(self.labels))
        return self.weights / np.maximum.reduceat(self.weights, self.indptr[:-1])[self.rows]

    def prior(self) -> NDArray[np.float64]:
        r"""Share :math:`\Pi_{ij}` of every candidate in the weights of its row; sums to one.

        Without weights, and in rows with equal ones, it is :meth:`uniform` to the last bit.
        """
        relative = self.relative_weights
        return relative / np.add.reduceat(relative, self.indptr[:-1])[self.rows]

    def preference(self) -> NDArray[np.float64]:
        r"""What the weights add to equal shares, :math:`\Pi_{ij} - 1 / |S_i|`, one entry per pair.

        Zero without weights and where they are equal; the entries of a row sum to zero.
        """
        return self.prior() - self.uniform()

    def to_mask(self) -> NDArray[np.bool_]:
        """Boolean mask of shape (n_rows, n_labels)."""
        mask = np.zeros((self.n_rows, self.n_labels), dtype=bool)
        mask[self.rows, self.labels] = True
        return mask

    def to_sparse(self) -> sparse.csr_array:
        """Boolean CSR mask of shape (n_rows, n_labels)."""
        return self.to_csr(np.ones(len(self.labels), dtype=bool))

    def to_weight_table(self) -> sparse.csr_array:
        """CSR table of the weights, from which equal sets can be built; a mask without any."""
        return self.to_sparse() if self.weights is None else self.to_csr(self.weights)

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
