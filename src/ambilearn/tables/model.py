"""A method fitted to a user's table: preprocessing, classifier and schema in one object."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ambilearn._utils.limits import row_blocks
from ambilearn._utils.text import pluralize, shorten_list, shorten_repr
from ambilearn._utils.types import Array, DataFrame
from ambilearn._utils.warnings import warn_user
from ambilearn.confidence.calibration import Calibration
from ambilearn.datasets.advice import check_frame
from ambilearn.datasets.frames import check_unique_columns
from ambilearn.tables.columns import Column, parse_features
from ambilearn.tables.preprocessing import find_embeddings
from ambilearn.tables.ranking import Choices, choose_labels
from ambilearn.tables.writing import append_columns


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
        return self.method.classes_

    def choices(
        self,
        frame: DataFrame,
        name: str = "table",
        *,
        device: str | None = None,
        decimal: str = ".",
        image_folders: Sequence[Path] = (),
    ) -> Choices:
        """Label, score, confidence and margin of each row, as :meth:`predict` takes a table."""
        check_frame(name, frame)
        check_unique_columns(name, frame)
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

    def _new_categories(self, features: DataFrame) -> list[str]:
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

    def _choose(self, features: DataFrame, device: str | None) -> Choices:
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
        frame: DataFrame,
        name: str = "table",
        *,
        prefix: str = "",
        device: str | None = None,
        decimal: str = ".",
        image_folders: Sequence[Path] = (),
    ) -> DataFrame:
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
        return append_columns(name, frame, choices.columns(prefix))

    def __repr__(self) -> str:
        names = ", ".join(column.name for column in self.columns)
        labels = pluralize(len(self.classes), "label")
        return f"<TableModel {self.about['method']}: {names} → {labels}>"
