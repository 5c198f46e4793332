"""Seeds derived from names, so that adding a method, data set or run does not change others."""

import hashlib
import json
from typing import Any


def derive_seed(*names: Any) -> int:
    """32-bit seed that depends only on the names.

    Parameters
    ----------
    *names : str, number, None, or list and dict of them
        Names of the random choice: its purpose, the data set, the run.

    Returns
    -------
    int

    Examples
    --------
    >>> from ambilearn.experiments.seeds import derive_seed
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
