"""Samplers of false labels: functions that draw a mask of shape (rows, labels) for some rows.

The mask may contain the true label, which the caller sets in any case.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from ambilearn._utils.types import Matrix
from ambilearn.candidates import CandidateSets

Sampler = Callable[[slice], NDArray[np.bool_]]


def distinct_label_sampler(
    codes: NDArray[np.intp], n_labels: int, r: int, rng: np.random.Generator
) -> Sampler:
    """Draw *r* false labels per row without replacement, by Floyd's algorithm."""

    def draw(rows: slice) -> NDArray[np.bool_]:
        y = codes[rows]
        mask = np.zeros((len(y), n_labels), dtype=bool)
        # One flat index per row is much faster than a pair of indices.
        flat, first = mask.reshape(-1), np.arange(len(y)) * n_labels
        for last in range(n_labels - 1 - r, n_labels - 1):
            picked = first + _skip(rng.integers(0, last + 1, len(y)), y)
            np.copyto(picked, first + _skip(last, y), where=flat[picked])
            flat[picked] = True
        return mask

    return draw


def coupled_label_sampler(
    codes: NDArray[np.intp],
    n_labels: int,
    coupled: NDArray[np.intp],
    epsilon: float,
    rng: np.random.Generator,
) -> Sampler:
    """Draw the coupled label with probability epsilon, otherwise another label uniformly."""

    def draw(rows: slice) -> NDArray[np.bool_]:
        y, partner = codes[rows], coupled[codes[rows]]
        other = rng.integers(0, max(n_labels - 2, 1), len(y))
        other = _skip(_skip(other, np.minimum(y, partner)), np.maximum(y, partner))
        picked = np.where(rng.random(len(y)) < epsilon, partner, other)
        mask = np.zeros((len(y), n_labels), dtype=bool)
        mask[np.arange(len(y)), picked] = True
        return mask

    return draw


def flip_sampler(
    probabilities: Callable[[slice], NDArray[np.floating]],
    n_labels: int,
    rng: np.random.Generator,
) -> Sampler:
    """Draw each label independently, with the probabilities that a function returns."""

    def draw(rows: slice) -> NDArray[np.bool_]:
        shape = rows.stop - rows.start, n_labels
        return rng.random(shape, dtype=np.float32) < probabilities(rows)

    return draw


def confusion_probabilities(
    truth: CandidateSets, X: Matrix, proba: ArrayLike | None, q: float, rng: np.random.Generator
) -> Callable[[slice], NDArray[np.floating]]:
    """Flip probabilities in proportion to the probabilities of a classifier."""
    if (X is None) == (proba is None):
        raise ValueError(
            "kind='instance' needs either X or proba: pass the features, or the probabilities of "
            "your own classifier."
        )
    shape = truth.shape
    confidences = _out_of_fold_confidences(X, truth, rng) if proba is None else np.asarray(proba)
    if confidences.shape != shape:
        raise ValueError(
            f"proba must have the shape {shape}, one row per row of y and one column per label; "
            f"it has {confidences.shape}."
        )
    wrong = ~(np.isfinite(confidences) & (confidences >= 0)).all(axis=1)
    if wrong.any():
        raise ValueError(
            f"proba has a negative number, NaN or infinity in row {int(wrong.argmax())}: pass the "
            "output of predict_proba."
        )

    def probabilities(rows: slice) -> NDArray[np.float32]:
        block = confidences[rows].astype(np.float64)
        block[np.arange(len(block)), truth.labels[rows]] = 0.0
        largest = block.max(axis=1, keepdims=True)
        block /= np.where(largest > 0, largest, 1.0)  # exactly 1 for the largest
        return (q * block).astype(np.float32)  # as precise as the draw

    return probabilities


def _out_of_fold_confidences(
    X: Matrix, truth: CandidateSets, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Out-of-fold probabilities of logistic regression."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    codes = truth.labels
    most = np.bincount(codes).max()
    n_splits = min(5, most)
    if n_splits < 2 or len(codes) - most < 2:  # a fold needs two labels without its own rows
        raise ValueError(
            "y has too few rows of each label to train a classifier: pass your own probabilities "
            "as proba=."
        )
    model = make_pipeline(StandardScaler(with_mean=not sparse.issparse(X)), LogisticRegression())
    folds = StratifiedKFold(n_splits, shuffle=True, random_state=int(rng.integers(2**31)))
    confidences = np.zeros(truth.shape)
    with warnings.catch_warnings():
        # A label that is missing in a training fold has confidence 0 there, as intended.
        warnings.filterwarnings("ignore", message="The least populated class in y")
        warnings.filterwarnings("ignore", message="Number of classes in training fold")
        confidences[:, np.unique(codes)] = cross_val_predict(
            model, X, codes, cv=folds, method="predict_proba"
        )
    return confidences


def _skip(values: Any, excluded: NDArray[np.intp]) -> NDArray[np.intp]:
    """Map positions among the labels without the excluded one to label numbers."""
    labels: NDArray[np.intp] = values + (values >= excluded)
    return labels
