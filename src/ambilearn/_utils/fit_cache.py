"""Cache of intermediate results shared by fits on the same rows."""

import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from numbers import Integral, Real
from types import FunctionType
from typing import Any, TypeVar

import joblib

T = TypeVar("T")

# Kinds of results that do not depend on the candidate sets.
_OF_ROWS = {"geometry", "kernel", "factorization", "features", "moments"}


class FitCache:
    """Cache of intermediate results shared by fits on the same rows.

    A hyper-parameter search fits one method many times to the same rows. Neighbors, the initial
    graph and the kernel matrix are the same for all points of the paper's grid, and a factorization
    depends only on the ridge weight: for its 6 561 points PL-CL needs one graph, one kernel matrix
    and ten factorizations instead of 13 122. Pass one cache to all of these fits,
    ``fit(X, y, cache=cache)``.

    The candidate sets may change between fits: results that depend on them are then computed anew,
    and the kernel matrix, its factorizations and the neighbors are kept. The rows and their weights
    must stay the same.

    Results are the same as without a cache. The cache stores one n×n matrix for the kernel and one
    per ridge weight (m×m matrices with ``n_landmarks=m``).

    Attributes
    ----------
    n_computed : Counter
        Number of computations of each kind: "geometry" (neighbors and their Gram matrices), "graph"
        (initial weights and confidences), "kernel", "factorization", and for explicit features
        "features" and "moments".

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
    [('factorization', 2), ('geometry', 1), ('graph', 1), ('kernel', 1)]
    """

    keeps_results = True

    def __init__(self) -> None:
        self._rows: str | None = None
        self._sets: str | None = None
        self._results: dict[Any, Any] = {}
        self.n_computed: Counter[str] = Counter()

    def bind(self, rows: Sequence[Any], sets: Sequence[Any] = ()) -> None:
        """Raise if the rows differ from those of the first fit; forget results for other sets.

        Parameters
        ----------
        rows : sequence of arrays, shapes and strings
            Validated features, with their shape, device and weights. They are compared by value:
            rows that were changed in place differ, an equal copy does not.
        sets : sequence of arrays, default=()
            Candidate sets. If they differ from those of the previous fit, results that depend on
            them are removed.
        """
        rows_hash, sets_hash = joblib.hash(rows), joblib.hash(sets)
        if self._rows is None:
            self._rows = rows_hash
        if self._rows != rows_hash:
            raise ValueError(
                "This cache contains results for other rows, or for the same rows on another "
                "device or with other weights: pass the same X to all fits that share a cache, or "
                "use a new FitCache()."
            )
        if self._sets != sets_hash:
            for known in [k for k in self._results if k[0] not in _OF_ROWS]:
                del self._results[known]
        self._sets = sets_hash

    def get_or_compute(self, kind: str, key: Any, function: Callable[..., T], *inputs: Any) -> T:
        """Result of ``function(*inputs)``, computed once for each kind and key.

        Parameters
        ----------
        kind : str
            Kind of result.
        key : tuple
            Everything that the result depends on besides the rows. If the key is not hashable, the
            result is not stored.
        function : callable
            Computes the result.
        *inputs
            Arguments of the function, determined by the rows and the key.

        Returns
        -------
        result : T
            Shared; do not modify it.
        """
        result: T
        try:
            if (kind, key) in self._results:
                result = self._results[kind, key]
                return result
        except TypeError:  # a parameter is not hashable
            self.n_computed[kind] += 1
            return function(*inputs)
        self.n_computed[kind] += 1
        result = self._results[kind, key] = function(*inputs)
        return result

    def holds(self, kind: str, key: Any) -> bool:
        """Whether the cache contains this result."""
        try:
            return (kind, key) in self._results
        except TypeError:  # not hashable
            return False

    def discard(self, kind: str, condition: Callable[[Any], bool]) -> None:
        """Remove the results of one kind whose keys satisfy a condition."""
        for known in [k for k in self._results if k[0] == kind and condition(k[1])]:
            del self._results[known]

    def for_last_use(self) -> "FitCache":
        """View for the last fit: results that it uses are removed from the cache."""
        return _LastUse(self)


class _LastUse(FitCache):
    """A cache that removes each result when it is used, so that its memory can be reused."""

    keeps_results = False

    def __init__(self, cache: FitCache) -> None:
        self._rows, self._sets, self._results = cache._rows, cache._sets, cache._results
        self.n_computed = cache.n_computed

    def get_or_compute(self, kind: str, key: Any, function: Callable[..., T], *inputs: Any) -> T:
        """Remove the result from the cache, or compute it."""
        result = super().get_or_compute(kind, key, function, *inputs)
        with suppress(TypeError):  # not hashable, not stored
            self._results.pop((kind, key), None)
        return result


class _NoCache(FitCache):
    """The cache of a single fit: it stores nothing, to save memory."""

    keeps_results = False

    def bind(self, rows: Sequence[Any], sets: Sequence[Any] = ()) -> None:
        """Accept any rows."""

    def get_or_compute(self, kind: str, key: Any, function: Callable[..., T], *inputs: Any) -> T:
        """Compute the result."""
        return function(*inputs)


NO_CACHE = _NoCache()


_UNSHARED: list[Any] = []  # not hashable: results with this key are not stored


def content_key(value: Any) -> Any:
    """Key of a parameter: equal for clones, different after a change.

    The key of a number, string or function is the value itself. Other objects are hashed by their
    pickled content; results for objects that cannot be pickled are not shared.
    """
    if isinstance(value, (str, Real, FunctionType)):
        return value
    try:
        return joblib.hash(value)
    except (pickle.PicklingError, AttributeError, TypeError):
        return _UNSHARED


def seed_key(random_state: Any) -> Any:
    """Key of a seed: only integers are reproducible."""
    return int(random_state) if isinstance(random_state, Integral) else _UNSHARED
