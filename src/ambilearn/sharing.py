"""Work that fits on the same rows can share: what does not depend on the grid point.

A search over hyper-parameters fits one method many times on the same rows. Neighbours, Gram
matrices, the first graph and the kernel matrix depend on no point of the paper's grid, a
factorisation on the ridge weight only: over its 6 561 points PL-CL needs one graph, one kernel
matrix and ten factorisations, not 13 122.
"""

from collections.abc import Callable
from copy import copy
from typing import Any

from sklearn.base import clone

from ambilearn.methods.kernel_classifier import KernelPartialLabelClassifier


def sharing(estimator: Any) -> Any:
    """A copy of an estimator whose clones share their work; for fits on the *same* rows only.

    Parameters
    ----------
    estimator : estimator
        Any; only methods with a kernel classifier have something to share.

    Returns
    -------
    estimator
        Gives the same results, bit for bit. Drop it, and all clones, when done with the rows: it
        holds one n×n matrix for every ridge weight that occurred.
    """
    method = type(estimator)
    if not issubclass(method, KernelPartialLabelClassifier):
        return clone(estimator)
    # A class for each set of rows: clones have nothing but their class in common.
    shared = type(method.__name__, (_SharedWork, method), {"_shared": {}})
    return shared(**clone(estimator).get_params(deep=False))


class _SharedWork:
    """Takes the place of what a kernel method makes before its loop: each is made once."""

    _shared: dict[Any, Any]

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self._shared:
            self._shared[key] = make()
        return self._shared[key]

    def _factor(self, X: Any, *ridges: float) -> list[Any]:
        factor, regressors = super()._factor, []
        for ridge in ridges:

            def make(ridge: float = ridge) -> Any:
                return *factor(X, ridge), self.sigma_, self._primal

            made = self._once(("factor", self.kernel, self.sigma, ridge), make)
            regressor, self.sigma_, self._primal = made
            regressors.append(regressor)
        return regressors

    def _train_kernel(self, X: Any) -> Any:
        make = super()._train_kernel
        K, sigma = self._once(("kernel", self.kernel, self.sigma), lambda: make(X))
        return K.copy(), sigma  # the factorisation takes the place of the matrix it gets

    def _start_graph(self, X: Any, candidates: Any) -> Any:
        make = super()._start_graph
        key = ("graph", self.n_neighbors, self._pairwise)
        graph, p = self._once(key, lambda: make(X, candidates))
        return copy(graph), p  # an update gives the copy new weights and leaves the original's
