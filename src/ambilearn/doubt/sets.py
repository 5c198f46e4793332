"""Doubt in candidate sets, from held-out outputs."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambilearn.backend import HostSupport
from ambilearn.doubt.result import Doubt
from ambilearn.kernel.ridge import OutputBlock

_SURE = -1.0  # score of a row whose candidates are all labels


@dataclass
class HeldOut:
    """Held-out outputs that the score needs.

    Parameters
    ----------
    inside : ndarray of shape (n_pairs,)
        Outputs of the candidates.
    outside : ndarray of shape (n,)
        Largest output of a label that is not a candidate; -inf if there is no such label.
    label : ndarray of shape (n,)
        Column of that label; -1 if there is none.
    """

    inside: NDArray[np.float64]
    outside: NDArray[np.float64]
    label: NDArray[np.intp]


def summarize(blocks: Iterable[OutputBlock], candidates: HostSupport) -> HeldOut:
    """Summarize outputs that come in blocks of rows and labels, without a matrix of all of them."""
    n = candidates.n_rows
    found = HeldOut(
        inside=np.empty(len(candidates.labels)),
        outside=np.full(n, -np.inf),
        label=np.full(n, -1, dtype=np.intp),
    )
    for rows, labels, outputs in blocks:
        pairs, places = _pairs_in_block(candidates, rows, labels)
        found.inside[pairs] = outputs[places]
        others = outputs.copy()
        others[places] = -np.inf
        best = np.argmax(others, axis=1)
        top = others[np.arange(len(rows)), best]
        ahead = top > found.outside[rows]
        found.label[rows] = np.where(ahead, labels[best], found.label[rows])
        found.outside[rows] = np.where(ahead, top, found.outside[rows])
    return found


def _pairs_in_block(
    candidates: HostSupport, rows: NDArray[np.intp], labels: NDArray[np.intp]
) -> tuple[NDArray[np.intp], tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Candidates in a block of outputs, and their rows and columns in it."""
    row_place = np.full(candidates.n_rows, -1)
    row_place[rows] = np.arange(len(rows))
    label_place = np.full(candidates.n_labels, -1)
    label_place[labels] = np.arange(len(labels))
    at = row_place[candidates.rows], label_place[candidates.labels]
    pairs = np.flatnonzero((at[0] >= 0) & (at[1] >= 0))
    return pairs, (at[0][pairs], at[1][pairs])


def judge_sets(found: HeldOut, candidates: HostSupport) -> Doubt:
    """Doubt that the true label is a candidate, from held-out outputs."""
    best = candidates.largest(found.inside)
    everything = candidates.sizes == candidates.n_labels
    score = np.where(everything, _SURE, found.outside - best)
    if not everything.any():
        return Doubt(score, candidates.classes[found.label])
    suggestion = candidates.classes.astype(object)[found.label]
    suggestion[everything] = None
    return Doubt(score, suggestion)
