"""Hyper-parameters chosen without a hidden label: cross-validation on candidate sets alone."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.utils import indexable

from ambilearn._utils.sklearn_compat import _num_samples, _safe_split
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.metrics import approximated_accuracy_scorer
from ambilearn.sharing import SharedFits

Scorer = Callable[[Any, Any, Any], float]


class Choice(NamedTuple):
    """Chosen parameters, their cross-validated score, and the number of fits that it took."""

    params: dict[str, Any]
    score: float
    n_fits: int


def draw_points(
    grid: Mapping[str, Sequence[Any]], n_points: int | None = None, random_state: int = 0
) -> list[dict[str, Any]]:
    """Points of a grid: all of them, or some distinct ones drawn at random.

    Parameters
    ----------
    grid : mapping of str to sequence
        Values of each parameter.
    n_points : int, optional
        How many to draw; all where the grid has no more.
    random_state : int, default=0
        Seed.

    Returns
    -------
    list of dict

    Examples
    --------
    >>> from ambilearn.selection import draw_points
    >>> draw_points({"alpha": [1, 2], "beta": [3]})
    [{'alpha': 1, 'beta': 3}, {'alpha': 2, 'beta': 3}]
    >>> len(draw_points({"alpha": range(9), "beta": range(9)}, n_points=5))
    5
    """
    names = sorted(grid)
    values = [list(grid[name]) for name in names]
    size = prod(map(len, values))
    if n_points is None or n_points >= size:
        return [dict(zip(names, point, strict=True)) for point in product(*values)]
    numbers = np.random.default_rng(random_state).choice(size, n_points, replace=False)
    places = np.unravel_index(numbers, [len(v) for v in values])
    return [
        {name: values[j][place] for j, (name, place) in enumerate(zip(names, point, strict=True))}
        for point in np.transpose(places).tolist()
    ]


def best_by_candidates(
    estimator: Any,
    points: Iterable[Mapping[str, Any]],
    X: Any,
    y: Any,
    *,
    scoring: Scorer = approximated_accuracy_scorer,
    folds: int = 5,
    halving: bool = False,
    random_state: int = 0,
) -> Choice:
    """Choose parameters by cross-validation that sees candidate sets only.

    Parameters
    ----------
    estimator : estimator
        Is cloned, never fitted.
    points : iterable of dict
        Parameters to try; see :func:`draw_points`.
    X : array-like, data frame or sparse matrix of shape (n, d)
        Rows; the square kernel matrix for ``kernel="precomputed"``.
    y : candidate sets of n rows, in any accepted form
        What is known of the labels.
    scoring : callable, default=approximated_accuracy_scorer
        ``scoring(fitted, X, candidates)``, larger is better.
    folds : int, default=5
        Number of folds.
    halving : bool, default=False
        Successive halving, with folds as the resource: all points meet the first fold, the better
        half the second, and so on. Takes about two fits per point instead of ``folds``.
    random_state : int, default=0
        Seed of the folds.

    Returns
    -------
    Choice
        Among equal scores the first point.

    Examples
    --------
    >>> from ambilearn import PLCL
    >>> from ambilearn.datasets import load_dataset, make_candidates
    >>> from ambilearn.selection import best_by_candidates, draw_points
    >>> data = load_dataset("iris")
    >>> sets, _ = make_candidates(data.y, p=0.5, random_state=0)
    >>> points = draw_points({"alpha": [0.1, 1.0], "reg": [0.03, 30.0]})
    >>> best_by_candidates(PLCL(), points, data.X, sets).params["reg"]
    0.03
    """
    points = list(points)
    if not points:
        raise ValueError("There are no points to choose from: pass at least one, {} for defaults.")
    (X,) = indexable(X)
    sets = as_candidates(y, n_rows=_num_samples(X))
    scores: list[list[float]] = [[] for _ in points]
    alive = list(range(len(points)))
    for train, test in KFold(folds, shuffle=True, random_state=random_state).split(X):
        # As scikit-learn's own searches do: data frames, and both axes of a kernel matrix.
        X_train, _ = _safe_split(estimator, X, None, train)
        X_test, _ = _safe_split(estimator, X, None, test, train)
        held_out = sets.take(test)

        def score(fitted: Any, rows: Any = X_test, held_out: CandidateSets = held_out) -> float:
            return scoring(fitted, rows, held_out)

        chosen = [points[i] for i in alive]
        found = score_points(estimator, chosen, X_train, sets.take(train), score)
        for i, value in zip(alive, found, strict=True):
            scores[i].append(value)
        if halving and len(alive) > 1:
            # A stable sort: among equals the first point stays, as without halving.
            alive = sorted(alive, key=lambda i: -np.mean(scores[i]))[: -(-len(alive) // 2)]
            alive.sort()
    means = [float(np.mean(scores[i])) for i in alive]
    best = best_point(means)
    return Choice(dict(points[alive[best]]), means[best], sum(map(len, scores)))


def score_points(
    estimator: Any,
    points: Sequence[Mapping[str, Any]],
    X: Any,
    y: CandidateSets,
    score: Callable[[Any], float],
) -> list[float]:
    """Fit the estimator with each point's parameters on the same rows, and score it.

    What does not depend on the point is done once; see :class:`ambilearn.sharing.SharedFits`.

    Parameters
    ----------
    estimator : estimator
        Is cloned, never fitted.
    points : sequence of dict
        Parameters.
    X : array of shape (n, d)
        Training rows.
    y : CandidateSets
        Their candidate sets.
    score : callable
        Score of a fitted estimator.

    Returns
    -------
    list of float
    """
    models = (clone(estimator).set_params(**point) for point in points)
    return [float(score(model)) for model in SharedFits(X, y).fit_all(models)]


def best_point(scores: Sequence[float]) -> int:
    """Index of the largest score; the first of equals."""
    return int(np.argmax(scores))
