"""A Python in which some packages are not installed."""

import os
import subprocess
import sys

# What comes with ambilearn itself; everything else that it imports comes with an extra.
EXTRAS_BRING = (
    *("pandas", "pooch", "requests"),
    *("click", "rich", "jinja2", "PIL", "skops"),
    *("matplotlib", "faiss", "dask", "distributed", "pyarrow", "openpyxl", "crowdkit"),
)

_NOT_INSTALLED = """
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, NotInstalled())
"""


def run_without(packages, code, **options):
    """Run code in a process of its own that cannot import the packages."""
    code = _NOT_INSTALLED.format(packages=list(packages)) + code
    environment = {k: v for k, v in os.environ.items() if not k.startswith("AMBILEARN_")}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, capture_output=True, text=True, **options)
