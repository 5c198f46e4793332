"""Estimate the reliability of annotators before a method learns from their answers."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline

from ambilearn._utils.rounds import listen_to_rounds
from ambilearn._utils.text import RoundProgress, pluralize
from ambilearn._utils.types import Params
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.candidates.sets import pair_rows
from ambilearn.confidence.calibration import Calibration
from ambilearn.confidence.doubt import Doubt
from ambilearn.crowd.classifier import CrowdClassifier
from ambilearn.crowd.report import AnnotatorReport, report_annotators
from ambilearn.crowd.skills import dawid_skene
from ambilearn.metrics.checks import find_positions
from ambilearn.registry import find_method
from ambilearn.tables.candidate_table import CandidateTable, Judgment
from ambilearn.tables.clean import LabeledTable, append_results, check_new_columns
from ambilearn.tables.corrections import apply_corrections
from ambilearn.tables.methods import choose_default, make_method
from ambilearn.tables.preprocessing import fit_preprocessing
from ambilearn.tables.ranking import choose_candidates

_LEAST_SHARE = 0.01  # of the best label: less likely labels are no candidates
_CHOSEN_BY_ANSWERS = ("reg", "n_neighbors")  # one parameter, the first of these that a method has


@dataclass(frozen=True, eq=False)
class JudgedTable:
    """A table, and the estimated reliability of its annotators.

    Attributes
    ----------
    table : CandidateTable
        The table, with the confidences from annotators and features as weights of the candidates.
        They may include a label that is in no answer.
    annotators : AnnotatorReport
        Answers, agreement with the result, and confusions of each annotator.
    feature_trust : float
        Weight of the features, from 0 to 1.
    chosen : dict
        Parameters of the method that were chosen by the answers.
    """

    table: CandidateTable
    annotators: AnnotatorReport
    feature_trust: float
    chosen: Params


def judge_table(
    table: CandidateTable,
    method: str | None = None,
    params: Params | None = None,
    *,
    tune: bool = False,
    random_state: int = 0,
    new_rows: bool = True,
    progress: Callable[[str], None] = lambda text: None,
) -> JudgedTable:
    r"""Estimate the reliability of annotators and the labels of rows, with the features.

    Parameters
    ----------
    table : CandidateTable
        A table with ``votes``, from several columns or in long form. Checked rows keep the label
        that a person has set.
    method, params, random_state, progress
        As for :func:`ambilearn.tables.fit_table`.
    tune : bool, default=False
        Choose ``reg`` (of neighbor methods ``n_neighbors``) by how well the features then
        predict the answers.
    new_rows : bool, default=True
        Whether confidences of new rows are calibrated, too. This takes fits of PL-CL, PL-AGGD,
        LALO, SURE or PLCP to two halves, and none of other methods.

    Returns
    -------
    JudgedTable
        Pass its ``table`` to :func:`ambilearn.tables.clean_table` or
        :func:`ambilearn.tables.fit_table`.

    See Also
    --------
    ambilearn.crowd.CrowdClassifier : The method.

    Examples
    --------
    >>> from io import StringIO
    >>> from ambilearn.tables import clean_table, judge_table, read_candidate_table
    >>> rows = ["1,a,a,b", "2,a,a,b", "3,a,a,a", "7,b,b,a", "8,b,b,b", "9,b,a,b"]
    >>> file = StringIO("\n".join(["x,ann,ben,eve", *rows]))
    >>> table = read_candidate_table(file, candidates=["ann", "ben", "eve"], format="csv")
    >>> judged = judge_table(table, params={"n_neighbors": 2})
    >>> judged.annotators.agreement.round(2).tolist()
    [1.0, 0.83, 0.5]
    >>> cleaned = clean_table(judged.table, params={"n_neighbors": 2})
    >>> cleaned.frame["label"].to_list()
    ['a', 'a', 'a', 'b', 'b', 'b']
    """
    votes = table.votes
    if votes is None:
        raise ValueError(
            f"{table.name} has no votes to judge: name the columns of several annotators as "
            "candidates, or read answers in long form with features_from."
        )
    if method is None:
        method = choose_default(table, params, tune=tune).name
    estimator = make_method(method, params, n_rows=len(table.frame), random_state=random_state)
    preprocessing, X = fit_preprocessing(table, progress)
    stage = (
        f"judging {pluralize(len(votes.annotators), 'annotator')} by "
        f"{pluralize(votes.n_answers, 'answer')} and {pluralize(X.shape[1], 'feature')}"
    )
    grid = _tuning_grid(method, params or {}) if tune else {}
    crowd = CrowdClassifier(estimator, param_grid=grid, random_state=random_state)
    with listen_to_rounds(RoundProgress(stage, progress, only=CrowdClassifier.__name__)):
        chosen = crowd._judge(X, votes, table.corrections.labels)  # fit_table fits to the result
    if new_rows:
        progress("calibrating the confidences of new rows")
        # A model that was fitted without a text does not know all of its terms.
        if any(column.kind == "text" for column in table.features.columns):
            X, chosen = table.X, Pipeline([("preprocessing", preprocessing), ("method", chosen)])
        crowd._calibrate(chosen, X, votes)
    sets = apply_corrections(crowd.candidates_, table.corrections)
    calibration = Calibration(
        "by the annotators' answers and the features",
        crowd.inverse_temperature_ if new_rows else None,
        of_logarithms=True,
        cleaned=_candidate_confidences(
            crowd.label_distributions_, crowd.classes_, sets, list(table.corrections.labels)
        ),
    )
    judgment = Judgment(table.candidates, crowd.label_distributions_, calibration)
    judged = replace(table, candidates=sets, judgment=judgment)
    return JudgedTable(judged, crowd.annotators_, crowd.feature_trust_, crowd.best_params_)


def clean_votes(
    table: CandidateTable, *, trust_candidates: bool = False, prefix: str = ""
) -> tuple[LabeledTable, AnnotatorReport]:
    """Choose a label for each row by the answers alone, with the model of Dawid and Skene.

    The probabilities of the model are scores without calibration. Checked rows keep the label that
    a person has set. ``trust_candidates`` and ``prefix`` are those of
    :func:`ambilearn.tables.clean_table`.
    """
    votes = table.votes
    if votes is None:
        raise ValueError(f"{table.name} has no votes to judge.")
    check_new_columns(table, prefix)
    settled = table.corrections.labels
    posterior = dawid_skene(votes)
    column = {label: j for j, label in enumerate(votes.classes.tolist())}
    for row, label in settled.items():
        if label in column:
            posterior[row] = np.arange(len(column)) == column[label]
    kept = posterior >= _LEAST_SHARE * posterior.max(axis=1, keepdims=True)
    sets = as_candidates(sparse.csr_array(np.where(kept, posterior, 0.0)), classes=votes.classes)
    sets = apply_corrections(sets, table.corrections)
    calibration = Calibration("Dawid and Skene's model takes the annotators as independent")
    judgment = Judgment(table.candidates, posterior, calibration)
    judged = replace(table, candidates=sets, judgment=judgment)
    scores = _candidate_confidences(posterior, votes.classes, sets, list(settled))
    choices = choose_candidates(sets, scores, judged=posterior)
    doubt = None
    if not trust_candidates:
        answers = Doubt.in_answers(posterior, votes.classes, judged.given)
        doubt = answers.settled(settled)
    results = append_results(table, choices, doubt, prefix, with_doubt=not trust_candidates)
    cleaned = LabeledTable(judged, choices, scores, *results, doubt)
    return cleaned, report_annotators(votes, posterior)


def _candidate_confidences(
    of_labels: NDArray[np.float64],
    classes: NDArray[Any],
    sets: CandidateSets,
    settled: list[int],
) -> NDArray[np.float64]:
    """Confidence of every candidate; 1 in rows that a person has settled."""
    rows = pair_rows(sets)
    columns = find_positions(sets.classes, classes)
    confidences: NDArray[np.float64] = of_labels[rows, columns[sets.labels]]
    confidences[np.isin(rows, settled)] = 1.0
    return confidences


def _tuning_grid(method: str, params: Params) -> dict[str, Any]:
    """Values of the one parameter that the answers can choose."""
    tuned = find_method(method).tuning_grid
    names = [name for name in _CHOSEN_BY_ANSWERS if name in tuned and name not in params]
    if not names:
        raise ValueError(
            "There is nothing left to choose: leave out --tune, or give fewer parameters."
        )
    return {names[0]: tuned[names[0]]}
