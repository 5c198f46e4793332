"""Tables with one column per label, as classifiers return them."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ambilearn._utils.data_frames import column_names
from ambilearn._utils.label_array import listed_labels
from ambilearn._utils.structure import check_structure
from ambilearn.backend.arrays import to_numpy
from ambilearn.candidates import CandidateSets, as_candidates


def score_table(
    scores: Any, classes: Collection[Any] | None, name: str = "scores"
) -> tuple[NDArray[np.float64], list[Any]]:
    """Check a table of scores, and return it with its labels.

    ``scores``, of shape (n_rows, n_labels), has no NaN. The labels are ``classes``, or the columns
    of a data frame, or ``0 … n_labels - 1``. ``name`` is the name of the argument in messages.
    """
    scores = to_numpy(scores)
    check_structure(scores, name)
    if sparse.issparse(scores):
        scores = scores.toarray()
    columns = column_names(scores)
    try:
        table = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"{name} must be a table of numbers, one row per example and one column per label, as "
            f"predict_proba returns it ({error})."
        ) from error
    if table.ndim != 2:
        raise ValueError(
            f"{name} must have two dimensions, rows and labels, as predict_proba returns it; got "
            f"an array of shape {table.shape}."
        )
    if np.isnan(table).any():
        i, j = np.argwhere(np.isnan(table))[0].tolist()
        raise ValueError(
            f"{name} contains NaN in row {i}, column {j}. Drop such rows, or fill them in."
        )
    return table, _labels_of_columns(table.shape[1], columns, classes, name)


def _labels_of_columns(
    n_columns: int, columns: list[Any] | None, classes: Collection[Any] | None, name: str
) -> list[Any]:
    unnamed = list(range(n_columns))
    if classes is None:
        return unnamed if columns is None else columns
    labels: list[Any] = listed_labels(to_numpy(classes), "classes").tolist()
    if len(labels) != n_columns:
        raise ValueError(
            f"{name} has {n_columns} columns but there are {len(labels)} classes: pass one class "
            "per column, in the order of the columns."
        )
    if columns not in (None, unnamed, labels):
        raise ValueError(
            f"{name} has the columns {columns} but the classes are {labels}: remove classes, "
            "or reorder the columns."
        )
    return labels


def check_probabilities(table: NDArray[np.float64], name: str) -> None:
    """Raise an error for a row that is not a probability distribution."""
    wrong = ~_distributions(table)
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"Row {i} of {name} is not a probability distribution (smallest entry "
            f"{table[i].min():.3g}, sum {table[i].sum():.3g}): pass the output of predict_proba, "
            "not decision scores or logits."
        )


def are_probabilities(table: NDArray[np.float64]) -> bool:
    """Whether every row is a probability distribution."""
    return bool(_distributions(table).all())


def _distributions(table: NDArray[np.float64]) -> NDArray[np.bool_]:
    # The tolerance allows single precision and files with three digits.
    found: NDArray[np.bool_] = (table >= 0).all(axis=1) & (np.abs(table.sum(axis=1) - 1) <= 0.01)
    return found


def sets_of_mask(mask: NDArray[Any], classes: list[Any]) -> CandidateSets:
    """Candidate sets of a dense mask, also if it has one column."""
    return replace(as_candidates(sparse.csr_array(mask), classes=classes), sparse_mask=False)
