"""Draw the picture at the top of the README: sets of candidates in, one label for each row out.

Run it to write _static/candidates.png again. PL-CL really resolved these digits, among 900 whose
false labels are those that are easily confused; it is wrong in 13 of the 900, none of them shown.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyBboxPatch

from ambilearn import PLCL, CandidateSets
from ambilearn.datasets import load_dataset, make_candidates

CHOSEN, OTHER, INK = "#0072b2", "#c9ced6", "#20242c"


def draw(path: Path, n_shown: int = 7) -> None:
    """Fit PL-CL to digits with candidate sets, and draw some rows of three candidates."""
    data = load_dataset("digits")
    X, y = data.X[:900] / 16, data.y[:900]
    sets, _ = make_candidates(y, kind="instance", q=0.9, X=X, random_state=0)
    model = PLCL().fit(X, sets)
    shown = rows_to_show(model, sets, y, n_shown)

    fig = plt.figure(figsize=(9.6, 3.5), facecolor="white")
    for column, i in enumerate(shown):
        left = 0.125 + column * 0.124
        image = fig.add_axes((left, 0.60, 0.095, 0.26))
        image.imshow(data.X[i].reshape(8, 8), cmap="gray_r", interpolation="lanczos")
        image.axis("off")
        labels = np.flatnonzero(sets.to_mask()[i])
        draw_chips(fig, left, labels)
        draw_bars(fig, left, labels, model.label_distributions_[i, labels])
    write(fig, 0.73, "each row:\nfeatures")
    write(fig, 0.475, "and a set\nof labels")
    write(fig, 0.20, "ambilearn:\nwhich one\nis right")
    fig.text(0.56, 0.93, "One of them is right. Which?", ha="center", fontsize=15, color=INK)
    fig.savefig(path, dpi=150)


def rows_to_show(model: PLCL, sets: CandidateSets, y: np.ndarray, n: int) -> list[int]:
    """Rows with three candidates, each of another true label, from doubtful to clear."""
    confidence = model.label_distributions_.max(axis=1)
    rows = np.flatnonzero((sets.sizes == 3) & (model.transduction_ == y))
    rows = rows[np.argsort(confidence[rows], kind="stable")]
    rows = rows[:: max(1, len(rows) // (4 * n))]
    shown: dict[int, int] = {}
    for i in rows:
        shown.setdefault(int(y[i]), int(i))
    return list(shown.values())[:n]


def draw_chips(fig: plt.Figure, left: float, labels: np.ndarray) -> None:
    """The candidates of a row, each in a little box."""
    axes = fig.add_axes((left, 0.42, 0.095, 0.12))
    for place, label in enumerate(labels):
        axes.add_patch(
            FancyBboxPatch(
                (place + 0.16, 0.16),
                0.68,
                0.68,
                "round,pad=0.05,rounding_size=0.25",
                facecolor="#eef1f5",
                edgecolor=OTHER,
            )
        )
        axes.text(place + 0.5, 0.47, label, ha="center", va="center", fontsize=13, color=INK)
    axes.set(xlim=(0, 3), ylim=(0, 1))
    axes.axis("off")


def draw_bars(fig: plt.Figure, left: float, labels: np.ndarray, shares: np.ndarray) -> None:
    """The confidence of each candidate; the largest is the chosen one."""
    axes = fig.add_axes((left, 0.05, 0.095, 0.32))
    best = shares.argmax()
    for place, (label, share) in enumerate(zip(labels, shares, strict=True)):
        color = CHOSEN if place == best else OTHER
        axes.bar(place + 0.5, max(share, 0.015), 0.62, color=color)
        axes.text(
            place + 0.5,
            -0.06,
            label,
            ha="center",
            va="top",
            fontsize=13,
            color=CHOSEN if place == best else "#8a919c",
            fontweight="bold" if place == best else "normal",
        )
    axes.set(xlim=(0, 3), ylim=(-0.35, 1.02))
    axes.axis("off")


def write(fig: plt.Figure, height: float, text: str) -> None:
    """Say what a line of the picture shows, at its left."""
    fig.text(0.012, height, text, va="center", fontsize=11.5, color="#5b6470", linespacing=1.35)


if __name__ == "__main__":
    draw(Path(__file__).parent / "_static" / "candidates.png")
