"""Tables of an experiment: what stands in each cell. How a table looks is :mod:`.render`."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ambilearn.experiments.published import printed_metric, published_cells, published_counts
from ambilearn.experiments.results import ORACLE_NOTE, Case, ExperimentResults, Line
from ambilearn.experiments.stats import compare, holm, rank, summarize

MARKS = {1: "●", 0: "", -1: "○"}
UNMEASURED = "not measured"


@dataclass
class Table:
    """Text to show, and the numbers behind it as records for a CSV file."""

    name: str
    title: str
    header: list[str]
    rows: list[list[str]]
    records: list[dict[str, Any]]
    notes: list[str] = field(default_factory=list)


def build_tables(experiment: ExperimentResults) -> list[Table]:
    """All tables that the experiment's file asks for, in its order."""
    builders = {"table": accuracy_table, "win-tie-loss": win_tie_loss_table, "ranks": rank_table}
    shows = [show for show in experiment.spec.shows if show["kind"] in builders]
    return [builders[show["kind"]](experiment, show) for show in shows]


def table_columns(
    experiment: ExperimentResults, show: dict[str, Any]
) -> list[tuple[str, Case, str]]:
    """Title, case and metric of each column: as listed, or one for every case."""
    if "columns" in show:
        return [(c["title"], Case(c["data"]), c["metric"]) for c in show["columns"]]
    cases = experiment.cases
    if "group" in show:
        wanted = show["group"], show["value"]
        cases = [c for c in cases if c.setting and (c.setting.group, c.setting.value) == wanted]
    one_each = len(cases) == len({case.data for case in cases})
    return [(c.data if one_each else c.label, c, show["metric"]) for c in cases]


def accuracy_table(experiment: ExperimentResults, show: dict[str, Any]) -> Table:
    """Mean ± std of every method, with marks against the first one and Holm's p-values."""
    columns = table_columns(experiment, show)
    published = published_cells(show["published"]) if "published" in show else {}
    records = []
    for line in experiment.lines:
        for title, case, metric in columns:
            record: dict[str, Any] = {"line": line.label, "method": line.method.label}
            record |= {"select": line.select, "column": title, "data": case.data, "metric": metric}
            record |= _cell(experiment, line, case, metric)
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
    rows = [[line.label, *(next(texts) for _ in columns)] for line in experiment.lines]
    reference = experiment.fixed_lines[0].label
    notes = [
        f"Mean ± standard deviation over the runs. ●/○: {reference} is significantly better/worse "
        "(paired t-test, 0.05). ● or ○ in brackets: not significant after Holm's correction over "
        "this table."
    ]
    if any(line.select == "oracle" for line in experiment.lines):
        notes.append(ORACLE_NOTE)
    header = ["method", *(title for title, _, _ in columns)]
    return Table(show["name"], show["title"], header, rows, records, notes)


def _cell(experiment: ExperimentResults, line: Line, case: Case, metric: str) -> dict[str, Any]:
    values = experiment.values(line, case, metric)
    if not len(values):
        return {"mean": None, "std": None, "runs": 0, "mark": "", "p": float("nan")}
    mean, std, n = summarize(values)
    cell = {"mean": mean, "std": std, "runs": n, "mark": "", "p": float("nan")}
    reference = experiment.fixed_lines[0]
    if line != reference:
        p, outcome = compare(*experiment.paired(reference, line, case, metric))
        cell |= {"mark": MARKS[outcome], "p": p}
    return cell


def _cell_text(record: dict[str, Any]) -> str:
    if record["mean"] is None:
        return UNMEASURED
    mark = record["mark"]
    if mark and record["p_holm"] >= 0.05:
        mark = f"({mark})"
    return f"{plus_minus(record['mean'], record['std'])} {mark}".rstrip()


def plus_minus(mean: float, std: float) -> str:
    """A mean and its deviation, where there is one."""
    return f"{mean:.3f} ± {std:.3f}" if np.isfinite(std) else f"{mean:.3f}"


def win_tie_loss_table(experiment: ExperimentResults, show: dict[str, Any]) -> Table:
    """How often the first method is significantly better, equal, worse, in groups of settings."""
    published = published_counts(show["published"]) if "published" in show else {}
    settings = experiment.spec.settings or []
    groups = list(dict.fromkeys(setting.group for setting in settings))
    reference, *others = experiment.lines
    header, rows, records = ["method"], [], []
    for line in others:
        row, total = [line.label], np.zeros(3, dtype=int)
        for group in [*groups, "Total"]:
            counts = np.zeros(3, dtype=int)
            for case in experiment.cases:
                first, second = experiment.paired(reference, line, case, show["metric"])
                if case.setting and case.setting.group == group and len(first) > 1:
                    counts[1 - compare(first, second).outcome] += 1
            counts = total if group == "Total" else counts
            total = total + counts
            printed = published.get((line.label, group))
            text = "/".join(map(str, counts)) if counts.any() else UNMEASURED
            row.append(text)
            record: dict[str, Any] = {"method": line.label, "group": group}
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
            "In brackets as published; the published total of SURE is printed as 88/14/0, though "
            "its columns add up to 98/14/0."
        )
    if any(line.select == "oracle" for line in experiment.lines):
        notes.append(ORACLE_NOTE)
    return Table(show["name"], show["title"], header, rows, records, notes)


def rank_table(experiment: ExperimentResults, show: dict[str, Any]) -> Table:
    """Average rank of every method over the cases that all of them have."""
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
        note += " With so few cases the test can hardly tell methods apart."
    return Table(show["name"], title, header, rows, records, [note])


def compute_ranking(experiment: ExperimentResults, show: dict[str, Any]) -> Any:
    """Ranking of the fixed-parameter lines, or None where nothing can be ranked."""
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
