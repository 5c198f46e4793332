"""Tables that count over cases: wins, ties and losses, and average ranks."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambilearn.experiments.results import (
    UNMEASURED,
    Column,
    ExperimentResults,
    Line,
    Table,
    oracle_notes,
    published_counts,
)
from ambilearn.experiments.stats import compare, rank
from ambilearn.experiments.task import Content


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


def compute_ranking(experiment: ExperimentResults, show: Content) -> Any:
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
