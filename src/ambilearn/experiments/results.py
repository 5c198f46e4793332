"""Results of an experiment in a store, by line and column of its tables, and published numbers."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ambilearn.experiments.spec import Setting, Spec, Variant
from ambilearn.experiments.store import Store
from ambilearn.experiments.task import CHOSEN_BY, READINGS, Content, Result

UNMEASURED = "not measured"
ORACLE_NOTE = (
    "† oracle: parameters chosen with the test labels, once for all runs of a case, or separately "
    "in each run. An upper bound, not a valid result."
)

_SEARCH = ("kind", "points", "scoring")


@dataclass(frozen=True)
class Line:
    """A line of a table: a method, and how its parameters are chosen.

    ``select`` is one of :data:`READINGS`. ``search`` is the (kind, points, scoring) of the search,
    or None without a search.
    """

    method: Variant
    select: str = "fixed"
    search: tuple[str, int | None, str] | None = None

    @property
    def label(self) -> str:
        """Name in tables; an oracle is always marked."""
        if self.search is None:
            return self.method.label
        kind, points, scoring = self.search
        how = f"{self.select}, {kind}" + (f" {points}" if points else "")
        # The oracle uses the test labels, not the metric of a label-free search.
        how += " †" if self.is_oracle else f", {scoring}"
        return f"{self.method.label} ({how})"

    @property
    def is_oracle(self) -> bool:
        """Whether the parameters are chosen with the test labels."""
        return READINGS[self.select] == "oracle"


@dataclass(frozen=True)
class Case:
    """A case on which methods are compared: a data set and, if generated, its candidate setting."""

    data: str
    setting: Setting | None = None

    @property
    def label(self) -> str:
        """Name in tables."""
        return self.data if self.setting is None else f"{self.data} {self.setting.label}"


Column: TypeAlias = tuple[str, Case, str]  # title, case and metric of a column of a table


class ExperimentResults:
    """Results of an experiment that are in the store.

    ``lines`` has every method with fixed parameters, and with each selection in the store;
    ``cases`` has the cases on which they are compared, and ``failures`` the results of tasks that
    failed.
    """

    def __init__(self, spec: Spec, store: Store) -> None:
        self.spec = spec
        settings: Sequence[Setting | None] = spec.settings or [None]
        self.cases = [Case(data, setting) for data in spec.data for setting in settings]
        self._found: dict[tuple[Line, Case], dict[int, Result]] = {}
        self.failures: list[Result] = []
        stored = store.results()
        possible = [
            Line(method, *how) for method in spec.methods for how in _choices(stored, method)
        ]
        for line in possible:
            for case in self.cases:
                self._found[line, case] = self._runs(line, case, stored)
        self.lines = [x for x in possible if x.select == "fixed" or self.has_results(x)]

    def _runs(self, line: Line, case: Case, stored: Mapping[str, Result]) -> dict[int, Result]:
        search = line.search and dict(zip(_SEARCH, line.search, strict=True))
        runs = {}
        for run in range(self.spec.runs):
            select = READINGS[line.select]
            task = self.spec.task(line.method, case.data, case.setting, run, select, search)
            result = stored.get(task.key)
            if result is not None and result.status == "failed":
                if result not in self.failures:  # two lines use the same oracle result
                    self.failures.append(result)
            elif result is not None:
                runs[run] = result
        return choose_for_all_runs(runs) if line.select == "oracle" else runs

    def has_results(self, line: Line) -> bool:
        """Whether a line has a result in any case."""
        return any(self._found[line, case] for case in self.cases)

    def results(self, line: Line, case: Case) -> list[Result]:
        """Results of a cell, in the order of the runs."""
        return list(self._found[line, case].values())

    def values(self, line: Line, case: Case, metric: str) -> NDArray[np.float64]:
        """Scores of a cell, in the order of the runs; empty if not measured.

        The points of an oracle have no scores on the training rows.
        """
        found = self.results(line, case)
        return np.array([r.scores[metric] for r in found if metric in r.scores])

    def paired(
        self, line: Line, other: Line, case: Case, metric: str
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Scores of two lines on their common runs."""
        first, second = (
            {
                run: r.scores[metric]
                for run, r in self._found[each, case].items()
                if metric in r.scores
            }
            for each in (line, other)
        )
        runs = [run for run in first if run in second]
        return np.array([first[run] for run in runs]), np.array([second[run] for run in runs])

    def measured_cases(self, lines: list[Line]) -> list[Case]:
        """Cases in which all lines have results."""
        return [c for c in self.cases if all(self._found[line, c] for line in lines)]

    def shown_lines(self, show: Content) -> list[Line]:
        """Lines of a table."""
        return self.read(*show["select"]) if "select" in show else self.lines

    def shown_columns(self, show: Content) -> list[Column]:
        """Title, case and metric of each column: the listed columns, or one per case."""
        if "columns" in show:
            return [(c["title"], Case(c["data"]), c["metric"]) for c in show["columns"]]
        cases = self.cases
        if "group" in show:
            wanted = show["group"], show["value"]
            cases = [c for c in cases if c.setting and (c.setting.group, c.setting.value) == wanted]
        one_each = len(cases) == len({case.data for case in cases})
        return [(c.data if one_each else c.label, c, show["metric"]) for c in cases]

    @property
    def fixed_lines(self) -> list[Line]:
        """Lines with fixed parameters, the reference first."""
        return [line for line in self.lines if line.select == "fixed"]

    def read(self, reference: str, others: str) -> list[Line]:
        """Lines of the first method and of the others with the given selections (:data:`READINGS`).

        Empty if the first method has no such line.
        """
        first = self.spec.methods[0]
        lines = [
            line
            for line in self.lines
            if line.select == (reference if line.method is first else others)
        ]
        return lines if lines and lines[0].method is first else []


def oracle_notes(lines: Iterable[Line]) -> list[str]:
    """Notes for a table with these lines."""
    return [ORACLE_NOTE] if any(line.is_oracle for line in lines) else []


def _choices(stored: Mapping[str, Result], method: Variant) -> list[tuple[Any, ...]]:
    """Selections and searches of a method in the store, in a stable order."""
    found: dict[str, set[tuple[Any, ...]]] = {}
    for result in stored.values() if method.grid else ():
        task = result.task
        if task["method"] == method.estimator and task["select"] != "fixed":
            search = tuple(task["search"][name] for name in _SEARCH)
            found.setdefault(task["select"], set()).add(search)
    return [("fixed", None)] + [
        (reading, search)
        for reading, select in READINGS.items()
        for search in sorted(found.get(select, ()), key=str)
    ]


def choose_for_all_runs(runs: Mapping[int, Result]) -> dict[int, Result]:
    """Runs with the scores of the single point that has the best mean test accuracy."""
    if not runs:
        return {}
    by_run = [[p["scores"][CHOSEN_BY] for p in r.details["tried"]] for r in runs.values()]
    best = int(np.argmax(np.mean(by_run, axis=0)))  # ties keep the order of the points
    read = {}
    for run, result in runs.items():
        point = result.details["tried"][best]
        details = result.details | {"chosen": point["params"]}
        read[run] = replace(result, scores=point["scores"], details=details)
    return read


@dataclass
class Table:
    """Text of a table, and its numbers as records for a CSV file."""

    name: str
    title: str
    header: list[str]
    rows: list[list[str]]
    records: list[Content]
    notes: list[str] = field(default_factory=list)


class PublishedCell(NamedTuple):
    """Mean, standard deviation and mark (●, ○ or nothing) of a printed cell."""

    mean: float
    std: float
    mark: str


def published_cells(name: str) -> dict[tuple[str, str, str], PublishedCell]:
    """Cells of a printed table by (method, data, metric)."""
    return {
        (row["method"], row["data"], row["metric"]): PublishedCell(
            float(row["mean"]), float(row["std"]), row["mark"]
        )
        for row in _rows(name)
    }


def published_counts(name: str) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Printed win/tie/loss counts by (method, group).

    Errors in the paper are not corrected: the total of SURE is 88/14/0, but its columns sum to
    98/14/0.
    """
    return {
        (row["method"], row["group"]): (int(row["win"]), int(row["tie"]), int(row["loss"]))
        for row in _rows(name)
    }


def printed_metric(metric: str) -> str:
    """Name of a metric in the paper, which does not distinguish the readings.

    >>> printed_metric("transductive.outputs@3")
    'transductive@3'
    """
    name, at, tolerance = metric.partition("@")
    return name.partition(".")[0] + at + tolerance


@cache
def _rows(name: str) -> list[dict[str, str]]:
    text = files(__package__).joinpath("published", f"{name}.csv").read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))
