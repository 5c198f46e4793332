"""A method made by its name, with parameters as they are written on the command line."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from ambilearn._utils.text import shorten_repr
from ambilearn.kernel.landmarks import DEFAULT_N_LANDMARKS, MAX_EXACT_ROWS
from ambilearn.registry import find_method

_LARGEST_INTEGER = 2**63 - 1  # which every array can hold


def make_method(
    name: str,
    params: Mapping[str, Any] | None = None,
    *,
    n_rows: int = 0,
    random_state: int = 0,
) -> Any:
    """A method by its name in :data:`ambilearn.registry.METHODS`, such as ``"plcl"``; unfitted.

    From 20 000 rows on, a kernel method uses 2 000 landmarks, unless ``params`` set another number:
    exact kernel matrices would fill gigabytes. Raises ValueError if there is no such method or
    parameter, or a value is out of range; raises ImportError if the method needs an extra that is
    not installed.

    >>> make_method("plknn", {"n_neighbors": 5})
    PLKNN(n_neighbors=5)
    """
    found = find_method(name)
    found.check_installed()
    method = found.make()
    known = method.get_params(deep=False)
    chosen = dict(params or {})
    for key in chosen:
        if not has_parameter(method, key):
            close = get_close_matches(key, known, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"{name} has no parameter {key!r}.{hint} It has: {', '.join(known)}.")
    if "random_state" in known:
        chosen.setdefault("random_state", random_state)
    if "n_landmarks" in known and n_rows >= MAX_EXACT_ROWS:
        chosen.setdefault("n_landmarks", DEFAULT_N_LANDMARKS)
    method.set_params(**chosen)
    method._validate_params()
    return method


def has_parameter(method: Any, key: str) -> bool:
    """Whether a method has a parameter; an ensemble also has its members and their parameters.

    >>> from ambilearn import PLStacking
    >>> [has_parameter(PLStacking(), key) for key in ("cv", "plcl__reg", "sure", "reg")]
    [True, True, True, False]
    """
    return key in method._settable_params()


def parse_settings(settings: Iterable[str]) -> dict[str, Any]:
    """Parameters from texts like ``n_neighbors=5``.

    >>> parse_settings(["n_neighbors=5", "kernel=linear", "graph=false", "reg=1e-2"])
    {'n_neighbors': 5, 'kernel': 'linear', 'graph': False, 'reg': 0.01}
    """
    params: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key.strip():
            raise ValueError(f"A parameter is given as NAME=VALUE; got {setting!r}.")
        if key.strip() in params:
            raise ValueError(f"The parameter {key.strip()!r} is given twice: omit one of them.")
        params[key.strip()] = value = _value(text.strip())
        if isinstance(value, int) and abs(value) > _LARGEST_INTEGER:
            raise ValueError(f"{shorten_repr(setting)} is too large for a parameter.")
    return params


def _value(text: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
