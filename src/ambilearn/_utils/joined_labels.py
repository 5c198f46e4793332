"""Detection of candidate sets in unsplit text such as ``anna|bob``."""

from typing import Any

from ambilearn._utils.text import shorten_repr
from ambilearn._utils.warnings import warn_user

_SEPARATORS = ("|", ";", ",")
# Characters that single labels often contain: separators only if several labels support it.
_WEAK_SEPARATORS = ("/", "&", "+", " or ", " and ", " ")


def warn_of_joined_labels(classes: list[Any]) -> None:
    """Warn if some of the classes look like several labels joined in one string."""
    if found := find_joined_labels(classes):
        text, sep = found
        warn_user(
            f"y contains text such as {shorten_repr(text)}, which is taken as one label. If it "
            f"is a set of candidates, split it with y = [text.split({sep!r}) for text in y], or "
            f"read the file with ambilearn.tables.read_candidate_table(..., sep={sep!r})."
        )


def find_joined_labels(classes: list[Any]) -> tuple[str, str] | None:
    """A class that looks like several labels joined in one string, and the separator."""
    names = {name for name in classes if isinstance(name, str)}
    for sep in (*_SEPARATORS, *_WEAK_SEPARATORS):
        joined = {name: _parts(name, sep) for name in names if sep in name.strip()}
        if not joined or not all(map(all, joined.values())):
            continue
        own = [name for name, parts in joined.items() if names.issuperset(parts)]
        if len(own) > 1 or (sep in _SEPARATORS and _are_sets(joined, names)):
            return min(own or joined), sep
    return None


def _are_sets(joined: dict[str, list[str]], names: set[str]) -> bool:
    """Whether names with a separator are sets of labels, not labels that contain the character.

    They are sets if all parts of one name are labels themselves, or if most names contain the
    separator and some part occurs at different positions. Neither holds for ``north; wet`` and
    ``north; dry``.
    """
    if any(names.issuperset(parts) for parts in joined.values()):
        return True
    places = {(part, place) for parts in joined.values() for place, part in enumerate(parts)}
    varies = len(places) > len({part for part, _ in places})
    return varies and 2 * len(joined) > len(names)


def _parts(name: str, sep: str) -> list[str]:
    return [part.strip() for part in name.split(sep)]
