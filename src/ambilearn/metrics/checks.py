"""Checks of labels, scores and probabilities, and the mean over rows."""

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_array

from ambilearn._utils.array_checks import as_numbers, check_structure
from ambilearn._utils.labels import is_missing, label_array
from ambilearn._utils.text import pluralize
from ambilearn._utils.types import Array, Matrix
from ambilearn.backend.arrays import to_numpy
from ambilearn.candidates.sets import label_positions
from ambilearn.validation import check_weights

_MAX_SUM_ERROR = 0.01  # of the probabilities of a row: single precision, files with three digits


def mean_score(scores: Array, sample_weight: ArrayLike | None) -> float:
    """Mean over the rows, weighted if weights are given."""
    if sample_weight is None:
        return float(np.mean(scores))
    return float(np.average(scores, weights=check_weights(sample_weight, scores)))


def find_positions(labels: Array, classes: Collection[object]) -> NDArray[np.intp]:
    """Position of each label among the classes, -1 where it is none of them."""
    position = label_positions(check_labels(classes))
    found = (position.get(label, -1) for label in labels.tolist())
    return np.fromiter(found, dtype=np.intp, count=len(labels))


def check_labels(labels: ArrayLike | Collection[object]) -> Array:
    """Labels as an array of shape (n_rows,); an error if one is missing."""
    labels = to_numpy(labels)
    check_structure(labels, "The labels")
    labels = label_array(labels) if isinstance(labels, (list, tuple)) else np.asarray(labels)
    several = labels.dtype == object and any(isinstance(each, (list, set)) for each in labels.flat)
    if labels.ndim != 1 or several:
        raise ValueError(
            f"Expected one label for each row, got {'several' if several else 'an array'} of shape "
            f"{labels.shape}: pass labels of shape (n_rows,)."
        )
    for i, label in enumerate(labels.tolist() if labels.dtype.kind in "fcMmO" else ()):
        if is_missing(label):
            raise ValueError(f"The label of row {i} is missing ({label!r}): omit such rows.")
    return labels


def check_scores(matrix: Any, n_rows: int, n_columns: int, name: str) -> Any:
    """Checked scores: an array, or a CSR matrix where they came sparse."""
    check_structure(matrix, name)
    if sparse.issparse(matrix):
        matrix = sparse.csr_array(matrix, dtype=np.float64)
        values = matrix.data
    else:
        matrix = values = as_numbers(to_numpy(matrix), name)
    if matrix.shape != (n_rows, n_columns):
        raise ValueError(
            f"{name} must have the shape ({n_rows}, {n_columns}): a row for each candidate set, a "
            f"column for each label. It has {matrix.shape}."
        )
    if np.isnan(values).any():
        i = int(np.min(np.isnan(matrix).nonzero()[0]))
        raise ValueError(f"{name} contains NaN in row {i}: omit such rows, or fill them in.")
    return matrix


def check_probabilities(values: Matrix, name: str) -> NDArray[np.float64]:
    """A table of probabilities: dense, finite, not negative, and rows with the sum one."""
    check_structure(values, name)
    table: NDArray[np.float64] = check_array(to_numpy(values), dtype=np.float64, input_name=name)
    if (table < 0).any():
        row, column = np.argwhere(table < 0)[0]
        raise ValueError(
            f"{name} has the negative entry {table[row, column]:.3g} in row {row}, column "
            f"{column}: pass probabilities, as from predict_proba."
        )
    wrong = np.flatnonzero(~are_probabilities(table))
    if len(wrong):
        raise ValueError(
            f"Row {wrong[0]} of {name} sums to {table[wrong[0]].sum():.3g}, not to 1"
            f" ({pluralize(len(wrong), 'such row')}): pass probabilities, as from predict_proba."
        )
    return table


def are_probabilities(table: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each row of a table is a probability distribution, up to rounding."""
    sums = table.sum(axis=1)
    return (table >= 0).all(axis=1) & (np.abs(sums - 1) <= _MAX_SUM_ERROR)
