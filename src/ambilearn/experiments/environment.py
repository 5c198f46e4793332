"""Environment of a result: versions, commit, machine."""

import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = ("ambilearn", "numpy", "scipy", "scikit-learn", "joblib", "distributed")


@cache
def environment() -> dict[str, Any]:
    """Versions of Python and packages, commit of this code, and host."""
    return {
        "python": platform.python_version(),
        "versions": {name: found for name in _PACKAGES if (found := _version(name))},
        "commit": _commit(),
        "host": platform.node(),
        "machine": f"{platform.system()} {platform.machine()}",
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """Commit of the checkout of this file, with ``+`` if the code has uncommitted changes.

    None for an installed copy, even inside the checkout of another project.
    """
    package = Path(__file__).resolve().parents[1]

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(package), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        if not git("ls-files", "__init__.py"):
            return None
        return git("rev-parse", "--short=12", "HEAD") + "+" * bool(git("status", "-s", "."))
    except (OSError, subprocess.CalledProcessError):
        return None
