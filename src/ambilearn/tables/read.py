"""A user's table: from a file to candidate sets and features, with every cell kept."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.labels import MISSING_WORDS, is_missing, normalize_label, split_labels
from ambilearn._utils.text import pluralize, shorten_list, shorten_repr
from ambilearn._utils.types import Estimator, Label
from ambilearn._utils.warnings import warn_user
from ambilearn.candidates import CandidateSets
from ambilearn.confidence.calibration import Calibration
from ambilearn.datasets.errors import InvalidFileError
from ambilearn.datasets.frames import check_columns
from ambilearn.datasets.label_cells import parse_labels, whole_number_text
from ambilearn.tables.candidate_columns import (
    CandidateColumns,
    expand_patterns,
    parse_candidates,
)
from ambilearn.tables.columns import Column, Features, find_features, parse_features
from ambilearn.tables.description import (
    NEW_COLUMNS,
    Corrections,
    FileFormat,
    TableDescription,
    as_tuple,
)

if TYPE_CHECKING:
    import pandas as pd

    from ambilearn.crowd.votes import Votes

_ALWAYS_WRITTEN = {"label", "score", "confidence"}  # by clean and predict
# Cohen's kappa from which a column of labels is taken for the truth, or for an earlier result.
_SAME_LABELS = 0.6
_ENOUGH_ROWS = 20  # in fewer rows, columns of few numbers agree by chance
_HOLDS_TRUTH = "agrees with the labels of the rows"


@dataclass(frozen=True, eq=False)
class Judgment:
    """What the estimated quality of annotators says about a table.

    Attributes
    ----------
    answers : CandidateSets
        The candidate sets of the answers as they were given.
    confidences : ndarray of shape (n_rows, n_labels)
        Confidence of every label of the votes.
    calibration : Calibration
        The confidences of the candidates, and how scores of new rows become confidences.
    """

    answers: CandidateSets
    confidences: NDArray[np.float64]
    calibration: Calibration


@dataclass(frozen=True, eq=False, repr=False)
class CandidateTable:
    """A table whose rows have candidate labels.

    Attributes
    ----------
    description : TableDescription
        How it was read, with the names of its columns instead of patterns.
    name : str
        Name of the file, for messages.
    frame : DataFrame
        All columns and rows as the file has them.
    texts : list of str
        The candidates of each row as the table writes them: the cell itself, list items and the
        cells of several columns joined by the separator, without missing ones.
    candidates : CandidateSets
        The candidate sets, with those of rows that a person has checked.
    corrections : Corrections
        Rows whose label a person chose.
    features : Features
        The columns that are features, their kinds, and why others are left out.
    truth : list or None
        The true label of each row, None where it is not known. Only for reports; methods do not use
        it.
    votes : Votes or None
        Votes of the annotators, if there are several.
    judgment : Judgment or None
        Reliability of the annotators, if it was estimated.
    """

    description: TableDescription
    name: str
    frame: "pd.DataFrame"
    texts: list[str]
    candidates: CandidateSets
    corrections: Corrections
    features: Features
    truth: list[Any] | None = None
    votes: "Votes | None" = None
    judgment: Judgment | None = None

    @cached_property
    def X(self) -> "pd.DataFrame":  # noqa: N802, the name that scikit-learn gives it
        """The features: float64 with NaN for missing cells, categories and texts as text.

        If all features are numbers and none is missing, pass it to an estimator directly; otherwise
        convert it with :func:`ambilearn.tables.preprocessing.make_preprocessing`.
        """
        about = self.description
        return parse_features(
            self.name, self.frame, self.features.columns, about.file.decimal, about.image_folders
        )

    @property
    def sep(self) -> str:
        """What separates the labels in text."""
        return self.description.sep

    @property
    def candidate_columns(self) -> tuple[str, ...]:
        """The columns with the candidates."""
        return self.description.label_columns

    @property
    def given(self) -> CandidateSets:
        """The candidate sets as they were given: the answers, where annotators were judged."""
        return self.candidates if self.judgment is None else self.judgment.answers

    @property
    def judged(self) -> NDArray[np.float64] | None:
        """Confidence of every label of the votes, if the annotators were judged."""
        return None if self.judgment is None else self.judgment.confidences

    def score_candidates(self, method: Estimator) -> NDArray[np.float64]:
        """Score of every candidate: by the judged annotators, or as a fitted method learned it."""
        if self.judgment is not None and self.judgment.calibration.cleaned is not None:
            return self.judgment.calibration.cleaned
        from ambilearn.backend import HOST  # with the solvers, which reading does not need

        learned: NDArray[np.float64] = HOST.support(self.candidates).gather(
            method.label_distributions_
        )
        return learned

    def with_checked(self, labels: Mapping[int, Label]) -> "CandidateTable":
        """The table with labels that a person has set; annotators have to be judged again."""
        from ambilearn.tables.corrections import apply_corrections

        known = set(self.given.classes.tolist())
        new = [label for label in dict.fromkeys(labels.values()) if label not in known]
        corrections = Corrections(dict(labels), new)
        sets = apply_corrections(self.given, corrections)
        return replace(self, candidates=sets, corrections=corrections, judgment=None)

    def __repr__(self) -> str:
        return (
            f"<CandidateTable {self.name}: {pluralize(len(self.frame), 'row')}, "
            f"{pluralize(len(self.features.columns), 'feature')}, "
            f"{pluralize(len(self.candidates.classes), 'label')}>"
        )


def read_candidate_table(
    source: "str | os.PathLike[str] | IO[Any] | pd.DataFrame",
    *,
    candidates: str | Sequence[str] | None = None,
    given_label: str | None = None,
    features_from: "str | os.PathLike[str] | IO[Any] | pd.DataFrame | None" = None,
    item: str = "item",
    annotator: str = "annotator",
    answer: str = "label",
    sep: str = "|",
    truth: str | None = None,
    features: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] = (),
    categorical: str | Sequence[str] = (),
    embed: Mapping[str, str] | None = None,
    image: str | None = None,
    image_folders: Sequence[str | os.PathLike[str]] = (),
    min_votes: int | None = None,
    fallback: str = "error",
    na_is_label: bool = False,
    no_answer: Any = (),
    missing: str | None = None,
    checked: str | os.PathLike[str] | IO[Any] | None = None,
    format: str | None = None,
    encoding: str | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    sheet: str | None = None,
) -> CandidateTable:
    r"""Read a table with candidate labels: CSV, TSV, Excel, Parquet or JSON.

    Features may be numbers, categories, booleans, dates, sentences and lists of numbers; cells may
    be missing. All columns are kept unchanged, including those that are not features.

    Parameters
    ----------
    source : path-like, file object or DataFrame
        The table. The format is inferred from the file extension (``.csv``, ``.tsv``, also with
        ``.gz``, ``.parquet``, ``.jsonl``, ``.json``, ``.xlsx``). A data frame must be one of
        pandas, with column names that are text.
    candidates : str or sequence of str
        The column with the candidates of each row, as text (``"anna|bob"``) or, in Parquet and
        JSON, as a list; or several columns, one for each annotator, in which cells may be empty; a
        row without any answer may then have any label.
        A name such as ``"A*"`` selects all columns that match it.
    given_label : str, optional
        Instead of ``candidates``: the column with the one label of each row, some of which may be
        wrong; see :func:`ambilearn.tables.correct_table`.
    features_from : path-like, file object or DataFrame, optional
        With ``candidates``, a table with the features of the rows, joined by the column ``item`` of
        both tables; if neither has a column of this name, by the only column that both have.
        Instead of ``candidates``, if ``source`` has the answers of annotators in long form, one in
        each row: a table with the column ``item`` and the features, one row for each item. Its rows
        and their order are those of the result, with a further column ``answers`` that has the
        different answers to each item, most frequent first; counts of votes are the weights of the
        candidates.
    item, annotator, answer : str
        Columns of the answers in long form.
    sep : str, default="|"
        What separates the labels in text.
    truth : str, optional
        Column with the true label where it is known, for reports only: never a feature.
    features : str or sequence of str, optional
        Columns that are features. By default all that have no other role and can help; see
        :func:`ambilearn.tables.columns.find_features`. Names of columns may be patterns, here and
        below.
    exclude : str or sequence of str, default=()
        Columns that are not features, such as an id or a comment.
    categorical : str or sequence of str, default=()
        Features that are categories even if all their cells are numbers, such as codes. These are
        features also if they agree with the labels of the rows.
    embed : mapping, optional
        Names or folders of pretrained networks for columns of texts or of names of image files; see
        :class:`ambilearn.features.PretrainedFeatures`.
    image : str, optional
        Column with names of image files, which then is the only feature: for
        :class:`~ambilearn.DeepPLCL`. Paths are relative to the folder of the table, and only files
        in this folder and its subfolders are read.
    image_folders : sequence of path-like, default=()
        Further folders from which images are allowed. A relative path that is not found in the
        folder of the table is looked up there.
    min_votes : int, optional
        With several annotators: votes that a label needs. One by default.
    fallback : {"error", "union"}, default="error"
        What to do with a row in which no label has enough votes: raise an error, or take all its
        votes.
    na_is_label : bool, default=False
        Whether a cell of candidates that is nothing but ``NA``, ``NaN``, ``null``, ``None`` or the
        like is a label of that name (Namibia), not a missing cell. Among other labels, as in
        ``"NA|ZA"``, and in a list such a word is always a label.
    no_answer : sequence, default=()
        Codes in the cells of candidates that mean no answer, such as ``"-1"``, alone or among
        labels.
    missing : {"error", "any", "skip"}, optional
        What to do with a row without candidates: raise an error, let it have any label, or leave
        the row out of the table. By default an error, and any label if there are several
        annotators.
    checked : path-like or file object, optional
        CSV file of labels that a person has set, as the review page saves it; see
        :func:`ambilearn.tables.corrections.read_corrections`.
    format, encoding, delimiter
        File format, if it cannot be inferred from the file name; encoding of text, such as
        ``"cp1252"``, by default UTF-8; separator of CSV cells.
    sheet : str, optional
        Sheet of an Excel file. By default the first that is not hidden.
    decimal : {".", ","}, default="."
        Decimal separator of features that are numbers in text. With a comma, a cell such as
        ``1.234`` is rejected as ambiguous.

    Returns
    -------
    CandidateTable
        With the candidate sets in ``candidates`` and the features in ``X``, for any method:
        ``method.fit(table.X, table.candidates)``. Labels of a CSV or Excel file are always
        text. The text of labels is normalized, in the table, in ``no_answer`` and in corrections:
        form NFC, no blanks around it, no zero-width space, word joiner or byte-order mark, and a
        space for a no-break space.

    Raises
    ------
    InvalidFileError
        Naming the file, the column and the row (counted from 0, without the header).

    Examples
    --------
    >>> from io import StringIO
    >>> from ambilearn.tables import read_candidate_table
    >>> file = StringIO("id,age,town,names\n07,30,Rome,anna|bob\n08,,Oslo,bob\n09,41,Rome,anna\n")
    >>> table = read_candidate_table(file, candidates="names", exclude=["id"], format="csv")
    >>> [sorted(labels) for labels in table.candidates.to_sets()]
    [['anna', 'bob'], ['bob'], ['anna']]
    >>> [(column.name, column.kind) for column in table.features.columns]
    [('age', 'number'), ('town', 'category')]
    >>> table.frame["id"].to_list()
    ['07', '08', '09']

    Answers in long form:

    >>> answers = StringIO("item,annotator,label\np1,ann,cat\np1,ben,cat\np2,ann,dog\np1,eve,dog\n")
    >>> animals = StringIO("item,weight\np1,4\np2,30\n")
    >>> table = read_candidate_table(answers, features_from=animals, format="csv")
    >>> table.votes
    <Votes: 4 answers by 3 annotators to 2 of 2 items, 2 labels>
    >>> table.frame["answers"].to_list()
    ['cat|dog', 'dog']
    """
    return read_table(
        TableDescription(
            source=source,
            candidates=as_tuple(candidates),
            given_label=given_label,
            features_from=features_from,
            item=item,
            annotator=annotator,
            answer=answer,
            sep=sep,
            truth=truth,
            features=as_tuple(features),
            exclude=as_tuple(exclude),
            categorical=as_tuple(categorical),
            embed=dict(embed or {}),
            image=image,
            image_folders=tuple(map(Path, image_folders)),
            min_votes=min_votes,
            fallback=fallback,
            na_is_label=na_is_label,
            no_answer=as_tuple(no_answer),
            missing=missing,
            checked=checked,
            file=FileFormat(
                format=format, encoding=encoding, delimiter=delimiter, decimal=decimal, sheet=sheet
            ),
        )
    )


def read_table(about: TableDescription) -> CandidateTable:
    """Read the table of a description."""
    _check_description(about)
    if about.is_long_form:
        from ambilearn.tables.answers import ANSWERS_COLUMN, join_answers

        name, parsed = join_answers(about)
        about = replace(about, candidates=(ANSWERS_COLUMN,), exclude=(*about.exclude, about.item))
        about, wanted = _assign_roles(name, parsed.frame, about)
    else:
        if about.features_from is not None:
            from ambilearn.tables.answers import join_columns

            about, name, frame = join_columns(about)
        else:
            name, frame = about.file.read(about.source)
        about, wanted = _assign_roles(name, frame, about)
        parsed = parse_candidates(
            name,
            frame,
            about.label_columns,
            sep=about.sep,
            min_votes=about.min_votes or 1,
            fallback=about.fallback,
            na_is_label=about.na_is_label,
            no_answer=about.no_answer,
            missing=about.missing,
        )
    frame = parsed.frame
    sets, checked = parsed.sets, Corrections()
    if about.checked is not None:
        from ambilearn.tables.corrections import apply_corrections, read_corrections

        checked = read_corrections(about.checked, parsed.texts, sets.classes, sep=about.sep)
        sets = apply_corrections(sets, checked)
    truth = None
    if about.truth is not None:
        truth = parse_truth(name, frame, about.truth, parsed.sets.classes)
    return CandidateTable(
        description=about,
        name=name,
        frame=frame,
        texts=parsed.texts,
        candidates=sets,
        corrections=checked,
        features=_find_features(name, frame, wanted, about, parsed, truth),
        truth=truth,
        votes=parsed.votes,
    )


def _check_description(about: TableDescription) -> None:
    """Raise an error if the columns that are named cannot be combined."""
    if [*map(bool, (about.candidates, about.given_label, about.is_long_form))].count(True) != 1:
        raise ValueError(
            "Pass candidates or given_label, the column with the labels; or features_from, the "
            "table with the features, if the table has one answer per row."
        )
    if about.image is not None and (about.features or about.categorical or about.embed):
        raise ValueError(
            "features, categorical and embed cannot be combined with image: a network learns from "
            "the images alone. Leave them out."
        )


def _assign_roles(
    name: str, frame: "pd.DataFrame", about: TableDescription
) -> tuple[TableDescription, list[str]]:
    """The description without patterns, and the columns that may be features."""
    named_features = about.features
    about = replace(
        about,
        candidates=expand_patterns(name, frame, about.candidates),
        features=expand_patterns(name, frame, about.features),
        exclude=expand_patterns(name, frame, about.exclude),
        categorical=expand_patterns(name, frame, about.categorical),
    )
    known = [*about.label_columns, *([about.truth] if about.truth is not None else [])]
    check_columns(
        name, frame, [*known, *about.features, *about.exclude, *about.categorical, *about.embed]
    )
    if about.features:
        if others := [column for column in about.categorical if column not in about.features]:
            raise ValueError(
                f"Column {others[0]!r} is categorical, but not among the named features: add it to "
                "features (--features)."
            )
        if others := [column for column in named_features if column in known]:
            raise ValueError(
                f"Column {others[0]!r} has the candidates or the true labels: it cannot be a "
                "feature, too. Leave it out of features (--features)."
            )
    wanted = about.features or [*frame.columns]
    if others := [c for c in about.embed if c in known or c in about.exclude or c not in wanted]:
        raise ValueError(
            f"Column {others[0]!r} cannot be embedded: it has candidates or true labels, or is not "
            "among the features."
        )
    if about.truth in about.label_columns:
        raise ValueError(
            f"Column {about.truth!r} has the candidates: it cannot be the column of true labels, "
            "too."
        )
    taken = {*known, *about.exclude}
    return about, [column for column in about.features or frame.columns if column not in taken]


def _find_features(
    name: str,
    frame: "pd.DataFrame",
    wanted: Sequence[str],
    about: TableDescription,
    parsed: CandidateColumns,
    truth: list[Any] | None,
) -> Features:
    """The features; unless the user named them, without columns that hold labels."""
    if about.image is not None:
        return _only_images(name, frame, wanted, about.image)
    left_out: dict[str, str] = {}
    if not about.features:
        left_out = dict.fromkeys(_written_before(frame.columns), "was written by ambilearn")
        labels = set(map(str, parsed.sets.classes.tolist()))
        for column in wanted:
            if column in left_out:
                continue
            cells = frame[column].to_list()
            if _holds_candidates(cells, labels, about.sep):
                left_out[column] = "holds candidate labels"
            elif column not in about.categorical and _agrees(cells, labels, parsed.sets, truth):
                left_out[column] = _HOLDS_TRUTH
    left_out = {column: reason for column, reason in left_out.items() if column in wanted}
    _warn_of_truth(name, left_out)
    found = find_features(
        name,
        frame,
        [column for column in wanted if column not in left_out],
        categorical=about.categorical,
        keep_all=bool(about.features),
        decimal=about.file.decimal,
        embed=about.embed,
        allow_none=about.votes_alone and parsed.votes is not None,
    )
    return Features(found.columns, left_out | found.left_out)


def _warn_of_truth(name: str, left_out: Mapping[str, str]) -> None:
    if columns := [column for column, reason in left_out.items() if reason == _HOLDS_TRUTH]:
        one = len(columns) == 1
        verbs = ("agrees", "is not a feature") if one else ("agree", "are not features")
        warn_user(
            f"{name}: {shorten_list([repr(column) for column in columns], 5)} {verbs[0]} with the "
            f"labels of the rows and {verbs[1]}. If it is the true label, use truth "
            f"(--truth {columns[0]}); to keep it as a feature, use categorical "
            f"(--categorical {columns[0]})."
        )


def _agrees(
    cells: list[Any], labels: set[str], sets: CandidateSets, truth: list[Any] | None
) -> bool:
    """Whether a column has labels that agree with the truth, or with the candidates of its rows.

    The measure is Cohen's kappa: 1 if they always agree, 0 if they agree by chance.
    """
    found = [
        "" if is_missing(cell) else whole_number_text(normalize_label(str(cell))) for cell in cells
    ]
    texts = np.array([text if text in labels else "" for text in found], dtype=object)
    filled = np.flatnonzero(texts != "")
    has_others = any(text and text not in labels and text not in MISSING_WORDS for text in found)
    if has_others or len(filled) < _ENOUGH_ROWS or len({*texts[filled]}) < 2:
        return False
    named = [set(map(str, row)) for row in sets[filled].to_sets()]
    if truth is not None:
        rows = [i for i in filled.tolist() if truth[i] is not None]
        if rows and all(str(truth[i]) == texts[i] for i in rows):
            return True
    inside = np.mean([text in row for text, row in zip(texts[filled], named, strict=True)])
    share = Counter(texts[filled].tolist())
    chance = np.mean([sum(share[label] for label in row) / len(filled) for row in named])
    return bool(inside - chance >= _SAME_LABELS * (1 - chance) > 0)


def _written_before(columns: Iterable[str]) -> list[str]:
    """Columns of an earlier ``clean`` or ``predict``, with any prefix."""
    known = set(columns)
    prefixes = [name.removesuffix("score") for name in known if name.endswith("score")]
    return [
        f"{prefix}{name}"
        for prefix in prefixes
        if known.issuperset(f"{prefix}{name}" for name in _ALWAYS_WRITTEN)
        for name in NEW_COLUMNS
    ]


def _only_images(name: str, frame: "pd.DataFrame", wanted: Sequence[str], image: str) -> Features:
    """The column of images as the only feature."""
    check_columns(name, frame, [image])
    if image not in wanted:
        raise ValueError(
            f"Column {image!r} cannot hold the images: it holds candidates or true labels, or is "
            "excluded."
        )
    others = dict.fromkeys(wanted, "is ignored, because the network learns from the images only")
    del others[image]
    return Features((Column(image, "image"),), others)


def _holds_candidates(cells: list[Any], labels: set[str], sep: str) -> bool:
    """Whether cells are sets of labels, several in some cell: the candidates of an earlier step."""
    texts = [cell for cell in cells if isinstance(cell, str) and cell]
    return any(sep in text for text in texts) and all(
        labels.issuperset(split_labels(text, sep)) for text in texts
    )


def parse_truth(
    name: str, frame: "pd.DataFrame", column: str, labels: Iterable[Label]
) -> list[Any]:
    """The true label of each row, None where it is not known.

    A word for missing is a label if it is among the labels of the table.
    """
    names = set(map(str, labels))
    unknown = MISSING_WORDS - names
    truths = []
    for i, cell in enumerate(frame[column].to_list()):
        try:
            found = parse_labels(cell, None, i)
        except ValueError as error:
            raise InvalidFileError(f"{name}, column {column!r}: {error}") from error
        if len(found) > 1:
            raise InvalidFileError(
                f"{name}, column {column!r}, row {i}: expected one label, found "
                f"{shorten_repr(cell)}. "
                "Leave the cell empty where the true label is not known."
            )
        truth = found.pop() if found else None
        if isinstance(truth, str) and truth not in names and whole_number_text(truth) in names:
            truth = whole_number_text(truth)
        truths.append(None if truth in unknown else truth)
    return truths
