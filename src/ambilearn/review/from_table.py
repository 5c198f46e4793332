"""A review from a user's own table and the scores of its candidates."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.labels import is_missing
from ambilearn._utils.text import readable_file_name
from ambilearn.backend import HOST
from ambilearn.confidence.doubt import Doubt
from ambilearn.crowd.votes import Votes
from ambilearn.datasets.errors import InvalidFileError
from ambilearn.datasets.frames import check_columns
from ambilearn.datasets.label_cells import parse_labels
from ambilearn.review.images import Images, ServedImages, Shown
from ambilearn.review.record import Review, ReviewRow
from ambilearn.tables.candidate_columns import expand_patterns
from ambilearn.tables.columns import LISTS, TELLS_NOTHING
from ambilearn.tables.image_files import find_image_column
from ambilearn.tables.ranking import Choices, choose_candidates, review_order
from ambilearn.tables.read import CandidateTable

_LONGEST_NAME = 200  # characters of an id or a file name
_NAMES_SHOWN = 6  # answers to a row that are shown with the names of the annotators


def review_from_table(
    table: CandidateTable,
    scores: NDArray[np.float64],
    *,
    confidences: NDArray[np.float64] | None = None,
    doubt: Doubt | None = None,
    choices: Choices | None = None,
    given: NDArray[Any] | None = None,
    method: str = "",
    image: str | None = None,
    images: Images | None = None,
    show: Sequence[str] = (),
) -> Review:
    r"""Rows of a table as the page shows them.

    Rows that are corrected already have all their candidates and the chosen label. ``scores`` has
    the score of every candidate, in the order of ``table.candidates``, and determines the order of
    the rows; calibrated ``confidences`` in the same order are shown instead. If ``doubt`` in the
    candidates is above zero, the page suggests a label; it also changes the order. ``choices`` are
    the labels to show first and their margins, by default those with the largest scores; ``given``
    are the labels in a table with one label per row, which the page marks. ``method`` is the name
    of the method that computed the scores. If annotators answered, the first cell of a row has
    their answers. ``images`` makes the addresses of the images in the column ``image``; by default
    they are relative to the folder of the table.

    >>> from io import StringIO
    >>> from ambilearn.tables import clean_table, read_candidate_table
    >>> file = StringIO("x,names\n1,anna|bob\n2,anna\n8,bob\n9,bob|anna\n")
    >>> table = read_candidate_table(file, candidates="names", format="csv")
    >>> cleaned = clean_table(table, params={"n_neighbors": 1})
    >>> review = review_from_table(table, cleaned.pair_scores)
    >>> review.columns, review.rows[3].cells, [label for label, _ in review.rows[3].ranked()]
    (['x'], ['9'], ['bob', 'anna'])
    """
    folder = Path(table.name).parent
    images = images or Images(folder, folder)
    columns = [c for c in _order_columns(table, image, show) if c != image or _is_short(table, c)]
    cells = [[format_cell(cell) for cell in table.frame[column].to_list()] for column in columns]
    if table.votes is not None:
        columns, cells = ["answers", *columns], [_format_answers(table.votes), *cells]
    shown = [Shown()] * len(table.frame)
    if image is not None:
        shown = [images.find(format_cell(cell)) for cell in table.frame[image].to_list()]
    calibrated = confidences is not None
    found = _find_candidates(table, scores if confidences is None else confidences)
    hints = _find_hints(table, scores, doubt, choices, given)
    rows = [
        ReviewRow(
            [column[i] for column in cells],
            labels,
            values,
            table.texts[i],
            shown[i].address,
            decision,
            suggestion,
            rank,
            shown[i].problem,
            None if given is None else str(given[i]),
            None if choices is None else str(choices.labels[i]),
            None if choices is None else choices.margins[i],
            None if suggestion is None or doubt is None else float(doubt.score[i]),
        )
        for i, ((labels, values, decision), (suggestion, rank)) in enumerate(
            zip(found, hints, strict=True)
        )
    ]
    title = readable_file_name(table.name) if table.name != "<stdin>" else "standard input"
    return Review(title, [str(column) for column in columns], rows, table.sep, method, calibrated)


def make_page(
    table: CandidateTable,
    method: str,
    image: str | None,
    images: ServedImages,
    show: Sequence[str] = (),
) -> Review:
    """What the page shows before it has the state of the session."""
    prior = HOST.support(table.candidates).prior()
    judgment = table.judgment
    known = None if judgment is None else judgment.calibration.cleaned
    return review_from_table(
        table, prior, confidences=known, method=method, image=image, images=images, show=show
    )


def image_column(table: CandidateTable, named: str | None = None) -> str | None:
    """The column named by the user, or the first column of a table that holds images, if any."""
    if named is not None:
        check_columns(table.name, table.frame, [named])
        return named
    numeric = {c.name for c in table.features.columns if c.kind in ("number", *LISTS)}
    columns = {
        column: [format_cell(cell) for cell in table.frame[column].to_list()]
        for column in table.frame.columns
        if column not in table.candidate_columns and column not in numeric
    }
    return find_image_column(columns)


def drop_feature(table: CandidateTable, column: str | None) -> CandidateTable:
    """The table without one of its features: the file name of an image is not a feature."""
    kept = tuple(feature for feature in table.features.columns if feature.name != column)
    if not kept:
        raise InvalidFileError(
            f"{table.name}: no column is left as a feature, because {column!r} holds images. Add "
            "columns that describe the rows, or learn from the images: --image COLUMN --method "
            "deepplcl."
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


def _order_columns(table: CandidateTable, image: str | None, show: Sequence[str]) -> list[Any]:
    """Columns to show: what names a row, then features, among them numbers last; then the rest.

    Not the truth, which the reviewer is to find; nothing that is the same in every row, or too long
    to be read by a person. ``show`` has columns that name a row; by default the first one, after
    the image, whose text differs in all rows.
    """
    show = expand_patterns(table.name, table.frame, show)
    check_columns(table.name, table.frame, list(show))
    kinds = {column.name: column.kind for column in table.features.columns}
    hidden = {*table.candidate_columns, table.description.truth}
    hidden |= {name for name, why in table.features.left_out.items() if why in TELLS_NOTHING}
    hidden |= {name for name, kind in kinds.items() if kind in ("vector", "embedding")}
    columns = [c for c in table.frame.columns if c not in hidden or c == image]
    first = list(show)
    if not first and image is None:
        texts = [c for c in columns if kinds.get(c) != "number"]
        first = next(([c] for c in texts if _names_rows(table.frame[c].to_list())), [])

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
    return not any(format_cell(c).startswith("data:") for c in table.frame[image].to_list())


def _judged(table: CandidateTable, row: int, labels: list[str]) -> list[float]:
    """Confidences of labels that the judging of annotators ruled out."""
    if table.votes is None or table.judged is None:
        return [0.0] * len(labels)
    known = [str(label) for label in table.votes.classes.tolist()]
    return [float(table.judged[row, known.index(label)]) for label in labels]


def _find_hints(
    table: CandidateTable,
    scores: NDArray[np.float64],
    doubt: Doubt | None,
    choices: Choices | None,
    given: NDArray[Any] | None,
) -> Iterator[tuple[str | None, int]]:
    """Suggestion and rank of each row."""
    n = len(table.candidates)
    if doubt is None:
        yield from [(None, 0)] * n
        return
    settled = table.corrections.labels
    rank = np.empty(n, dtype=np.intp)
    if choices is None:
        choices = choose_candidates(table.candidates, scores, judged=table.judged)
    rank[review_order(choices, doubt, settled)] = np.arange(1, n + 1)
    # Where annotators were judged, doubt is in their answers, and the judging may have found the
    # same label already: then it is shown with its confidence.
    found = table.candidates.to_sets()
    doubtful = doubt.doubtful
    for i, place in enumerate(rank.tolist()):
        suggestion = doubt.suggestion[i]
        wanted = doubtful[i] and i not in settled
        wanted = wanted and (given is not None or suggestion not in found[i])
        yield str(suggestion) if wanted else None, place


def _find_candidates(
    table: CandidateTable, confidences: NDArray[np.float64]
) -> list[tuple[list[str], list[float], str | None]]:
    """Labels, confidences and decision of each row."""
    sets = table.candidates
    classes = [str(label) for label in sets.classes.tolist()]
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
            if table.judgment is not None:  # answers that the judging ruled out are still choices
                given = set(map(str, parse_labels(table.texts[i], table.sep, i)))
                others = sorted(given - set(labels))
                labels, scores = labels + others, scores + _judged(table, i, others)
            found.append((labels, scores, None))
    return found
