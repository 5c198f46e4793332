"""Work that fits on the same rows can share: what does not depend on the grid point.

A search over hyper-parameters fits one method many times on the same rows. Neighbours, Gram
matrices, the first graph and the kernel matrix depend on no point of the paper's grid, a
factorisation on the ridge weight only: over its 6 561 points PL-CL needs one graph, one kernel
matrix and ten factorisations, not 13 122. And what several fits ask of the same factorisation at
the same time is solved together.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from sklearn.base import clone

from ambilearn.base import PartialLabelClassifier
from ambilearn.candidates import as_candidates
from ambilearn.kernel.regression import SupportFit
from ambilearn.pausing import PausingFit, Regression, solve_together

_COLUMNS = 512  # of targets that are solved together at most: with more, nothing is gained


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
    >>> points = [{"mu": mu, "gamma": gamma} for mu in (0.1, 1) for gamma in (0.1, 1)]
    >>> models = list(fits.fit_all(PLCL(**point) for point in points))
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
            Any; only the methods of this library have something to share. Others get the candidate
            sets as :class:`~ambilearn.CandidateSets`.

        Returns
        -------
        fitted : estimator
            Holds on to nothing that is shared, except the factorisation that its
            ``FactoredCoefficients`` need.
        """
        return next(self.fit_all([estimator]))

    def fit_all(self, estimators: Iterable[Any]) -> Iterator[Any]:
        """Fit clones of many estimators to the rows, side by side.

        Where several need a regression with the same factorisation it is one substitution for all
        of them, which takes less than half the time.

        Parameters
        ----------
        estimators : iterable of estimators
            Taken a few at a time, as the fits end.

        Yields
        ------
        fitted : estimator
            In the order of the estimators. An error of one ends them all.
        """
        coming = map(self._begin, estimators)
        running = deque(islice(coming, max(1, _COLUMNS // self._y.n_labels)))
        while running:
            waiting = [fit for fit in running if fit.asks is not None]
            answers = solve_together([fit.asks for fit in waiting])
            for fit, answer in zip(waiting, answers, strict=True):
                fit.goes_on(answer)
            while running and running[0].asks is None:
                yield running.popleft().model
                running.extend(islice(coming, 1))

    def _begin(self, estimator: Any) -> "_Fit":
        model = clone(estimator)
        return _Fit(model, self._fitting(model))

    def _fitting(self, model: Any) -> PausingFit:
        if not isinstance(model, PartialLabelClassifier):
            model.fit(self._X, self._y)
            return
        model._shared = self
        try:
            if type(model).fit is PartialLabelClassifier.fit:
                yield from model._fitting(self._X, self._y)
            else:  # a subclass has its own way to fit, and cannot pause
                model.fit(self._X, self._y)
        finally:
            del model._shared

    def once(self, what: str, key: Any, make: Callable[[], Any]) -> Any:
        """The work of this kind and key: made now, or by an earlier fit.

        Parameters
        ----------
        what : str
            Kind of work.
        key : tuple
            Everything it depends on, besides the rows. If it has no hash nothing is shared.
        make : callable
            Does the work.

        Returns
        -------
        result : Any
            Must not be changed by the fit that asked.
        """
        try:
            is_new = (what, key) not in self._work
        except TypeError:  # a parameter without a hash, such as a kernel object: not to be found
            self.made[what] += 1
            return make()
        if is_new:
            self._work[what, key] = make()
            self.made[what] += 1
        return self._work[what, key]


class _Fit:
    """A fit under way: its model, and the regression that it waits for; None once it has ended."""

    def __init__(self, model: Any, fitting: PausingFit) -> None:
        self.model = model
        self.asks: Regression | None = next(fitting, None)
        self._fitting = fitting

    def goes_on(self, answer: SupportFit) -> None:
        try:
            self.asks = self._fitting.send(answer)
        except StopIteration:
            self.asks = None
