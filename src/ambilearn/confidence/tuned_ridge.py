r"""Leave-one-out outputs of two ridge classifiers whose parameters need no choice by the user.

Ridge regression of the one-hot labels has leave-one-out outputs in closed form [1]_, so that they
also choose its parameters: those with the smallest leave-one-out squared error. The outputs are

.. math:: h = \tfrac23 h_{\text{Gaussian kernel}} + \tfrac13 h_{\text{linear}} .

The mean of the two finds more wrong labels than either alone, since they make different errors.
Bandwidth and ridge weights are chosen on at most 1000 rows: as variance of the noise and length
scale of a Gaussian process they do not depend on the number of rows.

References
----------
.. [1] Cawley, Talbot. Fast exact leave-one-out cross-validation of sparse least-squares support
   vector machines. Neural Networks 17(10), 1467-1475, 2004.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from ambilearn._utils.types import RandomState
from ambilearn.backend import HOST, index_rows
from ambilearn.candidates import CandidateSets
from ambilearn.confidence.held_out import join_blocks
from ambilearn.kernel import DEFAULT_N_LANDMARKS, MAX_EXACT_ROWS
from ambilearn.methods.sure import SURE
from ambilearn.rows import TrainingRows

_WIDTHS = (0.35, 0.5, 0.7, 1.0)  # of the kernel, in mean distances
_RIDGES = (0.03, 0.3, 1.0, 3.0)  # relative to the mean squared norm of the features
_MAX_TUNING_ROWS = 1000
_KERNEL_SHARE = 2 / 3


def tuned_outputs(
    X: Any, sets: CandidateSets, random_state: RandomState = 0
) -> NDArray[np.float64]:
    """Leave-one-out outputs (n, l) of the two classifiers, given one label for each row.

    ``random_state`` is the seed of the rows on which the parameters are chosen.
    """
    n = len(sets)
    if n == 1:
        raise ValueError("X has one row: at least two are needed to find wrong labels.")
    X = SURE()._validate_rows(X)
    rows = np.arange(n)
    if n > _MAX_TUNING_ROWS:
        rows = np.sort(check_random_state(random_state).permutation(n)[:_MAX_TUNING_ROWS])
    gaussian, linear = choose_ridges(index_rows(X, rows), sets[rows])
    if n >= MAX_EXACT_ROWS:
        gaussian.set_params(n_landmarks=DEFAULT_N_LANDMARKS, random_state=random_state)
    share = _KERNEL_SHARE
    fits = TrainingRows(X), sets
    return share * _leave_out(gaussian, *fits) + (1 - share) * _leave_out(linear, *fits)


def choose_ridges(X: Any, sets: CandidateSets) -> tuple[SURE, SURE]:
    """The Gaussian and the linear classifier with the smallest leave-one-out squared errors."""
    rows = SURE()._training_rows(X)
    mean_distance: Any = rows.for_sets(sets)[0].kernel("rbf").sigma
    # Half of the mean squared distance is the mean squared norm of the centered rows.
    linear = [SURE(kernel="linear", reg=ridge * mean_distance**2 / 2) for ridge in _RIDGES]
    kernels = [
        [SURE(sigma=width * mean_distance, reg=ridge) for ridge in _RIDGES] for width in _WIDTHS
    ]
    gaussian = chain.from_iterable(_errors(same_kernel, rows, sets) for same_kernel in kernels)
    return _smallest(gaussian), _smallest(_errors(linear, rows, sets))


def _errors(
    methods: list[SURE], rows: TrainingRows, sets: CandidateSets
) -> Iterator[tuple[float, SURE]]:
    """Leave-one-out squared error of methods that share a kernel."""
    weights = np.ones(len(sets)) if sets.row_weights is None else sets.row_weights
    targets = sets.to_mask()
    for method in methods:
        residuals = _leave_out(method, rows, sets) - targets
        yield float(weights @ (residuals**2).sum(axis=1)), method


def _smallest(errors: Iterator[tuple[float, SURE]]) -> SURE:
    return min(errors, key=lambda pair: pair[0])[1]


def _leave_out(method: SURE, rows: TrainingRows, sets: CandidateSets) -> NDArray[np.float64]:
    regressor = method._make_regressor(rows, sets)
    return join_blocks(regressor.held_out(HOST.support(sets).prior()), sets.shape)
