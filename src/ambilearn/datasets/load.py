"""Load data sets by name."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ambilearn.datasets.errors import InvalidFileError
from ambilearn.datasets.matfile import read_mat
from ambilearn.datasets.registry import (
    Dataset,
    DatasetInfo,
    fetch_file,
    find_dataset,
    find_file,
    registry,
)


def load_dataset(
    name: str, *, data_home: str | os.PathLike[str] | None = None, download: bool = True
) -> Dataset:
    """Load a data set by name, checked and unscaled.

    The paper's real-world sets (``fg-net``, ``lost``, ``msrcv2``, ``mirflickr``,
    ``soccer-player``, ``yahoo-news``) have candidate sets and hidden true labels; its UCI sets
    (``ecoli``, ``glass``, ``vehicle``, ``steel``) and those of scikit-learn (``iris``, ``wine``,
    ``digits``) have true labels only: see :func:`make_candidates`.

    Parameters
    ----------
    name : str
        Name of the data set; see :func:`list_datasets`.
    data_home : path-like, optional
        Folder to search first, and to download to. The folder in the environment variable
        ``AMBILEARN_DATA`` and the user's cache are searched next. The checksum of a file is
        verified.
    download : bool, default=True
        Whether to download a file that is not on this machine, from its published source or from
        the address in ``AMBILEARN_MIRROR``.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetError
        One subclass for each cause: unknown data set, missing file, no network, wrong
        checksum, unexpected content. OSError if a download cannot be written.

    Examples
    --------
    >>> from ambilearn.datasets import load_dataset
    >>> data = load_dataset("digits")
    >>> data
    <Dataset digits: 1797 rows, 64 features, 10 labels>
    >>> data.y[:5]
    array([0, 1, 2, 3, 4])
    """
    return load(find_dataset(name), data_home=data_home, download=download)


def load(
    info: DatasetInfo,
    *,
    data_home: str | os.PathLike[str] | None = None,
    download: bool = True,
) -> Dataset:
    """Load the data set that an entry describes, and check it against the entry."""
    if info.format == "scikit-learn":
        data = _read_embedded(info)
    else:
        path = fetch_file(info, data_home, download=download)
        data = read_mat(path) if info.format == "mat" else _read_columns(info, path)
    _check(info, data)
    return replace(
        data,
        name=info.name,
        description=f"{info.description}. {info.reference}.",
        license=info.license,
        source=info.source,
    )


@dataclass(frozen=True)
class DatasetSummary:
    """One line of :func:`list_datasets`."""

    name: str
    n_rows: int
    n_features: int
    n_labels: int
    mean_candidates: float | None
    where: str | None

    @property
    def available(self) -> bool:
        """Whether it loads without a network connection."""
        return self.where is not None

    def __str__(self) -> str:
        candidates = f"{self.mean_candidates:.2f}" if self.mean_candidates else "–"
        return (
            f"{self.name:<14}{self.n_rows:>6} rows{self.n_features:>5} features"
            f"{self.n_labels:>4} labels {candidates:>4} candidates  {self.where or 'not here'}"
        )


def list_datasets(*, data_home: str | os.PathLike[str] | None = None) -> list[DatasetSummary]:
    """All data sets by name, with their sizes and whether they are on this machine.

    Parameters
    ----------
    data_home : path-like, optional
        Folder to search first, as in :func:`load_dataset`.

    Returns
    -------
    list of DatasetSummary
        With ``name``, ``n_rows``, ``n_features``, ``n_labels``, ``mean_candidates`` (None for
        ordinary data sets), ``where`` (a path, ``"scikit-learn"``, or None) and ``available``.

    Examples
    --------
    >>> from ambilearn.datasets import list_datasets
    >>> print(list_datasets()[-1])
    digits          1797 rows   64 features  10 labels    – candidates  scikit-learn
    """
    return [
        DatasetSummary(
            info.name,
            info.rows,
            info.features,
            info.labels,
            info.mean_candidates,
            _where(info, data_home),
        )
        for info in registry().values()
    ]


def _where(info: DatasetInfo, data_home: str | os.PathLike[str] | None) -> str | None:
    if not info.file:
        return info.source
    path = find_file(info, data_home)
    return None if path is None else str(path)


def _read_embedded(info: DatasetInfo) -> Dataset:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{info.name}")()
    return Dataset(
        X=np.asarray(bunch.data, dtype=np.float64),
        candidates=None,
        y=bunch.target_names[bunch.target],
        classes=bunch.target_names,
        name=info.name,
        feature_names=tuple(bunch.feature_names),
    )


def _read_columns(info: DatasetInfo, path: Path) -> Dataset:
    """Read a text file of numbers: ids, features, then the class as a number or one-hot columns."""
    try:
        table = np.loadtxt(path, delimiter=info.delimiter, ndmin=2)
    except ValueError as error:
        raise InvalidFileError(f"{path}: {error} {_advice(info)}") from error
    width = info.id_columns + info.features + (info.labels if info.one_hot else 1)
    if table.shape[1] != width:
        raise InvalidFileError(
            f"{path} has {table.shape[1]} columns, expected {width}. {_advice(info)}"
        )
    X, labels = np.split(table[:, info.id_columns :], [info.features], axis=1)
    codes = labels.argmax(axis=1) if info.one_hot else labels[:, 0].astype(int)
    if info.class_names is not None:
        first = 0 if info.one_hot else 1  # classes in a column are numbered from 1
        codes = np.asarray(info.class_names)[codes - first]
    return Dataset(
        X=np.ascontiguousarray(X),
        candidates=None,
        y=codes,
        classes=np.unique(codes),
        name=info.name,
        feature_names=info.feature_names,
    )


def _advice(info: DatasetInfo) -> str:
    return f"Download it again with `ambilearn data fetch {info.name} --force`."


def _check(info: DatasetInfo, data: Dataset) -> None:
    """Compare the sizes with the registry, which has those of the paper."""
    found = (*data.X.shape, len(data.classes))
    expected = (info.rows, info.features, info.labels)
    if found != expected:
        raise InvalidFileError(
            f"{info.name} has {found} rows, features and labels, expected {expected}. "
            f"{_advice(info)}"
        )
