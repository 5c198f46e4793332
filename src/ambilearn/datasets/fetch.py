"""Find a data file on this machine, or download it with pooch; its checksum is verified."""

import hashlib
import os
import shlex
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ambilearn._utils.files import atomic_write
from ambilearn._utils.optional import requires_extra
from ambilearn.datasets.errors import ChecksumError, DataNotFoundError, NetworkError
from ambilearn.datasets.registry import MIRROR_VARIABLE, DatasetInfo

if TYPE_CHECKING:
    from _hashlib import HASH

DATA_VARIABLE = "AMBILEARN_DATA"


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
