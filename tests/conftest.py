"""Fixtures that several test modules share."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# Same examples on every run: a red test is reproducible, and no run takes longer than another.
settings.register_profile("default", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("default")


@pytest.fixture(scope="session")
def real_data_dir() -> Path:
    """Folder with the paper's data files, which are never part of the project."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("AMBILEARN_DATA", beside))
    if not (folder / "lost.mat").exists():
        pytest.skip("needs the paper's data files: point AMBILEARN_DATA at their folder")
    return folder


@pytest.fixture(scope="session")
def real_split(real_data_dir):
    """Function (name, seed) → X, mask and labels of a 50/50 split, z-scored over all rows."""
    from scipy import sparse
    from scipy.io import loadmat

    def split(name, seed=0):
        file = loadmat(real_data_dir / f"{name}.mat")
        parts = [file[key] for key in ("data", "partial_target", "target")]
        X, Y, T = (p.toarray() if sparse.issparse(p) else np.asarray(p) for p in parts)
        X = X.astype(float) - X.mean(axis=0)
        X /= np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
        Y, y = Y.T.astype(int), T.argmax(axis=0)
        order = np.random.default_rng(seed).permutation(len(X))
        train, test = order[: len(X) // 2], order[len(X) // 2 :]
        return X[train], Y[train], y[train], X[test], y[test]

    return split
