"""Content of TOML and JSON files, held against what is expected of it."""

import math
from collections.abc import Mapping
from typing import Any

from ambilearn._utils.text import shorten_repr

_NAMES = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table of names and values",
    object: "anything",
}


def check_content(content: Any, expected: Any, where: str = "") -> None:
    """Refuse content that is not of the expected form; the error says where, and what to write.

    Parameters
    ----------
    content : object
        What a TOML or JSON reader returned.
    expected : type, list, tuple or dict
        A type; ``float`` takes whole numbers, too, and only those that floating point can hold. A
        list of one form: any number of them. A tuple of forms: one of them, the last one is what
        the error speaks of. A dict: the form of each entry by its name, which ends in ``?`` where
        it may be missing; ``*`` is the form of all others, without it there are none.
    where : str, default=""
        Name of the content, for the error.

    Raises
    ------
    ValueError

    Examples
    --------
    >>> from ambilearn._utils.plain_content import check_content
    >>> check_content({"runs": 2, "data": ["iris"]}, {"data": [str], "runs?": int})
    >>> check_content({"data": ["iris", 7]}, {"data": [str], "runs?": int})
    Traceback (most recent call last):
    ...
    ValueError: data[1] must be text, not 7.
    """
    if isinstance(expected, tuple):
        for form in expected[:-1]:
            if isinstance(content, _container(form)):
                return check_content(content, form, where)
        return check_content(content, expected[-1], where)
    kind = _container(expected)
    if not _is_a(content, kind):
        raise ValueError(f"{where or 'It'} must be {_NAMES[kind]}, not {shorten_repr(content)}.")
    if isinstance(expected, list):
        for i, item in enumerate(content):
            check_content(item, expected[0], f"{where}[{i}]")
    elif isinstance(expected, dict):
        _check_entries(content, expected, where)
    return None


def _container(form: Any) -> type:
    return form if isinstance(form, type) else type(form)


def _is_a(content: Any, kind: type) -> bool:
    if isinstance(content, bool) or kind is bool:  # Python takes truth values for numbers
        return isinstance(content, bool) and kind in (bool, object)
    if kind is not float:
        return isinstance(content, kind)
    try:
        return isinstance(content, (int, float)) and math.isfinite(content)
    except OverflowError:  # of a whole number of some hundred digits
        return False


def _check_entries(content: Mapping[str, Any], expected: dict[str, Any], where: str) -> None:
    place = f"{where}." if where else ""
    forms = {name.rstrip("?"): form for name, form in expected.items()}
    for name in expected:
        if name not in content and not name.endswith("?") and name != "*":
            raise ValueError(f"'{place}{name}' is missing.")
    for name, value in content.items():
        form = forms.get(name, forms.get("*"))
        if form is None:
            known = ", ".join(forms)
            raise ValueError(f"'{place}{name}' has no meaning. There may be: {known}.")
        check_content(value, form, f"{place}{name}")
