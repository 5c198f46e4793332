"""Where a result was made: versions, commit, machine."""

import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = ("ambilearn", "numpy", "scipy", "scikit-learn", "joblib", "distributed")


@cache
def environment() -> dict[str, Any]:
    """Versions of what a result depends on, the commit of this code, and the host."""
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
    """Commit of the checkout that this file is in; with ``+`` if its code has been changed.

    None for an installed copy, also one that lies inside some other project's checkout.
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
