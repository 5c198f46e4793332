"""Limit on the number of requests."""

import threading
from collections.abc import Callable
from time import monotonic


class RateLimit:
    """Allows a number of requests per second in the long run, and more of them at once.

    >>> limit = RateLimit(1, 2, clock=lambda: 0.0)
    >>> [limit.allows() for _ in range(3)]
    [True, True, False]
    """

    def __init__(
        self, per_second: float, at_once: float, clock: Callable[[], float] = monotonic
    ) -> None:
        self._per_second, self._at_once, self._clock = per_second, at_once, clock
        self._left, self._last = at_once, clock()
        self._lock = threading.Lock()

    def allows(self) -> bool:
        """Whether one more request is allowed; counts it if so."""
        with self._lock:
            now = self._clock()
            passed = (now - self._last) * self._per_second
            self._left, self._last = min(self._at_once, self._left + passed), now
            if self._left < 1:
                return False
            self._left -= 1
            return True
