"""Time of `ambilearn clean`, `fit` and `review` on a table with the answers of a crowd.

1000 rows, 512 features, 59 annotators, about 2.5 answers to each row, ten labels. The commands run
one after the other, in each source tree in turn, with one thread. One JSON line per command: wall
time and CPU time in seconds. The CPU time depends less on other processes.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import pandas as pd
from common import print_result

SOURCE = Path(__file__).resolve().parents[1] / "src"
N_ROWS, N_FEATURES, N_ANNOTATORS, N_LABELS = 1000, 512, 59, 10
OUTPUTS = {"clean": "cleaned.csv", "fit": "table.model", "review": "review.html"}
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def main():
    """Time the commands."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", nargs="+", type=Path, default=[SOURCE], help="src folders")
    parser.add_argument("--repeats", type=int, default=1)
    args = parser.parse_args()
    with TemporaryDirectory() as folder:
        make_table().to_csv(Path(folder) / "table.csv", index=False)
        for _ in range(args.repeats):
            for command in OUTPUTS:
                for i, source in enumerate(args.source):
                    wall, cpu = run(command, source.resolve(), folder)
                    print_result("table_commands", command=command, source=i, wall=wall, cpu=cpu)


def make_table(seed=0):
    """Rows of ten Gaussian classes, and a column for each annotator."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(N_LABELS, size=N_ROWS)
    X = rng.normal(size=(N_LABELS, N_FEATURES))[truth] + 6 * rng.normal(size=(N_ROWS, N_FEATURES))
    table = pd.DataFrame(X.round(5), columns=[f"x{j}" for j in range(N_FEATURES)])
    skill = rng.beta(6, 2, size=N_ANNOTATORS)
    answers = np.full((N_ROWS, N_ANNOTATORS), "", dtype=object)
    for i, label in enumerate(truth):
        for who in rng.choice(N_ANNOTATORS, size=1 + rng.poisson(1.5), replace=False):
            given = label if rng.random() < skill[who] else rng.integers(N_LABELS)
            answers[i, who] = f"class{given}"
    return table.join(pd.DataFrame(answers, columns=[f"A{a}" for a in range(N_ANNOTATORS)]))


def run(command, source, folder):
    """Wall time and processor time of a command."""
    before, began = getrusage(RUSAGE_CHILDREN), perf_counter()
    words = [command, "table.csv", "--candidates", "A*", "--out", OUTPUTS[command]]
    subprocess.run(
        [sys.executable, "-m", "ambilearn", *words],
        cwd=folder,
        env=os.environ | ONE_THREAD | {"PYTHONPATH": str(source)},
        check=True,
        capture_output=True,
    )
    after = getrusage(RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return perf_counter() - began, cpu


if __name__ == "__main__":
    main()
