"""The record that load_dataset returns."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.types import Array
from ambilearn.candidates import CandidateSets


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Features, candidate sets and, if known, the hidden true labels.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features), float64
        Features as in the file.
    candidates : CandidateSets or None
        Candidate sets, the ``y`` of every estimator. None for ordinary data sets: generate them
        with :func:`make_candidates`.
    y : ndarray of shape (n_rows,) or None
        Hidden true labels, only for evaluation.
    classes : ndarray of shape (n_labels,)
        All labels in sorted order, whether or not they occur.
    name, description, license, source : str
        Name, description, license and source of the data.
    feature_names : tuple of str or None
        Names of the columns of X, if known.

    Examples
    --------
    >>> from ambilearn.datasets import load_dataset
    >>> data = load_dataset("iris")
    >>> data
    <Dataset iris: 150 rows, 4 features, 3 labels>
    >>> data.feature_names[0]
    'sepal length (cm)'
    """

    X: NDArray[np.float64]
    candidates: CandidateSets | None
    y: Array | None
    classes: Array
    name: str
    description: str = ""
    license: str = ""
    source: str = ""
    feature_names: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        n_rows, n_features = self.X.shape
        text = f"{self.name}: {n_rows} rows, {n_features} features, {len(self.classes)} labels"
        if self.candidates is not None:
            text += f", {self.candidates.sizes.mean():.2f} candidates per row"
        return f"<Dataset {text}>"
