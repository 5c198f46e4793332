"""A small data set with its registry entry, and folders in bad condition."""

import socket
from pathlib import Path

import numpy as np
import pooch
import pytest
from scipy.io import savemat

from ambilearn.datasets.registry import DatasetInfo, checksum


@pytest.fixture(autouse=True)
def private_machine(tmp_path, monkeypatch):
    """A separate user cache for each test, and no settings of the developer."""
    cache = tmp_path / "user-cache"
    for name in ("XDG_CACHE_HOME", "HOME"):  # Linux and macOS, also in new processes
        monkeypatch.setenv(name, str(cache))
    if cache not in Path(pooch.os_cache("ambilearn")).parents:  # Windows
        monkeypatch.setattr(pooch, "os_cache", lambda project: cache / project)
    monkeypatch.setenv("NO_PROXY", "*")
    for name in ("AMBILEARN_DATA", "AMBILEARN_MIRROR"):
        monkeypatch.delenv(name, raising=False)
    return Path(pooch.os_cache("ambilearn"))


@pytest.fixture
def closed_address():
    """Address that accepts no connection: the port is in use, and nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


@pytest.fixture
def arrays():
    """Features, candidate mask and true labels of 3000 rows, 5 features, 4 labels."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, 3000)
    mask = rng.random((3000, 4)) < 0.3
    mask[np.arange(3000), y] = True
    return rng.normal(size=(3000, 5)), mask, y


@pytest.fixture
def shop(tmp_path, arrays, closed_address):
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
        license="none",
        file=path.name,
        folder_url=closed_address + "/",
        checksum=checksum(path),
        size=path.stat().st_size,
    )
    return folder, info
