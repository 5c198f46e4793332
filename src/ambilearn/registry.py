"""The methods, listed for the command line, model files, experiments, docs and tests.

A method is a public name of ambilearn with a file of its own, as ``PLCL`` has ``methods/plcl.py``.
To add one, add its file and one line in ``__init__.pyi``. Its class has everything else, and is
imported only when it is used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

import ambilearn
from ambilearn import methods

if TYPE_CHECKING:
    from ambilearn.base import PartialLabelClassifier


@dataclass(frozen=True)
class Method:
    """A method of the library.

    Attributes
    ----------
    name : str
        Name of its class, such as ``"PLCL"``.
    """

    name: str

    @property
    def command_name(self) -> str:
        """Its name on the command line and in model files, and the name of its module."""
        return self.name.lower()

    @property
    def module(self) -> str:
        """Where its class is defined."""
        return f"{methods.__name__}.{self.command_name}"

    @property
    def tuning_grid(self) -> Mapping[str, Sequence[Any]]:
        """Values of its parameters that ``--select`` tries."""
        return self.load()._tuning_grid

    @property
    def paper_grid(self) -> Mapping[str, Sequence[Any]]:
        """Values that the PL-CL paper chooses from; empty if it fixes the parameters."""
        return self.load()._paper_grid

    def load(self) -> "type[PartialLabelClassifier]":
        """Import its class."""
        loaded: type[PartialLabelClassifier] = getattr(import_module(self.module), self.name)
        return loaded


def _all_methods() -> dict[str, Method]:
    files = {module.name for module in iter_modules(methods.__path__)}
    public = map(Method, dir(ambilearn))
    return {each.command_name: each for each in public if each.command_name in files}


METHODS = _all_methods()  # by their names on the command line

# Methods that were removed, by the same names, and what to use instead.
REMOVED = {
    "pra": "PRA was removed. Fit PLStacking(estimators=[('plaggd', PLAGGD())], "
    "final_estimator=PLAGGD()) in Python instead: PL-AGGD again, on its own outputs."
}


def find_method(name: str) -> Method:
    """A method by its name in Python, on the command line or in tables.

    Parameters
    ----------
    name : str
        The name, in capitals or not, with hyphens or without: ``"PL-CL"``, ``"PLCL"``, ``"plcl"``.

    Returns
    -------
    Method

    Raises
    ------
    ValueError
        If there is no such method, or it was removed.

    Examples
    --------
    >>> from ambilearn.registry import find_method
    >>> find_method("PL-CL")
    Method(name='PLCL')
    """
    command_name = name.replace("-", "").lower()
    if command_name in REMOVED:
        raise ValueError(REMOVED[command_name])
    found = METHODS.get(command_name)
    if found is None:
        known = ", ".join(method.name for method in METHODS.values())
        raise ValueError(f"There is no method {name!r}. Known are: {known}.")
    return found
