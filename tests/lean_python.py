"""A Python in which some packages are not installed."""

import json
import os
import subprocess
import sys

# What comes with ambilearn itself; everything else that it imports comes with an extra.
EXTRAS_BRING = (
    *("pandas", "pooch", "requests"),
    *("click", "rich", "jinja2", "PIL", "skops"),
    *("matplotlib", "faiss", "dask", "distributed", "pyarrow", "openpyxl"),
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


_FORKS = """
import json, os, sys, traceback
import numpy, scipy, sklearn  # which ambilearn needs: imported once for all

for name, code in json.load(sys.stdin).items():
    child = os.fork()
    if child == 0:
        os.dup2(os.open(f"{name}.stderr", os.O_WRONLY | os.O_CREAT), 2)
        try:
            exec(compile(code, name, "exec"), {"__name__": "__main__"})
        except SystemExit as end:
            sys.stderr.flush()
            os._exit(end.code or 0)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with open(f"{name}.stderr", encoding="utf-8") as file:
        print(json.dumps([name, status, file.read()]))
"""


def run_each_without(packages, codes, folder):
    """Exit status and errors of each code by its name, each in a process of its own.

    As with :func:`run_without`, but the packages that ambilearn always needs are imported once.
    """
    if not hasattr(os, "fork"):
        done = {name: run_without(packages, code, cwd=folder) for name, code in codes.items()}
        return {name: (each.returncode, each.stderr) for name, each in done.items()}
    done = run_without(packages, _FORKS, cwd=folder, input=json.dumps(codes))
    assert done.returncode == 0, done.stderr
    outcomes = map(json.loads, done.stdout.splitlines())
    return {name: (status, errors) for name, status, errors in outcomes}
