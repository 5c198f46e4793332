"""Tables of accuracies, and the comparison of measured with published numbers, cell by cell."""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from ambilearn.experiments.counts import (
    compare,
    holm,
    rank_table,
    readings_table,
    summarize,
    win_tie_loss_table,
)
from ambilearn.experiments.results import (
    ORACLE_NOTE,
    UNMEASURED,
    Case,
    ExperimentResults,
    Line,
    Table,
    oracle_notes,
    printed_metric,
    published_cells,
)
from ambilearn.experiments.task import READINGS, Content

MARKS = {1: "●", 0: "", -1: "○"}
VERDICTS = ("within", "above", "below", UNMEASURED)


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


def accuracy_table(experiment: ExperimentResults, show: Content) -> Table:
    """Mean ± std of every line, with significance marks against the first line.

    ``select`` of the table is the selection of the first method and of the others; without it,
    all lines are shown.
    """
    lines, columns = experiment.shown_lines(show), experiment.shown_columns(show)
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
    lines = experiment.shown_lines(show)
    for title, case, metric in experiment.shown_columns(show):
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


def published_records(experiments: Iterable[ExperimentResults]) -> list[Content]:
    """Records of all published cells, once per line that measures them, each with its verdict."""
    return [
        record | {"table": show["name"], "verdict": verdict(record)}
        for experiment in experiments
        for show in experiment.spec.shows
        if show["kind"] == "table" and show.get("verify", True)
        for record in accuracy_table(experiment, show).records
        if "published_mean" in record
    ]


def verdict(record: Content) -> str:
    """``within`` one published standard deviation, ``above``, ``below`` or ``not measured``."""
    deviation = record.get("deviation")
    if deviation is None:
        return UNMEASURED
    # Published numbers are rounded to three digits: allow for half of the last digit.
    if abs(deviation) <= 1 + 0.0005 / record["published_std"]:
        return "within"
    return "above" if deviation > 0 else "below"


def count_verdicts(records: Iterable[Content]) -> dict[str, int]:
    """Number of records with each verdict."""
    counts = Counter(record["verdict"] for record in records)
    return {name: counts[name] for name in VERDICTS}


def verification_table(records: list[Content]) -> Table:
    """Table of the published cells, with the number of each verdict in a note."""
    rows = []
    for r in records:
        published = r["published_mean"], r["published_std"]
        found = [UNMEASURED, "", ""]
        if r["mean"] is not None:
            found = [plus_minus(r["mean"], r["std"]), f"{r['deviation']:+.1f}", r["verdict"]]
        rows.append([r["table"], r["line"], r["column"], plus_minus(*published), *found])
    counts = ", ".join(f"{count} {name}" for name, count in count_verdicts(records).items())
    notes = [
        f"Difference in units of the published standard deviation. {counts}. Differences are "
        "reported, they are not errors."
    ]
    if any(READINGS[record["select"]] == "oracle" for record in records):
        notes.append(ORACLE_NOTE)
    header = ["table", "method", "column", "published", "measured", "difference", "verdict"]
    return Table("verify", "Published and measured", header, rows, records, notes)
