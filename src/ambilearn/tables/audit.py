"""Audit a table with labels: check some rows, estimate how many labels are correct."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.labels import is_missing
from ambilearn._utils.text import normalize_label, pluralize, shorten_repr
from ambilearn._utils.types import DataFrame, Label
from ambilearn._utils.warnings import warn_user
from ambilearn.confidence.audits import (
    AuditSample,
    LabelComparison,
    ShareEstimate,
    compare_labels,
    draw_audit,
    estimate_share_right,
)
from ambilearn.confidence.checked import CheckedCalibration
from ambilearn.datasets.errors import InvalidFileError
from ambilearn.datasets.frames import check_columns
from ambilearn.datasets.label_cells import whole_number_text
from ambilearn.tables.corrections import parse_truth
from ambilearn.tables.description import NEW_COLUMNS
from ambilearn.tables.writing import replace_columns


@dataclass(frozen=True, eq=False)
class AuditedTable:
    """A table in which some rows were checked.

    Attributes
    ----------
    frame : DataFrame
        The table with the column ``confidence``, replaced if there was one: the calibrated
        probability that the label is correct; 1 or 0 in checked rows. If the column of the labels
        is ``PREFIXlabel``, and there is a column ``PREFIXconfidence``, it is this one.
    share : ShareEstimate
        Share of correct labels, with its interval.
    scores : ndarray of shape (n_rows,)
        Score of the label of each row.
    confidences : ndarray of shape (n_rows,)
        Calibrated confidence by the score, also of checked rows.
    rows : ndarray of shape (n_checked,)
        The checked rows.
    right : ndarray of shape (n_checked,)
        Whether their labels are correct.
    truth : ndarray of shape (n_checked,)
        Their true labels, as text.
    sample : AuditSample
        The drawn rows and the strata of all rows.
    n_ignored : int
        Number of true labels that were not used, because their rows were not drawn.
    """

    frame: DataFrame
    share: ShareEstimate
    scores: NDArray[np.float64]
    confidences: NDArray[np.float64]
    rows: NDArray[np.intp]
    right: NDArray[np.bool_]
    truth: NDArray[np.str_]
    sample: AuditSample
    n_ignored: int


def audit_table(
    frame: DataFrame,
    truth: str | Mapping[int, Label],
    *,
    label: str = "label",
    score: str | None = None,
    prefix: str | None = None,
    n_rows: int = 100,
    random_state: int = 0,
    level: float = 0.95,
    decimal: str = ".",
    name: str = "table",
    random_rows: Collection[int] = (),
) -> AuditedTable:
    """Estimate the share of correct labels from rows drawn at random, and calibrate the scores.

    Only rows that :func:`ambilearn.confidence.draw_audit` draws with the same number and seed are
    used, because rows that a person chose to check are not representative. If some drawn rows have
    no true label, the strata are merged until there are five true labels per stratum. There is a
    warning if no drawn row of a stratum has a true label, and an error if at least half of the
    strata have none.

    Parameters
    ----------
    frame : DataFrame
        A table with labels, such as ``clean_table(table).frame``.
    truth : str or mapping of int to label
        The true labels of the drawn rows, by row number; or the column that has them. Missing
        where a label is not known.
    label : str, default="label"
        Column with the labels.
    score : str, optional
        Column with their scores, numbers between 0 and 1. By default ``score`` with the prefix.
    prefix : str, optional
        Prefix of the columns of scores and confidences. By default PREFIX if the column of the
        labels is ``PREFIXlabel``.
    n_rows : int, default=100
        Number of rows to draw.
    random_state : int, default=0
        Seed of the draw.
    level : float, default=0.95
        Probability that the interval covers the true share.
    decimal : {".", ","}, default="."
        Decimal sign of scores in text.
    name : str, default="table"
        Name of the table in messages.
    random_rows : collection of int, default=()
        Rows that were drawn at random in another way, such as the random rows of a served review:
        used instead of a draw.

    Returns
    -------
    AuditedTable

    See Also
    --------
    ambilearn.confidence.AuditedClassifier : The same for ``predict_proba`` of a classifier.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from ambilearn.tables import audit_table
    >>> rng = np.random.default_rng(0)
    >>> score = rng.random(1000)
    >>> frame = pd.DataFrame({"score": score, "label": "cat", "truth": "cat"})
    >>> frame.loc[rng.random(1000) > score, "truth"] = "dog"
    >>> audited = audit_table(frame, "truth", n_rows=100)
    >>> round(audited.share.low, 2), round(audited.share.high, 2)
    (0.42, 0.6)
    """
    inferred = column_prefix(label)
    score = score or f"{inferred if prefix is None else prefix}score"
    check_columns(name, frame, [label, score] + ([truth] if isinstance(truth, str) else []))
    labels = label_texts(name, frame, label)
    scores = read_scores(name, frame, score, decimal)
    if isinstance(truth, str):
        truth = dict(enumerate(parse_truth(name, frame, truth, labels)))
    known = {row: text for row, value in truth.items() if (text := _as_text(value))}
    if known and not {*known.values()} & {*labels}:
        example = shorten_repr(next(iter(known.values())))
        warn_user(
            f"{name}: no true label, such as {example}, occurs in the column {label!r}. Are these "
            "the true labels?"
        )
    sample = draw_audit(scores, n_rows, random_state)
    if random_rows:
        drawn = np.array(sorted(random_rows), dtype=np.intp)
        sample = AuditSample(drawn, np.zeros(len(scores), dtype=np.intp))
    rows = np.array([row for row in sample.rows.tolist() if row in known], dtype=np.intp)
    _check_known(name, sample, rows, len(known))
    correct = np.array([known[row] for row in rows.tolist()], dtype=np.str_)
    right = np.array(labels)[rows] == correct
    confidences = CheckedCalibration(scores[rows], right, scores)(scores)
    share = _estimate_share(right, rows, sample.merge_strata(len(rows)), confidences, level)
    final = confidences.copy()
    final[rows] = right
    if prefix is None:
        prefix = inferred if f"{inferred}confidence" in frame.columns else ""
    audited = replace_columns(frame, {f"{prefix}confidence": final.round(6)})
    n_ignored = 0 if random_rows else len(known) - len(rows)
    return AuditedTable(
        audited, share, scores, confidences, rows, right, correct, sample, n_ignored
    )


def compare_tables(
    audited: AuditedTable,
    frame: DataFrame,
    *,
    label: str = "label",
    name: str = "table",
) -> tuple[ShareEstimate, LabelComparison]:
    """Compare other labels of an audited table by the same checked rows.

    Parameters
    ----------
    audited : AuditedTable
        Result of :func:`audit_table`.
    frame : DataFrame
        The same rows in the same order, with the labels of another method.
    label : str, default="label"
        Column with the labels in both tables.
    name : str, default="table"
        Name of the other table in messages.

    Returns
    -------
    share : ShareEstimate
        Share of correct labels of the other table.
    comparison : LabelComparison
        Its difference from the share of the audited table; see
        :func:`~ambilearn.confidence.compare_labels`.

    Raises
    ------
    InvalidFileError
        If the rows are not those of the audited table.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from ambilearn.tables import audit_table, compare_tables
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"score": rng.random(500), "label": "cat", "truth": "cat"})
    >>> frame.loc[rng.random(500) < 0.3, "truth"] = "dog"
    >>> better = frame.assign(label=frame["truth"].where(rng.random(500) < 0.9, "cat"))
    >>> share, comparison = compare_tables(audit_table(frame, "truth"), better)
    >>> comparison.decided, comparison.difference > 0.15
    (True, True)
    """
    check_columns(name, frame, [label])
    written = {f"{prefix}{c}" for prefix in ("", column_prefix(label)) for c in NEW_COLUMNS}
    shared = [c for c in frame if c in audited.frame and c not in {label, *written}]
    n = len(audited.frame)
    if len(frame) != n or any(
        [*map(str, frame[c].to_list())] != [*map(str, audited.frame[c].to_list())] for c in shared
    ):
        raise InvalidFileError(
            f"{name} does not have the rows of the audited table in the same order: clean the same "
            "table with each method."
        )
    labels = np.array([label_texts(name, each, label) for each in (audited.frame, frame)])
    first, second = labels[:, audited.rows]
    comparison = compare_labels(first, second, audited.truth, n_rows=n, level=audited.share.level)
    right = second == audited.truth
    sample = audited.sample.merge_strata(len(right))
    share = _estimate_share(right, audited.rows, sample, audited.confidences, audited.share.level)
    return share, comparison


def _estimate_share(
    right: NDArray[np.bool_],
    rows: NDArray[np.intp],
    sample: AuditSample,
    confidences: NDArray[np.float64],
    level: float,
) -> ShareEstimate:
    sizes = sample.stratum_sizes
    expected = np.bincount(sample.strata, weights=confidences) / sizes
    return estimate_share_right(right, sizes, sample.strata[rows], level=level, expected=expected)


def _check_known(name: str, sample: AuditSample, rows: NDArray[np.intp], n_known: int) -> None:
    """Warn if a stratum has no row with a true label; raise an error if half of them have none."""
    unknown = np.setdiff1d(sample.strata, sample.strata[rows])
    n_strata = len(sample.stratum_sizes)
    if not len(unknown):
        return
    if 2 * len(unknown) < n_strata:
        warn_user(
            f"{name}: in {len(unknown)} of {n_strata} ranges of the score, no drawn row has a true "
            "label. The estimate for these is made from their scores and from other ranges."
        )
        return
    message = (
        f"{name}: the true label is known for {len(rows) or 'none'} of the "
        f"{pluralize(len(sample.rows), 'drawn row')}, too few for an estimate. Check the others, "
        "too."
    )
    if n_ignored := n_known - len(rows):
        message += f" {describe_ignored(n_ignored, n_known)}"
    raise InvalidFileError(message)


def describe_ignored(n_ignored: int, n_known: int) -> str:
    """Message that true labels are not used."""
    return (
        f"{n_ignored:,} of {pluralize(n_known, 'true label')} are not used, because their rows "
        "were not drawn: are --rows and --seed those of the page?"
    )


def column_prefix(label: str) -> str:
    """Prefix of the columns that `clean` wrote, by the name of the column with the labels."""
    return label.removesuffix("label") if label.endswith("label") else ""


def label_texts(name: str, frame: DataFrame, column: str) -> list[str]:
    """Labels of a column as text."""
    texts = [_as_text(cell) for cell in frame[column].to_list()]
    if "" in texts:
        raise InvalidFileError(
            f"{name}, column {column!r}, row {texts.index('')}: the label is missing. Remove the "
            "row, or name another column with --label."
        )
    return texts


def _as_text(label: Label) -> str:
    return "" if is_missing(label) else whole_number_text(normalize_label(str(label)))


def read_scores(
    name: str, frame: DataFrame, column: str, decimal: str = "."
) -> NDArray[np.float64]:
    """Scores of a column, between 0 and 1."""
    scores = np.full(len(frame), np.nan)
    for i, cell in enumerate(frame[column].to_list()):
        with suppress(TypeError, ValueError, OverflowError):
            scores[i] = float(cell.replace(decimal, ".") if isinstance(cell, str) else cell)
        if not 0 <= scores[i] <= 1:
            commas = decimal == "." and isinstance(cell, str) and "," in cell
            raise InvalidFileError(
                f"{name}, column {column!r}, row {i}: expected a score between 0 and 1, found "
                f"{shorten_repr(cell)}. Name another column with --score"
                + (", or use --decimal ',' for decimal commas." if commas else ".")
            )
    return scores
