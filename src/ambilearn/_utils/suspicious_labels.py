"""Labels that are probably unsplit sets, such as ``anna|bob``, or misspelled."""

from collections.abc import Mapping
from typing import NamedTuple

from ambilearn._utils.text import shorten_repr
from ambilearn._utils.types import Label
from ambilearn._utils.warnings import warn_user

_SEPARATORS = ("|", ";", ",")
# Characters that single labels often contain: separators only if several labels support it.
_WEAK_SEPARATORS = ("/", "&", "+", " or ", " and ", " ")


def warn_of_joined_labels(classes: list[Label]) -> None:
    """Warn if some of the classes look like several labels joined in one string."""
    if found := find_joined_labels(classes):
        text, sep = found
        warn_user(
            f"y contains text such as {shorten_repr(text)}, which is taken as one label. If it "
            f"is a set of candidates, split it with y = [text.split({sep!r}) for text in y], or "
            f"read the file with ambilearn.tables.read_candidate_table(..., sep={sep!r})."
        )


def find_joined_labels(classes: list[Label]) -> tuple[str, str] | None:
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


_LEAST_LETTERS = 4
_RARER = 10
_FREQUENT = 5  # a name that is so frequent may differ from another in its last letter
_MOST_CHARACTERS = 40  # longer labels are not compared: time grows with the square of the length


class Misspelling(NamedTuple):
    """A rare label, and a frequent label that differs from it by case or by one letter."""

    rare: str
    frequent: str


def find_misspellings(counts: Mapping[Label, int]) -> list[Misspelling]:
    """Labels that differ from another by case or by one letter, and are ten times rarer.

    Both have at least four letters and no digit. One letter is changed, added or missing. Labels
    that differ in the last letter, such as ``species_a`` and ``species_g``, are names of their own
    if they are frequent, too. The
    rarest label is first, each with the most frequent label that it may stand for. Time is linear
    in the number of labels.

    >>> find_misspellings({"anna": 50, "annna": 2, "Anna": 5, "emma": 30, "otto": 1})
    [Misspelling(rare='annna', frequent='anna'), Misspelling(rare='Anna', frequent='anna')]
    """
    names = {label: label.casefold() for label in counts if _is_word(label)}
    most = max((counts[label] for label in names), default=0)
    frequent: dict[str, str] = {}  # the most frequent label of each folded name
    for label, name in names.items():
        if counts[label] >= _RARER and counts[label] > counts.get(frequent.get(name), 0):
            frequent[name] = label
    rare = {label: name for label, name in names.items() if counts[label] * _RARER <= most}
    near: dict[str, list[str]] = {label: [] for label in rare}
    _add_equal_and_shorter(near, rare, frequent)
    _add_longer(near, rare, frequent)
    _add_changed(near, rare, frequent, counts)
    found = []
    for label in sorted(rare, key=lambda label: (counts[label], label)):
        others = [
            other
            for other in near[label]
            if counts[label] * _RARER <= counts[other]
            and not (counts[label] >= _FREQUENT and _differ_at_the_end(label, other))
        ]
        if others:
            found.append(Misspelling(label, max(others, key=lambda other: counts[other])))
    return found


def _differ_at_the_end(one: str, other: str) -> bool:
    """Whether only the last letter differs, apart from its case."""
    return one[:-1] == other[:-1] and one[-1:].casefold() != other[-1:].casefold()


def _is_word(label: Label) -> bool:
    if not isinstance(label, str) or len(label) > _MOST_CHARACTERS:
        return False
    letters = sum(map(str.isalpha, label))
    return letters >= _LEAST_LETTERS and not any(map(str.isdigit, label))


def _without_each(name: str) -> set[str]:
    return {name[:i] + name[i + 1 :] for i in range(len(name))}


def _add_equal_and_shorter(
    near: dict[str, list[str]], rare: dict[str, str], frequent: dict[str, str]
) -> None:
    """Add frequent labels that differ by case, or lack a letter of the rare label."""
    for label, name in rare.items():
        near[label] += [frequent[each] for each in {name, *_without_each(name)} if each in frequent]


def _add_longer(near: dict[str, list[str]], rare: dict[str, str], frequent: dict[str, str]) -> None:
    """Add frequent labels that have one more letter."""
    by_name: dict[str, list[str]] = {}
    for label, name in rare.items():
        by_name.setdefault(name, []).append(label)
    for name, other in frequent.items():
        for shorter in _without_each(name):
            for label in by_name.get(shorter, ()):
                near[label].append(other)


def _add_changed(
    near: dict[str, list[str]],
    rare: dict[str, str],
    frequent: dict[str, str],
    counts: Mapping[Label, int],
) -> None:
    """Add frequent labels with one different letter; position by position, to save memory."""
    for i in range(max(map(len, frequent), default=0)):
        best: dict[tuple[str, str], str] = {}
        for name, other in frequent.items():
            rest = name[:i], name[i + 1 :]
            if i < len(name) and counts[other] > counts.get(best.get(rest), 0):
                best[rest] = other
        for label, name in rare.items():
            if i < len(name) and (found := best.get((name[:i], name[i + 1 :]))):
                near[label].append(found)
