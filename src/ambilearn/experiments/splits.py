"""The split of a task, which is the same for every method."""

import json
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from ambilearn._utils.types import Array
from ambilearn.candidates import CandidateSets
from ambilearn.datasets import Dataset, load_dataset, make_candidates
from ambilearn.experiments.task import Task, derive_seed


class Split(NamedTuple):
    """Training rows with candidate sets, test rows, and the true labels of both."""

    X_train: NDArray[np.float64]
    candidates: CandidateSets
    y_train: Array
    X_test: NDArray[np.float64]
    y_test: Array


def make_split(task: Task, data_home: str | None = None) -> Split:
    """Split the rows of a task: a random half (or ``test_share``) are test rows.

    The rows depend only on the data set and the run; the candidate sets also depend on the options
    of the protocol. All methods therefore have the same split.
    """
    candidates = json.dumps(task.candidates and dict(task.candidates), sort_keys=True)
    return _split(
        task.data, task.rows, task.test_share, task.scaling, candidates, task.run, data_home
    )


# A worker runs the methods of a split consecutively: cache the last splits.
@lru_cache(maxsize=4)
def _split(
    name: str,
    rows: int | None,
    test_share: float,
    scaling: str,
    candidates_json: str,
    run: int,
    data_home: str | None,
) -> Split:
    data = _data(name, data_home)
    if data.y is None:
        raise ValueError(
            f"{name} has no true labels, which experiments require: choose data with true labels."
        )
    chosen = np.arange(len(data.X))
    if rows is not None and rows < len(chosen):
        chosen = np.random.default_rng(derive_seed("rows", name, rows)).permutation(len(chosen))[
            :rows
        ]
    order = np.random.default_rng(derive_seed("split", name, run)).permutation(chosen)
    n_train = len(order) - round(test_share * len(order))
    train, test = order[:n_train], order[n_train:]

    options = json.loads(candidates_json)
    if options is not None:
        seed = derive_seed("candidates", name, options, run)
        candidates, _ = make_candidates(
            data.y[train], classes=data.classes, random_state=seed, **options
        )
    elif data.candidates is None:
        raise ValueError(
            f"{name} has no candidate sets: define how to generate them in a section "
            "[[candidates]] of the experiment."
        )
    else:
        candidates = data.candidates[train]
    X_train, X_test = _scaled(data.X, scaling, order, train, test)
    return Split(X_train, candidates, data.y[train], X_test, data.y[test])


@lru_cache(maxsize=2)
def _data(name: str, data_home: str | None) -> Dataset:
    return load_dataset(name, data_home=data_home, download=False)


def _scaled(
    X: NDArray[np.float64],
    scaling: str,
    every: NDArray[np.intp],
    train: NDArray[np.intp],
    test: NDArray[np.intp],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Training and test rows, z-scored over the rows that ``scaling`` selects."""
    if scaling == "none":
        return X[train], X[test]
    if scaling not in ("all", "train"):
        raise ValueError(f"scaling must be 'all', 'train' or 'none'; got {scaling!r}.")
    # In the order of the file, so that the scale is exactly the same in every run.
    over = np.sort({"all": every, "train": train}[scaling])
    scaler = StandardScaler().fit(X[over])  # constant features become 0
    return scaler.transform(X[train]), scaler.transform(X[test])
