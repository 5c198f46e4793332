"""Work that fits on the same rows can share: what does not depend on the grid point.

A search over hyper-parameters fits one method many times on the same rows. Neighbours, Gram
matrices, the first graph and the kernel matrix depend on no point of the paper's grid, a
factorisation on the ridge weight only: over its 6 561 points PL-CL needs one graph, one kernel
matrix and ten factorisations, not 13 122.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

from sklearn.base import clone

from ambilearn.base import PartialLabelClassifier
from ambilearn.candidates import as_candidates


class SharedFits:
    """Fits on the same rows, of which each makes only what no earlier one has made.

    Results are those of separate fits, bit for bit. What is shared lives and dies with this
    object; it holds one n×n matrix for the kernel and one for every ridge weight that occurred
    (m×m ones with ``n_landmarks=m``).

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Training rows. Must not change while the object is in use.
    y : candidate sets of n rows, in any accepted form
        Their candidate sets.

    Attributes
    ----------
    made : Counter
        How often each kind of shared work was really done: "graph" (neighbours, their Gram
        matrices, first weights and confidences), "kernel", "factorisation", and for explicit
        features "features" and "moments".

    Examples
    --------
    >>> from ambilearn import PLCL
    >>> from ambilearn.datasets import load_dataset, make_candidates
    >>> from ambilearn.sharing import SharedFits
    >>> data = load_dataset("iris")
    >>> sets, _ = make_candidates(data.y, p=0.5, random_state=0)
    >>> fits = SharedFits(data.X, sets)
    >>> models = [fits.fit(PLCL(mu=mu, gamma=gamma)) for mu in (0.1, 1) for gamma in (0.1, 1)]
    >>> sorted(fits.made.items())
    [('factorisation', 2), ('graph', 1), ('kernel', 1)]
    """

    def __init__(self, X: Any, y: Any) -> None:
        self._X = X
        self._y = as_candidates(y)
        self._work: dict[Any, Any] = {}
        self.made: Counter[str] = Counter()

    def fit(self, estimator: Any) -> Any:
        """Fit a clone of the estimator to the rows.

        Parameters
        ----------
        estimator : estimator
            Any; only the methods of this library have something to share.

        Returns
        -------
        fitted : estimator
            Holds on to nothing that is shared.
        """
        model = clone(estimator)
        if not isinstance(model, PartialLabelClassifier):
            return model.fit(self._X, self._y)
        model._shared = self
        try:
            return model.fit(self._X, self._y)
        finally:
            del model._shared

    def once(self, what: str, key: Any, make: Callable[[], Any]) -> Any:
        """The work of this kind and key: made now, or by an earlier fit.

        Parameters
        ----------
        what : str
            Kind of work.
        key : hashable
            Everything it depends on, besides the rows.
        make : callable
            Does the work.

        Returns
        -------
        result : Any
            Must not be changed by the fit that asked.
        """
        if (what, key) not in self._work:
            self._work[what, key] = make()
            self.made[what] += 1
        return self._work[what, key]
