r"""The classifier of the kernel methods: ridge regression of confidences on the support.

For labels that are not candidates, the targets of PL-CL are zero (P) or one number per row (Q). The
targets are therefore a support vector and that number, and outputs are needed only on the support.
The squared error over all n·l entries follows from sums of the outputs:

.. math:: \|H - T\|^2 = \|H\|^2 - 2 t \sum_{ij} h_{ij} + n\,l\,t^2
          + \sum_{(i, j) \in \text{support}} \big[(h_{ij} - t_{ij})^2 - (h_{ij} - t)^2\big]

with targets :math:`t_{ij}` on the support and :math:`t` off it. If rows have weights, all sums over
rows are weighted. The primal allocates no array of shape (n, l); for the dual see
:mod:`ambilearn.kernel.many_labels`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from scipy import sparse

from ambilearn._utils.threads import threads_for
from ambilearn._utils.types import Array, Matrix
from ambilearn.backend import Support
from ambilearn.backend.arrays import to_numpy
from ambilearn.solvers import KernelRidge, PrimalRidge
from ambilearn.solvers.ridge import without_own_targets


class OutputBlock(NamedTuple):
    """Outputs of some rows for some labels.

    Parameters
    ----------
    rows : ndarray of shape (r,)
        The rows, ascending.
    labels : ndarray of shape (c,)
        The labels, ascending.
    outputs : ndarray of shape (r, c)
        The outputs.
    """

    rows: NDArray[np.intp]
    labels: NDArray[np.intp]
    outputs: NDArray[np.float64]


@dataclass(frozen=True)
class SupportFit:
    """A regressor fitted to targets on the support, and its outputs on the training rows.

    Parameters
    ----------
    coef : ndarray or FactoredCoefficients of shape (n, l), or ndarray of shape (m, l)
        Dual coefficients, or weights of the features.
    intercept : ndarray of shape (l,)
        The bias.
    outputs : ndarray of shape (n_pairs,)
        Outputs on the support.
    squared_norm : float
        Squared norm of the weights.
    squared_outputs, total_output : float
        Sum of the squares and sum of all n·l outputs.
    size : float
        n·l.
    pair_weights : float or ndarray of shape (n_pairs,), default=1.0
        Weight of the row of each pair in the squared error.
    fitted : ndarray of shape (n, l), optional
        All outputs, if they were computed.
    """

    coef: Matrix
    intercept: NDArray[np.float64]
    outputs: NDArray[np.float64]
    squared_norm: float
    squared_outputs: float
    total_output: float
    size: float
    pair_weights: float | Array = 1.0
    fitted: NDArray[np.float64] | None = None

    def squared_error(self, values: NDArray[np.float64], off_support: float = 0.0) -> float:
        """Squared distance of all n·l outputs to ``values`` and, off the support, a number."""
        t = off_support
        everywhere = self.squared_outputs - 2 * t * self.total_output + self.size * t**2
        on_support = (self.outputs - values) ** 2 - (self.outputs - t) ** 2
        xp = array_namespace(on_support)
        return float(everywhere + xp.sum(self.pair_weights * on_support))


class DualRegressor:
    """Kernel ridge regression of support vectors, with the n×n kernel matrix."""

    def __init__(self, ridge: KernelRidge, candidates: Support) -> None:
        self._ridge = ridge
        self._candidates = candidates

    def fit(self, values: NDArray[np.float64], off_support: float | Array = 0.0) -> SupportFit:
        """Fit ``values`` on the support, and ``off_support``, a number or one per row, off it."""
        targets = self._candidates.scatter(values, off_support)
        n, l = targets.shape
        with threads_for(4.0 * n * n * l):
            fit = self._ridge.solve(targets).value
        squares, total, size = output_sums(fit.fitted, self._candidates)
        return SupportFit(
            coef=fit.coef,
            intercept=fit.intercept,
            outputs=self._candidates.gather(fit.fitted),
            squared_norm=fit.squared_norm,
            squared_outputs=squares,
            total_output=total,
            size=size,
            pair_weights=self._candidates.pair_weights,
            fitted=fit.fitted,
        )

    def train_output(self, fit: SupportFit) -> Matrix:
        """Outputs on the training rows for a fitted attribute; of a sparse mask only candidates."""
        if self._candidates.sets.sparse_mask:
            return self._candidates.as_output(fit.outputs)
        return fit.fitted

    def held_out(self, values: NDArray[np.float64]) -> Iterator[OutputBlock]:
        """Leave-one-out outputs: for each row, those of the fit to all other rows, in blocks."""
        targets = self._candidates.scatter(self._candidates.backend.asarray(values))
        n, l = targets.shape
        with threads_for(4.0 * n * n * l):
            fitted = self._ridge.solve(targets).value.fitted
        outputs = to_numpy(leave_out(targets, fitted, self._ridge.leverage_complements()))
        rows, labels = map(np.arange, outputs.shape)
        yield OutputBlock(rows, labels, outputs)

    def influence(
        self, rows: NDArray[np.intp], changes: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Change of the leave-one-out outputs by new targets; see :meth:`KernelRidge.influence`."""
        influence: NDArray[np.float64] = self._ridge.influence(rows, changes)
        return influence


class PrimalRegressor:
    """Ridge regression of support vectors on explicit features, linear or of low rank."""

    def __init__(self, features: Matrix, ridge: PrimalRidge, candidates: Support) -> None:
        self._features = features
        self._ridge = ridge
        self._candidates = candidates

    def fit(self, values: NDArray[np.float64], off_support: float | Array = 0.0) -> SupportFit:
        """Fit ``values`` on the support, and ``off_support``, a number or one per row, off it."""
        candidates = self._candidates
        everywhere = 0.0
        if isinstance(off_support, float):  # then the sums need only the support
            everywhere, values, off_support = off_support, values - off_support, 0.0
        product, total = candidates.target_sums(self._features, values, off_support)
        fit = self._ridge.solve(product, total, everywhere).value
        outputs = candidates.pair_outputs(self._features, fit.coef, fit.intercept)
        size = candidates.total_weight * candidates.n_labels
        weights = candidates.pair_weights
        return SupportFit(fit.coef, fit.intercept, outputs, *fit[2:], size, weights)

    def train_output(self, fit: SupportFit) -> Matrix:
        """Outputs on the training rows for a fitted attribute; of a sparse mask only candidates."""
        if self._candidates.sets.sparse_mask:
            return self._candidates.as_output(fit.outputs)
        return self._features @ fit.coef + fit.intercept

    def held_out(self, values: NDArray[np.float64]) -> Iterator[OutputBlock]:
        """Leave-one-out outputs: for each row, those of the fit to all other rows, in blocks."""
        values = self._candidates.backend.asarray(values)
        fit = self.fit(values)
        labels = np.arange(self._candidates.n_labels)
        for block in self._blocks(8 * len(labels)):
            fitted = self._block(block) @ fit.coef + fit.intercept
            targets = self._candidates.scatter_rows(values, 0.0, block)
            outputs = to_numpy(leave_out(targets, fitted, self._leverage_complements[block]))
            yield OutputBlock(np.arange(block.start, block.stop), labels, outputs)

    def influence(
        self, rows: NDArray[np.intp], changes: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Change of the leave-one-out outputs by new targets; see :meth:`KernelRidge.influence`."""
        features = self._features[rows]
        features = features.toarray() if sparse.issparse(features) else features
        row_weights = self._candidates.row_weights
        weighted = changes if row_weights is None else row_weights[rows, None] * changes
        fit = self._ridge.solve(features.T @ weighted, weighted.sum(axis=0)).value
        outputs = self._features @ fit.coef + fit.intercept
        influence: NDArray[np.float64] = without_own_targets(
            outputs, rows, changes, self._leverage_complements
        )
        return influence

    @property
    def _leverage_complements(self) -> Array:
        """Kept with the factorization, which a cache uses again for other candidate sets."""
        if self._ridge.complements is None:
            self._ridge.complements = self._compute_leverage_complements()
        return self._ridge.complements

    def _compute_leverage_complements(self) -> Array:
        row_weights = self._candidates.row_weights
        parts = [
            self._ridge.leverage_complements(
                self._block(block), 1.0 if row_weights is None else row_weights[block]
            )
            for block in self._blocks(0)
        ]
        return array_namespace(*parts).concat(parts)

    def _blocks(self, per_row: int) -> Iterator[slice]:
        numbers = per_row + 2 * self._features.shape[1]
        return self._candidates.backend.blocks(self._features, numbers)

    def _block(self, rows: slice) -> Array:
        """Some rows of the features, dense."""
        if sparse.issparse(self._features):
            return self._features[rows].toarray()
        return self._features[rows, ...]


def leave_out(
    targets: NDArray[np.float64], fitted: NDArray[np.float64], complements: NDArray[np.float64]
) -> NDArray[np.float64]:
    r"""Leave-one-out outputs :math:`p - (p - h) / (1 - h_{ii})`, of the fit to all other rows.

    ``targets`` and ``fitted``, of shape (n, c), are the targets and the outputs of the fit to all
    rows. ``complements`` are the :meth:`~ambilearn.solvers.KernelRidge.leverage_complements` of the
    rows.
    """
    return targets - (targets - fitted) / complements[:, None]


def output_sums(outputs: NDArray[np.float64], candidates: Support) -> tuple[float, float, float]:
    """Weighted sums over (n, c) outputs: of their squares, of themselves, and of ones."""
    weighted = outputs
    if candidates.row_weights is not None:
        weighted = candidates.row_weights[:, None] * outputs
    size = candidates.total_weight * outputs.shape[1]
    xp = array_namespace(outputs)
    return float(xp.sum(weighted * outputs)), float(xp.sum(weighted)), size
