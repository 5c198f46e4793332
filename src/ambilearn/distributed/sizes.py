"""Memory sizes of objects of this library, for Dask.

Dask uses sizes to decide which results to spill to disk or to move. It measures arrays, tables and
containers, but assumes about fifty bytes for other objects, so a worker with many of them would run
out of memory before spilling any.
"""

from typing import Any

from dask.sizeof import sizeof
from scipy import sparse


@sizeof.register(sparse.sparray)
def attribute_bytes(held: Any) -> int:
    """Bytes of all attributes; ``sizeof.register(cls, attribute_bytes)`` makes Dask use it."""
    return sum(map(sizeof, vars(held).values()))
