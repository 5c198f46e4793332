"""Candidate sets: accept every usual form of ambiguous labels, check it, keep one form.

A candidate set :math:`S_i` is the set of labels that row *i* may have; exactly one of them is
right. Users write them as Python sets, as masks or as plain labels. Everything inside the library
sees only :class:`CandidateSets`: the (row, label) pairs that exist, row by row.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from ambilearn._utils.joined_labels import warn_of_joined_labels
from ambilearn._utils.missing import is_missing

_ACCEPTED = (
    "a sequence of label collections (sets, lists, tuples), a 0/1 or boolean mask of shape "
    "(n_rows, n_labels) as array, sparse matrix or data frame, or a 1-D array of labels"
)


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

    See Also
    --------
    as_candidates : Builds this from what a user has.
    """

    classes: NDArray[Any]
    indptr: NDArray[np.intp]
    labels: NDArray[np.intp]
    sparse_mask: bool = False

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

    def gather(self, matrix: Any) -> NDArray[Any]:
        """Entries of an (n_rows, n_labels) array or CSR matrix on the support, one per pair."""
        return np.asarray(matrix[self.rows, self.labels]).ravel()

    def scatter(self, values: ArrayLike, off_support: ArrayLike = 0.0) -> NDArray[np.float64]:
        """Dense (n_rows, n_labels) matrix with values on the support and off it."""
        matrix = np.empty((self.n_rows, self.n_labels))
        matrix[...] = off_support
        matrix[self.rows, self.labels] = values
        return matrix

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
        largest = np.maximum.reduceat(values, self.indptr[:-1])
        hits = np.flatnonzero(values == largest[self.rows])
        return hits[np.searchsorted(hits, self.indptr[:-1])]

    def best(self, matrix: Any) -> NDArray[Any]:
        """Label of the largest entry of each row of ``matrix`` among the row's candidates."""
        return self.classes[self.labels[self.best_pairs(self.gather(matrix))]]

    def covers(self, labels: NDArray[Any]) -> NDArray[np.bool_]:
        """Whether each row's set contains the label given for it, shape (n_rows,)."""
        position = {label: j for j, label in enumerate(self.classes.tolist())}
        columns = np.array([position.get(label, -1) for label in np.asarray(labels).tolist()])
        return np.bincount(self.rows, self.labels == columns[self.rows], self.n_rows) > 0

    def take(self, rows: ArrayLike) -> "CandidateSets":
        """The candidate sets of some rows, given by index or boolean mask; same classes."""
        picked = self.to_sparse()[np.asarray(rows)]
        return CandidateSets(
            self.classes,
            picked.indptr.astype(np.intp),
            picked.indices.astype(np.intp),
            self.sparse_mask,
        )

    def uniform(self) -> NDArray[np.float64]:
        """Equal confidence for every candidate, :math:`1 / |S_i|`, one entry per pair."""
        return np.repeat(1.0 / self.sizes, self.sizes)

    def to_mask(self) -> NDArray[np.bool_]:
        """Boolean mask of shape (n_rows, n_labels)."""
        mask = np.zeros((self.n_rows, self.n_labels), dtype=bool)
        mask[self.rows, self.labels] = True
        return mask

    def to_sparse(self) -> sparse.csr_array:
        """Boolean CSR mask of shape (n_rows, n_labels)."""
        return self.to_csr(np.ones(len(self.labels), dtype=bool))

    def to_sets(self) -> list[set[Any]]:
        """Back to a list of Python sets of labels."""
        flat = self.classes[self.labels].tolist()
        return [set(flat[a:b]) for a, b in zip(self.indptr[:-1], self.indptr[1:], strict=True)]


def as_candidates(
    y: Any, *, classes: Collection[Any] | None = None, n_rows: int | None = None
) -> CandidateSets:
    """Check candidate sets given in any accepted form and bring them into the one internal form.

    Parameters
    ----------
    y : sequence of collections, mask of shape (n_rows, n_labels), or 1-D labels
        - A list, tuple, object array or Series whose elements are sets, lists, tuples or arrays of
          labels. A bare label among them counts as a set of one. A Python list of lists is always
          read as label collections, never as a mask.
        - A boolean or 0/1 mask: 2-D array, any SciPy sparse matrix, or a data frame (pandas,
          polars) whose columns are the labels.
        - 1-D labels: every row has exactly one candidate.
    classes : array-like of shape (n_labels,), optional
        All labels, in the wanted column order. By default the sorted labels that occur, the
        column names of a data frame, or ``0 … n_labels - 1`` for any other mask.
    n_rows : int, optional
        Number of rows that ``y`` must have (the rows of X).

    Returns
    -------
    CandidateSets

    Raises
    ------
    ValueError
        For an empty set, a missing label, a label outside ``classes``, a mask that is not 0/1, or
        a wrong number of rows. The message names the first offending row, counted from 0.

    Examples
    --------
    >>> from ambilearn.candidates import as_candidates
    >>> sets = as_candidates([{"anna", "bob"}, ["bob"], ("cleo", "anna")])
    >>> sets.classes
    array(['anna', 'bob', 'cleo'], dtype='<U4')
    >>> sets.to_mask().astype(int)
    array([[1, 1, 0],
           [0, 1, 0],
           [1, 0, 1]])
    """
    if isinstance(y, CandidateSets):
        sets = y
    elif y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None. "
            f"y must be {_ACCEPTED}."
        )
    elif sparse.issparse(y):
        sets = replace(_from_sparse_mask(y, classes), sparse_mask=True)
    elif hasattr(y, "columns") and hasattr(y, "to_numpy"):
        sets = _from_frame(y, classes)
    else:
        sets = _from_sequence(y, classes)
    if n_rows is not None and sets.n_rows != n_rows:
        raise ValueError(
            f"X has {n_rows} rows but y has candidate sets for {sets.n_rows}: they must be of "
            "equal length, one set for each row of X in the same order."
        )
    return sets


def _from_frame(frame: Any, classes: Collection[Any] | None) -> CandidateSets:
    values = frame.to_numpy()
    if values.shape[1] == 1:  # a table with one column of labels, or of label collections
        return _from_sequence(values, classes)
    columns = _label_array(list(frame.columns))
    if classes is None:
        return _from_dense_mask(values, columns)
    # A mask with named columns is put into the order of the given classes.
    position = {label: j for j, label in enumerate(_label_array(classes).tolist())}
    unknown = [name for name in columns.tolist() if name not in position]
    if unknown:
        raise ValueError(
            f"y has a column {unknown[0]!r} that is not among the {len(position)} given classes: "
            "add it to the classes, or rename or drop the column."
        )
    mask = np.zeros((len(values), len(position)), dtype=values.dtype)
    mask[:, [position[name] for name in columns.tolist()]] = values
    return _from_dense_mask(mask, classes)


def _from_sequence(y: Any, classes: Collection[Any] | None) -> CandidateSets:
    if hasattr(y, "to_list"):  # pandas and polars Series
        y = y.to_list()
    if isinstance(y, (str, bytes)) or not isinstance(y, (Sequence, np.ndarray)):
        if not hasattr(y, "__array__"):
            raise ValueError(f"y must be {_ACCEPTED}; got {type(y).__name__}.")
        y = np.asarray(y)
    if not isinstance(y, np.ndarray):
        if any(_is_collection(row) for row in y):
            _refuse_mask_as_lists(y)
            return _from_collections(list(y), classes)
        y = _label_array(list(y))
    if y.ndim == 2 and y.shape[1] == 1 and y.dtype == object and _is_collection(y[0, 0]):
        y = y[:, 0]
    if y.ndim == 1 and y.dtype == object and any(_is_collection(row) for row in y):
        return _from_collections(list(y), classes)
    if y.ndim == 2 and y.shape[1] != 1:
        return _from_dense_mask(y, classes)
    if y.ndim > 2:
        raise ValueError(f"y must be {_ACCEPTED}; got an array of {y.ndim} dimensions.")
    return _from_labels(column_or_1d(y, warn=True), classes)


def _refuse_mask_as_lists(rows: Sequence[Any]) -> None:
    """A mask written as lists would be read as rows that all have the candidates {0, 1}."""
    if not all(isinstance(row, (list, tuple)) and len(row) > 1 for row in rows):
        return
    if len({len(row) for row in rows}) == 1 and _is_binary(np.array(rows, dtype=object)):
        raise ValueError(
            "y is a list of equally long lists of 0 and 1, which looks like a mask: pass it as an "
            "array, numpy.asarray(y). (If 0 and 1 are labels, pass a list of sets.)"
        )


def _from_labels(y: NDArray[Any], classes: Collection[Any] | None) -> CandidateSets:
    """Ordinary labels: a set of one per row."""
    if y.dtype.kind not in "biuUS":
        for i, label in enumerate(y.tolist()):
            if is_missing(label):
                raise ValueError(
                    f"Input y contains NaN: the label of row {i} is {label!r}. Drop the row, or "
                    "pass a list of sets in which it has all the labels that are possible."
                )
    check_classification_targets(y)
    if classes is None and y.dtype != object:
        classes, labels = np.unique(y, return_inverse=True)
        sets = CandidateSets(classes, np.arange(len(y) + 1), labels)
    else:
        sets = _from_collections([(label,) for label in y.tolist()], classes)
    if sets.classes.dtype.kind in "UO":
        warn_of_joined_labels(sets.classes.tolist())
    return sets


def _from_collections(rows: list[Any], classes: Collection[Any] | None) -> CandidateSets:
    collections = [_flat(row) if _is_collection(row) else [row] for row in rows]
    for i, labels in enumerate(collections):
        if not labels:
            raise ValueError(
                f"The candidate set of row {i} is empty: every row needs at least one candidate "
                "label. Drop the row, or give it all labels if nothing is known."
            )
        for label in labels:
            if is_missing(label):
                raise ValueError(
                    f"The candidate set of row {i} contains NaN ({label!r}), which is no label: "
                    "take it out of the set, or drop the row."
                )
    try:
        if classes is None:
            classes = _label_array(sorted(set(chain.from_iterable(collections))))
        classes = _label_array(classes)
        position = {label: j for j, label in enumerate(classes.tolist())}
    except TypeError as error:
        raise ValueError(
            f"The labels cannot be sorted into a list of classes ({error}): use labels of one "
            "hashable, sortable type, or pass the candidate sets as a mask."
        ) from error
    _check_classes_distinct(classes, position)
    columns = []
    for i, labels in enumerate(collections):
        try:
            columns.append(sorted({position[label] for label in labels}))
        except KeyError as error:
            raise ValueError(
                f"Row {i} has the candidate label {error.args[0]!r}, which is not among the "
                f"{len(classes)} given classes: add it to the classes, or correct the row."
            ) from error
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in columns], dtype=np.intp)])
    return CandidateSets(classes, indptr, np.fromiter(chain.from_iterable(columns), np.intp))


def _from_dense_mask(mask: NDArray[Any], classes: Collection[Any] | None) -> CandidateSets:
    if not _is_binary(mask):
        i = int(np.flatnonzero([not _is_binary(row) for row in mask])[0])
        value = next(v for v in mask[i].tolist() if not _is_binary(np.asarray([v])))
        what = "contains NaN" if is_missing(value) else "is not 0/1"
        raise ValueError(
            f"The mask y {what}: row {i} has the value {value!r}. A 2-D y must mark each candidate "
            "with 1 and every other label with 0; pass label collections as a list of sets."
        )
    return _from_sparse_mask(sparse.csr_array(mask.astype(bool)), classes)


def _from_sparse_mask(mask: Any, classes: Collection[Any] | None) -> CandidateSets:
    mask = sparse.csr_array(mask)
    if not mask.has_canonical_format:
        mask = mask.copy()
        mask.sum_duplicates()
    values = mask.data
    wrong = np.flatnonzero((values != 0) & (values != 1))
    if len(wrong):
        i = int(np.searchsorted(mask.indptr, wrong[0], side="right")) - 1
        raise ValueError(
            f"The sparse mask y is not 0/1: row {i} has the value {values[wrong[0]].item()!r}. "
            "Mark each candidate once with 1 (entries that are stored twice add up)."
        )
    if not values.all():
        mask = mask.copy()
        mask.eliminate_zeros()
    empty = np.flatnonzero(np.diff(mask.indptr) == 0)
    if len(empty):
        raise ValueError(
            f"The candidate set of row {empty[0]} is empty (row of zeros in the mask; "
            f"{len(empty)} such rows): every row needs at least one candidate label. Drop such "
            "rows, or mark all labels if nothing is known."
        )
    n_labels = mask.shape[1]
    names = np.arange(n_labels) if classes is None else _label_array(classes)
    if len(names) != n_labels:
        raise ValueError(
            f"The mask y has {n_labels} columns but there are {len(names)} classes: name each "
            "column, in their order."
        )
    _check_classes_distinct(names, set(names.tolist()))
    return CandidateSets(names, mask.indptr.astype(np.intp), mask.indices.astype(np.intp))


def _check_classes_distinct(classes: NDArray[Any], distinct: Collection[Any]) -> None:
    if len(distinct) != len(classes):
        [(twice, _)] = Counter(classes.tolist()).most_common(1)
        raise ValueError(
            f"The class {twice!r} is listed more than once: the classes, or the columns of a mask, "
            "need different names."
        )
    for label in classes.tolist():
        if is_missing(label):
            raise ValueError(f"The classes contain a missing value ({label!r}): name every class.")


def _label_array(labels: Collection[Any]) -> NDArray[Any]:
    """1-D array of labels that keeps their type: no 1 → '1', no list of tuples → 2-D array."""
    if isinstance(labels, np.ndarray) and labels.ndim == 1:
        return labels
    labels = list(labels)
    kinds = {_kind(label) for label in labels}
    if len(kinds) == 1 and kinds != {"other"}:
        return np.asarray(labels)
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return array


def _kind(label: Any) -> str:
    if isinstance(label, (bool, np.bool_)):
        return "bool"
    if isinstance(label, Real):
        return "number"
    return "string" if isinstance(label, str) else "other"


def _flat(row: Collection[Any]) -> list[Any]:
    return row.tolist() if isinstance(row, np.ndarray) else list(row)


def _is_collection(row: Any) -> bool:
    if isinstance(row, np.ndarray):
        return row.ndim > 0
    return isinstance(row, Collection) and not isinstance(row, (str, bytes))


def _is_binary(values: NDArray[Any]) -> bool:
    if values.dtype == bool:
        return True
    try:
        return bool(np.all((values == 0) | (values == 1)))
    except TypeError:  # pandas.NA refuses to be a truth value
        return False
