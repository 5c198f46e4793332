"""A user's table: from a file to candidate sets and features, with every cell kept."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.labels import is_missing
from ambilearn._utils.text import (
    MISSING_WORDS,
    normalize_label,
    pluralize,
    shorten_list,
    split_labels,
)
from ambilearn._utils.types import DataFrame, Estimator, Label
from ambilearn._utils.warnings import warn_user
from ambilearn.candidates import CandidateSets
from ambilearn.datasets.frames import check_columns
from ambilearn.datasets.label_cells import whole_number_text
from ambilearn.tables.candidate_columns import (
    CandidateColumns,
    expand_patterns,
    parse_candidates,
)
from ambilearn.tables.columns import Column, Features, find_features, parse_features
from ambilearn.tables.description import (
    NEW_COLUMNS,
    Corrections,
    TableDescription,
)

if TYPE_CHECKING:
    from ambilearn.confidence.calibration import Calibration
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
    calibration: "Calibration"


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
    frame: DataFrame
    texts: list[str]
    candidates: CandidateSets
    corrections: Corrections
    features: Features
    truth: list[Any] | None = None
    votes: "Votes | None" = None
    judgment: Judgment | None = None

    @cached_property
    def X(self) -> DataFrame:  # noqa: N802, the name that scikit-learn gives it
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

        return HOST.support(self.candidates).gather(method.label_distributions_)

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
        parsed = parse_candidates(name, frame, about)
    frame = parsed.frame
    sets, checked = parsed.sets, Corrections()
    if about.checked is not None:
        from ambilearn.tables.corrections import apply_corrections, read_corrections

        checked = read_corrections(about.checked, parsed.texts, sets.classes, sep=about.sep)
        sets = apply_corrections(sets, checked)
    truth = None
    if about.truth is not None:
        from ambilearn.tables.corrections import parse_truth

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
    name: str, frame: DataFrame, about: TableDescription
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
    frame: DataFrame,
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
    _warn_of_truth(name, left_out, known=about.truth is not None)
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


def _warn_of_truth(name: str, left_out: Mapping[str, str], known: bool) -> None:
    if columns := [column for column, reason in left_out.items() if reason == _HOLDS_TRUTH]:
        one = len(columns) == 1
        verbs = ("agrees", "is not a feature") if one else ("agree", "are not features")
        column = quote(columns[0])
        is_truth = f"If it is the true label, use truth (--truth {column}). "
        warn_user(
            f"{name}: {shorten_list([repr(column) for column in columns], 5)} {verbs[0]} with the "
            f"labels of the rows and {verbs[1]}. {'' if known else is_truth}To keep it as a "
            f"feature, use categorical (--categorical {column})."
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


def _only_images(name: str, frame: DataFrame, wanted: Sequence[str], image: str) -> Features:
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
