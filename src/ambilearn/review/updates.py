"""Results of a review for every row, and how an answer changes them before the next fit."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ambilearn._utils.types import Label
from ambilearn.backend import HOST
from ambilearn.candidates.sets import pair_rows
from ambilearn.confidence.doubt import Doubt
from ambilearn.review.learner import Labels, Learned, Learner
from ambilearn.tables.ranking import Choices, choose_candidates, review_order

_AT_ONCE = 2**22  # targets whose influence is computed at once


@dataclass(frozen=True, eq=False)
class Results:
    """Labels, confidences, doubt and order of all rows.

    Attributes
    ----------
    confidences : ndarray of shape (n_pairs,)
        Confidence of every candidate before the review, in the order of the given sets. For a
        settled row one for its label, zero for the others.
    choices : Choices
        The most likely candidate of each row, as the method has it.
    doubt : Doubt or None
        Held-out doubt in the candidates.
    order : ndarray of shape (n_rows,)
        Rows in the order in which a person should look at them; settled rows last.
    """

    confidences: NDArray[np.float64]
    choices: Choices
    doubt: Doubt | None
    order: NDArray[np.intp]


class Updater:
    r"""Closed-form update of the last fit of a learner by the answers since then.

    A settled row *r* changes its targets by :math:`\delta_r`, one for its label minus its
    confidences. The leave-one-out outputs of ridge regression at the other rows then change by

    .. math:: \Delta h_i = \sum_r \frac{S_{ir}}{1 - S_{ii}} \, \delta_r

    with the same matrix *S* for every answer. The confidences of the last fit plus this change are
    projected onto the candidates, and doubt changes by the difference for the suggestion and the
    best candidate. Rows near a corrected row become less certain, rows near a confirmed row more.

    Parameters
    ----------
    learner : Learner
        Provides the influence of a row on the others.
    """

    def __init__(self, learner: Learner) -> None:
        self._sets = sets = learner.shown
        self._support: Any = HOST.support(sets)
        self.learner = learner
        self._rows = pair_rows(sets)
        self._place = {label: j for j, label in enumerate(sets.classes.tolist())}
        self._fit: NDArray[np.float64] | None = None  # what the change is based on
        self._answers: dict[int, Label] = {}  # that the change accounts for; None if undone
        self._sum = _Change(0, 0)

    def update(self, learned: Learned, labels: Labels, last: Collection[int] = ()) -> Results:
        """Results after the answers since a fit; the rows ``last`` are last in the order."""
        p = self._on_given_pairs(learned, labels)
        doubt = learned.doubt
        changed = [r for r in {*labels, *learned.labels} if labels.get(r) != learned.labels.get(r)]
        change = self._change(changed, learned, p, labels)
        if change is not None:
            best = self._support.best_pairs(p)
            moved = change[self._rows, self._sets.labels]
            # With annotators, the sum of the confidences of a row may be below one.
            total = np.add.reduceat(p, self._sets.indptr[:-1])[self._rows]
            total[total <= 0] = 1.0
            p = total * self._support.simplex.project((p + moved) / total)
            doubt = self._changed_doubt(doubt, change, moved[best])
        for row, label in labels.items():
            pairs = slice(self._sets.indptr[row], self._sets.indptr[row + 1])
            p[pairs] = self._sets.labels[pairs] == self._place.get(label, -1)
        choices = choose_candidates(self._sets, p, judged=learned.judged)
        order = review_order(choices, doubt, [*labels, *last])
        return Results(p, choices, doubt, order)

    def _on_given_pairs(self, learned: Learned, labels: Labels) -> NDArray[np.float64]:
        """Confidences of the last fit for the given candidates; rows undone since have equal ones.

        A fit has fewer labels if one is not a candidate any more; judged answers have other labels.
        """
        known = {label: j for j, label in enumerate(learned.sets.classes.tolist())}
        columns = np.array([known.get(label, len(known)) for label in self._place], dtype=np.intp)
        parts = learned.confidences, learned.sets.labels, learned.sets.indptr
        table = sparse.csr_array(parts, shape=(len(self._sets), len(known) + 1))
        p = np.asarray(table[self._rows, columns[self._sets.labels]]).ravel()
        undone = [row for row in learned.labels if row not in labels]
        if undone:
            at = np.isin(self._rows, undone)
            p[at] = self._support.prior()[at]
        return p

    def _change(
        self, rows: list[int], learned: Learned, p: NDArray[np.float64], labels: Labels
    ) -> "_Change | None":
        """Change of the outputs by the new targets of some rows; None if it is not known.

        After a further answer, only the change by this answer is computed.
        """
        answers = {row: labels.get(row) for row in rows}
        if self._fit is not learned.confidences or not self._answers.items() <= answers.items():
            self._fit, self._answers = learned.confidences, {}
            self._sum = _Change(len(self._sets), len(self._place))
        if not rows or not self.learner.has_update:
            return None
        new = [row for row in rows if row not in self._answers]
        n_rows = max(1, _AT_ONCE // len(self._place))
        for first in range(0, len(new), n_rows):
            some = new[first : first + n_rows]
            self._add_change(np.array(some), self._targets(some, p, labels))
            self._answers |= {row: answers[row] for row in some}
        return self._sum

    def _add_change(self, rows: NDArray[np.intp], targets: NDArray[np.float64]) -> None:
        """Add the change by new targets, computed per row or per label, whichever are fewer."""
        used = np.flatnonzero(targets.any(axis=0))
        targets = targets[:, used]
        if len(rows) < len(used):
            change = self.learner.influence(rows, np.eye(len(rows))) @ targets
        else:
            change = self.learner.influence(rows, targets)
        self._sum.add(used, change)

    def _targets(
        self, rows: list[int], p: NDArray[np.float64], labels: Labels
    ) -> NDArray[np.float64]:
        """Change of the targets of some rows, shape (k, l)."""
        targets = np.zeros((len(rows), len(self._place)))
        for i, row in enumerate(rows):
            pairs = slice(self._sets.indptr[row], self._sets.indptr[row + 1])
            targets[i, self._sets.labels[pairs]] = -p[pairs]
            if row not in labels:
                targets[i] *= -1  # undone: its equal confidences are new
            elif labels[row] in self._place:
                targets[i, self._place[labels[row]]] += 1
        return targets

    def _changed_doubt(
        self, doubt: Doubt | None, change: "_Change", inside: NDArray[np.float64]
    ) -> Doubt | None:
        if doubt is None:
            return None
        suggested = [self._place.get(label, -1) for label in doubt.other.tolist()]
        columns = np.array(suggested, dtype=np.intp)
        outside = change[np.arange(len(columns)), np.maximum(columns, 0)]
        return doubt.shifted(np.where(columns >= 0, outside - inside, 0.0))


class _Change:
    """A sum of matrices of shape (n, l); columns that are zero are not stored."""

    def __init__(self, n_rows: int, n_labels: int) -> None:
        self._values = np.zeros((n_rows, 1))  # the first column stays zero
        self._column = np.zeros(n_labels, dtype=np.intp)

    def add(self, labels: NDArray[np.intp], change: NDArray[np.float64]) -> None:
        """Add a matrix with the columns of some labels."""
        new = labels[self._column[labels] == 0]
        n_rows, n_columns = self._values.shape
        self._column[new] = n_columns + np.arange(len(new))
        self._values = np.column_stack([self._values, np.zeros((n_rows, len(new)))])
        self._values[:, self._column[labels]] += change

    def __getitem__(self, at: tuple[NDArray[np.intp], NDArray[np.intp]]) -> NDArray[np.float64]:
        rows, labels = at
        return self._values[rows, self._column[labels]]
