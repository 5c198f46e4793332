"""The data sets of ``registry.toml``: entries, loaded data, and files.

A file is looked for on this machine, or downloaded with pooch; its checksum is verified.
"""

import hashlib
import os
import re
import shlex
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.files import atomic_write
from ambilearn._utils.text import requires_extra
from ambilearn._utils.types import Array
from ambilearn.candidates import CandidateSets
from ambilearn.datasets.errors import (
    ChecksumError,
    DataNotFoundError,
    NetworkError,
    UnknownDatasetError,
)

if TYPE_CHECKING:
    from _hashlib import HASH

MIRROR_VARIABLE = "AMBILEARN_MIRROR"
DATA_VARIABLE = "AMBILEARN_DATA"


@dataclass(frozen=True)
class DatasetInfo:
    """Description of a data set: one entry of ``registry.toml``."""

    name: str
    description: str
    reference: str
    format: str
    rows: int
    features: int
    labels: int
    license: str
    mean_candidates: float | None = None
    file: str = ""
    folder_url: str = ""
    checksum: str = ""
    size: int | None = None
    delimiter: str | None = None
    id_columns: int = 0
    one_hot: bool = False
    class_names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None

    @property
    def source(self) -> str:
        """Published address of the file."""
        return self.folder_url + quote(self.file) if self.file else "scikit-learn"

    @property
    def download_url(self) -> str:
        """Address to fetch from: the source, or the same file name at ``AMBILEARN_MIRROR``."""
        mirror = os.environ.get(MIRROR_VARIABLE)
        return f"{mirror.rstrip('/')}/{quote(self.file)}" if mirror else self.source


@cache
def registry() -> dict[str, DatasetInfo]:
    """All known data sets by name, in the order of the file."""
    content = tomllib.loads(files(__package__).joinpath("registry.toml").read_text("utf-8"))
    folders = {
        key: repository["raw"].format(commit=repository["commit"])
        for key, repository in content["repositories"].items()
    }
    entries = {}
    for name, entry in content["datasets"].items():
        entry["license"] = content["licenses"][entry["license"]]
        if "repository" in entry:
            entry["folder_url"] = folders[entry.pop("repository")]
        for key in ("class_names", "feature_names"):
            if key in entry:
                entry[key] = tuple(entry[key])
        entries[name] = DatasetInfo(name=name, **entry)
    return entries


def find_dataset(name: str) -> DatasetInfo:
    """Entry of a data set; ``Yahoo! News`` and ``yahoo_news`` mean ``yahoo-news``."""
    known = registry()
    plain = re.sub(r"[\s_!-]+", "-", str(name).strip().lower())
    if plain not in known:
        close = get_close_matches(plain, known, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise UnknownDatasetError(
            f"There is no data set {name!r}.{hint} The data sets are: {', '.join(known)}."
        )
    return known[plain]


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


def search_folders(data_home: str | os.PathLike[str] | None = None) -> list[Path]:
    """Folders in which a data file is looked for; a download goes to the first.

    In this order: ``data_home``, the environment variable ``AMBILEARN_DATA``, the user's cache.
    Without pooch, which provides the cache, only the first two are searched.
    """
    chosen = [data_home, os.environ.get(DATA_VARIABLE)]
    folders = [Path(folder).expanduser() for folder in chosen if folder]
    with suppress(ImportError):
        import pooch

        folders.append(Path(pooch.os_cache("ambilearn")))
    return folders


def find_file(info: DatasetInfo, data_home: str | os.PathLike[str] | None = None) -> Path | None:
    """Path of the file if it is on this machine (not yet verified), else None."""
    paths = (folder / info.file for folder in search_folders(data_home))
    return next((path for path in paths if path.is_file()), None)


def checksum(path: Path, scheme: str = "sha256") -> str:
    r"""Checksum of a file, written ``scheme:hex``.

    The scheme is ``sha256``, or ``gitblob`` for files with no other published checksum: the id
    under which git stores a file,
    :math:`\mathrm{SHA1}(\text{"blob "} \Vert \text{size} \Vert 0 \Vert \text{content})`.
    """

    def start() -> "HASH":
        if scheme == "sha256":
            return hashlib.sha256()
        header = f"blob {os.fstat(file.fileno()).st_size}\0".encode()
        return hashlib.sha1(header, usedforsecurity=False)

    if scheme not in ("sha256", "gitblob"):
        raise ValueError(f"Unknown checksum scheme {scheme!r}: use 'sha256' or 'gitblob'.")
    with open(path, "rb") as file:
        return f"{scheme}:{hashlib.file_digest(file, start).hexdigest()}"


def verify(path: Path, info: DatasetInfo) -> None:
    """Read the whole file and raise ChecksumError unless it is that of the data set."""
    found = checksum(path, info.checksum.partition(":")[0])
    if found != info.checksum:
        raise ChecksumError(
            f"{path} is not the expected file ({path.stat().st_size} bytes): its checksum is "
            f"{found}, expected {info.checksum}. Replace it with `ambilearn data fetch --force "
            f"--data-home {shlex.quote(str(path.parent))} {info.name}`, or remove the file."
        )


def fetch_file(
    info: DatasetInfo,
    data_home: str | os.PathLike[str] | None = None,
    *,
    download: bool = True,
    force: bool = False,
    timeout: float = 30.0,
) -> Path:
    """Verified path of a data file, downloaded if it is not on this machine.

    ``data_home`` is searched first, and files are downloaded to it; ``force`` downloads and
    replaces an existing file. The download fails after ``timeout`` seconds without an answer.
    Raises :class:`DataNotFoundError`, :class:`NetworkError` or :class:`ChecksumError`, or OSError
    if the file cannot be written.
    """
    path = find_file(info, data_home)
    if path is not None and not force:
        verify(path, info)
        return path
    if not download and not force:
        # There may be no folder if pooch is not installed.
        folders = ", ".join(map(str, search_folders(data_home)))
        searched = folders or f"no folder, because data_home= and {DATA_VARIABLE} are not set"
        raise DataNotFoundError(
            f"{info.file} is not on this machine (searched: {searched}). Download it with "
            f"`ambilearn data fetch {info.name}`, or copy it there from {info.source}."
        )
    return _download(info, data_home, timeout)


def _download(info: DatasetInfo, data_home: str | os.PathLike[str] | None, timeout: float) -> Path:
    with requires_extra("data", purpose=f"Downloading {info.file}"):
        import pooch
        import requests

    target = search_folders(data_home)[0] / info.file
    url = info.download_url
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with atomic_write(target) as file:
            pooch.HTTPDownloader(timeout=timeout)(url, file, None)
            file.flush()
            found = checksum(Path(file.name), info.checksum.partition(":")[0])
            if found != info.checksum:
                raise ChecksumError(
                    f"{url} did not send the expected file: {file.tell()} bytes"
                    f"{f' instead of {info.size}' if info.size else ''}, checksum {found} instead "
                    f"of {info.checksum}. Nothing was kept. Try again; if it fails again, the file "
                    "at the source is damaged or has changed."
                )
    except requests.RequestException as error:
        status = None if error.response is None else error.response.status_code
        if status in (404, 410):
            raise DataNotFoundError(
                f"{info.file} is not at {url} (status {status}). Get it elsewhere and "
                f"put it into {target.parent}, or set {MIRROR_VARIABLE} to the address of a folder "
                "that has it."
            ) from error
        cause = getattr(error.args[0] if error.args else None, "reason", error)
        why = str(cause).rpartition(": ")[2] if status is None else f"status {status}"
        raise NetworkError(
            f"{info.file} could not be fetched from {url} ({why}). Nothing was kept. Check the "
            f"network and try again, or put the file into {target.parent} yourself."
        ) from error
    return target
