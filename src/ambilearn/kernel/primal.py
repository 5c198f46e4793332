r"""Ridge regression on features, in the primal.

The m×m normal equations are those of centered features. The formula in the PL-CL paper does
not center, which is optimal only for centered features. All terms are sums over rows, so features
and targets can be distributed:

.. math:: (\Phi_c^\top \Phi_c + \lambda I)\, w = \Phi^\top P - \bar\phi\, \mathbf 1^\top P,
          \qquad b = \bar p - w^\top \bar\phi

With sums of targets on a support (:mod:`ambilearn.kernel.ridge`), no array has the shape (n, l).
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace
from scipy import sparse

from ambilearn._utils.types import Array, Matrix
from ambilearn.backend import Support
from ambilearn.backend.arrays import column_centers, subtract_from_rows
from ambilearn.kernel.ridge import Factorize, RidgeFit
from ambilearn.solvers import factorize_by_lapack

_MAX_CENTERED = 2**22  # numbers that are centered at once


class Moments(NamedTuple):
    """Sums over rows of the features that ridge regression needs; those of blocks can be combined.

    Parameters
    ----------
    n_rows : float
        Number of rows, or the sum of their weights.
    mean : array of shape (m,)
        Mean of the rows.
    scatter : array of shape (m, m)
        Products of the centered columns.
    """

    n_rows: float
    mean: Array
    scatter: Array

    @classmethod
    def of(cls, features: Matrix, row_weights: Array | None = None) -> "Moments":
        """Moments of features of shape (n, m); sparse features stay sparse."""
        xp = np if sparse.issparse(features) else array_namespace(features)
        n, m = features.shape
        center = column_centers(features)
        total, scatter = xp.zeros_like(center), 0.0
        # Blocks limit the memory of the centered rows.
        step = n if sparse.issparse(features) else max(1, _MAX_CENTERED // max(m, 1))
        for first in range(0, n, step):
            rows = slice(first, min(first + step, n))
            centered = weighted = subtract_from_rows(features[rows, ...], center)
            if row_weights is not None:
                weighted = _times_rows(centered, row_weights[rows])
            product = centered.T @ weighted
            scatter += product.toarray() if sparse.issparse(product) else product
            total += weighted.sum(axis=0) if sparse.issparse(weighted) else xp.sum(weighted, axis=0)
        n_rows = n if row_weights is None else float(xp.sum(row_weights))
        rest = total / n_rows
        scatter -= n_rows * rest[:, None] * rest[None, :]
        return cls(n_rows, center + rest, scatter)

    def plus(self, other: "Moments") -> "Moments":
        """Moments of both sets of rows."""
        n_rows = self.n_rows + other.n_rows
        step = other.mean - self.mean
        between = self.n_rows * other.n_rows / n_rows * step[:, None] * step[None, :]
        mean = self.mean + other.n_rows / n_rows * step
        return Moments(n_rows, mean, self.scatter + other.scatter + between)


def _times_rows(features: Matrix, row_weights: Array) -> Matrix:
    if sparse.issparse(features):
        return sparse.diags_array(row_weights) @ features
    return row_weights[:, None] * features


class PrimalRidge:
    """Ridge regression in the primal, for features of which the moments are known.

    Parameters
    ----------
    moments : Moments
        Moments of the features.
    ridge : float
        The weight λ > 0.
    factorize : callable, default=factorize_by_lapack
        As in :class:`~ambilearn.kernel.ridge.DualRidge`.
    features : array or csr_array of shape (n, m), optional
        The features; needed for everything but :meth:`solve`.
    row_weights : array of shape (n,), optional
        Weights of the rows in the moments.
    """

    def __init__(
        self,
        moments: Moments,
        ridge: float,
        factorize: Factorize = factorize_by_lapack,
        features: Matrix = None,
        row_weights: Array | None = None,
    ) -> None:
        self.n_rows = moments.n_rows
        self.mean, self.scatter = moments.mean, moments.scatter
        self.factor = factorize(self.scatter, ridge, False)
        self.features, self.row_weights = features, row_weights
        self.complements: Array | None = None  # kept for leave-one-out outputs

    def solve(self, product: Array, total: Array, everywhere: float = 0.0) -> RidgeFit:
        r"""Fit targets P given by their sums :math:`\Phi^\top P` and :math:`\mathbf 1^\top P`.

        The number ``everywhere`` is added to all targets, which only changes the bias.
        """
        xp = array_namespace(product)
        coef = self.factor.solve(product - self.mean[:, None] * total[None, :])
        total = total + everywhere * self.n_rows
        center = total / self.n_rows
        squares = xp.sum(coef * (self.scatter @ coef)) + self.n_rows * xp.sum(center * center)
        return RidgeFit(
            coef=coef,
            intercept=center - self.mean @ coef,
            squared_norm=float(xp.sum(coef * coef)),
            squared_outputs=float(squares),
            total_output=float(xp.sum(total)),
            size=float(self.n_rows) * total.shape[0],
        )

    def fit(self, candidates: Support, values: Array, off_support: Array | float = 0.0) -> RidgeFit:
        """Fit ``values`` on the support, and ``off_support``, a number or one per row, off it."""
        everywhere = 0.0
        if isinstance(off_support, float):  # then the sums need only the support
            everywhere, values, off_support = off_support, values - off_support, 0.0
        sums = candidates.target_sums(self.features, values, off_support)
        fit = self.solve(*sums, everywhere)
        outputs = candidates.pair_outputs(self.features, fit.coef, fit.intercept)
        return replace(fit, outputs=outputs, pair_weights=candidates.pair_weights)

    def train_output(self, candidates: Support, fit: RidgeFit) -> Matrix:
        """Outputs on the training rows for a fitted attribute; of a sparse mask only candidates."""
        if candidates.sets.sparse_mask:
            return candidates.as_output(fit.outputs)
        return self.features @ fit.coef + fit.intercept
