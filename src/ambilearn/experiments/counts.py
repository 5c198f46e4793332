r"""Statistics over the runs of an experiment, and tables that count over its cases.

Methods are compared on the same splits, so all tests are paired.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from ambilearn.experiments.results import (
    UNMEASURED,
    Column,
    ExperimentResults,
    Line,
    Table,
    oracle_notes,
    published_counts,
)
from ambilearn.experiments.task import Content

SIGNIFICANCE_LEVEL = 0.05


class Summary(NamedTuple):
    """Mean and standard deviation (ddof = 1) over n runs; the deviation of one run is NaN."""

    mean: float
    std: float
    n: int


def summarize(values: ArrayLike) -> Summary:
    """Mean, standard deviation and number of values.

    >>> summarize([0.5, 0.75, 1.0])
    Summary(mean=0.75, std=0.25, n=3)
    """
    values = np.asarray(values, dtype=float)
    std = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
    return Summary(float(values.mean()), std, len(values))


class Comparison(NamedTuple):
    """Paired t-test: p-value, and whether the first is better (1), worse (-1) or neither (0)."""

    p: float
    outcome: int


def compare(
    reference: ArrayLike, other: ArrayLike, level: float = SIGNIFICANCE_LEVEL
) -> Comparison:
    """Two-sided paired t-test over the runs of two methods on the same splits.

    p is NaN with fewer than two runs, and 1 if all scores are equal.

    >>> compare([0.9, 0.8, 0.9, 0.9], [0.7, 0.7, 0.6, 0.7]).outcome
    1
    """
    difference = np.asarray(reference, dtype=float) - np.asarray(other, dtype=float)
    if len(difference) < 2:
        return Comparison(float("nan"), 0)
    if np.ptp(difference) == 0:  # the test's statistic is 0/0, or infinite
        p = 1.0 if difference[0] == 0 else 0.0
    else:
        p = float(stats.ttest_1samp(difference, 0.0).pvalue)
    return Comparison(p, int(np.sign(difference.mean())) if p < level else 0)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction for multiple tests; NaN values are kept and not counted.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=float)
    corrected = np.full(len(p), np.nan)
    order = np.argsort(p)[: np.isfinite(p).sum()]  # NaN sorts last
    factors = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return corrected.tolist()


class Ranking(NamedTuple):
    """Average ranks (1 is best) over cases, Friedman's p-value, and Nemenyi's critical difference.

    Two methods differ significantly, at level 0.05, if their ranks differ by more than the critical
    difference.
    """

    ranks: dict[str, float]
    p: float
    critical_difference: float
    n_cases: int


def rank(scores: Mapping[str, ArrayLike]) -> Ranking:
    r"""Rank methods over cases (data sets, settings), as Demšar recommends [1]_.

    .. math:: \mathrm{CD} = q_{0.05} \sqrt{\frac{k (k + 1)}{6 N}}

    for *k* methods and *N* cases, where *q* is the studentized range statistic divided by √2.

    ``scores`` has the mean score of each method in each case. Larger is better, and ties have their
    average rank.

    References
    ----------
    .. [1] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7,
           2006.

    >>> rank({"a": [0.9, 0.8, 0.7], "b": [0.8, 0.8, 0.6]}).ranks
    {'a': 1.1666666666666667, 'b': 1.8333333333333333}
    """
    table: NDArray[np.float64] = np.array([np.asarray(s, dtype=float) for s in scores.values()])
    k, n = table.shape
    ranks = stats.rankdata(-table, axis=0).mean(axis=1)
    q = stats.studentized_range.ppf(1 - SIGNIFICANCE_LEVEL, k, np.inf) / np.sqrt(2)
    p = float("nan")
    if k > 2 and n > 1 and np.ptp(table, axis=0).any():
        p = float(stats.friedmanchisquare(*table).pvalue)
    width = float(q * np.sqrt(k * (k + 1) / (6 * n)))
    return Ranking(dict(zip(scores, ranks.tolist(), strict=True)), p, width, n)


# --- tables ---------------------------------------------------------------------------------------


def win_tie_loss_table(experiment: ExperimentResults, show: Content) -> Table:
    """Counts of significantly better, equal and worse results of the first method, by group."""
    published = published_counts(show["published"]) if "published" in show else {}
    settings = experiment.spec.settings or []
    groups = [*(setting.group for setting in settings), "Total"]
    columns: dict[str, list[Column]] = {group: [] for group in groups}
    for case in experiment.cases:
        if case.setting is not None:
            column = case.label, case, show["metric"]
            columns[case.setting.group].append(column)
            columns["Total"].append(column)
    reference, *others = experiment.lines
    rows, records = [], []
    for line in others:
        row = [line.label]
        for group, cases in columns.items():
            counts = _count(experiment, reference, line, cases)
            printed = published.get((line.label, group))
            row.append(_counts_text(counts))
            record: Content = {"method": line.label, "group": group, **_named_counts(counts)}
            if printed:
                row[-1] += f" [{'/'.join(map(str, printed))}]"
                record |= _named_counts(printed, "published_")
            records.append(record)
        rows.append(row)
    titles = dict.fromkeys(f"{setting.group}: {setting.title}" for setting in settings)
    notes = [f"Wins/ties/losses of {reference.label} (paired t-test, 0.05). " + "; ".join(titles)]
    if published:
        notes.append(
            "Published counts in brackets; the published total of SURE is 88/14/0, but its columns "
            "sum to 98/14/0."
        )
    notes += oracle_notes(experiment.lines)
    return Table(show["name"], show["title"], ["method", *columns], rows, records, notes)


def readings_table(experiment: ExperimentResults, show: Content) -> Table:
    """Wins, ties and losses of the first method, by how parameters are chosen.

    ``readings`` of the table are its columns: each has a ``title`` and a ``select``, the selection
    of the first method and of the others.
    """
    published = published_counts(show["published"]) if "published" in show else {}
    reference, *others = (method.label for method in experiment.spec.methods)
    readings = {r["title"]: experiment.read(*r["select"]) for r in show["readings"]}
    seen = [line for lines in readings.values() for line in lines]
    # All readings use the same cases and runs: partially measured cases are omitted.
    columns = [
        (title, case, metric)
        for title, case, metric in experiment.shown_columns(show)
        if len({len(experiment.results(line, case)) for line in seen}) == 1
        and len(experiment.results(seen[0], case)) > 1
    ]
    counts = {
        (line.method.label, title): _count(experiment, lines[0], line, columns)
        for title, lines in readings.items()
        for line in lines[1:]
    }
    for label, group in published:  # summed here because one published total is wrong
        if label in others and group != "Total":
            before = counts.get((label, "published"), np.zeros(3, dtype=int))
            counts[label, "published"] = before + published[label, group]
    titles = [*readings, "published"] if published else list(readings)
    rows = [[label, *(_counts_text(counts.get((label, t))) for t in titles)] for label in others]
    rows += [["all, share of wins"], ["all, ahead in the mean"]]
    for title in titles:
        found = [counts[label, title] for label in others if (label, title) in counts]
        n = sum(int(each[:3].sum()) for each in found)
        rows[-2].append(_share_text(sum(each[0] for each in found), n))
        known = [each[3] for each in found if len(each) > 3]
        rows[-1].append(_share_text(sum(known), n if known else 0))
    records = [
        {"method": label, "reading": title, **_named_counts(each)}
        | {"ahead_in_the_mean": int(each[3]) if len(each) > 3 else None}
        for (label, title), each in counts.items()
    ]
    by_data = Counter(case.data for _, case, _ in columns)
    where = ", ".join(f"{data} {n}" for data, n in by_data.items())
    notes = [
        f"Wins/ties/losses of {reference} in {len(columns)} cases ({where}; paired t-test, 0.05); "
        "the last line counts the cases in which its mean is larger, significantly or not."
    ]
    notes += oracle_notes(seen)
    return Table(show["name"], show["title"], ["method", *titles], rows, records, notes)


def _count(
    experiment: ExperimentResults,
    reference: Line,
    line: Line,
    columns: Iterable[Column],
) -> NDArray[np.int_]:
    """Wins, ties and losses of the reference over the columns, and columns with a larger mean."""
    counts = np.zeros(4, dtype=int)
    for _, case, metric in columns:
        first, second = experiment.paired(reference, line, case, metric)
        if len(first) > 1:
            counts[1 - compare(first, second).outcome] += 1
            counts[3] += first.mean() > second.mean()
    return counts


def _named_counts(counts: Iterable[int], prefix: str = "") -> Content:
    names = [f"{prefix}{name}" for name in ("win", "tie", "loss")]
    return dict(zip(names, map(int, counts), strict=False))


def _counts_text(counts: NDArray[np.int_] | None) -> str:
    return UNMEASURED if counts is None or not counts.any() else "/".join(map(str, counts[:3]))


def _share_text(part: int, whole: int) -> str:
    return f"{part} of {whole} ({part / whole:.0%})" if whole else UNMEASURED


def rank_table(experiment: ExperimentResults, show: Content) -> Table:
    """Average rank of every method over the cases with results of all methods."""
    ranking = compute_ranking(experiment, show)
    title, header = show["title"], ["method", "average rank", "significantly behind the best"]
    if ranking is None:
        return Table(show["name"], title, header, [], [], [UNMEASURED])
    best = min(ranking.ranks.values())
    rows, records = [], []
    for label, value in sorted(ranking.ranks.items(), key=lambda item: item[1]):
        far = value - best > ranking.critical_difference
        behind = "yes" if far else "no" if value > best else "–"
        rows.append([label, f"{value:.2f}", behind])
        records.append({"method": label, "rank": value, "significantly_behind_best": far})
    note = (
        f"Over {ranking.n_cases} cases; Friedman p = {ranking.p:.2g}; critical difference "
        f"{ranking.critical_difference:.2f} (Nemenyi, 0.05)."
    )
    if ranking.n_cases < 10:
        note += " With so few cases, the test has little power."
    return Table(show["name"], title, header, rows, records, [note])


def compute_ranking(experiment: ExperimentResults, show: Content) -> Ranking | None:
    """Ranking of the lines with fixed parameters; None without enough results."""
    lines = [line for line in experiment.fixed_lines if experiment.has_results(line)]
    cases = experiment.measured_cases(lines)
    if len(lines) < 2 or not cases:
        return None
    return rank(
        {
            line.label: [experiment.values(line, case, show["metric"]).mean() for case in cases]
            for line in lines
        }
    )
