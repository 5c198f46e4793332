"""Candidate sets that were left as text: ``anna|bob``."""

from typing import Any

from ambilearn._utils.text import shorten_repr
from ambilearn._utils.warnings import warn_user

_SEPARATORS = ("|", ";", ",")
# Signs that many a single label contains: taken for separators only where nothing else explains it.
_WEAK_SEPARATORS = ("/", "&", "+", " or ", " and ", " ")


def warn_of_joined_labels(classes: list[Any]) -> None:
    """Warn if some of the classes are, by all appearances, several labels in one text.

    Parameters
    ----------
    classes : list
        The distinct labels, as they would be taken.
    """
    if found := find_joined_labels(classes):
        text, sep = found
        warn_user(
            f"y has text such as {shorten_repr(text)}, which is taken as one label. If it is a set "
            f"of candidates, split it: y = [text.split({sep!r}) for text in y], or read the "
            f"file by ambilearn.tables.read_candidate_table(..., sep={sep!r})."
        )


def find_joined_labels(classes: list[Any]) -> tuple[str, str] | None:
    """One of the classes that is several labels in one text, and the sign between them."""
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
    """Whether names with a separator are sets of labels, not labels that contain the sign.

    They are if all parts of one are labels of their own, or if most names are joined and some part
    stands now in one place, now in another. Neither is so for ``north; wet`` and ``north; dry``.
    """
    if any(names.issuperset(parts) for parts in joined.values()):
        return True
    places = {(part, place) for parts in joined.values() for place, part in enumerate(parts)}
    wanders = len(places) > len({part for part, _ in places})
    return wanders and 2 * len(joined) > len(names)


def _parts(name: str, sep: str) -> list[str]:
    return [part.strip() for part in name.split(sep)]
