"""What the benchmarks share: data of a given size, timing, and one JSON line as the result."""

import cProfile
import json
import os
import pstats
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy import sparse
from scipy.stats import zscore
from sklearn.datasets import load_digits
from sklearn.utils import gen_batches

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
    masks = []
    for rows in gen_batches(n, 10_000):  # a dense mask of a million rows would count as memory
        false = rng.random((len(y[rows]), n_labels)) < (mean_candidates - 1) / (n_labels - 1)
        false[np.arange(len(false)), y[rows]] = True
        masks.append(sparse.csr_array(false))
    return X, sparse.vstack(masks, format="csr"), y


def resampled_digits(n, seed=0):
    """Half of the digits drawn again n times, with noise, and the other half: X, y, X_test, y_test.

    The noise, one of 16 grey levels, makes every row different from all others.
    """
    rng = np.random.default_rng(seed)
    images, y = load_digits(return_X_y=True)
    order = rng.permutation(len(y))
    test, picked = order[len(y) // 2 :], rng.choice(order[: len(y) // 2], size=n)
    X = images[picked] + rng.normal(size=(n, images.shape[1]))
    centre, scale = X.mean(axis=0), X.std(axis=0)
    return (X - centre) / scale, y[picked], (images[test] - centre) / scale, y[test]


def time_parts(function, names):
    """Time spent in functions of the library, "module.function", while one runs; and the rest."""
    profile = cProfile.Profile()
    began = perf_counter()
    profile.runcall(function)
    total = perf_counter() - began
    parts = dict.fromkeys(names.values(), 0.0)
    for (file, _, name), (_, _, _, cumulative, _) in pstats.Stats(profile).stats.items():
        known = names.get(f"{Path(file).stem}.{name}")
        if known and "ambilearn" in file:
            parts[known] += cumulative
    parts["rest"] = total - sum(parts.values())
    return parts


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
