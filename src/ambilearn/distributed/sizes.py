"""How many bytes our objects hold: by that Dask decides what to write to disk, and what to move.

Dask looks into arrays, tables and containers. Anything else it takes for some fifty bytes, so a
worker full of such objects would run out of memory before it wrote the first of them to disk.
"""

from typing import Any

from dask.sizeof import sizeof
from scipy import sparse


@sizeof.register(sparse.sparray)
def attribute_bytes(held: Any) -> int:
    """Bytes of all attributes; ``sizeof.register(cls, attribute_bytes)`` makes Dask use it."""
    return sum(map(sizeof, vars(held).values()))
