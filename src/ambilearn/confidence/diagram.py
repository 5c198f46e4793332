"""Reliability diagram of checked rows."""

from io import BytesIO
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ambilearn._utils.files import atomic_write
from ambilearn._utils.text import requires_extra
from ambilearn.confidence.audits import estimate_share_right

_BINS = 5


class ReliabilityDisplay:
    """Share of correct labels by score: that of checked rows, and the calibrated confidence.

    Make it with :meth:`from_checked`, and draw it with :meth:`plot`.

    Parameters
    ----------
    score, confidence : array-like of shape (n_rows,)
        Score and calibrated confidence of every row.
    rows : array-like of shape (n_checked,)
        The checked rows.
    right : array-like of shape (n_checked,)
        Whether their labels are correct.

    Attributes
    ----------
    figure_ : matplotlib.figure.Figure
        Fifths of the rows by score are points, with 95 % intervals of their share of correct
        labels; the line is the confidence. On the diagonal, scores are confidences.

    Examples
    --------
    >>> import numpy as np
    >>> from ambilearn.confidence import ReliabilityDisplay
    >>> score = np.linspace(0, 1, 50)
    >>> rows = np.arange(0, 50, 2)
    >>> display = ReliabilityDisplay.from_checked(score, score, rows, rows > 20)
    >>> len(display.figure_.axes)
    2
    """

    def __init__(
        self, score: ArrayLike, confidence: ArrayLike, rows: ArrayLike, right: ArrayLike
    ) -> None:
        self.score, self.confidence = np.asarray(score, float), np.asarray(confidence, float)
        self.rows, self.right = np.asarray(rows, np.intp), np.asarray(right, float)

    @classmethod
    def from_checked(
        cls, score: ArrayLike, confidence: ArrayLike, rows: ArrayLike, right: ArrayLike
    ) -> Self:
        """Draw the diagram of checked rows; the parameters are those of the class.

        Returns
        -------
        ReliabilityDisplay
        """
        return cls(score, confidence, rows, right).plot()

    @classmethod
    def from_audit(cls, audited: Any) -> Self:
        """Draw the diagram of an audit.

        Parameters
        ----------
        audited : AuditedTable
            What :func:`ambilearn.tables.audit_table` returns.

        Returns
        -------
        ReliabilityDisplay
        """
        return cls.from_checked(audited.scores, audited.confidences, audited.rows, audited.right)

    def plot(self) -> Self:
        """Draw the diagram into a new figure, ``figure_``.

        Returns
        -------
        ReliabilityDisplay
        """
        with requires_extra("paper", purpose="Drawing figures"):
            from matplotlib.figure import Figure

        self.figure_ = Figure(figsize=(4.2, 4.6), layout="constrained")
        top, bottom = self.figure_.subplots(2, height_ratios=[5, 1], sharex=True)
        self._draw_shares(top)
        bottom.hist(self.score, bins=np.linspace(0, 1, 41).tolist(), color="0.7")
        bottom.set(xlabel="score", ylabel="rows")
        for axes in (top, bottom):
            axes.spines[["top", "right"]].set_visible(False)
        return self

    def _draw_shares(self, axes: Any) -> None:
        score = self.score
        axes.plot(
            [0, 1], [0, 1], color="0.6", linestyle="--", linewidth=1, label="score = confidence"
        )
        order = np.argsort(score, kind="stable")
        line = {"color": "#0072B2", "label": "calibrated confidence"}
        axes.plot(score[order], self.confidence[order], **line)
        part = np.empty(len(score), dtype=np.intp)
        part[order] = np.arange(len(score)) * _BINS // len(score)
        for h in np.unique(part[self.rows]):
            checked = part[self.rows] == h
            found = estimate_share_right(self.right[checked], int((part == h).sum()))
            axes.errorbar(
                score[part == h].mean(),
                found.share,
                yerr=[[found.share - found.low], [found.high - found.share]],
                fmt="o",
                color="#D55E00",
                capsize=3,
                label=None if h > part[self.rows].min() else "checked rows, 95 % interval",
            )
        axes.set(ylabel="share of correct labels", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
        axes.legend(frameon=False, loc="lower right", fontsize=8)

    def _repr_png_(self) -> bytes:
        """The figure, for a notebook."""
        buffer = BytesIO()
        self.figure_.savefig(buffer, format="png", dpi=150)
        return buffer.getvalue()


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure to an SVG, PNG or PDF file; the same figure gives the same file."""
    import matplotlib

    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower())
    with (
        matplotlib.rc_context({"svg.hashsalt": "ambilearn"}),
        atomic_write(path) as file,
    ):
        figure.savefig(file, format=path.suffix[1:].lower(), dpi=150, metadata=metadata)
