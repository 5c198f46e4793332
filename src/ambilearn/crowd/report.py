"""Report on the annotators: number of answers, agreement with the result, confusions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.validation import check_array

from ambilearn._utils.array_checks import check_structure, column_names
from ambilearn._utils.text import pluralize, requires_extra, shorten_list
from ambilearn._utils.types import Array
from ambilearn.backend.arrays import to_numpy
from ambilearn.candidates import as_candidates
from ambilearn.confidence.audits import exact_interval
from ambilearn.crowd.skills import answer_counts
from ambilearn.crowd.votes import as_votes

_LEAST_COUNT = 0.05
_ENOUGH_ANSWERS = 5  # to judge an annotator


@dataclass(frozen=True, eq=False, repr=False)
class AnnotatorReport:
    """Answers of the annotators compared with the result.

    Attributes
    ----------
    annotators : ndarray of shape (n_annotators,)
        Their names.
    classes : ndarray of shape (n_labels,)
        The labels.
    answers : ndarray of shape (n_annotators,)
        Number of answers of each.
    agreement : ndarray of shape (n_annotators,)
        Share of these answers that are the label of the result.
    counts : ndarray of shape (n_annotators, n_labels, n_labels)
        Answers by right label (by the confidences of the result) and given label.
    """

    annotators: Array
    classes: Array
    answers: NDArray[np.intp]
    agreement: NDArray[np.float64]
    counts: NDArray[np.float64]

    def __repr__(self) -> str:
        return (
            f"<AnnotatorReport: {pluralize(len(self.annotators), 'annotator')}, "
            f"{pluralize(int(self.answers.sum()), 'answer')}, "
            f"{np.average(self.agreement, weights=self.answers):.0%} agree with the result>"
        )

    def top_confusions(self, annotator: int, limit: int = 2) -> list[tuple[Any, Any, float]]:
        """Most frequent errors of an annotator, by index: right label, given label, answers."""
        wrong = self.counts[annotator] * ~np.eye(len(self.classes), dtype=bool)
        order = np.argsort(-wrong, axis=None, kind="stable")[:limit]
        names = self.classes.tolist()
        found = []
        for right, given in zip(*np.unravel_index(order, wrong.shape), strict=True):
            if wrong[right, given] >= 0.5:  # rounds to at least one answer
                found.append((names[right], names[given], float(wrong[right, given])))
        return found

    def to_frame(self) -> Any:
        """Data frame with one row for each annotator, the one with the least agreement first.

        Annotators with fewer than five answers are last. Columns ``annotator``, ``answers``,
        ``agreement``, ``low`` and ``high`` (its exact 95 % interval, with the labels of the result
        as the truth), and ``confusions`` with the most frequent mistakes as text, ``right → given
        (how often)``.
        """
        with requires_extra("data", purpose="A table of annotators"):
            import pandas as pd
        order = np.lexsort((-self.answers, self.agreement, self.answers < _ENOUGH_ANSWERS))
        low, high = exact_interval(self.agreement, self.answers, 0.95)
        confusions = [
            "; ".join(f"{right} → {given} ({n:.0f})" for right, given, n in self.top_confusions(a))
            for a in order.tolist()
        ]
        return pd.DataFrame(
            {
                "annotator": self.annotators[order],
                "answers": self.answers[order],
                "agreement": self.agreement[order].round(3),
                "low": low[order].round(3),
                "high": high[order].round(3),
                "confusions": confusions,
            }
        )

    def display(self, annotator: int) -> Any:
        """Confusions of an annotator, by index, as a display of scikit-learn.

        Parameters
        ----------
        annotator : int
            Index in ``annotators``.

        Returns
        -------
        sklearn.metrics.ConfusionMatrixDisplay
            Drawn: right labels (of the result) by given labels.
        """
        from sklearn.metrics import ConfusionMatrixDisplay

        shown = ConfusionMatrixDisplay(self.counts[annotator], display_labels=self.classes)
        with requires_extra("paper", purpose="Drawing figures"):
            shown.plot(values_format=".0f", colorbar=False, xticks_rotation="vertical")
        shown.figure_.set_layout_engine("constrained")
        shown.ax_.set(title=str(self.annotators[annotator]), xlabel="given", ylabel="right")
        return shown

    def confusion_frame(self) -> Any:
        """Data frame of all confusions, in long form.

        Columns ``annotator``, ``right`` (label of the result), ``given``, ``answers``, and
        ``share`` among the answers of this annotator where this label is right. Answers are
        counted for each label by its confidence; counts below a twentieth are left out.
        """
        with requires_extra("data", purpose="A table of annotators"):
            import pandas as pd
        total = self.counts.sum(axis=2, keepdims=True)
        shares = self.counts / np.where(total > 0, total, 1.0)
        who, right, given = np.nonzero(self.counts >= _LEAST_COUNT)
        return pd.DataFrame(
            {
                "annotator": self.annotators[who],
                "right": self.classes[right],
                "given": self.classes[given],
                "answers": self.counts[who, right, given].round(3),
                "share": shares[who, right, given].round(3),
            }
        )


def in_order_of_labels(table: Any, classes: Array, name: str) -> Any:
    """A data frame as an array, with its columns in the order of the labels.

    Anything else is returned unchanged.
    """
    names, labels = column_names(table), classes.tolist()
    if names is None:
        return table
    if len(names) != len(labels) or set(names) != set(labels):
        raise ValueError(
            f"The columns of {name} are {shorten_list(list(map(repr, names)))}, but the labels of "
            f"the votes are {shorten_list(list(map(repr, labels)))}: name each column by its "
            "label, or pass an array."
        )
    return np.asarray(table)[:, [names.index(label) for label in labels]]


def report_annotators(votes: Any, confidences: ArrayLike) -> AnnotatorReport:
    """Compare the answers with a result.

    Parameters
    ----------
    votes : Votes, or table of shape (n_items, n_annotators)
        The answers; a table is read by :meth:`Votes.from_wide`.
    confidences : array-like of shape (n_items, n_labels) or (n_items,)
        The result, such as ``label_distributions_`` of a fit, in the order of ``votes``; or one
        label for each item, such as ``transduction_`` or the truth.

    Returns
    -------
    AnnotatorReport

    Examples
    --------
    >>> import numpy as np
    >>> from ambilearn.crowd import Votes, report_annotators
    >>> votes = Votes.from_wide([["a", "b"], ["b", "b"], ["a", "b"]], annotators=["ann", "ben"])
    >>> report = report_annotators(votes, np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))
    >>> report
    <AnnotatorReport: 2 annotators, 6 answers, 67% agree with the result>
    >>> report.top_confusions(1)
    [('a', 'b', 2.0)]
    >>> report_annotators(votes, ["a", "b", "a"])
    <AnnotatorReport: 2 annotators, 6 answers, 67% agree with the result>
    """
    votes = as_votes(votes)
    expected = len(votes), len(votes.classes)
    check_structure(confidences, "confidences")
    table = in_order_of_labels(to_numpy(confidences), votes.classes, "confidences")
    if sparse.issparse(table):
        table = table.toarray()
    if np.shape(table) == expected[:1]:
        table = as_candidates(table, classes=votes.classes).to_mask()
    if np.shape(table) != expected:
        raise ValueError(
            f"confidences must have the shape {expected}, a row for each item and a column for "
            f"each label of the votes, or be {len(votes)} labels; got "
            f"{np.shape(table)}."
        )
    table = check_array(table, dtype=np.float64, input_name="confidences")
    who, n_annotators = votes.annotator_indices, len(votes.annotators)
    agrees = np.argmax(table, axis=1)[votes.item_indices] == votes.label_indices
    answers = np.bincount(who, minlength=n_annotators)
    return AnnotatorReport(
        votes.annotators,
        votes.classes,
        answers,
        np.bincount(who, agrees, n_annotators) / answers,
        answer_counts(votes, table),
    )
