"""Scores of a fitted method. All scores are always stored; tables select from them."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score

from ambilearn._utils.types import Matrix
from ambilearn.backend import HOST
from ambilearn.experiments.splits import Split
from ambilearn.metrics import approximated_accuracy, covering_rate, tolerance_accuracy

TOLERANCES = (3, 5)


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
    scores = {}
    for name, (truth, labels) in predicted.items():
        scores[name] = float(accuracy_score(truth, labels))
        for tolerance in TOLERANCES:
            scores[f"{name}@{tolerance}"] = tolerance_accuracy(
                truth, labels, tolerance, classes=sets.classes
            )
    return scores


def train_outputs(model: BaseEstimator, X: Matrix) -> Any:
    """Outputs of the classifier on its own training rows, shape (n, l).

    For methods without ``train_output_``, the result of ``decision_function``.
    """
    if hasattr(model, "train_output_"):
        return model.train_output_
    scores = model.decision_function(X)
    return scores if scores.ndim == 2 else np.multiply.outer(scores, [-0.5, 0.5])
