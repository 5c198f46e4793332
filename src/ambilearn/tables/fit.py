"""Fit a method to a user's table: preprocessing, method, calibration and doubt."""

import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache
from typing import Any

import sklearn
from sklearn.pipeline import Pipeline

from ambilearn import __version__
from ambilearn._utils.rounds import listen_to_rounds
from ambilearn._utils.text import (
    RoundProgress,
    pluralize,
    readable_file_name,
    shorten_list,
    shorten_repr,
)
from ambilearn._utils.types import Estimator, Matrix, Params
from ambilearn._utils.warnings import InterruptedWarning, warn_user
from ambilearn.backend import HOST
from ambilearn.confidence.calibration import Calibration, calibrate_outputs
from ambilearn.confidence.doubt import Doubt
from ambilearn.confidence.held_out import HeldOut, hold_out
from ambilearn.confidence.missing_truth import doubt_of_outputs
from ambilearn.registry import find_method
from ambilearn.tables.candidate_table import CandidateTable
from ambilearn.tables.methods import choose_default, make_method
from ambilearn.tables.model import TableModel
from ambilearn.tables.preprocessing import fit_preprocessing
from ambilearn.tables.ranking import choose_candidates

_INTERRUPTED = Calibration("the computation was interrupted")


def fit_table(
    table: CandidateTable,
    method: str | None = None,
    params: Params | None = None,
    *,
    tune: bool = False,
    random_state: int = 0,
    device: str | None = None,
    fast: bool = False,
    progress: Callable[[str], None] = lambda text: None,
) -> TableModel:
    r"""Fit a method to a table with candidate labels.

    Parameters
    ----------
    table : CandidateTable
        Table from :func:`ambilearn.tables.read_candidate_table`.
    method : str, optional
        The method: ``"plcl"``, ``"sure"``, or another that ``ambilearn fit --help`` lists. By
        default a stack up to 10 000 rows, ``"plstacking"``; ``"plcl"`` above, for sentences, and if
        ``params`` contains parameters that only PL-CL has.
    params : mapping, optional
        Parameters of the method that differ from its defaults.
    tune : bool, default=False
        Choose the other parameters by cross-validation on the candidate sets; no true label is
        used. Tries 16 points of a grid, the defaults among them.
    random_state : int, default=0
        Seed.
    device : str, optional
        Where the method computes, as PyTorch names it, such as ``"cuda"``: with the
        exact kernel for any number of rows, unless ``params`` has landmarks. The fitted model is
        in host memory.
    fast : bool, default=False
        Do not calibrate scores. By default they are calibrated by the rows with a single candidate,
        if there are at least 20; methods without a closed form are fitted to two halves for it. See
        :func:`ambilearn.confidence.calibrate_candidates`. Ctrl-C ends these fits: the model is
        returned without calibration.
    progress : callable, optional
        Called with a status message at each step.

    Returns
    -------
    TableModel

    Warns
    -----
    UserWarning
        If a label is chosen in no row of the table, or after Ctrl-C.

    Examples
    --------
    >>> from io import StringIO
    >>> from ambilearn.tables import fit_table, read_candidate_table
    >>> file = StringIO("x,names\n1,anna|bob\n2,anna\n8,bob\n9,bob|anna\n")
    >>> table = read_candidate_table(file, candidates="names", format="csv")
    >>> model = fit_table(table, "plknn", {"n_neighbors": 1})
    >>> model.predict(table.frame[["x"]])["label"].to_list()
    ['anna', 'anna', 'bob', 'anna']
    """
    return fit_and_judge(
        table,
        method,
        params,
        tune=tune,
        random_state=random_state,
        device=device,
        fast=fast,
        judge=False,
        progress=progress,
    )[0]


def fit_and_judge(
    table: CandidateTable,
    method: str | None,
    params: Params | None,
    *,
    tune: bool,
    random_state: int,
    device: str | None,
    fast: bool,
    judge: bool,
    progress: Callable[[str], None],
) -> tuple[TableModel, Doubt | None]:
    """The model of :func:`fit_table`; with ``judge`` also the held-out doubt in the candidates.

    Calibration and doubt use the same held-out outputs.
    """
    if tune and device is not None:
        raise ValueError(
            "Parameters are selected on the CPU. Select them first without a device, then pass the "
            "chosen parameters together with the device."
        )
    if method is None:
        method = choose_default(table, params, tune=tune).name
    n_rows = 0 if device else len(table.frame)
    estimator = make_method(method, params, n_rows=n_rows, random_state=random_state)
    check_images(table, estimator)
    preprocessing, X = fit_preprocessing(table, progress)
    chosen: Params = {}
    score: float | None = None
    if tune:
        tuned = find_method(method).tuning_grid.items()
        grid = {name: values for name, values in tuned if name not in (params or {})}
        from ambilearn.tables.parameter_search import tune_parameters

        chosen, score = tune_parameters(
            estimator, grid, X, table.candidates, random_state, progress
        )
        estimator.set_params(**chosen)
    stage = f"fitting {find_method(method).name} to {_describe_rows(table, X)}"
    with listen_to_rounds(RoundProgress(stage, progress)):
        if device is None:
            estimator.fit(X, table.candidates)
        else:
            from ambilearn.tables.devices import fit_on_device

            fit_on_device(estimator, X, table.candidates, device)
    _warn_of_unchosen(table, estimator)
    calibration, doubt = Calibration("not computed with fast (--fast)"), None
    with _rows_on_device(estimator, X, device) as (fitted, rows):

        @cache
        def held_out() -> HeldOut:
            sets = HOST.support(table.candidates)
            return hold_out(fitted, rows, sets, None, random_state, progress, fitted=True)

        if not fast:
            calibration = _calibrate(estimator, table, held_out)
        interrupted = estimator._ended_early or calibration is _INTERRUPTED
        if judge:
            doubt = _find_doubt(table, held_out, random_state, interrupted)
    about = {
        **_describe_fit(table, method, estimator),
        "chosen": chosen,
        "selection score": score,
        "seed": random_state,
        "interrupted": interrupted,
    }
    pipeline = Pipeline([("preprocessing", preprocessing), ("method", estimator)])
    return TableModel(pipeline, table.features.columns, about, calibration), doubt


@contextmanager
def _rows_on_device(method: Estimator, X: Matrix, device: str | None) -> Iterator[tuple[Any, Any]]:
    """Context with the method and its rows; on a device, if there is one."""
    if device is None:
        yield method, X
        return
    from ambilearn.tables.devices import device_rows, with_own_device

    method, device = with_own_device(method, device)
    with device_rows(X, device) as rows:
        yield method, rows


def _calibrate(
    fitted: Estimator, table: CandidateTable, held_out: Callable[[], HeldOut]
) -> Calibration:
    """How scores of a method that was fitted to the table become confidences."""
    if table.judgment is not None:
        return table.judgment.calibration
    if table.votes is not None:
        return Calibration("rows with a single answer are easier than the others")
    if fitted._ended_early:
        return _INTERRUPTED
    try:
        # A person chose which rows to correct.
        corrected = list(table.corrections.labels)
        return calibrate_outputs(fitted, table.candidates, held_out, corrected)
    except KeyboardInterrupt:  # the fit is complete
        warn_user(
            f"{table.name}: {_INTERRUPTED.reason}, and the scores are not calibrated.",
            InterruptedWarning,
        )
        return _INTERRUPTED


def _find_doubt(
    table: CandidateTable,
    held_out: Callable[[], HeldOut],
    random_state: int,
    interrupted: bool,
) -> Doubt | None:
    """Doubt in the candidates; if annotators were judged, in their answers.

    Rows whose label a person chose have the score 0. For a table of two rows, which are too few,
    and after Ctrl-C, the result is None, with a warning.
    """
    if len(table.frame) < 3:
        warn_user(
            f"{table.name}: two rows are too few to compute doubt: the columns doubt and "
            "suggestion stay empty. Add rows."
        )
        return None
    if not interrupted:
        with suppress(KeyboardInterrupt):  # the fit is complete
            if table.judged is not None and table.votes is not None:
                doubt = Doubt.in_answers(table.judged, table.votes.classes, table.given)
            else:
                sets = HOST.support(table.candidates)
                doubt = doubt_of_outputs(held_out(), sets, random_state).in_sets()
            return doubt.settled(table.corrections.labels)
    warn_user(
        f"{table.name}: the computation was interrupted: doubt and suggestion stay empty.",
        InterruptedWarning,
    )
    return None


def _describe_fit(table: CandidateTable, method: str, fitted: Estimator) -> dict[str, Any]:
    return {
        **made_by(),
        "table": readable_file_name(table.name),
        "rows": len(table.frame),
        "candidates": list(table.candidate_columns),
        "corrected rows": len(table.corrections.labels),
        "method": find_method(method).command_name,
        "parameters": {k: v for k, v in fitted.get_params(deep=False).items() if _is_plain(v)},
    }


def check_images(table: CandidateTable, estimator: Estimator) -> None:
    """Raise an error if the features are images and the method cannot learn from images."""
    images = [column.name for column in table.features.columns if column.kind == "image"]
    if images and not estimator._learns_from_images:
        raise ValueError(
            f"{type(estimator).__name__} cannot learn from the images in column {images[0]!r}: use "
            "the method deepplcl, or read the table without image."
        )


def _describe_rows(table: CandidateTable, X: Matrix) -> str:
    if any(column.kind == "image" for column in table.features.columns):
        return pluralize(X.shape[0], "image")
    return f"{pluralize(X.shape[0], 'row')} and {pluralize(X.shape[1], 'feature')}"


def made_by() -> dict[str, str]:
    """Versions and time, for the description of a model."""
    return {
        "ambilearn": __version__,
        "scikit-learn": sklearn.__version__,
        "python": platform.python_version(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _warn_of_unchosen(table: CandidateTable, fitted: Estimator) -> None:
    """Name the labels that cleaning chooses in no row of the table."""
    sets = table.candidates
    chosen = set(choose_candidates(sets, table.score_candidates(fitted)).labels.tolist())
    unchosen = [label for label in sets.classes.tolist() if label not in chosen]
    if unchosen:
        warn_user(
            f"{table.name}: {pluralize(len(unchosen), 'label')} of {len(sets.classes):,} chosen in "
            f"no row: {shorten_list([shorten_repr(label) for label in unchosen])}. If a label is a "
            "spelling mistake or a code for no answer, correct the table; otherwise settle some of "
            "its rows with corrections."
        )


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))
