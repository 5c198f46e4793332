r"""Outputs of ridge regression for rows that are left out, without a fit for each row.

The outputs are linear in the targets, :math:`H = SP`, and the output at row *i* of a fit without
row *i* follows from the leverage :math:`h_i = S_{ii}` [1]_:

.. math:: p_i - \frac{p_i - (SP)_i}{1 - h_i}

References
----------
.. [1] Cook. Detection of influential observation in linear regression. Technometrics 19(1), 15-18,
   1977.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from array_api_compat import array_namespace
from scipy import sparse

from ambilearn._utils.types import Array, Matrix
from ambilearn.backend import Support, choose_backend
from ambilearn.backend.arrays import to_numpy
from ambilearn.kernel.ridge import DualRidge

if TYPE_CHECKING:
    from ambilearn.kernel.primal import PrimalRidge

Ridge: TypeAlias = "DualRidge | PrimalRidge"


class OutputBlock(NamedTuple):
    """Outputs of some rows for all labels.

    Parameters
    ----------
    rows : ndarray of shape (r,)
        The rows, ascending.
    outputs : ndarray of shape (r, l)
        The outputs.
    """

    rows: Array
    outputs: Array


class LeaveOneOut(NamedTuple):
    """Leave-one-out outputs of a ridge regression for targets on the support of candidate sets."""

    ridge: Ridge
    candidates: Support

    def held_out(self, values: Array) -> Iterator[OutputBlock]:
        """For each row, outputs of the fit to all other rows, in blocks."""
        ridge, candidates = self.ridge, self.candidates
        values = candidates.backend.asarray(values)
        fit, complements = ridge.fit(candidates, values), leverage_complements(ridge)
        for block in _blocks(ridge, 8 * candidates.n_labels):
            if isinstance(ridge, DualRidge):
                fitted = fit.fitted
            else:
                fitted = _dense_rows(ridge.features, block) @ fit.coef + fit.intercept
            targets = candidates.scatter_rows(values, 0.0, block)
            outputs = targets - (targets - fitted) / complements[block, None]
            yield OutputBlock(np.arange(block.start, block.stop), to_numpy(outputs))

    def influence(self, rows: Array, changes: Array) -> Array:
        r"""Change of the outputs of all rows by new targets of some rows.

        .. math:: \Delta h_i = \frac1{1 - h_{ii}} \sum_{r \ne i} S_{ir} \delta_r

        so new targets change the outputs without another fit. ``changes`` has shape (k, c), one row
        for each of ``rows``, and the result has shape (n, c).
        """
        outputs = _outputs_of_targets(self.ridge, rows, changes)
        complements = leverage_complements(self.ridge)
        # Without the effect of a row's target on its own output.
        outputs[rows, :] -= (1 - complements[rows])[:, None] * changes
        return outputs / complements[:, None]


def leverage_complements(ridge: Ridge) -> Array:
    r"""One minus the leverage of each row, :math:`1 - h_i`, shape (n,); computed once.

    The outputs are :math:`H = SP` with a matrix *S* that has the leverages :math:`h_i` on its
    diagonal. In the dual and in the primal,

    .. math:: 1 - h_i = \frac\lambda{v_i} \tilde M_{ii}, \qquad
              \tilde M = M^{-1} - \frac{s s^\top}{\mathbf 1^\top s}

    .. math:: 1 - h_i = 1 - v_i \Big(\frac1n
              + (\phi_i - \bar\phi)^\top (\Phi_c^\top \Phi_c + \lambda I)^{-1}
                (\phi_i - \bar\phi) \Big)
    """
    if ridge.complements is None:
        if isinstance(ridge, DualRidge):
            xp, unit = array_namespace(ridge.unit), ridge.unit[:, 0]
            reduction = unit**2 / xp.sum(ridge.scale(ridge.unit))
            ridge.complements = ridge.ridge * (ridge.factor.inverse_diagonal() - reduction)
        else:
            parts = [_block_complements(ridge, rows) for rows in _blocks(ridge)]
            ridge.complements = array_namespace(*parts).concat(parts)
    return ridge.complements


def _block_complements(ridge: "PrimalRidge", rows: slice) -> Array:
    features = _dense_rows(ridge.features, rows)
    xp = array_namespace(features)
    centered = xp.matrix_transpose(features - ridge.mean[None, :])
    solved = ridge.factor.solve(centered)
    row_weights = 1.0 if ridge.row_weights is None else ridge.row_weights[rows]
    return 1 - row_weights * (1 / ridge.n_rows + xp.sum(centered * solved, axis=0))


def _outputs_of_targets(ridge: Ridge, rows: Array, targets: Array) -> Array:
    """Outputs of all rows, fitted to ``targets`` of some rows and to zero for the others."""
    if isinstance(ridge, DualRidge):
        xp = array_namespace(ridge.unit)
        every = xp.zeros((ridge.unit.shape[0], targets.shape[1]), dtype=ridge.unit.dtype)
        every[rows, :] = targets
        return ridge.solve(every).fitted
    features = _dense_rows(ridge.features, rows)
    weighted = targets if ridge.row_weights is None else ridge.row_weights[rows, None] * targets
    fit = ridge.solve(features.T @ weighted, weighted.sum(axis=0))
    return ridge.features @ fit.coef + fit.intercept


def _blocks(ridge: Ridge, numbers_per_row: int = 0) -> Iterator[slice]:
    """Slices that cover the training rows; the outputs of the dual are a single block.

    In the primal, work on a row holds ``numbers_per_row`` numbers besides its features.
    """
    if isinstance(ridge, DualRidge):
        return iter([slice(0, ridge.unit.shape[0])])
    features = ridge.features
    return choose_backend(features).blocks(features, numbers_per_row + 2 * features.shape[1])


def _dense_rows(features: Matrix, rows: slice | Array) -> Array:
    return features[rows].toarray() if sparse.issparse(features) else features[rows, ...]
