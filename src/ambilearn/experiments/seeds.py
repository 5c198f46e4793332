"""Seeds derived from names, so that adding a method, data set or run does not change others."""

import hashlib
import json
from typing import Any


def derive_seed(*names: Any) -> int:
    """32-bit seed that depends only on the names.

    The names are the purpose of the random choice, the data set, the run: texts, numbers, None, or
    lists and dicts of them.

    >>> derive_seed("split", "lost", 0)
    4144004302
    >>> derive_seed("split", "lost", 1) == derive_seed("split", "lost", 0)
    False
    """
    return int.from_bytes(digest(list(names))[:4], "big")


def digest(content: Any) -> bytes:
    """SHA-256 of the canonical JSON of plain content."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).digest()
