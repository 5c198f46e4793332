"""Time of the imports, in units of importing scikit-learn's classifiers alone."""

import subprocess
import sys
from functools import partial

from common import best_time, print_result


def run(code):
    """Run code in a fresh interpreter."""
    subprocess.run([sys.executable, "-c", code], check=True)


def main():
    """Measure a bare import, the import of a method, and what scikit-learn takes."""
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
