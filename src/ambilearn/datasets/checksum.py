r"""Checksums: only files with the checksum in the registry are used.

There are two schemes: ``sha256``, and ``gitblob``, the id under which git stores a file,
:math:`\mathrm{SHA1}(\text{"blob "} \Vert \text{size} \Vert 0 \Vert \text{content})`, for files
with no other published checksum.
"""

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from ambilearn._utils.files import atomic_write
from ambilearn.datasets.errors import ChecksumError
from ambilearn.datasets.folders import user_cache


def checksum(path: Path, scheme: str = "sha256") -> str:
    """Checksum of a file, written ``scheme:hex``."""
    with open(path, "rb") as file:
        if scheme == "sha256":
            digest = hashlib.sha256()
        elif scheme == "gitblob":
            size = os.fstat(file.fileno()).st_size
            digest = hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
        else:
            raise ValueError(f"Unknown checksum scheme {scheme!r}: use 'sha256' or 'gitblob'.")
        while block := file.read(1 << 20):
            digest.update(block)
    return f"{scheme}:{digest.hexdigest()}"


def verify(path: Path, expected: str, *, advice: str) -> None:
    """Read the whole file and raise ChecksumError unless it has the expected checksum."""
    found = checksum(path, expected.partition(":")[0])
    if found != expected:
        raise ChecksumError(
            f"{path} is not the expected file ({path.stat().st_size} bytes): its checksum is "
            f"{found}, expected {expected}. {advice}"
        )


def verify_once(path: Path, expected: str, *, advice: str) -> None:
    """Like :func:`verify`, but skip a file that passed before and has not changed since."""
    if _read_notes().get(str(path.resolve())) != _stamp(path, expected):
        verify(path, expected, advice=advice)
        remember_verified(path, expected)


def remember_verified(path: Path, expected: str) -> None:
    """Record that a file has passed. If the record cannot be written, the next call verifies."""
    notes = _read_notes() | {str(path.resolve()): _stamp(path, expected)}
    with suppress(OSError, ImportError):  # full disk, or pooch is not installed
        _notes_path().parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(_notes_path()) as file:
            file.write(json.dumps(notes, indent=1).encode())


def _notes_path() -> Path:
    return user_cache() / "verified.json"


def _read_notes() -> dict[str, Any]:
    try:
        notes = json.loads(_notes_path().read_text(encoding="utf-8"))
    except (OSError, ValueError, ImportError):
        return {}
    return notes if isinstance(notes, dict) else {}


def _stamp(path: Path, expected: str) -> list[Any]:
    # The change time is included because a copy tool may restore the modification time.
    status = path.stat()
    return [expected, status.st_size, status.st_mtime_ns, status.st_ctime_ns]
