"""Names of a package that are imported when they are first asked for, so that it loads quickly."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_exports(
    package: str, homes: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        Its name.
    homes : mapping of str to str
        Module of each exported name, within the package.

    Returns
    -------
    getattribute, directory : callables
    """

    def getattribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    def directory() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return getattribute, directory
