r"""Kernel ridge regression for very many labels, without arrays of shape (n, l).

The dual coefficients :math:`A = M^{-1}(T - \mathbf 1 b^\top)` are dense even if the targets *T* are
sparse, so they are not computed. The outputs on the support are computed in blocks of labels, and
the scores of a new row with kernel values *k* use another order of the same product:

.. math:: k^\top A = (M^{-1} k)^\top (T - \mathbf 1 b^\top)

The classifier has to store the factor of *M*, n² numbers.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ambilearn._utils.blocks import row_blocks
from ambilearn._utils.threads import threads_for
from ambilearn._utils.types import Array
from ambilearn.backend import HostSupport
from ambilearn.kernel.regression import OutputBlock, SupportFit, leave_out, output_sums
from ambilearn.solvers import KernelRidge

# Above this, no dense matrix of rows and labels is made from a sparse mask.
MAX_DENSE_LABELS = 1000


class FactoredCoefficients:
    r"""Dual coefficients in factored form; supports ``K @ self`` with a kernel matrix.

    Parameters
    ----------
    ridge : KernelRidge
        Ridge regression with the factor of *M*.
    excess : csr_array of shape (n, l)
        Targets on the support, minus ``off_support`` of the row.
    off_support : ndarray of shape (n,)
        Target off the support, one number per row.
    intercept : ndarray of shape (l,)
        The bias *b*.
    """

    __array_ufunc__ = None  # NumPy then calls __rmatmul__

    def __init__(
        self,
        ridge: KernelRidge,
        excess: sparse.csr_array,
        off_support: NDArray[np.float64],
        intercept: NDArray[np.float64],
    ) -> None:
        self.ridge = ridge
        self.excess = excess
        self.off_support = off_support
        self.intercept = intercept

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (n, l)."""
        return len(self.off_support), len(self.intercept)

    def __rmatmul__(self, K: NDArray[np.float64]) -> NDArray[np.float64]:
        rows = self.ridge.solve_system(K.T).T
        product: NDArray[np.float64] = (self.excess.T @ rows.T).T
        product += (rows @ self.off_support)[:, None]
        product -= rows.sum(axis=1)[:, None] * self.intercept
        return product

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of shape {self.shape}; toarray() returns the dense array>"

    def toarray(self) -> NDArray[np.float64]:
        """Coefficients as a dense array."""
        return np.eye(self.shape[0]) @ self


class LabelBlock(NamedTuple):
    """Labels that are processed together.

    Parameters
    ----------
    labels : ndarray
        The labels.
    pairs : ndarray
        Pairs of the support with these labels.
    places : pair of ndarrays
        Row and column of each pair in the targets of the block.
    n_columns : int
        Number of columns of targets.
    times : int
        Number of labels that each column represents.
    """

    labels: NDArray[np.intp]
    pairs: NDArray[np.intp]
    places: tuple[NDArray[np.intp], NDArray[np.intp]]
    n_columns: int
    times: int = 1


class ManyLabelRegressor:
    """Kernel ridge regression of support vectors, in blocks of labels."""

    def __init__(self, ridge: KernelRidge, candidates: HostSupport) -> None:
        self._ridge = ridge
        self._candidates = candidates
        self._blocks = list(_blocks_of_labels(candidates))

    def fit(self, values: NDArray[np.float64], off_support: float | Array = 0.0) -> SupportFit:
        """Fit ``values`` on the support, and ``off_support``, a number or one per row, off it."""
        n, n_labels = self._candidates.n_rows, self._candidates.n_labels
        off = np.broadcast_to(np.asarray(off_support, dtype=np.float64), (n,))
        outputs, intercept = np.empty_like(values), np.empty(n_labels)
        sums = np.zeros(4)
        for block in self._blocks:
            targets = np.repeat(off[:, None], block.n_columns, axis=1)
            targets[block.places] = values[block.pairs]
            with threads_for(4.0 * n * targets.size):
                fit = self._ridge.solve(targets).value
            outputs[block.pairs] = fit.fitted[block.places]
            intercept[block.labels] = fit.intercept
            of_outputs = output_sums(fit.fitted, self._candidates)
            sums += block.times * np.array([fit.squared_norm, *of_outputs])
        excess = self._candidates.excess_over(off, values)
        coef = FactoredCoefficients(self._ridge, excess, off, intercept)
        weights = self._candidates.pair_weights
        norm, squares, total, size = sums.tolist()
        return SupportFit(coef, intercept, outputs, norm, squares, total, size, weights)

    def train_output(self, fit: SupportFit) -> Array:
        """Outputs on the training rows for a fitted attribute: only of the candidates."""
        return self._candidates.as_output(fit.outputs)

    def held_out(self, values: NDArray[np.float64]) -> Iterator[OutputBlock]:
        """Leave-one-out outputs: for each row, those of the fit to all other rows.

        Yields blocks of labels. All labels that are no candidate of any row have the same outputs;
        only the first of them is yielded.
        """
        rows = np.arange(self._candidates.n_rows)
        for block in self._blocks:
            targets = np.zeros((len(rows), block.n_columns))
            targets[block.places] = values[block.pairs]
            with threads_for(4.0 * len(rows) * targets.size):
                fitted = self._ridge.solve(targets).value.fitted
            outputs = leave_out(targets, fitted, self._ridge.leverage_complements())
            yield OutputBlock(rows, block.labels[: block.n_columns], outputs)

    def influence(
        self, rows: NDArray[np.intp], changes: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Change of the leave-one-out outputs by new targets; see :meth:`KernelRidge.influence`."""
        influence: NDArray[np.float64] = self._ridge.influence(rows, changes)
        return influence


def _blocks_of_labels(candidates: HostSupport) -> Iterator[LabelBlock]:
    used, column = np.unique(candidates.labels, return_inverse=True)
    by_column = np.argsort(column, kind="stable")
    for block in row_blocks(len(used), 4 * candidates.n_rows):  # of labels, each with all rows
        ends = np.searchsorted(column, [block.start, block.stop], sorter=by_column)
        pairs = by_column[slice(*ends)]
        places = candidates.rows[pairs], column[pairs] - block.start
        yield LabelBlock(used[block], pairs, places, block.stop - block.start)
    unused = np.setdiff1d(np.arange(candidates.n_labels), used, assume_unique=True)
    if len(unused):  # never candidates: all have the same targets, those off the support
        none = np.empty(0, dtype=np.intp)
        yield LabelBlock(unused, none, (none, none), 1, times=len(unused))
