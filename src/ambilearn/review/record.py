"""What a review page shows: rows of a table with candidates, scores and perhaps an image."""

import hashlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ambilearn.datasets.frames import split_ending

CELLS_SHOWN = 8
MAX_ROWS = 100_000  # more rows exceed the scroll height of browsers


def check_number_of_rows(n_rows: int) -> None:
    """Raise an error if a page cannot show so many rows."""
    if n_rows > MAX_ROWS:
        raise ValueError(
            f"A review page holds at most {MAX_ROWS} rows, not {n_rows}: split the table, and "
            "review the parts."
        )


@dataclass(frozen=True)
class ReviewRow:
    """One row of the table.

    Parameters
    ----------
    cells : sequence of str
        The cells to show, one text for each column; empty if a value is missing.
    labels : sequence of str
        The candidates.
    confidences : sequence of float
        One for each candidate; scores, if the review is not calibrated.
    raw : str
        The candidates as the table has them, to recognize the row by.
    image : str, optional
        Address of an image, as :class:`~ambilearn.review.images.Images` makes it.
    decision : str, optional
        The label that a person has already chosen.
    suggestion : str, optional
        A label that is probably the truth. It is not a candidate, unless ``given`` is set.
    rank : int, default=0
        Place in the order in which rows should be looked at; among equals the margin decides.
    image_problem : str, optional
        Reason why the image cannot be shown, such as "not found". If there is an address, too, the
        page tries to load it.
    given : str, optional
        The label in the table, if it has one label per row; the page marks it and the suggestion.
    label : str, optional
        The label that the method chose; by default the candidate with the largest confidence.
    margin : float, optional
        Difference between the chosen label and the best other label; by default among the
        candidates.
    doubt : float, optional
        Probability that no candidate is right; it is shown with a suggestion.

    Examples
    --------
    >>> row = ReviewRow(["0.5"], ["anna", "bob"], [0.2, 0.8], "anna|bob")
    >>> row.ranked()
    [('bob', 0.8), ('anna', 0.2)]
    """

    cells: Sequence[str]
    labels: Sequence[str]
    confidences: Sequence[float]
    raw: str
    image: str | None = None
    decision: str | None = None
    suggestion: str | None = None
    rank: int = 0
    image_problem: str | None = None
    given: str | None = None
    label: str | None = None
    margin: float | None = None
    doubt: float | None = None

    def ranked(self) -> list[tuple[str, float]]:
        """Candidates with their confidences: the chosen one first, then the most confident."""
        pairs = zip(self.labels, self.confidences, strict=True)
        return sorted(pairs, key=lambda pair: (pair[0] != self.label, -pair[1]))


@dataclass(frozen=True)
class Review:
    """A table to be reviewed.

    Parameters
    ----------
    title : str
        Name of the table.
    columns : sequence of str
        Names of the cells of each row.
    rows : sequence of ReviewRow
        All rows, in the order of the table.
    separator : str, default="|"
        What separates the candidates in ``raw``.
    method : str, default=""
        Name of the method that computed the confidences.
    calibrated : bool, default=False
        Whether the confidences are calibrated. The page then shows them as percentages.
    blind : bool, default=False
        Whether to hide the confidences and the label of a row, for an audit.
    numbers : sequence of int, optional
        Row of the table of each row of the review; by default ``0 … n - 1``.
    n_shown : int, default=8
        Number of cells that a card shows before a person asks for all.

    Raises
    ------
    ValueError
        If there are no rows or too many, or if the parts of a row do not fit together.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[ReviewRow]
    separator: str = "|"
    method: str = ""
    calibrated: bool = False
    blind: bool = False
    numbers: Sequence[int] | None = None
    n_shown: int = CELLS_SHOWN

    def __post_init__(self) -> None:
        if not self.rows:
            raise ValueError("There is no row to review.")
        check_number_of_rows(len(self.rows))
        if self.numbers is not None and len(self.numbers) != len(self.rows):
            raise ValueError(f"There are {len(self.rows)} rows, but {len(self.numbers)} numbers.")
        for i, row in enumerate(self.rows):
            if len(row.cells) != len(self.columns):
                raise ValueError(f"Row {i} has {len(row.cells)} cells, not {len(self.columns)}.")
            if not row.labels:
                raise ValueError(f"Row {i} has no candidate label.")
            if len(row.labels) != len(row.confidences):
                raise ValueError(
                    f"Row {i} has {len(row.labels)} candidates and {len(row.confidences)} "
                    "confidences."
                )
            if row.given is None and row.suggestion in row.labels:
                raise ValueError(f"Row {i} has the candidate {row.suggestion!r} as suggestion.")
            if not all(map(math.isfinite, row.confidences)):
                raise ValueError(f"Row {i} has a confidence that is not a finite number.")

    @cached_property
    def classes(self) -> list[str]:
        """All labels that are a candidate, a suggestion or a decision somewhere, sorted."""
        labels = {label for row in self.rows for label in row.labels}
        labels |= {row.decision for row in self.rows if row.decision is not None}
        labels |= {row.suggestion for row in self.rows if row.suggestion is not None}
        return sorted(labels, key=lambda label: (label.casefold(), label))

    @property
    def download(self) -> str:
        """Name of the file in which the page saves the labels."""
        stem = re.sub(r"[^\w.-]+", "-", split_ending(self.title)[0]).strip("-.")
        return f"{stem or 'review'}-{'audit' if self.blind else 'corrections'}.csv"

    @cached_property
    def fingerprint(self) -> str:
        """Short name of the table's content, under which a browser keeps the work on it.

        Confidences, suggestions and images are left out: another method makes no other table.
        """
        content: list[object] = [list(self.columns)]
        content.append([[list(row.cells), row.raw] for row in self.rows])
        if self.numbers is not None:
            content.append(list(self.numbers))
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:20]
