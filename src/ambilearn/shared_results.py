"""Results that several fits to the same rows share, in a bounded number of bytes."""

import pickle
from collections import OrderedDict
from collections.abc import Callable
from numbers import Real
from types import FunctionType, ModuleType
from typing import Any, TypeVar

import joblib
import numpy as np
from scipy import sparse

from ambilearn.backend.device_arrays import is_out_of_memory

T = TypeVar("T")

_MIN_BYTES = 2**30  # limit of the results that are kept,
_MIN_RESULTS = 4  # raised to this many of the largest: a kernel matrix and factors of it


class NotReproducible:
    """Part of the key of a result that is different in each fit, and is not kept."""


class SharedResults:
    """Results by key. Those used least recently are dropped above a number of bytes.

    A pickled copy is empty: another process computes its own results. If ``keeps`` is False, each
    result is dropped when it is used, and no others are kept.
    """

    def __init__(self) -> None:
        self.keeps = True
        self._kept: OrderedDict[Any, tuple[Any, int]] = OrderedDict()

    def __reduce__(self) -> tuple[Any, ...]:
        return SharedResults, ()

    def clear(self) -> None:
        """Free the memory of all results."""
        self._kept.clear()

    def get(self, key: tuple[Any, ...], function: Callable[..., T], *inputs: Any) -> T:
        """Result of ``function(*inputs)``, computed at most once for equal keys."""
        hashed = value_key(key)
        if hashed is None:
            return function(*inputs)
        known = self._kept.pop(hashed, None)
        if known is None:
            if not self.keeps:
                self.clear()  # the memory is needed for this result
            value = self._compute(function, *inputs)
            known = value, count_bytes(value, {id(each) for each in inputs})  # kept elsewhere
        if self.keeps:
            self._kept[hashed] = known
            self._drop_oldest()
        return known[0]

    def _compute(self, function: Callable[..., T], *inputs: Any) -> T:
        try:
            return function(*inputs)
        except Exception as error:
            if not is_out_of_memory(error) or not self._kept:
                raise
        self.clear()  # outside of the handler, in which the error refers to arrays
        return function(*inputs)

    def _drop_oldest(self) -> None:
        sizes = [size for _, size in self._kept.values()]
        limit, total = max(_MIN_BYTES, _MIN_RESULTS * max(sizes)), sum(sizes)
        while total > limit:
            total -= self._kept.popitem(last=False)[1][1]


def value_key(value: Any) -> Any:
    """Key of a value: equal for clones, different after a change; None if it cannot be compared.

    A number, string or function is its own key. Other objects are hashed by their pickled content.
    """
    if isinstance(value, tuple):
        keys = tuple(map(value_key, value))
        return None if None in keys else keys
    if isinstance(value, (str, Real, FunctionType)):
        return value
    if value is NotReproducible:
        return None
    try:
        return joblib.hash(value)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None


def count_bytes(value: Any, seen: set[int] | None = None) -> int:
    """Bytes of the arrays in an object, in its attributes, and in sequences of such objects."""
    seen = set() if seen is None else seen
    skipped = (str, Real, type, FunctionType, ModuleType, SharedResults)
    if id(value) in seen or isinstance(value, skipped):
        return 0
    seen.add(id(value))
    if hasattr(value, "dtype") and hasattr(value, "shape") and not sparse.issparse(value):
        size = int(np.prod(value.shape))
        return size * int(getattr(value.dtype, "itemsize", 8))
    parts = value if isinstance(value, (tuple, list)) else getattr(value, "__dict__", {}).values()
    return sum(count_bytes(part, seen) for part in parts)
