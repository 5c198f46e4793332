"""Figures in the form of the paper; lines also differ in marker and dash, for grayscale prints."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from ambilearn._utils.text import requires_extra
from ambilearn.experiments.counts import compute_ranking, summarize
from ambilearn.experiments.results import Case, ExperimentResults
from ambilearn.experiments.spec import SYMBOLS
from ambilearn.experiments.task import Content

# Okabe and Ito's colors for color-blind readers, from dark to light, a gray, and four of Tol's.
_COLORS = ["#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#999999"]
_COLORS += ["#882255", "#332288", "#999933", "#661100"]
_MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*", "<", "p", ">", "h"]
_DASHES: list[object] = ["-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (3, 2)), (0, (1, 2))]
_DASHES += [(0, (8, 2)), (0, (8, 2, 2, 2)), (0, (5, 4)), (0, (3, 1, 1, 1)), (0, (12, 3, 3, 3))]
_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.frameon": False,
    "svg.hashsalt": "ambilearn",  # reproducible files
    "figure.constrained_layout.use": True,
}

_METADATA = {"svg": {"Date": None}, "png": {"Software": None}}  # reproducible files


def build_figures(experiment: ExperimentResults) -> dict[str, tuple[str, Any]]:
    """Title and figure by name, for every figure of the experiment that has results."""
    with requires_extra("paper", purpose="Drawing figures"):
        import matplotlib

    builders: dict[str, Callable[..., Any]] = {
        "curves": curves,
        "sensitivity": sensitivity,
        "convergence": convergence,
        "ranks": critical_difference,
    }
    figures = {}
    with matplotlib.rc_context(_STYLE):
        for show in experiment.spec.shows:
            if show["kind"] in builders:
                figure = builders[show["kind"]](experiment, show)
                if figure is not None:
                    figures[show["name"]] = (show["title"], figure)
    return figures


def figure_files(figures: dict[str, tuple[str, Any]], folder: Path) -> list[tuple[Path, bytes]]:
    """Files of the figures, as SVG and PNG, with their content."""
    return [
        (folder / f"{name}.{ending}", draw(figure, ending))
        for name, (_, figure) in figures.items()
        for ending in _METADATA
    ]


def draw(figure: Any, ending: str) -> bytes:
    """Content of a file of a figure."""
    import matplotlib

    file = BytesIO()
    with matplotlib.rc_context(_STYLE):
        figure.savefig(file, format=ending, dpi=150, metadata=_METADATA[ending])
    return file.getvalue()


def _panels(n_rows: int, n_columns: int, width: float, height: float, **options: Any) -> Any:
    # Not pyplot, which keeps references to figures and requires a display backend.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * n_columns, height * n_rows))
    return figure, figure.subplots(n_rows, n_columns, squeeze=False, **options)


def _style(i: int) -> Content:
    n = len(_COLORS)
    return {
        "color": _COLORS[i % n],
        "marker": _MARKERS[(i + i // n) % n],  # a repeated color has another marker
        "linestyle": _DASHES[i % n],
        "markersize": 4,
        # The first line is wide and behind the others: a line that coincides with it is visible.
        "linewidth": 2.4 if i == 0 else 1.1,
        "zorder": 2 if i == 0 else 3,
    }


def curves(experiment: ExperimentResults, show: Content) -> Any:
    """Mean of each method against the varied value: a row per group, a column per data set."""
    settings = experiment.spec.settings or []
    groups = list(dict.fromkeys(setting.group for setting in settings))
    lines = [line for line in experiment.lines if experiment.has_results(line)]
    if not lines or not groups:
        return None
    n_data = len(experiment.spec.data)
    figure, axes = _panels(len(groups), n_data, max(2.6, 6 / n_data), 2.1 if n_data > 1 else 3.6)
    for row, group in zip(axes, groups, strict=True):
        for panel, data in zip(row, experiment.spec.data, strict=True):
            here = [setting for setting in settings if setting.group == group]
            for i, line in enumerate(lines):
                found = [
                    (setting.value, experiment.values(line, Case(data, setting), show["metric"]))
                    for setting in here
                ]
                points = [(x, values.mean()) for x, values in found if len(values)]
                if points:
                    panel.plot(*zip(*points, strict=True), label=line.label, **_style(i))
            vary = here[0].vary
            panel.set_xlabel(SYMBOLS.get(vary, vary))
            panel.set_title(f"{data}, {group}: {here[0].title}", fontsize=8)
        row[0].set_ylabel("accuracy")
    _add_legend(figure, *axes[0, 0].get_legend_handles_labels())
    return figure


def _add_legend(figure: Any, handles: list[object], labels: list[str]) -> None:
    """Add a legend above the panels, in as many columns as fit in the width of the figure."""
    inches = 0.6 + 0.075 * max(map(len, labels))  # of a column
    n_columns = max(1, int(figure.get_figwidth() / inches))
    figure.legend(handles, labels, loc="outside upper center", ncols=min(n_columns, len(labels)))


def sensitivity(experiment: ExperimentResults, show: Content) -> Any:
    """Mean and deviation of the first method against one parameter: a panel per parameter."""
    parameters = list(dict.fromkeys(m.sweep[0] for m in experiment.spec.methods if m.sweep))
    swept = [
        (line, *line.method.sweep)
        for line in experiment.lines
        if line.method.sweep and line.select == "fixed" and experiment.has_results(line)
    ]
    if not swept:
        return None
    figure, axes = _panels(len(experiment.cases), len(parameters), 2.2, 2.2, sharey="row")
    for row, case in zip(axes, experiment.cases, strict=True):
        for panel, parameter in zip(row, parameters, strict=True):
            points = [
                (value, *summarize(experiment.values(line, case, show["metric"]))[:2])
                for line, varied, value in swept
                if varied == parameter and experiment.results(line, case)
            ]
            x, mean, std = np.array(points).reshape(-1, 3).T
            panel.errorbar(x, mean, np.nan_to_num(std), capsize=2, **_style(0))
            panel.set_xscale("log")
            panel.set_xlabel(SYMBOLS.get(parameter, parameter))
        row[0].set_ylabel(f"accuracy on {case.label}")
        # Wide enough that noise between runs does not look like an effect.
        low, high = row[0].get_ylim()
        row[0].set_ylim(min(low, high - 0.3), high)
    return figure


def convergence(experiment: ExperimentResults, show: Content) -> Any:
    """Relative excess of the objective over its last value, per run: a panel per data set.

    The scale is logarithmic because the first iteration makes most of the progress. There is no
    figure if the method has no objective.
    """
    found = {}
    for case in experiment.cases:
        results = experiment.results(experiment.fixed_lines[0], case)
        objectives = [r.details["objective"] for r in results if "objective" in r.details]
        if objectives:
            found[case] = [np.array(each) for each in objectives]
    if not found:
        return None
    figure, axes = _panels(1, len(found), 2.8, 2.4)
    for panel, (case, objectives) in zip(axes[0], found.items(), strict=True):
        for objective in objectives:
            steps = np.arange(1, len(objective))
            excess = objective[:-1] / objective[-1] - 1
            panel.semilogy(steps, excess, color=_COLORS[1], alpha=0.5, linewidth=1)
        panel.axvline(8, color="0.5", linestyle=":", linewidth=1)
        panel.set_title(f"{case.label}, {len(objectives)} runs", fontsize=9)
        panel.set_xlabel("iteration (dotted: 8)")
    axes[0, 0].set_ylabel("objective / last − 1")
    return figure


def critical_difference(experiment: ExperimentResults, show: Content) -> Any:
    """Average ranks on an axis; bars connect methods that do not differ significantly."""
    from matplotlib.figure import Figure

    ranking = compute_ranking(experiment, show)
    if ranking is None:
        return None
    order = sorted(ranking.ranks.items(), key=lambda item: item[1])
    k = len(order)
    half = -(-k // 2)
    groups = _indistinguishable([value for _, value in order], ranking.critical_difference)
    top = 0.35 * len(groups) + 0.5
    figure = Figure(figsize=(7.0, 1.2 + 0.22 * half + 0.12 * len(groups)))
    axes = figure.subplots()
    axes.set(xlim=(0.2, k + 0.8), ylim=(-(top + half), 1.2))
    axes.axis("off")
    axes.hlines(0, 1, k, color="black", linewidth=1)
    for tick in range(1, k + 1):
        axes.vlines(tick, 0, 0.25, color="black", linewidth=1)
        axes.text(tick, 0.35, str(tick), ha="center", va="bottom")
    for i, (label, value) in enumerate(order):
        left = i < half
        depth = -(top + (i if left else k - 1 - i) + 0.3)
        edge = 0.9 if left else k + 0.1
        axes.plot([value, value, edge], [0, depth, depth], color="black", linewidth=0.8)
        text = f"{label} {value:.2f}" if left else f"{value:.2f} {label}"
        axes.text(edge, depth, f" {text} ", ha="right" if left else "left", va="center")
    for i, (first, last) in enumerate(groups):
        axes.hlines(-0.3 - 0.35 * i, first - 0.04, last + 0.04, color="0.35", linewidth=3.5)
    axes.set_title(
        f"critical difference {ranking.critical_difference:.2f} over {ranking.n_cases} cases",
        fontsize=9,
    )
    return figure


def _indistinguishable(ranks: list[float], width: float) -> list[tuple[float, float]]:
    """Maximal intervals of sorted ranks no wider than the critical difference."""
    intervals: list[tuple[int, int]] = []
    for i, first in enumerate(ranks):
        last = max(j for j, value in enumerate(ranks) if value - first <= width)
        if last > i and not (intervals and intervals[-1][1] >= last):
            intervals.append((i, last))
    return [(ranks[i], ranks[j]) for i, j in intervals]
