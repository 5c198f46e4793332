"""Import a script of the folder examples, which is no package."""

import importlib.util
import sys
from types import ModuleType

from markdown_pages import ROOT


def load(name: str) -> ModuleType:
    """The module in examples/<name>.py; kept in sys.modules, so that its classes can be pickled."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]
