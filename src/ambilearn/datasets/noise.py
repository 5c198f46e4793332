"""Remove the true label from random candidate sets, in the two ways of the literature."""

from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ambilearn._utils.blocks import row_blocks
from ambilearn._utils.types import RandomState
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.candidates.sets import pair_rows

NOISE_KINDS = ("swap", "drop")


def add_noise(
    candidates: Any,
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
    if kind not in NOISE_KINDS:
        raise ValueError(f"The noise must be 'swap' or 'drop', got {kind!r}.")
    if not isinstance(eta, Real) or not 0 <= float(eta) <= 1:
        raise ValueError(
            "eta must be a number between 0 and 1, the probability that a row loses its true "
            f"label; got {eta!r}."
        )


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
