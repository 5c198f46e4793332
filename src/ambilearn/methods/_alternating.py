"""The alternation that LALO, SURE and PL-AGGD share: regress the confidences, improve them."""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from ambilearn._utils.fit_cache import FitCache
from ambilearn._utils.outer_loop import LOOP_CONSTRAINTS, OuterLoop
from ambilearn._utils.sklearn_compat import Interval
from ambilearn.backend import Support
from ambilearn.methods._kernel_classifier import KernelPartialLabelClassifier


class AlternatingClassifier(KernelPartialLabelClassifier):
    r"""Base of the methods that minimise one objective over a regressor and the confidences.

    .. math:: \min_{f, P}\ \|f(X) - P\|^2 + \lambda \|f\|^2 + \Omega(P) - \rho\langle P, \Pi\rangle
              \quad\text{s.t.}\quad P \mathbf 1 = \mathbf 1,\ 0 \le P \le Y

    The last term, which the papers have not, is for candidates with weights, of which :math:`\Pi`
    are the shares in each row; it shifts the outputs that *P* is to be near. Methods differ in
    :math:`\Omega` and in how they minimise over *P*. A subclass has the parameters ``rho``,
    ``reg`` (:math:`\lambda`), ``kernel``, ``sigma``, ``max_iter``, ``tol`` and ``verbose``, and its
    ``_fit`` calls :meth:`_alternate`.
    """

    _computes_on_devices = True
    _parameter_constraints = {
        **KernelPartialLabelClassifier._parameter_constraints,
        "rho": [Interval(Real, 0, None, closed="left")],
        "reg": [Interval(Real, 0, None, closed="neither")],
        **LOOP_CONSTRAINTS,
    }

    def _alternate(
        self,
        X: Any,
        candidates: Support,
        cache: FitCache,
        start: NDArray[np.float64],
        improve: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]],
        penalty: Callable[[NDArray[np.float64]], float],
        first_output: NDArray[np.float64] | None = None,
    ) -> None:
        r"""Alternate between regressor and confidences until these converge, and store the results.

        The regressor is solved once more after the last confidences, so that it belongs to them.
        ``start`` has the first confidences. ``improve(p, output)`` minimizes over the confidences,
        given those of the last round and the regressor's outputs, shifted by the weights; the
        distance to the outputs is weighted by ``candidates.pair_weights``. ``penalty(p)`` is
        :math:`\Omega`. ``first_output`` replaces the regressor's outputs in the first round. All of
        these are support vectors.
        """
        (regressor,), landmarks = self._factor(X, candidates, cache, self.reg)
        reward = self.rho * candidates.preference()
        p = start
        output = regressor.fit(p).outputs if first_output is None else first_output
        loop = OuterLoop(self)
        while loop.should_continue():
            previous, p = p, improve(p, output + reward / 2)
            f = regressor.fit(p)
            output = f.outputs
            error = f.squared_error(p) + self.reg * f.squared_norm
            error -= float(array_namespace(p).sum(candidates.pair_weights * reward * p))
            loop.record(p, previous, candidates.n_rows, float(error + penalty(p)))

        self._keep(X, f, landmarks)
        self.label_distributions_ = candidates.as_output(p)
        self.train_output_ = regressor.train_output(f)
        self.n_iter_, self.objective_ = loop.n_iter, candidates.backend.asarray(loop.history)
