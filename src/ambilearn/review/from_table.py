"""A review from a user's own table and what a method found for its candidates."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.labels import is_missing
from ambilearn._utils.text import readable_file_name, split_labels
from ambilearn._utils.types import Array, DataFrame
from ambilearn.backend import HOST
from ambilearn.confidence.doubt import Doubt
from ambilearn.crowd.votes import Votes
from ambilearn.datasets.errors import InvalidFileError
from ambilearn.datasets.frames import check_columns
from ambilearn.datasets.label_cells import parse_labels, whole_number_text
from ambilearn.review.images import Images, Shown
from ambilearn.review.page import CELLS_SHOWN, Review, ReviewRow
from ambilearn.tables.candidate_columns import expand_patterns
from ambilearn.tables.candidate_table import CandidateTable
from ambilearn.tables.clean import CleanedTable
from ambilearn.tables.columns import EMBEDDED, LISTS, TELLS_NOTHING
from ambilearn.tables.given_labels import CorrectedTable
from ambilearn.tables.image_files import find_image_column
from ambilearn.tables.ranking import Choices

_LONGEST_NAME = 200  # characters of an id or a file name
_NAMES_SHOWN = 6  # answers to a row that are shown with the names of the annotators
_MAX_LABELS = 20  # that are offered for a row of an audit without candidates


@dataclass(frozen=True, eq=False)
class JudgedTable:
    """A table, and what is known of the candidates of each row.

    Parameters
    ----------
    table : CandidateTable
        The table. Corrected rows are shown with all their candidates and the chosen label.
    shares : ndarray of shape (n_pairs,)
        Confidence or score of every candidate, in the order of ``table.candidates``.
    calibrated : bool, default=False
        Whether they are calibrated confidences.
    doubt : Doubt, optional
        Doubt in the candidates: a label is suggested where it is above one half.
    order : ndarray of shape (n_rows,), optional
        Rows in the order in which a person should look at them.
    choices : Choices, optional
        Labels to show first and their margins; by default those with the largest shares.
    given : ndarray of shape (n_rows,), optional
        The labels in a table with one label per row, which the page marks.
    method : str, default=""
        Name of the method.
    """

    table: CandidateTable
    shares: NDArray[np.float64]
    calibrated: bool = False
    doubt: Doubt | None = None
    order: NDArray[np.intp] | None = None
    choices: Choices | None = None
    given: Array | None = None
    method: str = ""

    @classmethod
    def of_sets(cls, table: CandidateTable, method: str) -> Self:
        """What is known before a fit: the judged annotators, or nothing but the candidates."""
        judgment = table.judgment
        known = None if judgment is None else judgment.calibration.cleaned
        shares = HOST.support(table.candidates).prior() if known is None else known
        return cls(table, shares, known is not None, method=method)

    @classmethod
    def of_cleaned(cls, cleaned: CleanedTable, method: str) -> Self:
        """The result of :func:`ambilearn.tables.clean_table`."""
        known = cleaned.model.calibration.cleaned
        shares = cleaned.pair_scores if known is None else known
        found = cleaned.doubt, cleaned.order
        return cls(cleaned.table, shares, known is not None, *found, method=method)

    @classmethod
    def of_corrected(cls, corrected: CorrectedTable, method: str) -> Self:
        """The result of :func:`ambilearn.tables.correct_table`."""
        table, shares = corrected.to_review()
        # Without calibration (the features are useless), the page shows scores, as `clean` does.
        calibrated = not np.isnan(corrected.choices.confidences).any()
        found = corrected.doubt, corrected.order, corrected.choices, corrected.given
        return cls(table, shares, calibrated, *found, method)


class Layout(NamedTuple):
    """Which columns a page shows.

    Parameters
    ----------
    image : str, optional
        Column with images.
    images : Images, optional
        Makes their addresses; by default they are relative to the folder of the table.
    first : sequence of str, default=()
        Columns that are shown first; by default one that names the rows.
    """

    image: str | None = None
    images: Images | None = None
    first: Sequence[str] = ()


PLAIN = Layout()


def review_from_table(judged: JudgedTable, layout: Layout = PLAIN) -> Review:
    r"""Rows of a table as the page shows them.

    If annotators answered, the first cell of a row has their answers.

    >>> from io import StringIO
    >>> from ambilearn.tables import clean_table, read_candidate_table
    >>> file = StringIO("x,names\n1,anna|bob\n2,anna\n8,bob\n9,bob|anna\n")
    >>> table = read_candidate_table(file, candidates="names", format="csv")
    >>> cleaned = clean_table(table, params={"n_neighbors": 1})
    >>> review = review_from_table(JudgedTable.of_cleaned(cleaned, "PLCL"))
    >>> review.columns, review.rows[3].cells, [label for label, _ in review.rows[3].ranked()]
    (['x'], ['9'], ['bob', 'anna'])
    """
    table, choices, given, image = judged.table, judged.choices, judged.given, layout.image
    columns = [c for c in _order_columns(table, layout) if c != image or _is_short(table, c)]
    cells = [_format_column(table.frame, column) for column in columns]
    if table.votes is not None:
        columns, cells = ["answers", *columns], [_format_answers(table.votes), *cells]
    n_rows = len(table.frame)
    shown = _find_images(table.frame, table.name, layout)
    rank = np.zeros(n_rows, dtype=np.intp)
    if judged.order is not None:
        rank[judged.order] = np.arange(1, n_rows + 1)
    rows = [
        ReviewRow(
            [column[i] for column in cells],
            labels,
            shares,
            table.texts[i],
            shown[i].address,
            decision,
            suggestion,
            int(rank[i]),
            shown[i].problem,
            None if given is None else str(given[i]),
            None if choices is None else str(choices.labels[i]),
            None if choices is None else choices.margins[i],
            None if suggestion is None or judged.doubt is None else float(judged.doubt.score[i]),
        )
        for i, ((labels, shares, decision), suggestion) in enumerate(
            zip(_find_candidates(table, judged.shares), _find_suggestions(judged), strict=True)
        )
    ]
    numbers = {column.name for column in table.features.columns if column.kind == "number"}
    n_shown = CELLS_SHOWN
    if len(numbers) > CELLS_SHOWN:  # such as pixels, of which a person sees nothing
        n_shown = sum(column not in numbers for column in columns) or CELLS_SHOWN
    title, names = _title(table.name), [str(column) for column in columns]
    return Review(title, names, rows, table.sep, judged.method, judged.calibrated, n_shown=n_shown)


def review_from_audit(
    frame: DataFrame,
    rows: Sequence[int],
    labels: Sequence[str],
    texts: Sequence[str] | None = None,
    *,
    sep: str = "|",
    name: str = "table",
    hidden: Collection[str] = (),
    layout: Layout = PLAIN,
) -> Review:
    """Rows that were drawn for an audit, in this order, without scores.

    ``labels`` has the label of every row of the table. The page does not show which label a row
    has, unless there are no candidates and more than 20 labels. ``texts`` has the candidates of
    every row, separated by ``sep``; by default all labels are offered. Columns in ``hidden`` are
    not shown.
    """
    columns = [c for c in frame.columns if c not in hidden and c != layout.image]
    drawn = frame.iloc[list(rows)]
    cells = [_format_column(drawn, column) for column in columns]
    pictures = _find_images(drawn, name, layout)
    every = sorted(set(labels))
    shown = []
    for place, row in enumerate(rows):
        candidates = every if len(every) <= _MAX_LABELS else [labels[row]]
        if texts is not None:
            offered = {*split_labels(texts[row], sep)} - {""}
            if labels[row] not in map(whole_number_text, offered):  # 1.0 is the label 1
                offered.add(labels[row])
            candidates = sorted(offered)
        shown.append(
            ReviewRow(
                [column[place] for column in cells],
                candidates,
                [0.0] * len(candidates),
                labels[row] if texts is None else texts[row],
                pictures[place].address,
                rank=place + 1,
                image_problem=pictures[place].problem,
            )
        )
    numbers = [int(row) for row in rows]
    return Review(_title(name), [str(c) for c in columns], shown, sep, blind=True, numbers=numbers)


def _title(name: str) -> str:
    return readable_file_name(name) if name != "<stdin>" else "standard input"


def _find_images(frame: DataFrame, name: str, layout: Layout) -> list[Shown]:
    if layout.image is None:
        return [Shown()] * len(frame)
    images = layout.images or Images(Path(name).parent, Path(name).parent)
    return [images.find(cell) for cell in _format_column(frame, layout.image)]


def _format_column(frame: DataFrame, column: Any) -> list[str]:
    return [format_cell(cell) for cell in frame[column].to_list()]


def image_column(table: CandidateTable, named: str | None = None) -> str | None:
    """The column named by the user, or the first column of a table that holds images, if any."""
    if named is not None:
        check_columns(table.name, table.frame, [named])
        return named
    numeric = {c.name for c in table.features.columns if c.kind in ("number", *LISTS)}
    columns = {
        column: _format_column(table.frame, column)
        for column in table.frame.columns
        if column not in table.candidate_columns and column not in numeric
    }
    return find_image_column(columns)


def drop_feature(table: CandidateTable, column: str | None) -> CandidateTable:
    """The table without a column of images as a feature, unless a pretrained network converts it.

    The name of an image is not a feature; the vector of the image is one.
    """
    kept = tuple(
        feature
        for feature in table.features.columns
        if feature.name != column or feature.kind in EMBEDDED
    )
    if not kept:
        raise InvalidFileError(
            f"{table.name}: no column is left as a feature, because {column!r} holds images. Add "
            "columns that describe the rows, or learn from the images: --embed COLUMN=MODEL, or "
            "--image COLUMN --method deepplcl."
        )
    return replace(table, features=table.features._replace(columns=kept))


def format_cell(cell: Any) -> str:
    """A cell as a person reads it; empty if it is missing.

    Examples
    --------
    >>> [format_cell(cell) for cell in ("007", 0.1 + 0.2, 1234567.0, None, [1, 2])]
    ['007', '0.3', '1234567', '', '[1, 2]']
    """
    if isinstance(cell, str):
        return cell
    if is_missing(cell):
        return ""
    if isinstance(cell, (float, np.floating)):
        return f"{cell:.6g}" if -1e4 < cell < 1e4 else f"{cell:.12g}"
    if isinstance(cell, np.ndarray):
        cell = cell.tolist()
    return str(cell)


def _order_columns(table: CandidateTable, layout: Layout) -> list[Any]:
    """Columns to show: what names a row, then features, among them numbers last; then the rest.

    Not the truth, which the reviewer is to find; nothing that is the same in every row, or too long
    to be read by a person. What names a row is by default, after the image, the first column whose
    text differs in all rows.
    """
    image, first = layout.image, expand_patterns(table.name, table.frame, layout.first)
    check_columns(table.name, table.frame, list(first))
    kinds = {column.name: column.kind for column in table.features.columns}
    hidden = {*table.candidate_columns, table.description.truth}
    hidden |= {name for name, why in table.features.left_out.items() if why in TELLS_NOTHING}
    hidden |= {name for name, kind in kinds.items() if kind in ("vector", "embedding")}
    columns = [c for c in table.frame.columns if c not in hidden or c == image]
    if not first and image is None:
        texts = [c for c in columns if kinds.get(c) != "number"]
        first = next(((c,) for c in texts if _names_rows(table.frame[c].to_list())), ())

    def place(column: Any) -> int:
        if column in first or column == image:
            return first.index(column) - len(first) if column in first else -len(first) - 1
        is_feature, is_number = column in kinds, kinds.get(column) == "number"
        return 0 if is_feature and not is_number else 1 if is_feature else 2

    return sorted([*columns, *(c for c in first if c not in columns)], key=place)


def _names_rows(cells: list[Any]) -> bool:
    """Whether the cells are different texts, such as ids or names of files."""
    texts = [cell.strip() for cell in cells if isinstance(cell, str)]
    if len(texts) < len(cells) or len(set(texts)) < len(cells):
        return False
    return max(map(len, texts)) <= _LONGEST_NAME


def _format_answers(votes: Votes) -> list[str]:
    """The answers to each item with the names of the annotators, or their number if many answered.

    >>> answers = [("reef", "ann", "sand"), ("reef", "ben", "rock"), ("reef", "eve", "rock")]
    >>> _format_answers(Votes.from_long(answers))
    ['rock: ben, eve; sand: ann']
    """
    names, classes = votes.annotators.tolist(), votes.classes.tolist()
    said: list[dict[int, list[str]]] = [{} for _ in votes.items]
    indices = votes.item_indices, votes.annotator_indices, votes.label_indices
    for item, annotator, label in zip(*(each.tolist() for each in indices), strict=True):
        said[item].setdefault(label, []).append(str(names[annotator]))
    texts = []
    for given in said:
        many = sum(map(len, given.values())) > _NAMES_SHOWN
        ranked = sorted(given.items(), key=lambda pair: (-len(pair[1]), pair[0]))
        people = (str(len(who)) if many else ", ".join(who) for _, who in ranked)
        parts = zip((classes[label] for label, _ in ranked), people, strict=True)
        texts.append("; ".join(f"{label}: {who}" for label, who in parts))
    return texts


def _is_short(table: CandidateTable, image: str) -> bool:
    """Whether the cells of the image column are paths, not images written as text."""
    return not any(cell.startswith("data:") for cell in _format_column(table.frame, image))


def _find_suggestions(judged: JudgedTable) -> list[str | None]:
    """The label that is probably the true one, for each row in which it is not shown first.

    If annotators were judged, doubt is in their answers, and the same label may be a candidate
    already: then it is shown with its confidence.
    """
    sets = judged.table.candidates.to_sets()
    if judged.doubt is None:
        return [None] * len(sets)
    return [
        None if label is None or (judged.given is None and label in candidates) else str(label)
        for label, candidates in zip(judged.doubt.suggestion, sets, strict=True)
    ]


def _find_candidates(
    table: CandidateTable, confidences: NDArray[np.float64]
) -> list[tuple[list[str], list[float], str | None]]:
    """Labels, confidences and decision of each row."""
    sets = table.candidates
    classes = [str(label) for label in sets.classes.tolist()]
    answers = [] if table.votes is None else table.votes.classes.tolist()
    column = {str(label): j for j, label in enumerate(answers)}
    found: list[tuple[list[str], list[float], str | None]] = []
    for i in range(len(sets)):
        if i in table.corrections.labels:
            # The chosen label was the only candidate in the fit.
            chosen = str(table.corrections.labels[i])
            labels = sorted(map(str, parse_labels(table.texts[i], table.sep, i))) or classes
            found.append((labels, [float(label == chosen) for label in labels], chosen))
        else:
            pairs = slice(sets.indptr[i], sets.indptr[i + 1])
            labels = [classes[j] for j in sets.labels[pairs]]
            scores = confidences[pairs].tolist()
            if table.judged is not None:  # answers that the judging ruled out are still choices
                given = set(map(str, parse_labels(table.texts[i], table.sep, i)))
                others = sorted(given - set(labels))
                labels = labels + others
                scores += table.judged[i, [column[label] for label in others]].tolist()
            found.append((labels, scores, None))
    return found
