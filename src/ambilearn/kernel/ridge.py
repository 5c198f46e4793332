r"""Ridge regression with an unpenalized bias, factorized once and solved for many targets.

.. math:: \min_{w, b} \|\Phi w + \mathbf 1 b^\top - P\|_F^2 + \lambda \|w\|_F^2

In the dual, with :math:`M = K + \lambda I` and :math:`s = M^{-1}\mathbf 1`, the optimum is
:math:`b = P^\top s / (\mathbf 1^\top s)`, :math:`A = M^{-1}(P - \mathbf 1 b^\top)`,
:math:`f(x) = k(x) A + b^\top`. Neither the outputs on the training rows,
:math:`H = P - \lambda A`, nor the norm, :math:`\|w\|^2 = \langle A, KA \rangle =
\langle A, H \rangle` (because :math:`\mathbf 1^\top A = 0`), need a product with *K*.
This is Eq. (A b solution) of PL-CL, up to its factor :math:`2\lambda` in *A*.

Row weights *v* in the squared error scale the rows by :math:`D = \operatorname{diag}(\sqrt v)`:
*K* becomes *DKD*, *P* becomes *DP* and :math:`\mathbf 1` becomes :math:`D \mathbf 1`. With the
solution *B* of that problem, :math:`A = DB` and :math:`H = P - \lambda D^{-1} B`.

The targets of PL-CL are support vectors, and zero (P) or one number per row (Q) for labels that are
not candidates. Outputs are needed only on the support, and the squared error over all n·l entries
follows from sums of the outputs:

.. math:: \|H - T\|^2 = \|H\|^2 - 2 t \sum_{ij} h_{ij} + n\,l\,t^2
          + \sum_{(i, j) \in \text{support}} \big[(h_{ij} - t_{ij})^2 - (h_{ij} - t)^2\big]

with targets :math:`t_{ij}` on the support and :math:`t` off it.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace, device

from ambilearn._utils.limits import threads_for
from ambilearn._utils.types import Array, Matrix
from ambilearn.backend import Support
from ambilearn.backend.interface import Factor
from ambilearn.solvers import factorize_by_lapack

Factorize = Callable[[Array, float, bool], Factor]


@dataclass(frozen=True)
class RidgeFit:
    r"""A ridge regressor fitted to targets.

    Parameters
    ----------
    coef : array of shape (n, l) or (m, l)
        Dual coefficients *A*, or weights *w* of the features.
    intercept : array of shape (l,)
        The bias *b*.
    squared_norm : float
        The penalty :math:`\|w\|_F^2`.
    squared_outputs, total_output : float
        Sum of the squares and sum of all n·l outputs; rows count with their weights.
    size : float
        n·l.
    fitted : array of shape (n, l), default=empty
        All outputs on the training rows; only in the dual.
    outputs : array of shape (n_pairs,), default=empty
        Outputs on the support, if the targets were support vectors.
    pair_weights : float or array of shape (n_pairs,), default=1.0
        Weight of the row of each pair in the squared error.
    """

    coef: Array
    intercept: Array
    squared_norm: float
    squared_outputs: float
    total_output: float
    size: float
    fitted: Array = field(default_factory=lambda: np.empty(0))
    outputs: Array = field(default_factory=lambda: np.empty(0))
    pair_weights: Array | float = 1.0

    def squared_error(self, values: Array, off_support: float = 0.0) -> float:
        """Squared distance of all n·l outputs to ``values`` and, off the support, a number."""
        t, outputs = off_support, self.outputs
        everywhere = self.squared_outputs - 2 * t * self.total_output + self.size * t**2
        on_support = (outputs - values) ** 2 - (outputs - t) ** 2
        xp = array_namespace(on_support)
        return float(everywhere + xp.sum(self.pair_weights * on_support))


class DualRidge:
    """Ridge regression in the dual, for one kernel matrix.

    Parameters
    ----------
    kernel : array of shape (n, n)
        Symmetric positive semi-definite kernel matrix of the training rows.
    ridge : float
        The weight λ > 0.
    overwrite : bool, default=False
        Whether the factor may overwrite the kernel matrix (saves n² numbers).
    row_weights : array of shape (n,), optional
        Weight > 0 of each row in the squared error.
    factorize : callable, default=factorize_by_lapack
        ``factorize(matrix, ridge, overwrite)`` returns the Cholesky factor of
        ``matrix + ridge * I``, an object with ``solve`` and ``inverse_diagonal``.
    """

    def __init__(
        self,
        kernel: Array,
        ridge: float,
        overwrite: bool = False,
        row_weights: Array | None = None,
        factorize: Factorize = factorize_by_lapack,
    ) -> None:
        xp = array_namespace(kernel)
        self.ridge = ridge
        self._row_weights = row_weights
        self._root: Array | None = None  # D
        if row_weights is not None:
            self._root = xp.sqrt(row_weights)[:, None]
            if overwrite:  # memory for a copy is not guaranteed
                kernel *= self._root
            else:
                kernel, overwrite = self._root * kernel, True
            kernel *= self._root[:, 0]
        self.factor: Any = factorize(kernel, ridge, overwrite)
        ones = xp.ones((kernel.shape[0], 1), dtype=kernel.dtype, device=device(kernel))
        self.unit = self.factor.solve(self.scale(ones))
        self.complements: Array | None = None  # kept for leave-one-out outputs

    def scale(self, values: Array) -> Array:
        """The product with *D*; no copy if all rows have equal weight."""
        return values if self._root is None else self._root * values

    def with_ridge(self, ridge: float) -> "DualRidge":
        """Solver for another ridge weight that reuses this factor.

        For the case that a second factor does not fit in memory. The number of conjugate gradient
        steps increases with the difference between the two weights
        (:class:`~ambilearn.solvers.blocked_cholesky.ShiftedFactor`).
        """
        from ambilearn.solvers import ShiftedFactor

        other = copy(self)
        other.ridge = ridge
        other.factor = ShiftedFactor(self.factor, ridge - self.ridge)
        xp = array_namespace(self.unit)
        other.unit = other.factor.solve(self.scale(xp.ones_like(self.unit)))
        other.complements = None
        return other

    def solve(self, targets: Array) -> RidgeFit:
        """Fit targets P of shape (n, l)."""
        xp = array_namespace(targets)
        n, n_labels = targets.shape
        with threads_for(4.0 * n * n * n_labels):
            solved = self.factor.solve(self.scale(targets))
            # M⁻¹(P − 1bᵀ) = M⁻¹P − sbᵀ and sᵀP = 1ᵀM⁻¹P, so one solve gives both A and b.
            intercept = xp.sum(self.scale(solved), axis=0) / xp.sum(self.scale(self.unit))
            coef = solved - self.unit * intercept[None, :]
            if self._root is None:
                fitted = targets - self.ridge * coef
            else:
                fitted = targets - self.ridge * coef / self._root
                coef = self._root * coef
            squared_norm = float(xp.sum(coef * fitted))
        weighted, n_rows = fitted, float(n)
        if self._row_weights is not None:
            weighted = self._row_weights[:, None] * fitted
            n_rows = float(xp.sum(self._row_weights))
        squares, total = float(xp.sum(weighted * fitted)), float(xp.sum(weighted))
        return RidgeFit(coef, intercept, squared_norm, squares, total, n_rows * n_labels, fitted)

    def fit(self, candidates: Support, values: Array, off_support: Array | float = 0.0) -> RidgeFit:
        """Fit ``values`` on the support, and ``off_support``, a number or one per row, off it."""
        fit = self.solve(candidates.scatter(values, off_support))
        outputs = candidates.gather(fit.fitted)
        return replace(fit, outputs=outputs, pair_weights=candidates.pair_weights)

    def train_output(self, candidates: Support, fit: RidgeFit) -> Matrix:
        """Outputs on the training rows for a fitted attribute; of a sparse mask only candidates."""
        return candidates.as_output(fit.outputs) if candidates.sets.sparse_mask else fit.fitted
