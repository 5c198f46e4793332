"""Numbers published in the paper, for comparison with measured ones.

Errors in the paper are not corrected: the total of SURE in its win/tie/loss table is 88/14/0, but
its columns sum to 98/14/0.
"""

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple


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
    """Printed win/tie/loss counts by (method, group)."""
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
