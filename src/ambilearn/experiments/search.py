"""Description of a grid search on the command line and in a task."""

from typing import Any

from ambilearn._utils.text import shorten_repr

SEARCHES = ("random", "halving", "grid")
SCORINGS = ("covering", "approximated")
DEFAULT_SEARCH = "halving:16"
MAX_DIGITS = 9  # digits of the number of points; no grid has more points


def parse_search(text: str, scoring: str = SCORINGS[0]) -> dict[str, Any]:
    """Parse ``random:N``, ``halving:N`` or ``grid`` to the ``search`` of a task.

    ``scoring`` is the metric of the label-free choice: covering rate or approximated accuracy.

    >>> parse_search("halving:16")
    {'kind': 'halving', 'points': 16, 'scoring': 'covering'}
    """
    if scoring not in SCORINGS:
        raise ValueError(f"The scoring must be one of {', '.join(SCORINGS)}; got {scoring!r}.")
    kind, _, number = text.partition(":")
    if kind not in SEARCHES or (kind == "grid") == bool(number):
        raise ValueError(
            f"The search must be random:N, halving:N or grid; got {shorten_repr(text)}."
        )
    if kind == "grid":
        return {"kind": kind, "points": None, "scoring": scoring}
    if not number.isdecimal() or len(number) > MAX_DIGITS or int(number) < 1:
        raise ValueError(
            f"The number of points must be at least 1 and have at most {MAX_DIGITS} digits; got "
            f"{shorten_repr(text)}."
        )
    return {"kind": kind, "points": int(number), "scoring": scoring}
