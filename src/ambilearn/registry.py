"""The methods, listed for the command line, model files, experiments, docs and tests.

A method is a public name of ambilearn with its own file, such as ``methods/plcl.py`` for ``PLCL``.
To add one, add its file and one line in ``__init__.pyi``. Its class has everything else, and is
imported only when it is used. Listed below are methods that need an extra, and names on the command
line that stand for a class with parameters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

import ambilearn
from ambilearn import methods
from ambilearn._utils.text import install_command

if TYPE_CHECKING:
    from ambilearn.base import PartialLabelClassifier


@dataclass(frozen=True)
class Method:
    """A method of the library.

    Attributes
    ----------
    name : str
        Name of its class, such as ``"PLCL"``.
    defined_in : str, optional
        Module of its class, if that is not a file in ``methods/``.
    extra : str, optional
        Extra that it needs.
    needs : tuple of str, default=()
        Packages of this extra without which it cannot be fitted.
    command : str, optional
        Its name on the command line, if that is not the name of its class.
    params : mapping, optional
        Parameters that this name stands for.
    """

    name: str
    defined_in: str | None = field(default=None, repr=False)
    extra: str | None = field(default=None, repr=False)
    needs: tuple[str, ...] = field(default=(), repr=False)
    command: str | None = field(default=None, repr=False)
    params: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def command_name(self) -> str:
        """Its name on the command line and in model files."""
        return self.command or self.name.lower()

    @property
    def module(self) -> str:
        """Where its class is defined."""
        return self.defined_in or f"{methods.__name__}.{self.name.lower()}"

    @property
    def tuning_grid(self) -> Mapping[str, Sequence[Any]]:
        """Values of its parameters that ``--tune`` tries."""
        return self.load()._tuning_grid

    @property
    def paper_grid(self) -> Mapping[str, Sequence[Any]]:
        """Values that the PL-CL paper chooses from; empty if it fixes the parameters."""
        return self.load()._paper_grid

    def load(self) -> "type[PartialLabelClassifier]":
        """Import its class."""
        return getattr(import_module(self.module), self.name)

    def make(self, **params: Any) -> "PartialLabelClassifier":
        """A new estimator with the parameters that differ from its defaults."""
        return self.load()(**{**self.params, **params})

    def missing_package(self) -> str | None:
        """A package of its extra that is not installed; None if it can be fitted."""
        return next((name for name in self.needs if not _is_installed(name)), None)

    def check_installed(self) -> None:
        """Raise an error with the install command if its extra is not installed.

        Raises
        ------
        ImportError
            If a package is missing.
        """
        missing = self.missing_package()
        if missing is not None:
            command = install_command(str(self.extra))
            raise ImportError(f"{self.name} needs {missing}: {command}", name=missing)


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False


_SPECIAL = {
    "DeepPLCL": [Method("DeepPLCL", "ambilearn.deep.deepplcl", extra="deep", needs=("torch",))],
    "CandidateClassifier": [
        Method("CandidateClassifier", command=name, params={"estimator": name})
        for name in ("forest", "boosting")
    ],
}


def _all_methods() -> dict[str, Method]:
    files = {module.name for module in iter_modules(methods.__path__)}
    known = [each for name in dir(ambilearn) for each in _SPECIAL.get(name, [Method(name)])]
    return {each.command_name: each for each in known if each.extra or each.name.lower() in files}


METHODS = _all_methods()  # by their names on the command line, whether installed or not


def installed_methods() -> dict[str, Method]:
    """The methods that can be fitted here, by their names on the command line.

    Methods whose extra is not installed are left out.
    """
    return {name: each for name, each in METHODS.items() if each.missing_package() is None}


def find_method(name: str) -> Method:
    """A method by its name in Python, on the command line or in tables.

    Parameters
    ----------
    name : str
        The name, in any case, with or without hyphens: ``"PL-CL"``, ``"PLCL"``, ``"plcl"``.

    Returns
    -------
    Method

    Raises
    ------
    ValueError
        If there is no such method.

    Examples
    --------
    >>> from ambilearn.registry import find_method
    >>> find_method("PL-CL")
    Method(name='PLCL')
    """
    command_name = name.replace("-", "").lower()
    by_class = {method.name.lower(): method for method in reversed(METHODS.values())}
    found = METHODS.get(command_name, by_class.get(command_name))
    if found is None:
        known = ", ".join(dict.fromkeys(method.name for method in METHODS.values()))
        raise ValueError(f"There is no method {name!r}. The methods are: {known}.")
    return found
