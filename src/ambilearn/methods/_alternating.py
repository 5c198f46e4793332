"""The alternation of LALO, SURE and PL-AGGD: fit a regressor, then update the confidences."""

from collections.abc import Callable

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from ambilearn._utils.rounds import OuterLoop
from ambilearn.backend import Support
from ambilearn.methods._kernel_classifier import KernelPartialLabelClassifier
from ambilearn.rows import KernelSpace


class AlternatingClassifier(KernelPartialLabelClassifier):
    r"""Base of the methods that minimize one objective over a regressor and the confidences.

    .. math:: \min_{f, P}\ \|f(X) - P\|^2 + \lambda \|f\|^2 + \Omega(P) - \rho\langle P, \Pi\rangle
              \quad\text{s.t.}\quad P \mathbf 1 = \mathbf 1,\ 0 \le P \le Y

    The last term, which is not in the papers, is for candidates with weights; :math:`\Pi` are the
    weights divided by the sum of their row. Methods differ in :math:`\Omega` and in how they
    minimize over *P*. A subclass has the parameters ``rho``, ``reg`` (:math:`\lambda`), ``kernel``,
    ``sigma``, ``n_landmarks``, ``landmarks``, ``max_iter``, ``tol``, ``random_state`` and
    ``verbose``, and its ``_fit`` calls :meth:`_alternate`.
    """

    _computes_on_devices = True

    def _alternate(
        self,
        space: KernelSpace,
        candidates: Support,
        start: NDArray[np.float64],
        improve: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]],
        penalty: Callable[[NDArray[np.float64]], float],
    ) -> None:
        r"""Alternate between regressor and confidences until these converge, and store the results.

        The regressor is solved once more after the last confidences, so that it belongs to them.
        ``start`` has the first confidences. ``improve(p, output)`` minimizes over the confidences,
        given those of the last round and the regressor's outputs, shifted by the weights; the
        distance to the outputs is weighted by ``candidates.pair_weights``. ``penalty(p)`` is
        :math:`\Omega`. All of these are support vectors.
        """
        (ridge,) = space.ridges(self.reg)
        reward = self.rho * candidates.preference()
        p = start
        output = ridge.fit(candidates, p).outputs
        loop = OuterLoop(self)
        while loop.should_continue():
            previous, p = p, improve(p, output + reward / 2)
            f = ridge.fit(candidates, p)
            output = f.outputs
            error = f.squared_error(p) + self.reg * f.squared_norm
            error -= float(array_namespace(p).sum(candidates.pair_weights * reward * p))
            loop.record(p, previous, candidates.n_rows, float(error + penalty(p)))

        self._keep(f, space)
        self.label_distributions_ = candidates.as_output(p)
        self.train_output_ = ridge.train_output(candidates, f)
        self.n_iter_, self.objective_ = loop.n_iter, candidates.backend.asarray(loop.history)
