"""Answers in long form, one per row, joined with a table of the features of the items."""

from dataclasses import replace
from typing import Any

import numpy as np

from ambilearn._utils.text import pluralize, shorten_list
from ambilearn._utils.types import DataFrame
from ambilearn._utils.warnings import warn_user
from ambilearn.crowd.votes import Votes
from ambilearn.datasets.errors import InvalidFileError
from ambilearn.datasets.frames import check_columns
from ambilearn.tables.candidate_columns import (
    CandidateColumns,
    blank_codes,
    blank_words,
    expand_patterns,
    warn_of_labels,
)
from ambilearn.tables.description import TableDescription
from ambilearn.tables.writing import append_columns

ITEM = "item"  # the column if none is named
ANSWERS_COLUMN = "answers"  # in the table of features: the answers of annotators, as text


def join_answers(about: TableDescription) -> tuple[str, CandidateColumns]:
    """Name of the table of features, and the candidates with the further column ``answers``.

    Without a table of features, there is a row for each item of the answers.

    Raises InvalidFileError if a column is missing, an item is twice in the features, the features
    have a column ``answers``, or no answer fits any item. Warns of answers to items without
    features, items without answers, words that are read as no answer, labels that look like a code
    for no answer, and labels that contain the separator.
    """
    name, answers = about.file.read(about.source)
    item, annotator, answer = about.item, about.annotator, about.answer
    check_columns(name, answers, [item, annotator, answer])
    if about.features_from is None:
        items_name, items = name, answers[[item]].drop_duplicates(ignore_index=True)
    else:
        items_name, items = about.file.read(about.features_from)
    check_columns(items_name, items, [item])
    if ANSWERS_COLUMN in items.columns:
        raise InvalidFileError(
            f"{items_name} has a column {ANSWERS_COLUMN!r} already, which is the name of the new "
            "column with the answers. Rename the column, or remove it."
        )
    where = f"{name}, column {answer!r}"
    given = [(cell,) for cell in blank_codes(answers[answer].to_list(), about.no_answer)]
    _warn_of_distinct_values(name, answers, [item, annotator])
    columns = {column: answers[column].to_list() for column in (item, annotator)}
    columns[answer] = [cell for (cell,) in blank_words(where, given, about.missing_words)]
    try:
        votes = Votes.from_long(
            columns, item=item, annotator=annotator, label=answer, items=items[item].to_list()
        )
        items, votes = _without_unanswered(items_name, items, votes, about.missing)
        sets = votes.to_candidates(min_votes=about.min_votes or 1, fallback=about.fallback)
    except ValueError as error:
        raise InvalidFileError(f"{where}, and {items_name}: {error}") from error
    where = f"{items_name}, candidates in {ANSWERS_COLUMN!r}"
    warn_of_labels(where, sets, votes, about.sep, several=True)
    texts = [about.sep.join(map(str, labels)) for labels in _answers_by_frequency(votes)]
    joined = append_columns(items_name, items, {ANSWERS_COLUMN: texts})
    return items_name, CandidateColumns(sets, texts, votes, joined)


def join_columns(about: TableDescription) -> tuple[TableDescription, str, DataFrame]:
    """The table of features with the columns of candidates, which are in another table.

    The rows are joined by the column ``item`` of both tables; if none is named, by the only column
    that both have. It is not a feature. Returns the description without patterns, and the name and
    content of the joined table. Raises InvalidFileError if there is no such column, if an item is
    twice in a table, or if no item is in both. Warns of candidates for items without features.
    """
    name, answers = about.file.read(about.source)
    items_name, items = about.file.read(about.features_from)
    columns = expand_patterns(name, answers, about.candidates)
    item = about.item
    shared = [column for column in answers.columns if column in items.columns]
    if item == ITEM and item not in shared:
        if len(shared) != 1:
            found = f"have {shorten_list(list(map(repr, shared)))}" if shared else "have no column"
            raise InvalidFileError(
                f"{name} and {items_name} {found} in common: name the column that joins them, "
                "item (--item)."
            )
        item = shared[0]
    for table_name, table, needed in (
        (name, answers, [item, *columns]),
        (items_name, items, [item]),
    ):
        check_columns(table_name, table, needed)
        cells = table[item]
        if (twice := cells[cells.duplicated()].tolist()) or cells.isna().any():
            wrong = f"{twice[0]!r} twice" if twice else "an empty cell"
            raise InvalidFileError(
                f"{table_name}, column {item!r}: {wrong}. There must be one row for each item."
            )
    known = answers[item].isin(items[item])
    if not known.any():
        raise InvalidFileError(f"No {item!r} of {name} is in {items_name}.")
    if not known.all():
        lost = answers[item][~known].tolist()
        warn_user(
            f"{name}: {pluralize(len(lost), 'row')} without features left out: "
            f"{shorten_list(list(map(repr, lost)), 3)}"
        )
    said = answers.set_index(item)[list(columns)].reindex(items[item])
    joined = append_columns(
        items_name, items, {column: said[column].to_list() for column in columns}
    )
    exclude = (*about.exclude, item)
    return replace(about, candidates=columns, item=item, exclude=exclude), items_name, joined


def _without_unanswered(
    name: str, items: DataFrame, votes: Votes, missing: str | None
) -> tuple[DataFrame, Votes]:
    """The items and votes, without unanswered items if these are left out."""
    if not len(votes.unanswered):
        return items, votes
    found = (
        f"{pluralize(len(votes.unanswered), 'item')} without answers "
        f"({shorten_list(votes.unanswered.tolist(), 3)})"
    )
    if missing == "error":
        raise ValueError(
            f"{found}. Leave them out, or let them have any label: missing='skip' or 'any' "
            "(--missing)."
        )
    if missing != "skip":
        warn_user(f"{name}: {found}: every label is a candidate.")
        return items, votes
    warn_user(f"{name}: {found}: left out.")
    kept = np.flatnonzero(votes.answers_per_item)
    rank = np.cumsum(votes.answers_per_item > 0) - 1
    fewer = replace(votes, items=votes.items[kept], item_indices=rank[votes.item_indices])
    return items.iloc[kept].reset_index(drop=True), fewer


def _warn_of_distinct_values(name: str, answers: DataFrame, columns: list[str]) -> None:
    for column in columns:
        if answers[column].nunique() == len(answers) > 1:
            warn_user(
                f"{name}: every answer has a different {column!r}. In long form an item has "
                "several answers, and an annotator gives many."
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
