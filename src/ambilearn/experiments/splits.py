"""The split of a task, which is the same for every method, and the scores of a method on it.

All scores are always stored; tables select from them.
"""

import json
from dataclasses import asdict
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

from ambilearn._utils.types import Array, Matrix
from ambilearn.backend import HOST
from ambilearn.candidates import CandidateSets
from ambilearn.datasets import Dataset, load_dataset, make_candidates
from ambilearn.experiments.task import Task, derive_seed
from ambilearn.metrics import approximated_accuracy, covering_rate, tolerance_accuracy


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
    shared = task.to(method="", params={}, select="fixed", search={})
    return _split(json.dumps(asdict(shared), sort_keys=True), data_home)


# A worker runs the methods of a split consecutively: cache the last splits.
@lru_cache(maxsize=4)
def _split(task_json: str, data_home: str | None) -> Split:
    task = Task(**json.loads(task_json))
    name = task.data
    data = _data(name, data_home)
    if data.y is None:
        raise ValueError(
            f"{name} has no true labels, which experiments require: choose data with true labels."
        )
    chosen = np.arange(len(data.X))
    if task.rows is not None and task.rows < len(chosen):
        rng = np.random.default_rng(derive_seed("rows", name, task.rows))
        chosen = rng.permutation(len(chosen))[: task.rows]
    order = np.random.default_rng(derive_seed("split", name, task.run)).permutation(chosen)
    n_train = len(order) - round(task.test_share * len(order))
    train, test = order[:n_train], order[n_train:]

    if task.candidates is not None:
        seed = derive_seed("candidates", name, task.candidates, task.run)
        candidates, _ = make_candidates(
            data.y[train], classes=data.classes, random_state=seed, **task.candidates
        )
    elif data.candidates is None:
        raise ValueError(
            f"{name} has no candidate sets: define how to generate them in a section "
            "[[candidates]] of the experiment."
        )
    else:
        candidates = data.candidates[train]
    scaled_over = {"all": order, "train": train, "none": None}
    if task.scaling not in scaled_over:
        raise ValueError(f"scaling must be 'all', 'train' or 'none'; got {task.scaling!r}.")
    X, rows = data.X, scaled_over[task.scaling]
    if rows is not None:
        # In the order of the file, so that the scale is exactly the same in every run.
        X = StandardScaler().fit(X[np.sort(rows)]).transform(X)  # constant features become 0
    return Split(X[train], candidates, data.y[train], X[test], data.y[test])


@lru_cache(maxsize=2)
def _data(name: str, data_home: str | None) -> Dataset:
    return load_dataset(name, data_home=data_home, download=False)


def score_model(model: BaseEstimator, split: Split) -> dict[str, float]:
    """Scores of a fitted method on its split.

    Those of :func:`score_by_truth`, and ``training.covering`` and ``training.approximated`` on the
    training rows, which do not need true labels.
    """
    sets = split.candidates
    proba = model.predict_proba(split.X_train)
    best = sets.classes[proba.argmax(axis=1)]
    return score_by_truth(model, split) | {
        "training.covering": covering_rate(sets, best),
        "training.approximated": approximated_accuracy(sets, proba),
    }


def score_by_truth(model: BaseEstimator, split: Split) -> dict[str, float]:
    """Scores that need the true labels.

    ``accuracy`` on the test rows; ``transductive.…`` on the training rows in three readings: the
    best candidate in the learned confidences (``confidences``), the best candidate in the
    classifier's training outputs (``outputs_in_set``), and the best of *all* labels in them
    (``outputs``). Each also with ``@3`` and ``@5``: correct if off by at most that many labels,
    which the paper calls MAE3 and MAE5.
    """
    sets, support = split.candidates, HOST.support(split.candidates)
    outputs = train_outputs(model, split.X_train)
    predicted = {
        "accuracy": (split.y_test, model.predict(split.X_test)),
        "transductive.confidences": (split.y_train, support.best(model.label_distributions_)),
        "transductive.outputs_in_set": (split.y_train, support.best(outputs)),
        "transductive.outputs": (split.y_train, sets.classes[outputs.argmax(axis=1)]),
    }
    return {
        f"{name}{suffix}": tolerance_accuracy(truth, labels, tolerance, classes=sets.classes)
        for name, (truth, labels) in predicted.items()
        for suffix, tolerance in (("", 0), ("@3", 3), ("@5", 5))
    }


def train_outputs(model: BaseEstimator, X: Matrix) -> Any:
    """Outputs of the classifier on its own training rows, shape (n, l).

    For methods without ``train_output_``, the result of ``decision_function``.
    """
    if hasattr(model, "train_output_"):
        return model.train_output_
    scores = model.decision_function(X)
    return scores if scores.ndim == 2 else np.multiply.outer(scores, [-0.5, 0.5])
