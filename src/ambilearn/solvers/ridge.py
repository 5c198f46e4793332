r"""Ridge regression with a free bias, factored once and solved for many targets.

.. math:: \min_{w, b} \|\Phi w + \mathbf 1 b^\top - P\|_F^2 + \lambda \|w\|_F^2

With :math:`M = K + \lambda I` and :math:`s = M^{-1}\mathbf 1` the optimum is
:math:`b = P^\top s / (\mathbf 1^\top s)`, :math:`A = M^{-1}(P - \mathbf 1 b^\top)`,
:math:`f(x) = k(x) A + b^\top`. The outputs on the training rows need no product with *K*:
:math:`H = P - \lambda A`. Nor does the norm: :math:`\|w\|^2 = \langle A, KA \rangle =
\langle A, H \rangle`, because :math:`\mathbf 1^\top A = 0`.

This is Eq. (A b solution) of PL-CL, up to its factor :math:`2\lambda` in *A*.

Rows that count differently, with weights *v* in the squared error, are rows scaled by
:math:`D = \operatorname{diag}(\sqrt v)`: *K* becomes *DKD*, *P* becomes *DP* and :math:`\mathbf 1`
becomes :math:`D \mathbf 1`. With the solution *B* of that problem :math:`A = DB` and
:math:`H = P - \lambda D^{-1} B`.
"""

from copy import copy
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace, device, is_numpy_array
from scipy import linalg, sparse

from ambilearn.solvers.blocked_cholesky import ShiftedFactor, factor_in_place
from ambilearn.solvers.result import Solution, Status

# LAPACK, as SciPy calls it, counts entries by 32 bits: larger matrices end the process.
_MAX_LAPACK_ROWS = 46_340
_COLUMNS_AT_ONCE = 64  # of an inverse factor that are squared


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

    coef: Any
    intercept: Any
    fitted: Any
    squared_norm: float


class KernelRidge:
    """Kernel ridge with a free bias for one kernel matrix.

    Parameters
    ----------
    kernel : array of shape (n, n)
        Symmetric positive semi-definite kernel matrix of the training rows.
    ridge : float
        The weight λ > 0.
    overwrite : bool, default=False
        Let the factor take the kernel matrix's place (saves n² numbers).
    row_weights : array of shape (n,), optional
        Weight > 0 of each row in the squared error.
    """

    def __init__(
        self, kernel: Any, ridge: float, overwrite: bool = False, row_weights: Any | None = None
    ) -> None:
        xp = array_namespace(kernel)
        self._ridge = ridge
        self._root: Any | None = None  # D
        if row_weights is not None:
            self._root = xp.sqrt(row_weights)[:, None]
            if overwrite and not is_numpy_array(kernel):  # there may be no room for another
                kernel *= self._root
            else:
                kernel, overwrite = self._root * kernel, True
            kernel *= self._root[:, 0]
        self._factor = _cholesky(kernel, ridge, overwrite)
        ones = xp.ones((kernel.shape[0], 1), dtype=kernel.dtype, device=device(kernel))
        self._unit = _cholesky_solve(self._factor, self._scale(ones))

    def _scale(self, values: Any) -> Any:
        """The product with *D*; no copy where all rows count alike."""
        return values if self._root is None else self._root * values

    def with_ridge(self, ridge: float) -> "KernelRidge":
        """The same rows with another ridge weight, without a second factor; on a device only.

        Conjugate gradients take the more steps the more the two weights differ
        (:class:`~ambilearn.solvers.blocked_cholesky.ShiftedFactor`). That pays where a second
        factor does not fit in memory.
        """
        other = copy(self)
        other._ridge = ridge
        other._factor = ShiftedFactor(self._factor, ridge - self._ridge)
        xp = array_namespace(self._unit)
        other._unit = _cholesky_solve(other._factor, self._scale(xp.ones_like(self._unit)))
        return other

    def solve(self, targets: Any) -> Solution[RidgeFit]:
        """Fit the targets P of shape (n, l); a :class:`RidgeFit`."""
        xp = array_namespace(targets)
        solved = _cholesky_solve(self._factor, self._scale(targets))
        # M⁻¹(P − 1bᵀ) = M⁻¹P − sbᵀ and sᵀP = 1ᵀM⁻¹P, so one solve serves both A and b.
        intercept = xp.sum(self._scale(solved), axis=0) / xp.sum(self._scale(self._unit))
        coef = solved - self._unit * intercept[None, :]
        if self._root is None:
            fitted = targets - self._ridge * coef
        else:
            fitted = targets - self._ridge * coef / self._root
            coef = self._root * coef
        fit = RidgeFit(coef, intercept, fitted, float(xp.sum(coef * fitted)))
        return Solution(fit, Status.OPTIMAL, 1, 0.0)

    def solve_system(self, columns: Any) -> Any:
        r"""The product :math:`M^{-1} C` with columns *C* of shape (n, c); :math:`DM^{-1}DC`."""
        return self._scale(_cholesky_solve(self._factor, self._scale(columns)))

    def leverage_complements(self) -> Any:
        r"""What each row's own target leaves to the others, :math:`1 - h_i`, shape (n,).

        The outputs are :math:`H = SP` with a matrix *S* whose diagonal are the leverages
        :math:`h_i`. Without row *i* they would be, at row *i*,

        .. math:: p_i - \frac{p_i - (SP)_i}{1 - h_i}, \qquad
                  1 - h_i = \frac\lambda{v_i} \tilde M_{ii}, \qquad
                  \tilde M = M^{-1} - \frac{s s^\top}{\mathbf 1^\top s}

        so that leaving out each row in turn takes no further fit [1]_.

        References
        ----------
        .. [1] Cook. Detection of influential observation in linear regression. Technometrics
           19(1), 15-18, 1977.
        """
        xp = array_namespace(self._unit)
        unit = self._unit[:, 0]
        return self._ridge * (
            _inverse_diagonal(self._factor) - unit**2 / xp.sum(self._scale(self._unit))
        )


class Moments(NamedTuple):
    """What ridge regression needs to know of the features; the sum over blocks of rows.

    Parameters
    ----------
    n_rows : float
        Number of rows, or the sum of their weights.
    total : array of shape (m,)
        Sum of the rows.
    gram : array of shape (m, m)
        Products of the columns.
    """

    n_rows: float
    total: Any
    gram: Any

    @classmethod
    def of(cls, features: Any, row_weights: Any | None = None) -> "Moments":
        """Moments of features of shape (n, m); never densified when sparse."""
        n_rows, weighted = features.shape[0], features
        if sparse.issparse(features):
            if row_weights is not None:
                n_rows, weighted = row_weights.sum(), sparse.diags_array(row_weights) @ features
            total = np.asarray(weighted.sum(axis=0)).ravel()
            return cls(n_rows, total, (features.T @ weighted).toarray())
        xp = array_namespace(features)
        if row_weights is not None:
            n_rows, weighted = float(xp.sum(row_weights)), row_weights[:, None] * features
        gram = xp.matmul(xp.matrix_transpose(features), weighted)
        return cls(n_rows, xp.sum(weighted, axis=0), gram)

    def plus(self, other: "Moments") -> "Moments":
        """Moments of both sets of rows."""
        return Moments(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


class PrimalFit(NamedTuple):
    r"""A ridge regressor fitted in the primal; the outputs are those on the training rows.

    Parameters
    ----------
    coef : array of shape (m, l)
        Weights *w*.
    intercept : array of shape (l,)
        The bias *b*.
    squared_norm : float
        The penalty :math:`\|w\|_F^2`.
    squared_outputs : float
        :math:`\|H\|_F^2` of the outputs *H*.
    total_output : float
        Their sum.
    """

    coef: Any
    intercept: Any
    squared_norm: float
    squared_outputs: float
    total_output: float


class PrimalRidge:
    r"""Ridge with a free bias in the primal: the m×m normal equations of centred features.

    The joint optimum over (w, b) is ridge on centred features and targets. The formula printed in
    the PL-CL paper does not centre, which is optimal only when the features are centred already.
    Only sums over rows occur, so neither features nor targets need be in one place:

    .. math:: (\Phi_c^\top \Phi_c + \lambda I)\, w = \Phi^\top P - \bar\phi\, \mathbf 1^\top P,
              \qquad b = \bar p - w^\top \bar\phi

    Parameters
    ----------
    moments : Moments
        Of the features.
    ridge : float
        The weight λ > 0.
    """

    def __init__(self, moments: Moments, ridge: float) -> None:
        self._n_rows = moments.n_rows
        self._mean = moments.total / moments.n_rows
        self._gram = moments.gram - moments.n_rows * self._mean[:, None] * self._mean[None, :]
        self._factor = _cholesky(self._gram, ridge, False)

    def solve(self, product: Any, total: Any) -> Solution[PrimalFit]:
        r"""Fit targets P of which only sums are known; a :class:`PrimalFit`.

        Parameters
        ----------
        product : array of shape (m, l)
            :math:`\Phi^\top P`.
        total : array of shape (l,)
            :math:`\mathbf 1^\top P`.
        """
        xp = array_namespace(product)
        coef = _cholesky_solve(self._factor, product - self._mean[:, None] * total[None, :])
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

    def leverage_complements(self, features: Any, row_weights: Any = 1.0) -> Any:
        r"""As :meth:`KernelRidge.leverage_complements`, for some rows of the features.

        .. math:: 1 - h_i = 1 - v_i \Big(\frac1n
                  + (\phi_i - \bar\phi)^\top (\Phi_c^\top \Phi_c + \lambda I)^{-1}
                    (\phi_i - \bar\phi) \Big)

        Parameters
        ----------
        features : array of shape (r, m)
            Rows of the features that the moments are of.
        row_weights : float or array of shape (r,), default=1.0
            Their weights *v* in the squared error.

        Returns
        -------
        complements : array of shape (r,)
        """
        xp = array_namespace(features)
        centered = xp.matrix_transpose(features - self._mean[None, :])
        solved = _cholesky_solve(self._factor, centered)
        return 1 - row_weights * (1 / self._n_rows + xp.sum(centered * solved, axis=0))


def _inverse_diagonal(factor: Any) -> Any:
    """Diagonal of the inverse of a matrix, from its lower Cholesky factor."""
    if not is_numpy_array(factor):
        return factor.inverse_diagonal()
    inverse, _ = linalg.lapack.dtrtri(factor, lower=1)
    diagonal = np.empty(len(inverse))
    for first in range(0, len(inverse), _COLUMNS_AT_ONCE):
        # What stands above the diagonal is not part of the factor.
        columns = np.tril(inverse[first:, first : first + _COLUMNS_AT_ONCE])
        diagonal[first : first + _COLUMNS_AT_ONCE] = np.sum(columns * columns, axis=0)
    return diagonal


def _cholesky(matrix: Any, ridge: float, overwrite: bool) -> Any:
    """Lower Cholesky factor of ``matrix + ridge * I``."""
    xp = array_namespace(matrix)
    if not is_numpy_array(matrix) or matrix.shape[0] > _MAX_LAPACK_ROWS:
        matrix = matrix if overwrite else xp.asarray(matrix, copy=True)
        _add_to_diagonal(xp, matrix, ridge)
        try:
            return factor_in_place(matrix)
        except ArithmeticError as error:
            raise _not_positive_definite(ridge, error.args[0]) from error
    if not matrix.flags.f_contiguous:
        matrix = matrix.T  # the same, being symmetric, but in LAPACK's column order
    matrix = np.asfortranarray(matrix) if overwrite else matrix.copy(order="F")
    matrix[np.diag_indices_from(matrix)] += ridge
    factor, info = linalg.lapack.dpotrf(matrix, lower=1, clean=0, overwrite_a=1)
    if info:
        raise _not_positive_definite(ridge, info)
    return factor


def _add_to_diagonal(xp: Any, matrix: Any, value: float) -> None:
    """In place; by small blocks, because the standard has no way to a diagonal."""
    step = min(1024, matrix.shape[0])
    identity = value * xp.eye(step, dtype=matrix.dtype, device=device(matrix))
    for first in range(0, matrix.shape[0], step):
        rows = slice(first, min(first + step, matrix.shape[0]))
        size = rows.stop - first
        matrix[rows, rows] += identity[:size, :size]


def _not_positive_definite(ridge: float, minor: int) -> Exception:
    return np.linalg.LinAlgError(
        f"The kernel matrix plus {ridge:g} on its diagonal is not positive definite (leading "
        f"minor {minor}): the kernel is not a valid (positive semi-definite) one, or the ridge "
        "weight `reg` is too small for the scale of the features; raise it or scale them."
    )


def _cholesky_solve(factor: Any, targets: Any) -> Any:
    """Solve with both triangles of a lower Cholesky factor."""
    if not is_numpy_array(factor):
        return factor.solve(targets)
    solved, _ = linalg.lapack.dpotrs(factor, targets, lower=1)
    return solved
