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
from typing import NamedTuple

import numpy as np

from ambilearn._utils.types import Array
from ambilearn.backend import Support
from ambilearn.backend.arrays import to_numpy
from ambilearn.kernel.primal import PrimalRidge
from ambilearn.kernel.ridge import DualRidge

Ridge = DualRidge | PrimalRidge


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
        candidates = self.candidates
        values = candidates.backend.asarray(values)
        fit, complements = self.ridge.fit(candidates, values), self.ridge.leverage_complements()
        for block, fitted in self.ridge.output_blocks(fit, 8 * candidates.n_labels):
            targets = candidates.scatter_rows(values, 0.0, block)
            outputs = targets - (targets - fitted) / complements[block, None]
            yield OutputBlock(np.arange(block.start, block.stop), to_numpy(outputs))

    def influence(self, rows: Array, changes: Array) -> Array:
        r"""Change of the outputs of all rows by new targets of some rows.

        .. math:: \Delta h_i = \frac1{1 - h_{ii}} \sum_{r \ne i} S_{ir} \delta_r

        so new targets change the outputs without another fit. ``changes`` has shape (k, c), one row
        for each of ``rows``, and the result has shape (n, c).
        """
        outputs, complements = (
            self.ridge.outputs_of_targets(rows, changes),
            self.ridge.leverage_complements(),
        )
        # Without the effect of a row's target on its own output.
        outputs[rows, :] -= (1 - complements[rows])[:, None] * changes
        return outputs / complements[:, None]
