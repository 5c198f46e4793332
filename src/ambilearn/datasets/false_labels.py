"""Samplers of false labels, and noise: random sets without their true label.

A sampler is a function that draws a mask of shape (rows, labels) for some rows. The mask may
contain the true label, which the caller sets in any case.
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from ambilearn._utils.limits import row_blocks
from ambilearn._utils.types import AnyCandidates, Array, Matrix, RandomState
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.candidates.sets import pair_rows

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


def _skip(values: Array | int, excluded: NDArray[np.intp]) -> NDArray[np.intp]:
    """Map positions among the labels without the excluded one to label numbers."""
    return values + (values >= excluded)


def add_noise(
    candidates: AnyCandidates,
    y: ArrayLike,
    *,
    kind: str = "swap",
    eta: float,
    random_state: RandomState = None,
) -> CandidateSets:
    r"""Remove the true label from some candidate sets.

    Every row loses its true label :math:`y_i` independently with probability η.

    ``kind="swap"`` [1]_
        The true label is replaced by a label drawn uniformly from those that are not candidates:
        :math:`S_i \setminus \{y_i\} \cup \{j\}`, :math:`j \notin S_i`. The size of the set does
        not change, and the new label gets the weight of the true label. A set of all labels does
        not change.

    ``kind="drop"`` [2]_
        The true label is removed: :math:`S_i \setminus \{y_i\}`. A set of only the true label does
        not change, because it would be empty.

    A set that does not contain its true label does not change. The draws of a row do not depend on
    η: with the same seed, rows that lose their label at a small η lose it at every larger η, and
    get the same label.

    Parameters
    ----------
    candidates : candidate sets of n_rows rows, in any accepted form
        Existing candidate sets; :func:`make_candidates` has the same noise for new ones.
    y : array-like of shape (n_rows,)
        True labels, all among the classes of the candidates.
    kind : {"swap", "drop"}, default="swap"
        Whether the true label is replaced or removed.
    eta : float
        Probability that a row loses its true label, η.
    random_state : int, RandomState instance or None, default=None
        Seed. The same seed gives the same noise.

    Returns
    -------
    CandidateSets
        ``covers(y)`` shows which rows still have their true label.

    See Also
    --------
    make_candidates : Candidate sets from true labels, with or without noise.

    References
    ----------
    .. [1] Z. Lian, M. Xu, L. Chen, L. Sun, B. Liu, J. Tao, "IRNet: Iterative refinement network for
           noisy partial label learning", 2022; M. Xu, Z. Lian, L. Feng, B. Liu, J. Tao, "ALIM:
           Adjusting label importance mechanism for noisy partial label learning", NeurIPS 2023.
    .. [2] H. Wang, R. Xiao, Y. Li, L. Feng, G. Niu, G. Chen, J. Zhao, "PiCO+: Contrastive label
           disambiguation for robust partial label learning", IEEE TPAMI 46(5), 2024.

    Examples
    --------
    >>> from ambilearn.datasets import add_noise
    >>> y = ["ant", "bee", "ant", "cat"]
    >>> sets = [{"ant", "bee"}, {"bee", "cat"}, {"ant", "cat"}, {"cat"}]
    >>> noisy = add_noise(sets, y, eta=0.5, random_state=2)
    >>> [sorted(row) for row in noisy.to_sets()]
    [['ant', 'bee'], ['bee', 'cat'], ['bee', 'cat'], ['bee']]
    >>> noisy.covers(y)
    array([ True,  True, False, False])
    """
    sets = as_candidates(candidates)
    truth = as_candidates(y, classes=sets.classes, n_rows=len(sets))
    if (truth.sizes != 1).any():
        i = int(np.flatnonzero(truth.sizes != 1)[0])
        raise ValueError(
            f"y must have one true label per row, but row {i} has {truth.sizes[i]}: pass the "
            "true labels as y and the candidate sets as candidates."
        )
    check_noise(kind, eta)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**32, dtype=np.uint64))
    remove_truth = swap_truth if kind == "swap" else _drop_truth
    return remove_truth(sets, truth.labels, eta, rng)


def check_noise(kind: Any, eta: Any) -> None:
    """Raise an error for an unknown kind of noise or an invalid probability."""
    if kind not in ("swap", "drop"):
        raise ValueError(f"The noise must be 'swap' or 'drop', got {kind!r}.")
    check_probability("eta", eta)


def check_probability(name: str, value: Any) -> float:
    """The value, if it is a number between 0 and 1."""
    if not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise ValueError(f"{name} must be a number between 0 and 1, got {value!r}.")
    return float(value)


def swap_truth(
    sets: CandidateSets, truth: NDArray[np.intp], eta: float, rng: np.random.Generator
) -> CandidateSets:
    """Replace the true label of rows, with probability eta, by a label that is not a candidate.

    ``truth`` is the column of each row's true label. The random draws of a row do not depend on
    eta.
    """
    loses, place = rng.random(len(sets)) < eta, rng.random(len(sets))
    loses &= sets.sizes < len(sets.classes)
    row_of = pair_rows(sets)
    pairs = np.flatnonzero((sets.labels == truth[row_of]) & loses[row_of])
    rows = row_of[pairs]
    n_free = len(sets.classes) - sets.sizes[rows]
    rank = (place[rows] * n_free).astype(np.intp)
    labels = sets.labels.copy()
    for block in row_blocks(len(rows), len(sets.classes)):
        free = ~sets[rows[block]].to_mask()
        labels[pairs[block]] = np.argmax(free.cumsum(axis=1) > rank[block, None], axis=1)
    order = np.lexsort((labels, row_of))
    weights = None if sets.weights is None else sets.weights[order]
    return replace(sets, labels=labels[order], weights=weights)


def _drop_truth(
    sets: CandidateSets, truth: NDArray[np.intp], eta: float, rng: np.random.Generator
) -> CandidateSets:
    loses = (rng.random(len(sets)) < eta) & (sets.sizes > 1)
    row_of = pair_rows(sets)
    kept = ~((sets.labels == truth[row_of]) & loses[row_of])
    sizes = np.bincount(row_of[kept], minlength=len(sets))
    indptr = np.concatenate([[0], np.cumsum(sizes)])
    weights = None if sets.weights is None else sets.weights[kept]
    return replace(sets, indptr=indptr, labels=sets.labels[kept], weights=weights)
