"""Folders to which nothing can be written, also where the tests run as root."""

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

NOBODY = 65534  # a user without rights


@contextmanager
def open_folder():
    """A folder that every user may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextmanager
def read_only(folder):
    """Nothing can be written to the folder and its files; root is another user meanwhile."""
    if not hasattr(os, "geteuid"):
        pytest.skip("Windows has no folders to which nothing can be written")
    modes = {path: path.stat().st_mode for path in folder.iterdir()}
    for path in modes:
        path.chmod(0o444)
    folder.chmod(0o555)
    as_root = os.geteuid() == 0
    if as_root:
        os.seteuid(NOBODY)
    try:
        try:
            list(folder.iterdir())
        except OSError:
            pytest.skip("the folder for temporary files is for root only")
        yield
    finally:
        if as_root:
            os.seteuid(0)
        folder.chmod(0o755)
        for path, mode in modes.items():
            path.chmod(mode)
