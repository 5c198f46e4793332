"""One label for each row of a table with candidates, and the rows to look at first."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.text import html_table
from ambilearn._utils.types import DataFrame, Params
from ambilearn.confidence.doubt import Doubt
from ambilearn.tables.candidate_table import CandidateTable
from ambilearn.tables.description import NEW_COLUMNS
from ambilearn.tables.fit import fit_and_judge
from ambilearn.tables.model import TableModel
from ambilearn.tables.ranking import Choices, choose_candidates, review_order
from ambilearn.tables.writing import append_columns


@dataclass(frozen=True, eq=False, repr=False)
class LabeledTable:
    """A table with a label for each row.

    Attributes
    ----------
    table : CandidateTable
        The table that was cleaned.
    choices : Choices
        Label, score, confidence and margin of each row, in full precision.
    pair_scores : ndarray of shape (n_pairs,)
        Score of every candidate, in the order of ``table.candidates``: row *i* has the entries
        ``indptr[i]:indptr[i + 1]``.
    order : ndarray of shape (n_rows,)
        Rows in the order of :func:`~ambilearn.tables.ranking.review_order`: the first is the row to
        look at first.
    frame : DataFrame
        The table with six columns at its end: ``label``, its ``score``, its ``confidence`` (the
        calibrated probability that it is correct; empty if scores are not calibrated), ``doubt``
        (the probability that no candidate is correct), the most likely other label as
        ``suggestion`` where ``doubt`` is above one half, and ``review_rank``, 1 for the row to look
        at first: that with the largest probability of a wrong label.
    doubt : Doubt or None
        Held-out doubt in the candidates. None with ``fast`` or ``trust_candidates``, and the table
        has no columns of it;
        or if there are only two rows, or after Ctrl-C, and these columns are empty.
    """

    table: CandidateTable
    choices: Choices
    pair_scores: NDArray[np.float64]
    order: NDArray[np.intp]
    frame: DataFrame
    doubt: Doubt | None = None

    def __repr__(self) -> str:
        return repr(self.table).replace("CandidateTable", type(self).__name__, 1)

    def _repr_html_(self) -> str:
        """The rows to look at first, for a notebook."""
        table = self.table
        new = self.frame.columns[len(table.frame.columns) :]
        columns = [*table.candidate_columns, *new]
        first = self.frame.iloc[self.order][columns].itertuples(name=None)
        return html_table(repr(self).strip("<>"), ["row", *columns], first)

    def candidates(self, row: int) -> list[tuple[Any, float]]:
        """Candidates of a row with their scores, the largest first."""
        sets = self.table.candidates
        pairs = slice(sets.indptr[row], sets.indptr[row + 1])
        labels = sets.classes[sets.labels[pairs]].tolist()
        scores = self.pair_scores[pairs].tolist()
        return sorted(zip(labels, scores, strict=True), key=lambda pair: -pair[1])


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CleanedTable(LabeledTable):
    """A table with a label for each row, and the model that chose the labels.

    It has the attributes ``table``, ``choices``, ``pair_scores``, ``order``, ``frame`` and
    ``doubt`` of a ``LabeledTable``, and the model.

    Attributes
    ----------
    model : TableModel
        The fitted model; it labels further tables. ``model.calibration.cleaned`` has the confidence
        of every candidate, if scores are calibrated.
    """

    model: TableModel


def clean_table(
    table: CandidateTable,
    method: str | None = None,
    params: Params | None = None,
    *,
    tune: bool = False,
    random_state: int = 0,
    fast: bool = False,
    trust_candidates: bool = False,
    device: str | None = None,
    prefix: str | None = "",
    progress: Callable[[str], None] = lambda text: None,
) -> CleanedTable:
    r"""Choose one of the candidates of each row, from the candidates of similar rows.

    Parameters
    ----------
    table : CandidateTable
        Table from :func:`ambilearn.tables.read_candidate_table`. Corrected rows keep the label that
        a person chose.
    method, params, tune, random_state, device, progress
        As for :func:`ambilearn.tables.fit_table`.
    fast : bool, default=False
        Labels and scores only: scores are not calibrated, and there are no columns ``doubt`` and
        ``suggestion``. By default, rows are looked for whose true label is probably not a
        candidate; see :func:`ambilearn.find_doubtful`. PL-CL, PL-AGGD, LALO, SURE, PLCP, PL-KNN,
        stacks and votes need less than the time of a fit for it; other methods are fitted to each
        half of the rows. Ctrl-C ends these fits, and those for the confidence: their columns stay
        empty, with a warning.
    trust_candidates : bool, default=False
        Whether the true label of every row is a candidate: doubt is zero, and there are no columns
        ``doubt`` and ``suggestion``. Rows are in the order of the probability that another
        candidate is correct.
    prefix : str or None, default=""
        Prefix of the names of the new columns; None if no columns are to be added.

    Returns
    -------
    CleanedTable

    Examples
    --------
    >>> from io import StringIO
    >>> from ambilearn.tables import clean_table, read_candidate_table
    >>> file = StringIO("x,names\n1,anna|bob\n2,anna\n8,bob\n9,bob|anna\n")
    >>> table = read_candidate_table(file, candidates="names", format="csv")
    >>> cleaned = clean_table(table, params={"n_neighbors": 1})
    >>> cleaned.frame["label"].to_list()
    ['anna', 'anna', 'bob', 'bob']
    >>> [label for label, score in cleaned.candidates(3)]
    ['bob', 'anna']
    """
    if prefix is not None:
        check_new_columns(table, prefix)  # before the fit
    with_doubt = not (fast or trust_candidates)
    model, found = fit_and_judge(
        table,
        method,
        params,
        tune=tune,
        random_state=random_state,
        device=device,
        fast=fast,
        judge=with_doubt or (not fast and len(table.frame) > 2),
        progress=progress,
    )
    scores = table.score_candidates(model.pipeline[-1])
    confidences = model.calibration.cleaned
    if found is not None and trust_candidates:
        found = found.settled(range(len(table.frame)))
    choices = choose_candidates(table.candidates, scores, confidences, table.judged)
    if found is not None and table.judged is None:
        choices = choices._replace(confidences=(1 - found.score) * choices.confidences)
    results = append_results(table, choices, found, prefix, with_doubt=with_doubt)
    shown = found if with_doubt else None
    return CleanedTable(table, choices, scores, *results, shown, model=model)


def check_new_columns(table: CandidateTable, prefix: str = "") -> None:
    """Raise an error if the table already has a column that cleaning adds."""
    append_columns(table.name, table.frame, {f"{prefix}{name}": None for name in NEW_COLUMNS})


def append_results(
    table: CandidateTable,
    choices: Choices,
    doubt: Doubt | None,
    prefix: str | None,
    *,
    with_doubt: bool = True,
) -> tuple[NDArray[np.intp], DataFrame]:
    """Rows in the order of their review, and the table with the columns of its result at the end.

    Their names begin with ``prefix``; if it is None, there are no columns. If ``doubt`` is None,
    its columns are empty; without ``with_doubt`` there are none.
    """
    order = review_order(choices, doubt, table.corrections.labels)
    if prefix is None:
        return order, table.frame
    columns = choices.columns(prefix)
    if with_doubt:
        columns[f"{prefix}doubt"], columns[f"{prefix}suggestion"] = _doubt_columns(doubt)
    rank = np.empty(len(order), dtype=np.intp)
    rank[order] = np.arange(1, len(order) + 1)
    columns[f"{prefix}review_rank"] = rank
    return order, append_columns(table.name, table.frame, columns)


def _doubt_columns(doubt: Doubt | None) -> tuple[Any, Any]:
    """Doubt to six digits, and the suggested label where it is above one half."""
    if doubt is None:
        return np.nan, None
    return doubt.score.round(6), doubt.suggestion
