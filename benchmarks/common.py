"""Helpers of the benchmarks: data of a given size, timing, and results as JSON lines."""

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
from ambilearn.metrics import expected_calibration_error


def print_result(name: str, **values) -> None:
    """Print one JSON line; times in seconds, sizes in bytes."""
    rounded = {k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in values.items()}
    print(json.dumps({"benchmark": name, "cpus": os.cpu_count(), **rounded}), flush=True)


def best_time(function, repeats):
    """Shortest time of several calls, which is least affected by other processes."""
    times = []
    for _ in range(repeats):
        began = perf_counter()
        function()
        times.append(perf_counter() - began)
    return min(times)


def excess_calibration_error(right, confidence, n_draws=200):
    """Calibration error above that of outcomes that are drawn from the confidences.

    Its expectation is 0 for perfect confidences, for any number of rows.
    """
    draw = np.random.RandomState(0).uniform
    drawn = [draw(size=len(right)) < confidence for _ in range(n_draws)]
    by_chance = np.mean([expected_calibration_error(each, confidence) for each in drawn])
    return expected_calibration_error(right, confidence) - by_chance


def make_ambiguous(n, d, n_labels, mean_candidates, seed=0):
    """Gaussian classes with random false labels: X, boolean CSR mask, true labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_labels, size=n)
    centers = rng.normal(size=(n_labels, d))
    X = centers[y] + 2.0 * rng.normal(size=(n, d))
    masks = []
    for rows in gen_batches(n, 10_000):  # a dense mask of a million rows would count as memory
        false = rng.random((len(y[rows]), n_labels)) < (mean_candidates - 1) / (n_labels - 1)
        false[np.arange(len(false)), y[rows]] = True
        masks.append(sparse.csr_array(false))
    return X, sparse.vstack(masks, format="csr"), y


def resampled_digits(n, seed=0):
    """Noisy samples from half of the digits, and the other half: X, y, X_test, y_test.

    The noise, one of 16 gray levels, makes every row different from all others.
    """
    rng = np.random.default_rng(seed)
    images, y = load_digits(return_X_y=True)
    order = rng.permutation(len(y))
    test, picked = order[len(y) // 2 :], rng.choice(order[: len(y) // 2], size=n)
    X = images[picked] + rng.normal(size=(n, images.shape[1]))
    center, scale = X.mean(axis=0), X.std(axis=0)
    return (X - center) / scale, y[picked], (images[test] - center) / scale, y[test]


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


def data_folder():
    """Folder of the data files: AMBILEARN_DATA, or next to the repository."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("AMBILEARN_DATA", beside))


def data_split(name, seed=0):
    """Training X, candidate sets and truth, test X and truth, z-scored.

    A random half of a real-world data set, or the music clips, which come in two files.
    """
    if name == "music":
        return music()
    data = load_dataset(name, data_home=data_folder(), download=False)
    X = np.nan_to_num(zscore(data.X))  # constant features become 0
    train, test = np.split(np.random.default_rng(seed).permutation(len(X)), [len(X) // 2])
    return X[train], data.candidates[train], data.y[train], X[test], data.y[test]


def music(min_votes=1):
    """Music clips with genres from a crowd: X, sets, truth, X_test, truth of the test rows.

    With min_votes=None all votes count, as weights.
    """
    train, test, sets = _crowd("music", min_votes)
    features = [column for column in train if column.startswith("feature")]
    mean, scale = train[features].mean(), train[features].std(ddof=0)
    X, X_test = (((part[features] - mean) / scale).to_numpy() for part in (train, test))
    return X, sets, train["truth"].to_numpy(), X_test, test["truth"].to_numpy()


def sentiment(min_votes=1):
    """Sentences labeled positive or negative by a crowd, as TF-IDF; same form as the clips."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    train, test, sets = _crowd("sentiment", min_votes)
    words = TfidfVectorizer(sublinear_tf=True)
    X, X_test = words.fit_transform(train["text"]), words.transform(test["text"])
    return X, sets, train["truth"].to_numpy(), X_test, test["truth"].to_numpy()


def _crowd(name, min_votes):
    """Training and test table of a crowd set, and the labels with enough answers as candidates."""
    import pandas as pd

    from ambilearn import as_candidates, votes_to_candidates

    folder = data_folder() / "crowd"
    train, test = (pd.read_csv(folder / f"{name}-{part}.csv") for part in ("train", "test"))
    answers = pd.read_csv(folder / f"{name}-answers.csv")
    if min_votes is None:
        counts = pd.crosstab(answers["item"], answers["label"]).loc[train["item"]]
        return train, test, as_candidates(counts)
    # Annotators are ignored: the n-th answer to an item is in column n.
    answers["place"] = answers.groupby("item").cumcount()
    votes = answers.pivot(index="item", columns="place", values="label").loc[train["item"]]
    return (
        train,
        test,
        votes_to_candidates(votes, min_votes=min_votes, fallback="union", weights=False),
    )


def real_split(name):
    """X, mask, test X and labels of a z-scored 50/50 split; None without the file."""
    try:
        data = load_dataset(name, data_home=data_folder(), download=False)
    except DataNotFoundError:
        return None
    X = np.nan_to_num(zscore(data.X))  # constant features become 0
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[: len(X) // 2], order[len(X) // 2 :]
    return X[train], data.candidates.to_mask()[train].astype(int), X[test], data.y[test]
