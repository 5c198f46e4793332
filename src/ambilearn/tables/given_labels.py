"""Correct the labels of a table that has one label per row, some of which are wrong."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.text import pluralize
from ambilearn._utils.types import Array, Params
from ambilearn.candidates import as_candidates
from ambilearn.confidence.doubt import LabelDoubt
from ambilearn.confidence.find_doubtful import find_doubtful
from ambilearn.datasets.errors import InvalidFileError
from ambilearn.datasets.label_cells import parse_labels
from ambilearn.methods.sure import SURE
from ambilearn.tables.candidate_table import CandidateTable
from ambilearn.tables.clean import LabeledTable, append_results, check_new_columns
from ambilearn.tables.devices import device_rows
from ambilearn.tables.fit import check_images
from ambilearn.tables.methods import make_method
from ambilearn.tables.preprocessing import fit_preprocessing
from ambilearn.tables.ranking import Choices, choose_labels

_MIN_ROWS = 3


@dataclass(frozen=True, eq=False, kw_only=True)
class CorrectedTable(LabeledTable):
    """A table with corrected labels.

    It has the attributes ``table``, ``choices``, ``pair_scores``, ``order``, ``frame`` and
    ``doubt`` of a ``LabeledTable``, and the labels in the table. ``table`` has the corrected
    label of each row as its only candidate, for :func:`ambilearn.tables.fit_table`. Score and
    confidence are both the probability that the corrected label is correct; 0 and empty if the
    features do not predict the given labels better than chance, and no label is changed. The
    column ``doubt`` is the probability that the given label is wrong.

    Attributes
    ----------
    given : ndarray of shape (n_rows,)
        The labels in the table, without corrections by a person.
    doubt : LabelDoubt
        Which labels were changed, and the probabilities of all labels.
    """

    given: Array
    doubt: LabelDoubt

    def to_review(self) -> tuple[CandidateTable, NDArray[np.float64]]:
        """The table for the review page, and the probability of each of its candidates.

        The candidates of a doubtful row are the given label and the suggestion.

        Returns
        -------
        table : CandidateTable
        probabilities : ndarray of shape (n_pairs,)
        """
        rows = [{label} for label in self.doubt.label.tolist()]
        for i in np.flatnonzero(self.doubt.doubtful):
            rows[i] = {self.given[i], self.doubt.suggestion[i]}
        sets = as_candidates(rows, classes=self.doubt.classes)
        table = replace(self.table, candidates=sets)
        return table, np.nan_to_num(self.doubt.probabilities[sets.to_mask()])


def correct_table(
    table: CandidateTable,
    method: str | None = None,
    params: Params | None = None,
    *,
    random_state: int = 0,
    device: str | None = None,
    prefix: str | None = "",
    progress: Callable[[str], None] = lambda text: None,
) -> CorrectedTable:
    r"""Correct the labels of a table by the labels of similar rows, without a fit.

    Parameters
    ----------
    table : CandidateTable
        Table from :func:`ambilearn.tables.read_candidate_table` with ``given_label``. Labels chosen
        by a person (``corrections``) are kept.
    method : str, optional
        Method whose held-out outputs are used. By default, two ridge classifiers; see
        :func:`ambilearn.find_doubtful`.
    params : mapping, optional
        Parameters of the method that differ from its defaults.
    random_state : int, default=0
        Seed.
    device : str, optional
        Device to compute on, as PyTorch names it.
    prefix : str or None, default=""
        Prefix of the names of the new columns; None if no columns are to be added.
    progress : callable, optional
        Called with a status message at each step.

    Returns
    -------
    CorrectedTable

    Examples
    --------
    >>> from io import StringIO
    >>> from ambilearn.tables import correct_table, read_candidate_table
    >>> rows = [f"{x},{'low' if x < 10 else 'high'}" for x in range(20)]
    >>> file = StringIO("\n".join(["x,level", *rows, "3.5,high"]))
    >>> table = read_candidate_table(file, given_label="level", format="csv")
    >>> corrected = correct_table(table)
    >>> corrected.frame.loc[20, ["level", "label"]].to_list()
    ['high', 'low']
    >>> int(corrected.doubt.change.sum())
    1
    """
    if prefix is not None:
        check_new_columns(table, prefix)
    _check_labels(table)
    if method is None and params:
        raise ValueError(
            f"Parameters need a method: {', '.join(params)} cannot be set without one (--method)."
        )
    estimator = None
    if method is not None:
        n_rows = 0 if device else len(table.frame)
        estimator = make_method(method, params, n_rows=n_rows, random_state=random_state)
    check_images(table, SURE() if estimator is None else estimator)
    _, X = fit_preprocessing(table, progress)
    with device_rows(X, device) as rows:
        found: Any = find_doubtful(
            rows,
            table.candidates,
            estimator=estimator,
            random_state=random_state,
            progress=progress,
        )
    doubt = _keep_settled(found, table)
    choices = _choose(doubt)
    results = append_results(table, choices, doubt, prefix)
    given = _given_labels(table)
    corrected = replace(table, candidates=as_candidates(doubt.label, classes=doubt.classes))
    return CorrectedTable(corrected, choices, choices.scores, *results, doubt=doubt, given=given)


def _check_labels(table: CandidateTable) -> None:
    several = np.flatnonzero(table.candidates.sizes > 1)
    if len(several):
        raise InvalidFileError(
            f"{table.name}, row {several[0]}: {table.texts[several[0]]!r} is more than one label "
            f"({pluralize(len(several), 'such row')}). For candidate labels use candidates "
            "(--candidates); if the separator is part of the label, use another sep (--sep)."
        )
    if len(table.frame) < _MIN_ROWS:
        raise InvalidFileError(
            f"{table.name} has {pluralize(len(table.frame), 'row')}: labels are compared with "
            f"those of other rows, which needs at least {_MIN_ROWS} rows."
        )


def _given_labels(table: CandidateTable) -> Array:
    """The labels in the table; the only candidate of a corrected row is another one."""
    given = table.candidates.classes[table.candidates.labels].astype(object)
    cells = table.frame[table.candidate_columns[0]].to_list()
    for i in table.corrections.labels:
        labels = parse_labels(cells[i], table.sep, i)
        given[i] = labels.pop() if len(labels) == 1 else table.texts[i]
    return given


def _keep_settled(doubt: LabelDoubt, table: CandidateTable) -> LabelDoubt:
    """Doubt in which the labels that a person has chosen are certain."""
    settled = list(table.corrections.labels)
    if not settled:
        return doubt
    label, probabilities = doubt.label.copy(), doubt.probabilities.copy()
    label[settled] = table.candidates.classes[table.candidates.labels[settled]]
    probabilities[settled] = label[settled, None] == doubt.classes
    return replace(doubt.settled(settled), label=label, probabilities=probabilities)


def _choose(doubt: LabelDoubt) -> Choices:
    """The corrected labels, with a negative margin where the kept label is less likely."""
    scores = np.nan_to_num(doubt.confidence)  # always filled
    assert doubt.classes is not None
    top = choose_labels(doubt.classes, np.nan_to_num(doubt.probabilities))
    margins = np.where(top.labels == doubt.label, top.margins, scores - top.scores)
    return Choices(doubt.label, scores, doubt.confidence, margins)
