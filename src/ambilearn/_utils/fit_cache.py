"""What fits on the same rows have in common: computed by the first, found by the others."""

import pickle
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from numbers import Integral, Real
from types import FunctionType
from typing import Any, TypeVar

import joblib

T = TypeVar("T")


class FitCache:
    """Work that several fits on the same rows share.

    A search over hyper-parameters fits one method many times to the same rows. Neighbors, the
    first graph and the kernel matrix depend on no point of the paper's grid, a factorization on the
    ridge weight only: over its 6 561 points PL-CL needs one graph, one kernel matrix and ten
    factorizations, not 13 122. Pass one cache to all of these fits, ``fit(X, y, cache=cache)``.

    Results are those of fits without a cache. It holds one n×n matrix for the kernel and one for
    every ridge weight that occurred (m×m ones with ``n_landmarks=m``), as long as it lives.

    Attributes
    ----------
    n_computed : Counter
        How often each kind of work was really done: "graph" (neighbors, their Gram matrices, first
        weights and confidences), "kernel", "factorization", and for explicit features "features"
        and "moments".

    Examples
    --------
    >>> from ambilearn import PLCL
    >>> from ambilearn.datasets import load_dataset, make_candidates
    >>> from ambilearn.selection import FitCache
    >>> data = load_dataset("iris")
    >>> sets, _ = make_candidates(data.y, p=0.5, random_state=0)
    >>> cache = FitCache()
    >>> models = [PLCL(mu=mu).fit(data.X, sets, cache=cache) for mu in (0.1, 0.5, 1.0)]
    >>> sorted(cache.n_computed.items())
    [('factorization', 2), ('graph', 1), ('kernel', 1)]
    """

    keeps_results = True

    def __init__(self) -> None:
        self._fingerprint: str | None = None
        self._results: dict[Any, Any] = {}
        self.n_computed: Counter[str] = Counter()

    def bind(self, *rows: Any) -> None:
        """Refuse other rows than those of the first fit, whose results this cache holds.

        Parameters
        ----------
        *rows : arrays, shapes and texts
            Checked features, with their shape and device, and candidate sets. They are compared by
            what they hold, so that rows that were changed in place are other rows, and an equal
            copy is not.
        """
        fingerprint = joblib.hash(rows)
        if self._fingerprint is None:
            self._fingerprint = fingerprint
        if self._fingerprint != fingerprint:
            raise ValueError(
                "This cache holds results for other rows, or for the same rows on another device: "
                "pass the same X and y to all fits that share a cache, and a new FitCache() for "
                "others."
            )

    def get_or_compute(self, kind: str, key: Any, function: Callable[..., T], *inputs: Any) -> T:
        """The result of ``function(*inputs)``, which is computed once for each kind and key.

        Parameters
        ----------
        kind : str
            Kind of work.
        key : tuple
            All that the result depends on besides the rows. Without a hash nothing is shared.
        function : callable
            Does the work.
        *inputs
            Its arguments; they follow from the rows and the key.

        Returns
        -------
        result : T
            Shared: must not be changed.
        """
        result: T
        try:
            if (kind, key) in self._results:
                result = self._results[kind, key]
                return result
        except TypeError:  # a parameter without a hash, such as a kernel object: never found again
            self.n_computed[kind] += 1
            return function(*inputs)
        self.n_computed[kind] += 1
        result = self._results[kind, key] = function(*inputs)
        return result

    def holds(self, kind: str, key: Any) -> bool:
        """Whether that result is there already."""
        try:
            return (kind, key) in self._results
        except TypeError:  # without a hash
            return False

    def discard(self, kind: str, condition: Callable[[Any], bool]) -> None:
        """Forget the results of one kind whose keys meet a condition: nobody will ask for them."""
        for known in [k for k in self._results if k[0] == kind and condition(k[1])]:
            del self._results[known]

    def for_last_use(self) -> "FitCache":
        """A view for the last fit that uses it: what that asks for is handed over, not kept."""
        return _LastUse(self)


class _LastUse(FitCache):
    """A cache that gives its results away, so that their memory can be used again."""

    keeps_results = False

    def __init__(self, cache: FitCache) -> None:
        self._fingerprint, self._results = cache._fingerprint, cache._results
        self.n_computed = cache.n_computed

    def get_or_compute(self, kind: str, key: Any, function: Callable[..., T], *inputs: Any) -> T:
        """Take it out of the cache, or compute it."""
        result = super().get_or_compute(kind, key, function, *inputs)
        with suppress(TypeError):  # without a hash it was not kept
            self._results.pop((kind, key), None)
        return result


class _NoCache(FitCache):
    """The cache of a single fit: it keeps nothing, so that nothing takes memory twice."""

    keeps_results = False

    def bind(self, *rows: Any) -> None:
        """Any rows will do."""

    def get_or_compute(self, kind: str, key: Any, function: Callable[..., T], *inputs: Any) -> T:
        """Compute it."""
        return function(*inputs)


NO_CACHE = _NoCache()


_UNSHARED: list[Any] = []  # has no hash, so that a key with it is never found


def content_key(value: Any) -> Any:
    """A parameter as part of a key: equal for clones, and another once it has changed.

    Parameters
    ----------
    value : Any
        A number, a text or a function is its own key. Any other object is what it holds; if that
        cannot be told, because it cannot be pickled, nothing is shared.

    Returns
    -------
    key : Any
    """
    if isinstance(value, (str, Real, FunctionType)):
        return value
    try:
        return joblib.hash(value)
    except (pickle.PicklingError, AttributeError, TypeError):
        return _UNSHARED


def seed_key(random_state: Any) -> Any:
    """A seed as part of a key: only a number draws the same again."""
    return int(random_state) if isinstance(random_state, Integral) else _UNSHARED
