r"""Ridge regression with an unpenalized bias, factorized once and solved for many targets.

.. math:: \min_{w, b} \|\Phi w + \mathbf 1 b^\top - P\|_F^2 + \lambda \|w\|_F^2

With :math:`M = K + \lambda I` and :math:`s = M^{-1}\mathbf 1` the optimum is
:math:`b = P^\top s / (\mathbf 1^\top s)`, :math:`A = M^{-1}(P - \mathbf 1 b^\top)`,
:math:`f(x) = k(x) A + b^\top`. Neither the outputs on the training rows,
:math:`H = P - \lambda A`, nor the norm, :math:`\|w\|^2 = \langle A, KA \rangle =
\langle A, H \rangle` (because :math:`\mathbf 1^\top A = 0`), need a product with *K*.

This is Eq. (A b solution) of PL-CL, up to its factor :math:`2\lambda` in *A*.

Row weights *v* in the squared error scale the rows by :math:`D = \operatorname{diag}(\sqrt v)`:
*K* becomes *DKD*, *P* becomes *DP* and :math:`\mathbf 1` becomes :math:`D \mathbf 1`. With the
solution *B* of that problem, :math:`A = DB` and :math:`H = P - \lambda D^{-1} B`.
"""

from collections.abc import Callable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace, device
from scipy import sparse

from ambilearn._utils.types import Array, Matrix
from ambilearn.solvers.blocked_cholesky import ShiftedFactor
from ambilearn.solvers.centering import column_centers, subtract_from_rows
from ambilearn.solvers.cholesky import factorize_by_lapack
from ambilearn.solvers.result import Solution, Status

_MAX_CENTERED = 2**22  # numbers that are centered at once

Factorize = Callable[[Array, float, bool], Any]


class RidgeFit(NamedTuple):
    r"""A ridge regressor fitted in the dual.

    Parameters
    ----------
    coef : array of shape (n, l)
        Dual coefficients *A*.
    intercept : array of shape (l,)
        The bias *b*.
    fitted : array of shape (n, l)
        Outputs *H* on the training rows.
    squared_norm : float
        The penalty :math:`\|w\|_F^2`.
    """

    coef: Array
    intercept: Array
    fitted: Array
    squared_norm: float


class KernelRidge:
    """Kernel ridge regression with an unpenalized bias for one kernel matrix.

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
        self._ridge = ridge
        self._root: Array | None = None  # D
        if row_weights is not None:
            self._root = xp.sqrt(row_weights)[:, None]
            if overwrite:  # memory for a copy is not guaranteed
                kernel *= self._root
            else:
                kernel, overwrite = self._root * kernel, True
            kernel *= self._root[:, 0]
        self._factor = factorize(kernel, ridge, overwrite)
        ones = xp.ones((kernel.shape[0], 1), dtype=kernel.dtype, device=device(kernel))
        self._unit = self._factor.solve(self._scale(ones))
        self._complements: Array | None = None

    def _scale(self, values: Array) -> Array:
        """The product with *D*; no copy if all rows have equal weight."""
        return values if self._root is None else self._root * values

    def with_ridge(self, ridge: float) -> "KernelRidge":
        """Solver for another ridge weight that reuses this factor.

        Only for a blocked factor, if a second one does not fit in memory. The number of conjugate
        gradient steps increases with the difference between the two weights
        (:class:`~ambilearn.solvers.blocked_cholesky.ShiftedFactor`).
        """
        other = copy(self)
        other._ridge = ridge
        other._factor = ShiftedFactor(self._factor, ridge - self._ridge)
        xp = array_namespace(self._unit)
        other._unit = other._factor.solve(self._scale(xp.ones_like(self._unit)))
        other._complements = None
        return other

    def solve(self, targets: Array) -> Solution[RidgeFit]:
        """Fit the targets P of shape (n, l); the value is a :class:`RidgeFit`."""
        xp = array_namespace(targets)
        solved = self._factor.solve(self._scale(targets))
        # M⁻¹(P − 1bᵀ) = M⁻¹P − sbᵀ and sᵀP = 1ᵀM⁻¹P, so one solve gives both A and b.
        intercept = xp.sum(self._scale(solved), axis=0) / xp.sum(self._scale(self._unit))
        coef = solved - self._unit * intercept[None, :]
        if self._root is None:
            fitted = targets - self._ridge * coef
        else:
            fitted = targets - self._ridge * coef / self._root
            coef = self._root * coef
        fit = RidgeFit(coef, intercept, fitted, float(xp.sum(coef * fitted)))
        return Solution(fit, Status.OPTIMAL, 1, 0.0)

    def solve_system(self, columns: Array) -> Array:
        r"""The product :math:`M^{-1} C` with columns *C* of shape (n, c); :math:`DM^{-1}DC`."""
        return self._scale(self._factor.solve(self._scale(columns)))

    def leverage_complements(self) -> Array:
        r"""One minus the leverage of each row, :math:`1 - h_i`, shape (n,).

        The outputs are :math:`H = SP` with a matrix *S* that has the leverages :math:`h_i` on its
        diagonal. The output at row *i* of a fit without row *i* is

        .. math:: p_i - \frac{p_i - (SP)_i}{1 - h_i}, \qquad
                  1 - h_i = \frac\lambda{v_i} \tilde M_{ii}, \qquad
                  \tilde M = M^{-1} - \frac{s s^\top}{\mathbf 1^\top s}

        so leave-one-out outputs need no further fit [1]_. They are computed once.

        References
        ----------
        .. [1] Cook. Detection of influential observation in linear regression. Technometrics
           19(1), 15-18, 1977.
        """
        if self._complements is None:
            xp = array_namespace(self._unit)
            unit = self._unit[:, 0]
            self._complements = self._ridge * (
                self._factor.inverse_diagonal() - unit**2 / xp.sum(self._scale(self._unit))
            )
        return self._complements

    def influence(self, rows: Array, changes: Array) -> Array:
        r"""Change of the leave-one-out outputs of all rows by new targets of some rows.

        .. math:: \Delta h_i = \frac1{1 - h_{ii}} \sum_{r \ne i} S_{ir} \delta_r

        so new targets change the outputs without another fit. ``changes`` has shape (k, c), one row
        for each of ``rows``, and the result has shape (n, c).
        """
        xp = array_namespace(self._unit)
        targets = xp.zeros((self._unit.shape[0], changes.shape[1]), dtype=self._unit.dtype)
        targets[rows, :] = changes
        outputs = self.solve(targets).value.fitted
        return without_own_targets(outputs, rows, changes, self.leverage_complements())


def without_own_targets(outputs: Array, rows: Array, changes: Array, complements: Array) -> Array:
    """Change of the leave-one-out outputs: without the effect of a row's target on its own output.

    ``outputs`` is the change of the fitted outputs, and is overwritten.
    The other arguments are those of :meth:`KernelRidge.influence`, and one minus each leverage.
    """
    outputs[rows, :] -= (1 - complements[rows])[:, None] * changes
    return outputs / complements[:, None]


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


def _times_rows(features: Matrix, row_weights: Array) -> Array:
    if sparse.issparse(features):
        return sparse.diags_array(row_weights) @ features
    return row_weights[:, None] * features


class PrimalFit(NamedTuple):
    r"""A ridge regressor fitted in the primal.

    Parameters
    ----------
    coef : array of shape (m, l)
        Weights *w*.
    intercept : array of shape (l,)
        The bias *b*.
    squared_norm : float
        The penalty :math:`\|w\|_F^2`.
    squared_outputs : float
        :math:`\|H\|_F^2` of the outputs *H* on the training rows.
    total_output : float
        Sum of the outputs on the training rows.
    """

    coef: Array
    intercept: Array
    squared_norm: float
    squared_outputs: float
    total_output: float


class PrimalRidge:
    r"""Primal ridge regression with an unpenalized bias: m×m normal equations of centered features.

    The joint optimum over (w, b) is ridge regression on centered features and targets. The formula
    in the PL-CL paper does not center, which is optimal only for centered features. All terms are
    sums over rows, so features and targets can be distributed:

    .. math:: (\Phi_c^\top \Phi_c + \lambda I)\, w = \Phi^\top P - \bar\phi\, \mathbf 1^\top P,
              \qquad b = \bar p - w^\top \bar\phi

    Parameters
    ----------
    moments : Moments
        Moments of the features.
    ridge : float
        The weight λ > 0.
    factorize : callable, default=factorize_by_lapack
        As in :class:`KernelRidge`.
    """

    def __init__(
        self, moments: Moments, ridge: float, factorize: Factorize = factorize_by_lapack
    ) -> None:
        self._n_rows = moments.n_rows
        self._mean, self._gram = moments.mean, moments.scatter
        self._factor = factorize(self._gram, ridge, False)
        self.complements: Array | None = (
            None  # 1 - leverage of all rows, once a regressor has computed it
        )

    def solve(self, product: Array, total: Array, everywhere: float = 0.0) -> Solution[PrimalFit]:
        r"""Fit targets P given by their sums; the value is a :class:`PrimalFit`.

        ``product`` is :math:`\Phi^\top P`, and ``total`` is :math:`\mathbf 1^\top P`. The number
        ``everywhere`` is added to all targets, which only changes the bias.
        """
        xp = array_namespace(product)
        coef = self._factor.solve(product - self._mean[:, None] * total[None, :])
        total = total + everywhere * self._n_rows
        center = total / self._n_rows
        fit = PrimalFit(
            coef=coef,
            intercept=center - self._mean @ coef,
            squared_norm=float(xp.sum(coef * coef)),
            squared_outputs=float(
                xp.sum(coef * (self._gram @ coef)) + self._n_rows * xp.sum(center * center)
            ),
            total_output=float(xp.sum(total)),
        )
        return Solution(fit, Status.OPTIMAL, 1, 0.0)

    def leverage_complements(self, features: Matrix, row_weights: float | Array = 1.0) -> Array:
        r"""As :meth:`KernelRidge.leverage_complements`, for some rows of the features.

        .. math:: 1 - h_i = 1 - v_i \Big(\frac1n
                  + (\phi_i - \bar\phi)^\top (\Phi_c^\top \Phi_c + \lambda I)^{-1}
                    (\phi_i - \bar\phi) \Big)

        The features, of shape (r, m), are rows of those that the moments were computed from;
        ``row_weights`` are their weights *v* in the squared error.
        """
        xp = array_namespace(features)
        centered = xp.matrix_transpose(features - self._mean[None, :])
        solved = self._factor.solve(centered)
        return 1 - row_weights * (1 / self._n_rows + xp.sum(centered * solved, axis=0))
