r"""Ridge regression with an unpenalized bias, factorized once and solved for many targets.

.. math:: \min_{w, b} \|\Phi w + \mathbf 1 b^\top - P\|_F^2 + \lambda \|w\|_F^2

In the dual, with :math:`M = K + \lambda I` and :math:`s = M^{-1}\mathbf 1`, the optimum is
:math:`b = P^\top s / (\mathbf 1^\top s)`, :math:`A = M^{-1}(P - \mathbf 1 b^\top)`,
:math:`f(x) = k(x) A + b^\top`. Neither the outputs on the training rows,
:math:`H = P - \lambda A`, nor the norm, :math:`\|w\|^2 = \langle A, KA \rangle =
\langle A, H \rangle` (because :math:`\mathbf 1^\top A = 0`), need a product with *K*.
This is Eq. (A b solution) of PL-CL, up to its factor :math:`2\lambda` in *A*.

The primal has the m×m normal equations of centered features. The formula in the PL-CL paper does
not center, which is optimal only for centered features. All terms are sums over rows, so features
and targets can be distributed:

.. math:: (\Phi_c^\top \Phi_c + \lambda I)\, w = \Phi^\top P - \bar\phi\, \mathbf 1^\top P,
          \qquad b = \bar p - w^\top \bar\phi

Row weights *v* in the squared error scale the rows by :math:`D = \operatorname{diag}(\sqrt v)`:
*K* becomes *DKD*, *P* becomes *DP* and :math:`\mathbf 1` becomes :math:`D \mathbf 1`. With the
solution *B* of that problem, :math:`A = DB` and :math:`H = P - \lambda D^{-1} B`.

The targets of PL-CL are support vectors, and zero (P) or one number per row (Q) for labels that are
not candidates. Outputs are needed only on the support, and the squared error over all n·l entries
follows from sums of the outputs:

.. math:: \|H - T\|^2 = \|H\|^2 - 2 t \sum_{ij} h_{ij} + n\,l\,t^2
          + \sum_{(i, j) \in \text{support}} \big[(h_{ij} - t_{ij})^2 - (h_{ij} - t)^2\big]

with targets :math:`t_{ij}` on the support and :math:`t` off it. The primal allocates no array of
shape (n, l).
"""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace, device
from scipy import sparse

from ambilearn._utils.limits import threads_for
from ambilearn._utils.types import Array, Matrix
from ambilearn.backend import Support, choose_backend
from ambilearn.backend.arrays import column_centers, subtract_from_rows, to_numpy
from ambilearn.backend.interface import Factor
from ambilearn.solvers import factorize_by_lapack

MAX_DENSE_LABELS = 1000  # of a sparse mask, if a dense matrix of rows and labels is needed
_MAX_CENTERED = 2**22  # numbers that are centered at once

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

    rows: Array
    labels: Array
    outputs: Array


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
        self._ridge = ridge
        self._row_weights = row_weights
        self._root: Array | None = None  # D
        if row_weights is not None:
            self._root = xp.sqrt(row_weights)[:, None]
            if overwrite:  # memory for a copy is not guaranteed
                kernel *= self._root
            else:
                kernel, overwrite = self._root * kernel, True
            kernel *= self._root[:, 0]
        self._factor: Any = factorize(kernel, ridge, overwrite)
        ones = xp.ones((kernel.shape[0], 1), dtype=kernel.dtype, device=device(kernel))
        self._unit = self._factor.solve(self._scale(ones))
        self._complements: Array | None = None

    def _scale(self, values: Array) -> Array:
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
        other._ridge = ridge
        other._factor = ShiftedFactor(self._factor, ridge - self._ridge)
        xp = array_namespace(self._unit)
        other._unit = other._factor.solve(self._scale(xp.ones_like(self._unit)))
        other._complements = None
        return other

    def solve(self, targets: Array) -> RidgeFit:
        """Fit targets P of shape (n, l)."""
        xp = array_namespace(targets)
        n, n_labels = targets.shape
        with threads_for(4.0 * n * n * n_labels):
            solved = self._factor.solve(self._scale(targets))
            # M⁻¹(P − 1bᵀ) = M⁻¹P − sbᵀ and sᵀP = 1ᵀM⁻¹P, so one solve gives both A and b.
            intercept = xp.sum(self._scale(solved), axis=0) / xp.sum(self._scale(self._unit))
            coef = solved - self._unit * intercept[None, :]
            if self._root is None:
                fitted = targets - self._ridge * coef
            else:
                fitted = targets - self._ridge * coef / self._root
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

    def held_out(self, candidates: Support, values: Array) -> Iterator[OutputBlock]:
        """Leave-one-out outputs: for each row, those of the fit to all other rows, in blocks."""
        targets = candidates.scatter(candidates.backend.asarray(values))
        fitted = self.solve(targets).fitted
        outputs = to_numpy(_leave_out(targets, fitted, self.leverage_complements()))
        rows, labels = map(np.arange, outputs.shape)
        yield OutputBlock(rows, labels, outputs)

    def influence(self, rows: Array, changes: Array) -> Array:
        r"""Change of the leave-one-out outputs of all rows by new targets of some rows.

        .. math:: \Delta h_i = \frac1{1 - h_{ii}} \sum_{r \ne i} S_{ir} \delta_r

        so new targets change the outputs without another fit. ``changes`` has shape (k, c), one row
        for each of ``rows``, and the result has shape (n, c).
        """
        xp = array_namespace(self._unit)
        targets = xp.zeros((self._unit.shape[0], changes.shape[1]), dtype=self._unit.dtype)
        targets[rows, :] = changes
        outputs = self.solve(targets).fitted
        return _without_own_targets(outputs, rows, changes, self.leverage_complements())


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
        As in :class:`DualRidge`.
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
        self._n_rows = moments.n_rows
        self._mean, self._gram = moments.mean, moments.scatter
        self._factor = factorize(self._gram, ridge, False)
        self._features, self._row_weights = features, row_weights
        self._complements: Array | None = None

    def solve(self, product: Array, total: Array, everywhere: float = 0.0) -> RidgeFit:
        r"""Fit targets P given by their sums :math:`\Phi^\top P` and :math:`\mathbf 1^\top P`.

        The number ``everywhere`` is added to all targets, which only changes the bias.
        """
        xp = array_namespace(product)
        coef = self._factor.solve(product - self._mean[:, None] * total[None, :])
        total = total + everywhere * self._n_rows
        center = total / self._n_rows
        squares = xp.sum(coef * (self._gram @ coef)) + self._n_rows * xp.sum(center * center)
        return RidgeFit(
            coef=coef,
            intercept=center - self._mean @ coef,
            squared_norm=float(xp.sum(coef * coef)),
            squared_outputs=float(squares),
            total_output=float(xp.sum(total)),
            size=float(self._n_rows) * total.shape[0],
        )

    def fit(self, candidates: Support, values: Array, off_support: Array | float = 0.0) -> RidgeFit:
        """Fit ``values`` on the support, and ``off_support``, a number or one per row, off it."""
        everywhere = 0.0
        if isinstance(off_support, float):  # then the sums need only the support
            everywhere, values, off_support = off_support, values - off_support, 0.0
        sums = candidates.target_sums(self._features, values, off_support)
        fit = self.solve(*sums, everywhere)
        outputs = candidates.pair_outputs(self._features, fit.coef, fit.intercept)
        return replace(fit, outputs=outputs, pair_weights=candidates.pair_weights)

    def train_output(self, candidates: Support, fit: RidgeFit) -> Matrix:
        """Outputs on the training rows for a fitted attribute; of a sparse mask only candidates."""
        if candidates.sets.sparse_mask:
            return candidates.as_output(fit.outputs)
        return self._features @ fit.coef + fit.intercept

    def leverage_complements(self) -> Array:
        r"""As :meth:`DualRidge.leverage_complements`, computed once.

        .. math:: 1 - h_i = 1 - v_i \Big(\frac1n
                  + (\phi_i - \bar\phi)^\top (\Phi_c^\top \Phi_c + \lambda I)^{-1}
                    (\phi_i - \bar\phi) \Big)
        """
        if self._complements is None:
            parts = [self._block_complements(rows) for rows in self._blocks()]
            self._complements = array_namespace(*parts).concat(parts)
        return self._complements

    def _block_complements(self, rows: slice) -> Array:
        features = self._dense(rows)
        xp = array_namespace(features)
        centered = xp.matrix_transpose(features - self._mean[None, :])
        solved = self._factor.solve(centered)
        row_weights = 1.0 if self._row_weights is None else self._row_weights[rows]
        return 1 - row_weights * (1 / self._n_rows + xp.sum(centered * solved, axis=0))

    def held_out(self, candidates: Support, values: Array) -> Iterator[OutputBlock]:
        """Leave-one-out outputs: for each row, those of the fit to all other rows, in blocks."""
        values = candidates.backend.asarray(values)
        fit = self.fit(candidates, values)
        complements = self.leverage_complements()
        labels = np.arange(candidates.n_labels)
        for block in self._blocks(8 * len(labels)):
            fitted = self._dense(block) @ fit.coef + fit.intercept
            targets = candidates.scatter_rows(values, 0.0, block)
            outputs = to_numpy(_leave_out(targets, fitted, complements[block]))
            yield OutputBlock(np.arange(block.start, block.stop), labels, outputs)

    def influence(self, rows: Array, changes: Array) -> Array:
        """As :meth:`DualRidge.influence`, for rows in host memory."""
        features = self._features[rows]
        features = features.toarray() if sparse.issparse(features) else features
        weighted = changes if self._row_weights is None else self._row_weights[rows, None] * changes
        fit = self.solve(features.T @ weighted, weighted.sum(axis=0))
        outputs = self._features @ fit.coef + fit.intercept
        return _without_own_targets(outputs, rows, changes, self.leverage_complements())

    def _blocks(self, per_row: int = 0) -> Iterator[slice]:
        numbers = per_row + 2 * self._features.shape[1]
        return choose_backend(self._features).blocks(self._features, numbers)

    def _dense(self, rows: slice) -> Array:
        """Some rows of the features."""
        if sparse.issparse(self._features):
            return self._features[rows].toarray()
        return self._features[rows, ...]


Ridge = DualRidge | PrimalRidge


class LeaveOneOut(NamedTuple):
    """Leave-one-out outputs of a ridge regression for targets on the support of candidate sets."""

    ridge: Ridge
    candidates: Support

    def held_out(self, values: Array) -> Iterator[OutputBlock]:
        """For each row, outputs of the fit to all other rows, in blocks."""
        return self.ridge.held_out(self.candidates, values)

    def influence(self, rows: Array, changes: Array) -> Array:
        """Change of the outputs by new targets; see :meth:`DualRidge.influence`."""
        return self.ridge.influence(rows, changes)


def check_dense_labels(n_labels: int) -> None:
    """Raise an error for a sparse mask with too many labels for the exact kernel."""
    if n_labels > MAX_DENSE_LABELS:
        raise ValueError(
            "A classifier with the exact kernel needs dense matrices of rows and labels, and there "
            f"are {n_labels} labels in a sparse mask: set n_landmarks for a kernel of low rank "
            "(with the number of rows it is exact), or pass a dense mask if memory allows."
        )


def _leave_out(targets: Array, fitted: Array, complements: Array) -> Array:
    r"""Leave-one-out outputs :math:`p - (p - h) / (1 - h_{ii})`, of the fit to all other rows."""
    return targets - (targets - fitted) / complements[:, None]


def _without_own_targets(outputs: Array, rows: Array, changes: Array, complements: Array) -> Array:
    """Change of the leave-one-out outputs: without the effect of a row's target on its own output.

    ``outputs`` is the change of the fitted outputs, and is overwritten.
    """
    outputs[rows, :] -= (1 - complements[rows])[:, None] * changes
    return outputs / complements[:, None]
