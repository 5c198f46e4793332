"""Validation of the content of TOML and JSON files."""

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
    """Raise if content does not have the expected form; the error has the place and the form.

    ``content`` is the result of a TOML or JSON reader, and ``where`` its name in error messages.
    ``expected`` is a type (``float`` includes integers that are finite as floats), a list of one
    form (any number of items of this form), a tuple of forms (one of them; errors name the last
    one) or a dict (the form of each entry by name; names that end in ``?`` are optional, and ``*``
    is the form of all other names, which are otherwise not allowed).

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
    if isinstance(content, bool) or kind is bool:  # booleans are integers in Python
        return isinstance(content, bool) and kind in (bool, object)
    if kind is not float:
        return isinstance(content, kind)
    try:
        return isinstance(content, (int, float)) and math.isfinite(content)
    except OverflowError:  # an integer with hundreds of digits
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
            raise ValueError(f"'{place}{name}' is not a known name. Known names: {known}.")
        check_content(value, form, f"{place}{name}")
