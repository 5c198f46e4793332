"""Generated problems for the tests."""

import numpy as np

from ambilearn.backend import HOST
from ambilearn.base import PartialLabelClassifier
from ambilearn.candidates import as_candidates
from ambilearn.kernel.primal import Moments, PrimalRidge
from ambilearn.kernel.ridge import DualRidge
from ambilearn.metrics import expected_calibration_error


def ambiguous(n=40, d=4, n_labels=4, extra=0.3, seed=0):
    """Gaussian classes, each false label a candidate with probability ``extra``: X, mask, y."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_labels), rng.integers(n_labels, size=n - n_labels)])
    X = 2.0 * rng.normal(size=(n_labels, d))[y] + rng.normal(size=(n, d))
    mask = (rng.random((n, n_labels)) < extra).astype(int)
    mask[np.arange(n), y] = 1
    return X, mask, y


def random_mask(rng, n, n_labels, extra=0.4):
    """Random 0/1 mask without an empty row."""
    mask = (rng.random((n, n_labels)) < extra).astype(int)
    mask[np.arange(n), rng.integers(n_labels, size=n)] = 1
    return mask


def support(y, **options):
    """Candidate pairs in host memory, from any form of candidate sets."""
    return HOST.support(as_candidates(y, **options))


def excess_calibration_error(right, confidence, n_draws=200):
    """Calibration error above that of outcomes that are drawn from the confidences."""
    draw = np.random.RandomState(0).uniform
    drawn = [draw(size=len(right)) < confidence for _ in range(n_draws)]
    by_chance = np.mean([expected_calibration_error(each, confidence) for each in drawn])
    return expected_calibration_error(right, confidence) - by_chance


class CandidateCounts(PartialLabelClassifier):
    """The smallest method there is: every row gets the share of each label among the candidates."""

    def _fit(self, rows, candidates):
        mask = candidates.sets.to_mask()
        self.label_distributions_ = mask / mask.sum(axis=1, keepdims=True)
        self.shares_ = self.label_distributions_.mean(axis=0)

    def _scores(self, X):
        return np.tile(self.shares_, (X.shape[0], 1))


def kernel_problem(seed, n=25, d=6, n_labels=3):
    """Rows away from the origin, their Gaussian kernel, and targets."""
    rng = np.random.default_rng(seed)
    X = rng.normal(1.0, 1.0, size=(n, d))
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    return X, np.exp(-distances / 6), rng.random((n, n_labels))


def support_problem(seed, n=30, m=5, n_labels=4):
    """Features, candidate pairs, a value for each pair, and the generator."""
    rng = np.random.default_rng(seed)
    sets = support(random_mask(rng, n, n_labels))
    values = rng.random(len(sets.labels))
    return rng.normal(size=(n, m)), sets, values, rng


def both_ridges(features, ridge=0.2):
    """The same regression in the primal and in the dual."""
    primal = PrimalRidge(Moments.of(features), ridge, features=features)
    return primal, DualRidge(features @ features.T, ridge)
