"""Find a data file on this machine, or download it. Its checksum is verified."""

import errno
import os
import shlex
from pathlib import Path
from typing import Any, BinaryIO

from ambilearn._utils.files import atomic_write
from ambilearn._utils.optional import requires_extra
from ambilearn.datasets.checksum import checksum, remember_verified, verify_once
from ambilearn.datasets.errors import (
    ChecksumError,
    DataNotFoundError,
    DiskFullError,
    FolderNotWritableError,
    NetworkError,
)
from ambilearn.datasets.folders import DATA_VARIABLE, search_folders
from ambilearn.datasets.registry import MIRROR_VARIABLE, DatasetInfo

_UNKNOWN_SIZE_LIMIT = 2**31  # bytes; more than ten times the largest known data set


def find_file(info: DatasetInfo, data_home: str | os.PathLike[str] | None = None) -> Path | None:
    """Path of the file if it is on this machine (not yet verified), else None."""
    paths = (folder / info.file for folder in search_folders(data_home))
    return next((path for path in paths if path.is_file()), None)


def fetch_file(
    info: DatasetInfo,
    data_home: str | os.PathLike[str] | None = None,
    *,
    download: bool = True,
    force: bool = False,
    progress: Any = None,
    timeout: float = 30.0,
) -> Path:
    """Verified path of a data file, downloaded if it is not on this machine.

    ``data_home`` is searched first, and files are downloaded to it; ``force`` downloads and
    replaces an existing file. ``progress`` is a progress bar for pooch: attribute ``total``;
    methods ``update``, ``reset``, ``close``. The download fails after ``timeout`` seconds without
    an answer. Each cause has its class of :class:`DatasetError`: :class:`DataNotFoundError`,
    :class:`NetworkError`, :class:`ChecksumError`, :class:`DiskFullError`,
    :class:`FolderNotWritableError`.
    """
    path = find_file(info, data_home)
    if path is not None and not force:
        verify_once(path, info.checksum, advice=repair_advice(info, path))
        return path
    if not download and not force:
        raise DataNotFoundError(
            f"{info.file} is not on this machine (searched: {_searched(data_home)}). Download it "
            f"with `ambilearn data fetch {info.name}`, or copy it there from {info.source}."
        )
    return _download(info, data_home, progress, timeout)


def repair_advice(info: DatasetInfo, path: Path) -> str:
    """What to do with a file that has a wrong checksum."""
    return (
        "Replace it with `ambilearn data fetch --force --data-home "
        f"{shlex.quote(str(path.parent))} {info.name}`, or remove the file."
    )


def _download(
    info: DatasetInfo, data_home: str | os.PathLike[str] | None, progress: Any, timeout: float
) -> Path:
    with requires_extra("data", purpose=f"Downloading {info.file}"):
        import pooch
        import requests

    target = search_folders(data_home)[0] / info.file
    url = info.download_url
    limited = _LimitedFile(info.size or _UNKNOWN_SIZE_LIMIT)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(target) as file:
            limited.file = file
            downloader = pooch.HTTPDownloader(
                progressbar=progress or False, chunk_size=1 << 16, timeout=timeout
            )
            downloader(url, limited, None)
            _verify_download(Path(file.name), info, url)
    # The errors of `requests` are OSErrors: the order of these clauses matters.
    except requests.RequestException as error:
        status = error.response.status_code if error.response is not None else None
        if status in (404, 410):
            raise DataNotFoundError(
                f"{info.file} is not at {url} (status {status}). Get it elsewhere and "
                f"put it into {target.parent}, or set {MIRROR_VARIABLE} to the address of a folder "
                "that has it."
            ) from error
        raise NetworkError(
            f"{info.file} could not be fetched from {url}: "
            f"{_reason(error, status, limited.count, timeout)}. Nothing was kept. Check the "
            f"network and try again, or put the file into {target.parent} yourself."
        ) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFullError(
                f"The disk is full: no space for {info.file} in {target.parent}. Free some space, "
                f"or choose another folder with data_home= or {DATA_VARIABLE}."
            ) from error
        raise FolderNotWritableError(
            f"Cannot write {info.file} into {target.parent} ({error.strerror or error}). Choose a "
            f"writable folder with data_home= or {DATA_VARIABLE}."
        ) from error
    remember_verified(target, info.checksum)
    return target


def _reason(error: Exception, status: int | None, count: int, timeout: float) -> str:
    """Why a connection failed."""
    if status is not None:
        return f"the server returned status {status}"
    if count or "IncompleteRead" in str(error):
        return f"the connection broke after {count} bytes"  # whole chunks only
    if "timed out" in str(error):
        return f"no answer within {timeout:g} s"
    cause = getattr(error.args[0] if error.args else None, "reason", error)
    return f"no network ({str(cause).rpartition(': ')[2]})"


def _verify_download(part: Path, info: DatasetInfo, url: str) -> None:
    found = checksum(part, info.checksum.partition(":")[0])
    if found != info.checksum:
        should = f" instead of {info.size}" if info.size else ""
        raise ChecksumError(
            f"{url} did not send the expected file: {part.stat().st_size} bytes{should}, "
            f"checksum {found} instead of {info.checksum}. Nothing was kept. Try again; if it "
            "fails again, the file at the source is damaged or has changed."
        )


class _LimitedFile:
    """A file that raises an error above the size in the registry."""

    file: BinaryIO  # set when the file is open

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.count = 0

    def write(self, chunk: bytes) -> None:
        self.count += len(chunk)
        if self.count > self.limit:
            raise ChecksumError(
                f"The source sent more than the expected {self.limit} bytes. "
                "Nothing was kept: the file at the source is damaged or has changed."
            )
        self.file.write(chunk)

    def flush(self) -> None:
        self.file.flush()


def _searched(data_home: str | os.PathLike[str] | None) -> str:
    """The searched folders; there may be none if pooch is not installed."""
    folders = map(str, search_folders(data_home))
    return ", ".join(folders) or f"no folder, because data_home= and {DATA_VARIABLE} are not set"
