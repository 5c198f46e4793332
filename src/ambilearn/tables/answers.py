"""Answers in long form, one per row, joined with a table of the features of the items."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from ambilearn._utils.missing import MISSING_WORDS
from ambilearn._utils.text import pluralize, shorten_list
from ambilearn._utils.warnings import warn_user
from ambilearn.crowd.votes import Votes
from ambilearn.datasets.errors import InvalidFileError
from ambilearn.datasets.frames import FORMATS, check_columns, source_name
from ambilearn.tables.candidate_checks import warn_of_no_answer_codes
from ambilearn.tables.candidate_columns import blank_codes, blank_words
from ambilearn.tables.corrections import apply_corrections
from ambilearn.tables.read import (
    FILE_NAME,
    CandidateTable,
    append_columns,
    read_candidate_table,
    read_source,
)

if TYPE_CHECKING:
    import pandas as pd

ANSWERS_COLUMN = "answers"  # in the table of features: the answers of annotators, as text


def read_answer_table(
    source: "str | os.PathLike[str] | IO[Any] | pd.DataFrame",
    *,
    features_from: "str | os.PathLike[str] | IO[Any] | pd.DataFrame",
    item: str = "item",
    annotator: str = "annotator",
    answer: str = "label",
    no_answer: Sequence[Any] = (),
    na_is_label: bool = False,
    min_votes: int | None = None,
    fallback: str = "error",
    sep: str = "|",
    exclude: Sequence[str] = (),
    format: str | None = None,
    delimiter: str | None = None,
    **options: Any,
) -> CandidateTable:
    r"""Read answers in long form, and the features of the items from a table of their own.

    Parameters
    ----------
    source : path-like, file object or DataFrame
        The answers: a row for each, with item, annotator and label.
    features_from : path-like, file object or DataFrame
        The items: a row for each, with the column ``item`` and features. Its rows and their order
        are those of the result; an item without answers may have any label.
    item, annotator, answer : str
        Names of the columns of the answers.
    no_answer : sequence, default=()
        Codes that mean no answer, such as ``"-1"``. Empty cells always mean no answer.
    na_is_label : bool, default=False
        Whether an answer ``NA``, ``NaN``, ``null``, ``None`` or the like is a label of that name
        (Namibia), not a missing answer.
    min_votes, fallback, sep, exclude, format, delimiter
        As for :func:`ambilearn.tables.read_candidate_table`, format and delimiter for both files.
    **options
        Other parameters of :func:`ambilearn.tables.read_candidate_table`, for the features.

    Returns
    -------
    CandidateTable
        With ``votes``, counts of votes as weights of the candidates, and a further column
        ``answers`` with the different answers to each item, most frequent first.

    Raises
    ------
    InvalidFileError
        If a column is missing, an item is twice in the features, the features have a column
        ``answers``, or no answer fits any item.

    Warns
    -----
    UserWarning
        If there are answers to items without features, items without answers, words that are read
        as no answer, labels that look like a code for no answer, or labels that contain ``sep``.

    Examples
    --------
    >>> from io import StringIO
    >>> from ambilearn.tables import read_answer_table
    >>> answers = StringIO("item,annotator,label\np1,ann,cat\np1,ben,cat\np2,ann,dog\np1,eve,dog\n")
    >>> animals = StringIO("item,weight\np1,4\np2,30\n")
    >>> table = read_answer_table(answers, features_from=animals, format="csv")
    >>> table.votes
    <Votes: 4 answers by 3 annotators to 2 of 2 items, 2 labels>
    >>> table.frame["answers"].to_list()
    ['cat|dog', 'dog']
    """
    # The format is for the file without a known extension: one of both may be standard input.
    name, answers = read_source(source, _format_of(source, format), delimiter)
    items_name, items = read_source(features_from, _format_of(features_from, format), delimiter)
    check_columns(name, answers, [item, annotator, answer])
    check_columns(items_name, items, [item])
    if ANSWERS_COLUMN in items.columns:
        raise InvalidFileError(
            f"{items_name} has a column {ANSWERS_COLUMN!r} already, which is the name of the new "
            "column with the answers. Rename the column, or remove it."
        )
    where = f"{name}, column {answer!r}"
    given = [(cell,) for cell in blank_codes(answers[answer].to_list(), no_answer)]
    words = frozenset() if na_is_label else MISSING_WORDS
    _warn_of_distinct_values(name, answers, [item, annotator])
    columns = {column: answers[column].to_list() for column in (item, annotator)}
    columns[answer] = [cell for (cell,) in blank_words(where, given, words)]
    try:
        votes = Votes.from_long(
            columns, item=item, annotator=annotator, label=answer, items=items[item].to_list()
        )
        sets = votes.to_candidates(min_votes=min_votes or 1, fallback=fallback)
    except ValueError as error:
        raise InvalidFileError(f"{where}, and {items_name}: {error}") from error
    _warn_of_votes(where, items_name, votes)
    said = _answers_by_frequency(votes)
    readable = [labels or votes.classes.tolist() for labels in said]
    joined = append_columns(items_name, items, {ANSWERS_COLUMN: readable})
    joined.attrs[FILE_NAME] = items_name
    options |= {"candidates": ANSWERS_COLUMN, "sep": sep, "exclude": [*exclude, item]}
    table = read_candidate_table(joined, **options)
    texts = [sep.join(map(str, labels)) for labels in said]
    return replace(
        table,
        frame=append_columns(items_name, items, {ANSWERS_COLUMN: texts}),
        candidates=apply_corrections(sets, table.corrections),
        texts=texts,
        votes=votes,
    )


def _format_of(source: Any, format: str | None) -> str | None:
    """The format to read a file in, None if its file name extension determines it."""
    if not hasattr(source, "columns") and Path(source_name(source)).suffix.lower() in FORMATS:
        return None
    return format


def _warn_of_distinct_values(name: str, answers: "pd.DataFrame", columns: list[str]) -> None:
    for column in columns:
        if answers[column].nunique() == len(answers) > 1:
            warn_user(
                f"{name}: every answer has a different {column!r}. In long form an item has "
                "several answers, and an annotator gives many."
            )


def _warn_of_votes(where: str, items_name: str, votes: Votes) -> None:
    """Warn of codes for no answer, and of missing answers."""
    warn_of_no_answer_codes(where, votes.classes.tolist())
    if len(votes.unanswered):
        warn_user(
            f"{items_name}: {pluralize(len(votes.unanswered), 'item')} without answers "
            f"({shorten_list(votes.unanswered.tolist(), 3)}): every label is a candidate."
        )


def _answers_by_frequency(votes: Votes) -> list[list[Any]]:
    """The different labels that each item got, the most frequent first."""
    counts = votes.counts()
    names = votes.classes.tolist()
    said = []
    for start, stop in zip(counts.indptr[:-1], counts.indptr[1:], strict=True):
        pairs = zip(counts.data[start:stop], counts.indices[start:stop], strict=True)
        said.append([names[j] for _, j in sorted(pairs, key=lambda pair: (-pair[0], pair[1]))])
    return said
