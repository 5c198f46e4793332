"""Content of the tables of an experiment; :mod:`.render` formats them."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambilearn.experiments.published import printed_metric, published_cells, published_counts
from ambilearn.experiments.results import Case, ExperimentResults, Line, oracle_notes
from ambilearn.experiments.stats import compare, holm, rank, summarize
from ambilearn.experiments.task import Content

MARKS = {1: "●", 0: "", -1: "○"}
UNMEASURED = "not measured"


@dataclass
class Table:
    """Text of a table, and its numbers as records for a CSV file."""

    name: str
    title: str
    header: list[str]
    rows: list[list[str]]
    records: list[Content]
    notes: list[str] = field(default_factory=list)


def build_tables(experiment: ExperimentResults) -> list[Table]:
    """All tables that the file of the experiment defines, in its order."""
    builders = {
        "table": accuracy_table,
        "win-tie-loss": win_tie_loss_table,
        "readings": readings_table,
        "ranks": rank_table,
    }
    shows = [show for show in experiment.spec.shows if show["kind"] in builders]
    return [builders[show["kind"]](experiment, show) for show in shows]


def table_columns(experiment: ExperimentResults, show: Content) -> list[tuple[str, Case, str]]:
    """Title, case and metric of each column: the listed columns, or one per case."""
    if "columns" in show:
        return [(c["title"], Case(c["data"]), c["metric"]) for c in show["columns"]]
    cases = experiment.cases
    if "group" in show:
        wanted = show["group"], show["value"]
        cases = [c for c in cases if c.setting and (c.setting.group, c.setting.value) == wanted]
    one_each = len(cases) == len({case.data for case in cases})
    return [(c.data if one_each else c.label, c, show["metric"]) for c in cases]


def accuracy_table(experiment: ExperimentResults, show: Content) -> Table:
    """Mean ± std of every line, with significance marks against the first line.

    ``select`` of the table is the selection of the first method and of the others; without it,
    all lines are shown.
    """
    lines = experiment.read(*show["select"]) if "select" in show else experiment.lines
    columns = table_columns(experiment, show)
    header = ["method", *(title for title, _, _ in columns)]
    if not lines:
        return Table(show["name"], show["title"], header, [], [], [UNMEASURED])
    published = published_cells(show["published"]) if "published" in show else {}
    records = []
    for line in lines:
        for title, case, metric in columns:
            record: Content = {"line": line.label, "method": line.method.label}
            record |= {"select": line.select, "column": title, "data": case.data, "metric": metric}
            record |= _cell(experiment, lines[0], line, case, metric)
            printed = published.get((line.method.label, case.data, printed_metric(metric)))
            if printed is not None:
                record |= {"published_mean": printed.mean, "published_std": printed.std}
                record["published_mark"] = printed.mark
                if record["mean"] is not None:
                    record["deviation"] = (record["mean"] - printed.mean) / printed.std
            records.append(record)
    for record, p in zip(records, holm([r["p"] for r in records]), strict=True):
        record["p_holm"] = p
    texts = iter([_cell_text(record) for record in records])
    rows = [[line.label, *(next(texts) for _ in columns)] for line in lines]
    notes = [
        f"Mean ± standard deviation over the runs. ●/○: {lines[0].label} is significantly "
        "better/worse (paired t-test, 0.05). ● or ○ in brackets: not significant after Holm's "
        "correction over this table."
    ]
    notes += oracle_notes(lines)
    return Table(show["name"], show["title"], header, rows, records, notes)


def compare_with_best(experiment: ExperimentResults, show: Content) -> dict[tuple[str, str], str]:
    """Cells of an accuracy table by line and column, compared with the best one of the column.

    ``"best"`` has the largest mean; ``"equal"`` is not significantly worse than it (paired t-test).
    An oracle is not compared. Columns with fewer than two lines are left out.
    """
    found = {}
    lines = experiment.read(*show["select"]) if "select" in show else experiment.lines
    for title, case, metric in table_columns(experiment, show):
        scores = {line: experiment.values(line, case, metric) for line in lines}
        means = {
            line: values.mean()
            for line, values in scores.items()
            if len(values) and not line.is_oracle
        }
        if len(means) < 2:
            continue
        best = max(means, key=lambda line: means[line])
        for line, mean in means.items():
            first, second = experiment.paired(best, line, case, metric)
            if mean == means[best]:
                found[line.label, title] = "best"
            elif len(first) > 1 and compare(first, second).outcome == 0:
                found[line.label, title] = "equal"
    return found


def _cell(
    experiment: ExperimentResults, reference: Line, line: Line, case: Case, metric: str
) -> Content:
    values = experiment.values(line, case, metric)
    if not len(values):
        return {"mean": None, "std": None, "runs": 0, "mark": "", "p": float("nan")}
    mean, std, n = summarize(values)
    cell = {"mean": mean, "std": std, "runs": n, "mark": "", "p": float("nan")}
    if line != reference:
        p, outcome = compare(*experiment.paired(reference, line, case, metric))
        cell |= {"mark": MARKS[outcome], "p": p}
    return cell


def _cell_text(record: Content) -> str:
    if record["mean"] is None:
        return UNMEASURED
    mark = record["mark"]
    if mark and record["p_holm"] >= 0.05:
        mark = f"({mark})"
    return f"{plus_minus(record['mean'], record['std'])} {mark}".rstrip()


def plus_minus(mean: float, std: float) -> str:
    """Mean and, if it is finite, standard deviation."""
    return f"{mean:.3f} ± {std:.3f}" if np.isfinite(std) else f"{mean:.3f}"


def win_tie_loss_table(experiment: ExperimentResults, show: Content) -> Table:
    """Counts of significantly better, equal and worse results of the first method, by group."""
    published = published_counts(show["published"]) if "published" in show else {}
    settings = experiment.spec.settings or []
    groups = list(dict.fromkeys(setting.group for setting in settings))
    reference, *others = experiment.lines
    header, rows, records = ["method"], [], []
    for line in others:
        row, total = [line.label], np.zeros(3, dtype=int)
        for group in [*groups, "Total"]:
            cases = [c for c in experiment.cases if c.setting and c.setting.group == group]
            columns = [(case.label, case, show["metric"]) for case in cases]
            counts = _count(experiment, reference, line, columns)
            counts = total if group == "Total" else counts
            total = total + counts
            printed = published.get((line.label, group))
            row.append(_counts_text(counts))
            record: Content = {"method": line.label, "group": group}
            record |= dict(zip(("win", "tie", "loss"), counts.tolist(), strict=True))
            if printed:
                row[-1] += f" [{'/'.join(map(str, printed))}]"
                names = ("published_win", "published_tie", "published_loss")
                record |= dict(zip(names, printed, strict=True))
            records.append(record)
        rows.append(row)
    header += [*groups, "Total"]
    titles = dict.fromkeys(f"{setting.group}: {setting.title}" for setting in settings)
    notes = [f"Wins/ties/losses of {reference.label} (paired t-test, 0.05). " + "; ".join(titles)]
    if published:
        notes.append(
            "Published counts in brackets; the published total of SURE is 88/14/0, but its columns "
            "sum to 98/14/0."
        )
    notes += oracle_notes(experiment.lines)
    return Table(show["name"], show["title"], header, rows, records, notes)


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
        for title, case, metric in table_columns(experiment, show)
        if len({len(experiment.results(line, case)) for line in seen}) == 1
        and len(experiment.results(seen[0], case)) > 1
    ]
    counts: dict[tuple[str, str], NDArray[np.int_]] = {}
    ahead: dict[tuple[str, str], int] = {}
    for title, lines in readings.items():
        for line in lines[1:]:
            counts[line.method.label, title] = _count(experiment, lines[0], line, columns)
            ahead[line.method.label, title] = _count_ahead(experiment, lines[0], line, columns)
    for label, group in published:  # summed here because one published total is wrong
        if label in others and group != "Total":
            before = counts.get((label, "published"), np.zeros(3, dtype=int))
            counts[label, "published"] = before + published[label, group]
    titles = [*readings, "published"] if published else list(readings)
    rows = [[label, *(_counts_text(counts.get((label, t))) for t in titles)] for label in others]
    shares: list[list[str]] = [["all, share of wins"], ["all, ahead in the mean"]]
    for title in titles:
        n = sum(int(counts[m, title].sum()) for m in others if (m, title) in counts)
        wins = sum(int(counts[m, title][0]) for m in others if (m, title) in counts)
        shares[0].append(_share_text(wins, n))
        means = [ahead[m, title] for m in others if (m, title) in ahead]
        shares[1].append(_share_text(sum(means), n if means else 0))
    records = [
        {"method": label, "reading": title}
        | dict(zip(("win", "tie", "loss"), found.tolist(), strict=True))
        | {"ahead_in_the_mean": ahead.get((label, title))}
        for (label, title), found in counts.items()
    ]
    by_data = Counter(case.data for _, case, _ in columns)
    where = ", ".join(f"{data} {n}" for data, n in by_data.items())
    notes = [
        f"Wins/ties/losses of {reference} in {len(columns)} cases ({where}; paired t-test, 0.05); "
        "the last line counts the cases in which its mean is larger, significantly or not."
    ]
    notes += oracle_notes(seen)
    return Table(show["name"], show["title"], ["method", *titles], rows + shares, records, notes)


def _count(
    experiment: ExperimentResults,
    reference: Line,
    line: Line,
    columns: Iterable[tuple[str, Case, str]],
) -> NDArray[np.int_]:
    """Wins, ties and losses of the reference against a line over the columns."""
    counts = np.zeros(3, dtype=int)
    for _, case, metric in columns:
        first, second = experiment.paired(reference, line, case, metric)
        if len(first) > 1:
            counts[1 - compare(first, second).outcome] += 1
    return counts


def _count_ahead(
    experiment: ExperimentResults,
    reference: Line,
    line: Line,
    columns: Iterable[tuple[str, Case, str]],
) -> int:
    """Number of columns in which the mean of the reference is larger than that of the line."""
    pairs = [experiment.paired(reference, line, case, metric) for _, case, metric in columns]
    return sum(bool(first.mean() > second.mean()) for first, second in pairs if len(first) > 1)


def _counts_text(counts: NDArray[np.int_] | None) -> str:
    return UNMEASURED if counts is None or not counts.any() else "/".join(map(str, counts))


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
    lines = [
        line
        for line in experiment.fixed_lines
        if any(len(experiment.results(line, case)) for case in experiment.cases)
    ]
    cases = experiment.measured_cases(lines)
    if len(lines) < 2 or not cases:
        return None
    return rank(
        {
            line.label: [experiment.values(line, case, show["metric"]).mean() for case in cases]
            for line in lines
        }
    )
