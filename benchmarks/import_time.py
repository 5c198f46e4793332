"""Import times, relative to the import of scikit-learn's classifiers."""

import subprocess
import sys
from functools import partial

from common import best_time, print_result


def run(code):
    """Run code in a fresh interpreter."""
    subprocess.run([sys.executable, "-c", code], check=True)


def main():
    """Measure the import of the package, of a method, and of scikit-learn."""
    nothing = best_time(partial(run, "pass"), repeats=5)
    times = {
        name: best_time(partial(run, code), repeats=5) - nothing
        for name, code in {
            "import_ambilearn": "import ambilearn",
            "import_plcl": "from ambilearn import PLCL",
            "import_scikit_learn": "import sklearn.neighbors, sklearn.linear_model",
        }.items()
    }
    ratio = times["import_plcl"] / times["import_scikit_learn"]
    print_result("import_time", ratio=ratio, **times)


if __name__ == "__main__":
    main()
