"""Labels that look wrong: unsplit sets such as ``anna|bob``, misspellings, codes, other kinds."""

import re
from collections.abc import Mapping

from ambilearn._utils.labels import kind_of_label
from ambilearn._utils.text import MISSING_WORDS, shorten_repr
from ambilearn._utils.types import Array, Label
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


# Common words for no answer, in lower case and with blanks between words. Some may be real labels,
# so this is only a warning.
_NO_ANSWER = re.compile(
    r"-+|\.|none|nil|n\.?a\.?|n/a|nan|null|missing|skip(ped)?|abstain|i?dk|"
    r"no ?(answer|label|vote)|not (answered|labell?ed|sure)|un(answered|labell?ed|known|sure)|"
    r"undecided|(don'?t|do not) know|can('t|not) tell"
)
_NINES = re.compile(r"99+")


def means_no_answer(label: Label, classes: list[Label]) -> bool:
    """Whether a label looks like a code for no answer among the others.

    A number is one if the others are words, if it alone is negative, or if it is all nines and far
    above the rest. Zero among numbers is not: most people count from it.
    """
    text = str(label).strip()
    if text in MISSING_WORDS:  # a label on purpose (na_is_label)
        return False
    others = [_as_number(other) for other in classes if other != label]
    number = _as_number(label)
    if number is None:
        words = re.sub(r"(?<=\w)[\s_-]+(?=\w)", " ", text.casefold())
        return _NO_ANSWER.fullmatch(words) is not None
    if not others:
        return False
    numbers = [other for other in others if other is not None]
    if len(numbers) < len(others):
        return not numbers and (number <= 0 or bool(_NINES.fullmatch(text)))
    if number < 0:
        return min(numbers) >= 0
    return bool(_NINES.fullmatch(text)) and number > 5 * max(numbers)


def _as_number(label: Label) -> float | None:
    if isinstance(label, bool):
        return None
    try:
        return float(label)
    except ValueError:
        return None


_LEAST_LETTERS = 4
RARER = 10
_FREQUENT = 5  # a name that is so frequent may differ from another in its last letter
_MOST_CHARACTERS = 40  # longer labels are not compared: time grows with the square of the length


def find_misspellings(counts: Mapping[Label, int]) -> list[tuple[str, str]]:
    """Labels that differ from another by case or by one letter, and are ten times rarer.

    Both have at least four letters and no digit. One letter is changed, added or missing. Labels
    that differ in the last letter, such as ``species_a`` and ``species_g``, are names of their own
    if they are frequent, too. The rarest label is first, each with the most frequent label that it
    may stand for. Time is linear in the number of labels.

    >>> find_misspellings({"anna": 50, "annna": 2, "Anna": 5, "emma": 30, "otto": 1})
    [('annna', 'anna'), ('Anna', 'anna')]
    """
    names = {label: label.casefold() for label in counts if _is_word(label)}
    most = max((counts[label] for label in names), default=0)
    frequent: dict[str, str] = {}  # the most frequent label of each folded name
    for label, name in names.items():
        if counts[label] >= RARER and counts[label] > counts.get(frequent.get(name), 0):
            frequent[name] = label
    rare = {label: name for label, name in names.items() if counts[label] * RARER <= most}
    near = _differ_by_one_letter(rare, frequent, counts)
    found = []
    for label in sorted(rare, key=lambda label: (counts[label], label)):
        others = [
            other
            for other in near[label]
            if counts[label] * RARER <= counts[other]
            and not (counts[label] >= _FREQUENT and _differ_at_the_end(label, other))
        ]
        if others:
            found.append((label, max(others, key=lambda other: counts[other])))
    return found


def _differ_at_the_end(one: str, other: str) -> bool:
    """Whether only the last letter differs, apart from its case."""
    return one[:-1] == other[:-1] and one[-1:].casefold() != other[-1:].casefold()


def _is_word(label: Label) -> bool:
    if not isinstance(label, str) or len(label) > _MOST_CHARACTERS:
        return False
    letters = sum(map(str.isalpha, label))
    return letters >= _LEAST_LETTERS and not any(map(str.isdigit, label))


def _differ_by_one_letter(
    rare: dict[str, str], frequent: dict[str, str], counts: Mapping[Label, int]
) -> dict[str, list[str]]:
    """Frequent labels that equal each rare one, or differ by a changed, added or missing letter.

    Letter by letter, to save memory. Of several frequent labels that differ in this letter only,
    the most frequent one is found.
    """
    near = {label: [frequent[name]] if name in frequent else [] for label, name in rare.items()}
    for i in range(max(map(len, [*rare.values(), *frequent]), default=0)):
        shorter: dict[str, str] = {}  # label by its name without letter i
        for name, label in frequent.items():
            rest = name[:i] + name[i + 1 :]
            if i < len(name) and counts[label] > counts.get(shorter.get(rest), 0):
                shorter[rest] = label
        for label, name in rare.items():
            near[label] += [shorter[name]] if name in shorter else []
            rest = name[:i] + name[i + 1 :]
            if i < len(name):
                near[label] += [found[rest] for found in (shorter, frequent) if rest in found]
    return near


_KINDS = {"bool": "numbers", "number": "numbers", "string": "text", "other": "objects"}


def check_comparable_labels(labels: Array, others: Array, name: str, other_name: str) -> None:
    """Raise if labels can never be equal because some are text and the others are numbers.

    Labels of the same kind that do not occur among the others are valid.

    The names are for the message, such as ``"y"`` and ``"the labels that the model predicts"``.

    >>> import numpy as np
    >>> check_comparable_labels(np.array([7, 8]), np.array([1, 2]), "y", "the classes")
    >>> check_comparable_labels(np.array(["1", "2"]), np.array([1, 2]), "y", "the classes")
    Traceback (most recent call last):
    ...
    ValueError: y has text as labels, such as '1', but the classes are numbers, such as 1: ...
    """
    kinds, other_kinds = _kinds(labels), _kinds(others)
    if kinds and other_kinds and not kinds & other_kinds:
        raise ValueError(
            f"{name} has {' and '.join(sorted(kinds))} as labels, such as {labels.tolist()[0]!r}, "
            f"but {other_name} are {' and '.join(sorted(other_kinds))}, such as "
            f"{others.tolist()[0]!r}: they can never be equal. Convert both to the same type, for "
            "instance with y.astype(str)."
        )


def _kinds(labels: Array) -> set[str]:
    if labels.dtype.kind in "biufU":  # all are of one kind
        labels = labels[:1]
    return {_KINDS[kind_of_label(label)] for label in labels.tolist()}
