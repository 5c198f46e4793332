"""What the benchmarks share: data of a given size, timing, and one JSON line as the result."""

import json
import os
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy import sparse
from scipy.stats import zscore

from ambilearn.datasets import DataNotFoundError, load_dataset


def print_result(name: str, **values) -> None:
    """Print one JSON line; times in seconds, sizes in bytes."""
    rounded = {k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in values.items()}
    print(json.dumps({"benchmark": name, "cpus": os.cpu_count(), **rounded}), flush=True)


def best_time(function, repeats):
    """Shortest time of several calls: what the machine can do when nothing else disturbs it."""
    times = []
    for _ in range(repeats):
        began = perf_counter()
        function()
        times.append(perf_counter() - began)
    return min(times)


def make_ambiguous(n, d, n_labels, mean_candidates, seed=0):
    """Gaussian classes with random false labels: X, boolean CSR mask, true labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_labels, size=n)
    centres = rng.normal(size=(n_labels, d))
    X = centres[y] + 2.0 * rng.normal(size=(n, d))
    false = rng.random((n, n_labels)) < (mean_candidates - 1) / (n_labels - 1)
    false[np.arange(n), y] = True
    return X, sparse.csr_array(false), y


def real_split(name):
    """X, mask, test X and labels of a z-scored 50/50 split; None when the file is not here."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    try:
        data = load_dataset(name, data_home=beside, download=False)
    except DataNotFoundError:
        return None
    X = np.nan_to_num(zscore(data.X))  # constant features become 0
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[: len(X) // 2], order[len(X) // 2 :]
    return X[train], data.candidates.to_mask()[train].astype(int), X[test], data.y[test]
