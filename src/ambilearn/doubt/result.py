"""Results of the search for wrong labels."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.optional import requires_extra
from ambilearn._utils.text import html_table, pluralize

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Doubt:
    """Scores that rank rows by the doubt that a candidate is correct.

    Attributes
    ----------
    score : ndarray of shape (n_rows,)
        Largest held-out output outside of the candidates minus the largest one of a candidate: the
        larger, the more doubtful. Above zero, another label is ahead of all candidates. It is -1
        where every label is a candidate.
    suggestion : ndarray of shape (n_rows,)
        The label outside of the candidates with the largest held-out output; None where there is
        no such label.
    """

    score: NDArray[np.float64]
    suggestion: NDArray[Any]

    @property
    def doubtful(self) -> NDArray[np.bool_]:
        """Rows to check: those with a score above zero."""
        return self.score > 0

    @property
    def order(self) -> NDArray[np.intp]:
        """Rows by doubt, the most doubtful first."""
        return np.argsort(-self.score, kind="stable")

    def _repr_html_(self) -> str:
        """The rows to check first, for a notebook."""
        frame = self.to_frame().iloc[self.order]
        title = f"{type(self).__name__}: {int(self.doubtful.sum()):,} of {len(frame):,} doubtful"
        return html_table(title, ["row", *frame], frame.itertuples(name=None))

    def to_frame(self) -> "pd.DataFrame":
        """Table with one row for each row of X, in the same order.

        Returns
        -------
        table : pandas.DataFrame
            With the columns ``score`` and ``suggestion``, and the row numbers as index ``row``.
        """
        with requires_extra("data", purpose="A table of doubt"):
            import pandas as pd
        rows = pd.RangeIndex(len(self.score), name="row")
        return pd.DataFrame(self._columns(), index=rows)

    def _columns(self) -> dict[str, NDArray[Any]]:
        return {"score": self.score, "suggestion": self.suggestion}

    def __repr__(self) -> str:
        n_doubtful = np.count_nonzero(self.doubtful)
        return f"<Doubt: {pluralize(len(self.score), 'row')}, {n_doubtful} with a score above 0>"


@dataclass(frozen=True, eq=False, repr=False)
class LabelDoubt(Doubt):
    r"""Which of the given labels are probably wrong, and the corrected labels.

    If the features do not predict the given labels better than chance, no label is changed, all
    scores are zero, and the probabilities are NaN.

    Attributes
    ----------
    score : ndarray of shape (n_rows,)
        :math:`1 - 2 F_{i, \text{given}}` with the held-out probability *F* of the given label: the
        larger, the more doubtful. Above zero, the other labels together are more likely than the
        given one.
    suggestion : ndarray of shape (n_rows,)
        The most likely other label; None if there is only one label, or the features do not predict
        the labels.
    label : ndarray of shape (n_rows,)
        The corrected label: the suggestion where ``change`` is True, else the given label.
    change : ndarray of shape (n_rows,)
        Whether to change the given label: True where the suggestion is three times as likely. A
        label that is given only once stays, since no held-out classifier can learn it.
    confidence : ndarray of shape (n_rows,)
        Probability of ``label``.
    probabilities : ndarray of shape (n_rows, n_labels)
        Probability of every label, from the features and the given label.
    classes : ndarray of shape (n_labels,)
        The labels, in the order of the columns of ``probabilities``.
    noise_matrix : ndarray of shape (n_labels, n_labels)
        Estimated probability that a row with the true label *j* (row) was given the label *k*
        (column).
    """

    label: NDArray[Any]
    change: NDArray[np.bool_]
    confidence: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    classes: NDArray[Any]
    noise_matrix: NDArray[np.float64]

    @property
    def doubtful(self) -> NDArray[np.bool_]:
        """Rows to check: those with a score above zero or a label to change."""
        return super().doubtful | self.change

    def to_frame(self) -> "pd.DataFrame":
        """Table with one row for each row of X, in the same order.

        Returns
        -------
        table : pandas.DataFrame
            With the columns ``score``, ``suggestion``, ``label``, ``change`` and ``confidence``,
            and the row numbers as index ``row``.
        """
        return super().to_frame()

    def _columns(self) -> dict[str, NDArray[Any]]:
        own = {"label": self.label, "change": self.change, "confidence": self.confidence}
        return super()._columns() | own

    def __repr__(self) -> str:
        n_changed = int(np.count_nonzero(self.change))
        rows = pluralize(len(self.score), "row")
        return f"<LabelDoubt: {rows}, {pluralize(n_changed, 'label')} to change>"
