"""Methods by their name on the command line, their parameters, and the grids of ``--select``."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import ambilearn

# Name on the command line, class, and the values that a search without hidden labels tries.
_WEIGHTS = (0.01, 0.1, 0.5, 1.0, 2.0, 4.0)
_RIDGES = (0.001, 0.01, 0.05, 0.3, 1.0)
_NEIGHBOURS = (5, 10, 20, 30)
METHODS: dict[str, tuple[str, dict[str, tuple[Any, ...]]]] = {
    "plcl": (
        "PLCL",
        dict.fromkeys(("alpha", "beta", "gamma", "mu"), _WEIGHTS) | {"n_neighbors": _NEIGHBOURS},
    ),
    "sure": ("SURE", {"lam": (0.001, 0.01, 0.05, 0.1, 0.3, 0.5, 1.0), "reg": _RIDGES}),
    "plaggd": ("PLAGGD", {"gamma": _WEIGHTS, "mu": _WEIGHTS, "n_neighbors": _NEIGHBOURS}),
    "lalo": ("LALO", {"mu": (0.001, 0.005, 0.05, 0.5), "reg": _RIDGES}),
    "ipal": ("IPAL", {"alpha": (0.5, 0.8, 0.95, 0.99), "n_neighbors": _NEIGHBOURS}),
    "plda": ("PLDA", {"lam": (0.001, 0.01, 0.1, 1.0), "n_neighbors": _NEIGHBOURS}),
    "plknn": ("PLKNN", {"n_neighbors": (3, 5, 8, 10, 15, 20, 30)}),
}

# From this many rows on the n×n matrix of a kernel method fills gigabytes: use landmarks.
LARGE = 20_000
LANDMARKS = 2_000


def make_method(
    name: str,
    params: Mapping[str, Any] | None = None,
    *,
    n_rows: int = 0,
    random_state: int = 0,
) -> Any:
    """A method by its name, not yet fitted.

    Parameters
    ----------
    name : {"plcl", "sure", "plaggd", "lalo", "ipal", "plda", "plknn"}
        The method.
    params : mapping, optional
        Parameters that differ from the defaults of its class.
    n_rows : int, default=0
        Rows of the table. From 20 000 on a kernel method uses 2 000 landmarks, unless ``params``
        say otherwise: exact kernel matrices would fill gigabytes.
    random_state : int, default=0
        Seed, for methods that draw at random.

    Returns
    -------
    estimator

    Raises
    ------
    ValueError
        If there is no such method or parameter, or a value is out of range.

    Examples
    --------
    >>> from ambilearn.own_data.methods import make_method
    >>> make_method("plknn", {"n_neighbors": 5})
    PLKNN(n_neighbors=5)
    """
    if name not in METHODS:
        raise ValueError(f"There is no method {name!r}. Known are: {', '.join(METHODS)}.")
    method = getattr(ambilearn, METHODS[name][0])()
    known = method.get_params(deep=False)
    chosen = dict(params or {})
    for key in chosen:
        if key not in known:
            close = get_close_matches(key, known, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"{name} has no parameter {key!r}.{hint} It has: {', '.join(known)}.")
    if "random_state" in known:
        chosen.setdefault("random_state", random_state)
    if "n_landmarks" in known and n_rows >= LARGE:
        chosen.setdefault("n_landmarks", LANDMARKS)
    method.set_params(**chosen)
    method._validate_params()
    return method


def parse_settings(settings: Iterable[str]) -> dict[str, Any]:
    """Parameters from texts like ``n_neighbors=5``.

    Examples
    --------
    >>> from ambilearn.own_data.methods import parse_settings
    >>> parse_settings(["n_neighbors=5", "kernel=linear", "graph=false", "reg=1e-2"])
    {'n_neighbors': 5, 'kernel': 'linear', 'graph': False, 'reg': 0.01}
    """
    params = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key.strip():
            raise ValueError(f"A parameter is given as NAME=VALUE; got {setting!r}.")
        params[key.strip()] = _value(text.strip())
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
