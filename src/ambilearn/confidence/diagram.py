"""Reliability diagram of checked rows."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ambilearn._utils.files import atomic_write
from ambilearn._utils.optional import requires_extra
from ambilearn.confidence.share import estimate_share_right

_BINS = 5


def draw_reliability(
    score: ArrayLike, confidence: ArrayLike, rows: ArrayLike, right: ArrayLike
) -> Any:
    """Share of correct labels by score: that of the checked rows, and the calibrated confidence.

    Parameters
    ----------
    score, confidence : array-like of shape (n_rows,)
        Score and calibrated confidence of every row.
    rows : array-like of shape (n_checked,)
        The checked rows.
    right : array-like of shape (n_checked,)
        Whether their labels are correct.

    Returns
    -------
    matplotlib.figure.Figure
        Fifths of the rows by score are points, with 95 % intervals of their share of correct
        labels; the line is the confidence. On the diagonal, scores are confidences.
    """
    with requires_extra("paper", purpose="Drawing figures"):
        from matplotlib.figure import Figure

    score, confidence = np.asarray(score, float), np.asarray(confidence, float)
    rows, right = np.asarray(rows, np.intp), np.asarray(right, float)
    figure = Figure(figsize=(4.2, 4.6), layout="constrained")
    top, bottom = figure.subplots(2, height_ratios=[5, 1], sharex=True)
    top.plot([0, 1], [0, 1], color="0.6", linestyle="--", linewidth=1, label="score = confidence")
    order = np.argsort(score, kind="stable")
    top.plot(score[order], confidence[order], color="#0072B2", label="calibrated confidence")
    part = np.empty(len(score), dtype=np.intp)
    part[order] = np.arange(len(score)) * _BINS // len(score)
    for h in np.unique(part[rows]):
        checked = part[rows] == h
        found = estimate_share_right(right[checked], int((part == h).sum()))
        spread = [[found.share - found.low], [found.high - found.share]]
        top.errorbar(
            score[part == h].mean(),
            found.share,
            yerr=spread,
            fmt="o",
            color="#D55E00",
            capsize=3,
            label=None if h > part[rows].min() else "checked rows, 95 % interval",
        )
    top.set(ylabel="share of correct labels", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    top.legend(frameon=False, loc="lower right", fontsize=8)
    bottom.hist(score, bins=np.linspace(0, 1, 41).tolist(), color="0.7")
    bottom.set(xlabel="score", ylabel="rows")
    for axes in (top, bottom):
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure to an SVG, PNG or PDF file; the same figure gives the same file."""
    import matplotlib

    metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix.lower())
    with (
        matplotlib.rc_context({"svg.hashsalt": "ambilearn"}),
        atomic_write(path) as file,
    ):
        figure.savefig(file, format=path.suffix[1:].lower(), dpi=150, metadata=metadata)
