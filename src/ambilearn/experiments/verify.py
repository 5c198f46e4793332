"""Comparison of measured and published numbers, cell by cell."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ambilearn.experiments.results import ORACLE_NOTE, ExperimentResults
from ambilearn.experiments.tables import UNMEASURED, Table, accuracy_table, plus_minus
from ambilearn.experiments.task import READINGS


class Check(NamedTuple):
    """A published cell and the measured value."""

    table: str
    method: str
    select: str
    column: str
    published: tuple[float, float]
    measured: tuple[float, float] | None
    deviation: float | None

    @property
    def verdict(self) -> str:
        """``within`` one published std, ``above``, ``below`` or ``not measured``."""
        if self.deviation is None:
            return UNMEASURED
        # Published numbers are rounded to three digits: allow for half of the last digit.
        slack = 0.0005 / self.published[1]
        if abs(self.deviation) <= 1 + slack:
            return "within"
        return "above" if self.deviation > 0 else "below"


def checks(experiments: Iterable[ExperimentResults]) -> Iterator[Check]:
    """All published cells of the experiments, once per line that measures them."""
    for experiment in experiments:
        for show in experiment.spec.shows:
            if show["kind"] != "table" or "published" not in show or not show.get("verify", True):
                continue
            for record in accuracy_table(experiment, show).records:
                if "published_mean" in record:
                    yield Check(
                        show["name"],
                        record["line"],
                        record["select"],
                        record["column"],
                        (record["published_mean"], record["published_std"]),
                        None if record["mean"] is None else (record["mean"], record["std"]),
                        record.get("deviation"),
                    )


def verification_table(found: Iterable[Check]) -> Table:
    """Table of the checks, with the number of checks per verdict in a note."""
    found = list(found)
    rows, records = [], []
    for check in found:
        measured = UNMEASURED if check.measured is None else plus_minus(*check.measured)
        deviation = "" if check.deviation is None else f"{check.deviation:+.1f}"
        verdict = check.verdict if check.measured else ""
        published = plus_minus(*check.published)
        rows.append(
            [check.table, check.method, check.column, published, measured, deviation, verdict]
        )
        mean, std = check.measured or (None, None)
        records.append(
            {"table": check.table, "method": check.method, "select": check.select}
            | {"column": check.column, "published_mean": check.published[0]}
            | {"published_std": check.published[1], "mean": mean, "std": std}
            | {"deviation": check.deviation, "verdict": check.verdict}
        )
    verdicts = [check.verdict for check in found]
    counts = {name: verdicts.count(name) for name in ("within", "above", "below", UNMEASURED)}
    notes = [
        "Difference in units of the published standard deviation. "
        + ", ".join(f"{count} {name}" for name, count in counts.items())
        + ". Differences are reported, they are not errors."
    ]
    if any(READINGS[check.select] == "oracle" for check in found):
        notes.append(ORACLE_NOTE)
    header = ["table", "method", "column", "published", "measured", "difference", "verdict"]
    return Table("verify", "Published and measured", header, rows, records, notes)
