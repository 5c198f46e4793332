"""A method fitted to a user's table: preprocessing, classifier and schema in one object."""

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn
from sklearn.pipeline import Pipeline

from ambilearn import __version__
from ambilearn._utils.limits import row_blocks
from ambilearn._utils.progress import RoundProgress
from ambilearn._utils.rounds import listen_to_rounds
from ambilearn._utils.text import pluralize, readable_file_name, shorten_list, shorten_repr
from ambilearn._utils.types import Array, Estimator, Matrix, Params
from ambilearn._utils.warnings import InterruptedWarning, warn_user
from ambilearn.backend import HOST
from ambilearn.confidence.calibration import Calibration
from ambilearn.confidence.held_out import HeldOut, hold_out
from ambilearn.confidence.sets import calibrate_outputs
from ambilearn.datasets.frames import check_frame
from ambilearn.registry import find_method
from ambilearn.tables.candidate_table import CandidateTable
from ambilearn.tables.columns import Column, parse_features
from ambilearn.tables.methods import choose_default, make_method
from ambilearn.tables.preprocessing import find_embeddings, fit_preprocessing
from ambilearn.tables.ranking import Choices, choose_candidates, choose_labels
from ambilearn.tables.writing import append_columns

if TYPE_CHECKING:
    import pandas as pd

_INTERRUPTED = Calibration("the computation was interrupted")


@dataclass(frozen=True, eq=False, repr=False)
class TableModel:
    """A model that was fitted to a table, for tables with the same feature columns.

    Attributes
    ----------
    pipeline : sklearn.pipeline.Pipeline
        Fitted; the step ``preprocessing`` is what
        :func:`ambilearn.tables.preprocessing.make_preprocessing` builds, the step ``method`` is
        the classifier.
    columns : tuple of Column
        The feature columns that a table must have, and their kinds.
    about : dict
        Description of the model: versions, method, parameters, candidate columns, rows, time, and
        whether Ctrl-C ended it early.
    calibration : Calibration
        How scores become confidences, or why they do not.
    """

    pipeline: Pipeline
    columns: tuple[Column, ...]
    about: dict[str, Any]
    calibration: Calibration

    @property
    def method(self) -> Any:
        """The fitted classifier."""
        return self.pipeline.named_steps["method"]

    @property
    def classes(self) -> Array:
        """All labels."""
        classes: Array = self.method.classes_
        return classes

    @property
    def was_interrupted(self) -> bool:
        """Whether Ctrl-C ended the fit, or the fits for the calibration, early."""
        return bool(self.about.get("interrupted"))  # unknown in a model file of version 0.1

    def choices(
        self,
        frame: "pd.DataFrame",
        name: str = "table",
        *,
        device: str | None = None,
        decimal: str = ".",
        image_folders: Sequence[Path] = (),
    ) -> Choices:
        """Label, score, confidence and margin of each row, as :meth:`predict` takes a table."""
        check_frame(name, frame)
        features = parse_features(name, frame, self.columns, decimal, image_folders)
        if not len(features):
            return choose_labels(self.classes, np.empty((0, len(self.classes))))
        if new := self._new_categories(features):
            warn_user(
                f"{name}: categories that were not in the training table count as unknown: "
                f"{shorten_list(new, 5)}."
            )
        parts = [self._choose(features.iloc[rows], device) for rows in self._blocks(len(features))]
        return Choices(*map(np.concatenate, zip(*parts, strict=True)))

    def _new_categories(self, features: "pd.DataFrame") -> list[str]:
        """Columns with categories that were not in the training table, and these categories."""
        columns = [column.name for column in self.columns if column.kind == "category"]
        if not columns:
            return []
        encoder = self.pipeline[0].named_transformers_["categories"][-1]
        found = []
        for column, known in zip(columns, encoder.categories_, strict=True):
            new = sorted({*features[column].dropna()} - {*known})
            if new:
                names = shorten_list([shorten_repr(category) for category in new], 3)
                found.append(f"{len(new)} in column {column!r} ({names})")
        return found

    def _blocks(self, n_rows: int) -> Iterable[slice]:
        """Rows to label at once; all images, so that a message has the right number of a row."""
        if any(column.kind == "image" for column in self.columns):
            return [slice(0, n_rows)]
        return row_blocks(n_rows, len(self.classes))

    def _choose(self, features: "pd.DataFrame", device: str | None) -> Choices:
        X = self.pipeline[:-1].transform(features)
        if device is None:
            scores = self.method.predict_proba(X)
        else:
            from ambilearn.tables.devices import predict_proba_on_device

            scores = predict_proba_on_device(self.method, X, device)
        return choose_labels(self.classes, scores, self.calibration.scale(scores))

    def use_models(self, embed: Mapping[str, str]) -> None:
        """Use other names or folders of pretrained networks, for columns that have one.

        The weights must be the same; :meth:`predict` checks their hash.
        """
        found = find_embeddings(self.pipeline[0], self.columns)
        for column, model in embed.items():
            if column not in found:
                names = shorten_list([*map(repr, found)], 5) or "none"
                raise ValueError(
                    f"Column {column!r} has no pretrained network in this model; those that have "
                    f"one: {names}."
                )
            found[column].set_params(model=model)

    def predict(
        self,
        frame: "pd.DataFrame",
        name: str = "table",
        *,
        prefix: str = "",
        device: str | None = None,
        decimal: str = ".",
        image_folders: Sequence[Path] = (),
    ) -> "pd.DataFrame":
        """The table with ``label``, ``score`` and ``confidence`` at its end.

        ``confidence`` is empty if the scores are not calibrated; see ``calibration.reason``.

        Parameters
        ----------
        frame : DataFrame
            A table with the feature columns of the model; others are passed through.
        name : str, default="table"
            Its name, for messages.
        prefix : str, default=""
            Prefix of the names of the new columns.
        device : str, optional
            Where to compute, as PyTorch names it, such as ``"cuda"``.
        decimal : {".", ","}, default="."
            Decimal sign of numbers in text.
        image_folders : sequence of Path, default=()
            Folders besides that of the table from which images are allowed.

        Returns
        -------
        DataFrame
        """
        choices = self.choices(
            frame, name, device=device, decimal=decimal, image_folders=image_folders
        )
        return append_columns(name, frame, choice_columns(choices, prefix))

    def __repr__(self) -> str:
        names = ", ".join(column.name for column in self.columns)
        labels = pluralize(len(self.classes), "label")
        return f"<TableModel {self.about['method']}: {names} → {labels}>"


def choice_columns(choices: Choices, prefix: str = "") -> dict[str, Any]:
    """Columns of a table for labels, scores and confidences, numbers to six digits."""
    return {
        f"{prefix}label": choices.labels,
        f"{prefix}score": choices.scores.round(6),
        f"{prefix}confidence": choices.confidences.round(6),
    }


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
    model, _ = fit_with_outputs(
        table,
        method,
        params,
        tune=tune,
        random_state=random_state,
        device=device,
        fast=fast,
        progress=progress,
    )
    return model


def fit_with_outputs(
    table: CandidateTable,
    method: str | None,
    params: Params | None,
    *,
    tune: bool,
    random_state: int,
    device: str | None,
    fast: bool,
    progress: Callable[[str], None],
) -> tuple[TableModel, HeldOut | None]:
    """The model of :func:`fit_table`, and the held-out outputs if its calibration needs them."""
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
    calibration, held_out = Calibration("calibration is switched off"), None
    if not fast:
        calibration, held_out = _calibrate(estimator, X, table, random_state, device, progress)
    about = {
        **_describe_fit(table, method, estimator),
        "chosen": chosen,
        "selection score": score,
        "seed": random_state,
        "interrupted": estimator._ended_early or calibration is _INTERRUPTED,
    }
    pipeline = Pipeline([("preprocessing", preprocessing), ("method", estimator)])
    return TableModel(pipeline, table.features.columns, about, calibration), held_out


def _calibrate(
    fitted: Estimator,
    X: Matrix,
    table: CandidateTable,
    random_state: int,
    device: str | None,
    progress: Callable[[str], None],
) -> tuple[Calibration, HeldOut | None]:
    """How scores of a method that was fitted to the table become confidences, and its outputs."""
    if table.judgment is not None:
        return table.judgment.calibration, None
    if table.votes is not None:
        return Calibration("rows with a single answer are easier than the others"), None
    if fitted._ended_early:
        return _INTERRUPTED, None
    found: list[HeldOut] = []
    sets = HOST.support(table.candidates)
    try:
        with rows_on_device(fitted, X, device) as (method, rows):

            def held_out() -> HeldOut:
                found.append(
                    hold_out(method, rows, sets, None, random_state, progress, fitted=True)
                )
                return found[0]

            # A person chose which rows to correct.
            corrected = list(table.corrections.labels)
            calibration = calibrate_outputs(method, sets.sets, held_out, corrected)
    except KeyboardInterrupt:  # the fit is complete
        warn_user(
            f"{table.name}: {_INTERRUPTED.reason}, and the scores are not calibrated.",
            InterruptedWarning,
        )
        return _INTERRUPTED, None
    return calibration, found[0] if found and device is None else None


@contextmanager
def rows_on_device(method: Estimator, X: Matrix, device: str | None) -> Iterator[tuple[Any, Any]]:
    """Context with the method and its rows; on a device, if there is one."""
    if device is None:
        yield method, X
        return
    from ambilearn.tables.devices import device_rows, with_own_device

    method, device = with_own_device(method, device)
    with device_rows(X, device) as rows:
        yield method, rows


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
