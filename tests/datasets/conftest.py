"""A small data set with its registry entry, and folders in bad condition."""

import os
import subprocess
from contextlib import contextmanager

import numpy as np
import pytest
from scipy.io import savemat

from ambilearn.datasets.checksum import checksum
from ambilearn.datasets.registry import DatasetInfo


@pytest.fixture(autouse=True)
def private_machine(tmp_path, monkeypatch):
    """A user cache of its own for each test, and no settings of the person who runs it."""
    cache = tmp_path / "user-cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("NO_PROXY", "*")
    for name in ("AMBILEARN_DATA", "AMBILEARN_MIRROR"):
        monkeypatch.delenv(name, raising=False)
    return cache / "ambilearn"


@pytest.fixture
def arrays():
    """Features, candidate mask and true labels of 3000 rows, 5 features, 4 labels."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 3000)
    mask = rng.random((3000, 4)) < 0.3
    mask[np.arange(3000), y] = True
    return rng.normal(size=(3000, 5)), mask, y


@pytest.fixture
def shop(tmp_path, arrays):
    """Folder of a source with one .mat file, and the entry that describes it."""
    X, mask, y = arrays
    folder = tmp_path / "source"
    folder.mkdir()
    path = folder / "tiny set.mat"
    # Not compressed, so that a flipped bit damages the numbers and not the container.
    savemat(path, {"data": X, "partial_target": mask.T.astype(float), "target": np.eye(4)[y].T})
    info = DatasetInfo(
        name="tiny",
        description="Made for tests",
        reference="None",
        format="mat",
        rows=3000,
        features=5,
        labels=4,
        mean_candidates=round(float(mask.sum(1).mean()), 2),
        licence="none",
        file=path.name,
        folder_url="http://127.0.0.1:9/",  # the discard port: nobody listens
        checksum=checksum(path),
        size=path.stat().st_size,
    )
    return folder, info


@contextmanager
def mounted(folder, options):
    """Mount an empty file system in memory at a folder, for root only."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("mounting a file system needs root and a kernel that lets it")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def full_folder(tmp_path):
    """Folder on a file system with room for a single page."""
    with mounted(tmp_path / "full", "size=4k") as folder:
        yield folder


@pytest.fixture
def read_only_folder(tmp_path):
    """Folder that not even root may write to; for others, one without write permission."""
    folder = tmp_path / "read-only"
    if os.geteuid() == 0:
        with mounted(folder, "ro") as folder:
            yield folder
    else:
        folder.mkdir(mode=0o555)
        yield folder
        folder.chmod(0o755)
