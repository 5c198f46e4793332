"""CPU time of `ambilearn clean`, `fit` and `review`, and of the fit of the method alone.

Tables with ten labels: candidate sets (``sets``), one label in each row of which some are wrong
(``given``), and the answers of 59 annotators, about 2.5 to each row (``annotators``). The commands
run one after the other, in each source tree in turn, with one thread. One JSON line per command:
CPU time in seconds, less that of ``ambilearn --version``. ``alone`` is the method, fitted to
the standardized features; for annotators to the shares of their answers.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from common import print_result

SOURCE = Path(__file__).resolve().parents[1] / "src"
N_ANNOTATORS, N_LABELS = 59, 10
OUTPUTS = {"clean": "cleaned.csv", "fit": "table.model", "review": "review.html"}
CASES = {
    "sets": ["--candidates", "sets"],
    "given": ["--given-label", "given"],
    "annotators": ["--candidates", "A*"],
}
FIT = """
import sys
from time import process_time
import numpy as np, pandas as pd
from ambilearn import PLCL, PLStacking, as_candidates, votes_to_candidates
name, case = sys.argv[1:]
table = pd.read_csv("table.csv", dtype={"sets": str})
X = table.filter(regex="^x").to_numpy()
X = (X - X.mean(axis=0)) / X.std(axis=0)
if case == "annotators":
    y = votes_to_candidates(table.filter(regex="^A").astype(object))
elif case == "given":
    y = as_candidates(table["given"].tolist())
else:
    y = as_candidates([set(cell.split("|")) for cell in table["sets"]])
model = PLCL() if name == "plcl" else PLStacking(random_state=0)
began = process_time()
model.fit(X, y)
print(process_time() - began)
"""
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def main():
    """Time the commands."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", nargs="+", type=Path, default=[SOURCE], help="src folders")
    parser.add_argument("--rows", nargs="+", type=int, default=[1000])
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--methods", nargs="+", default=["plstacking", "plcl"])
    parser.add_argument("--commands", nargs="+", choices=OUTPUTS, default=list(OUTPUTS))
    parser.add_argument("--repeats", type=int, default=1)
    args = parser.parse_args()
    for n_rows in args.rows:
        for case in args.cases:
            with TemporaryDirectory() as folder:
                make_table(case, n_rows, args.features).to_csv(f"{folder}/table.csv", index=False)
                for _ in range(args.repeats):
                    for method in args.methods:
                        for i, source in enumerate(args.source):
                            times = measure(case, method, args.commands, source.resolve(), folder)
                            print_result(
                                "table_commands",
                                case=case,
                                rows=n_rows,
                                method=method,
                                source=i,
                                **times,
                            )


def make_table(case, n_rows, n_features, seed=0):
    """Rows of ten Gaussian classes, with the columns of labels of a case."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(N_LABELS, size=n_rows)
    centers = rng.normal(size=(N_LABELS, n_features))
    noise = n_features**0.5 / 4 * rng.normal(size=(n_rows, n_features))
    columns = [f"x{j}" for j in range(n_features)]
    table = pd.DataFrame((centers[truth] + noise).round(5), columns=columns)
    if case == "sets":
        false = rng.random((n_rows, N_LABELS)) < 0.2
        false[np.arange(n_rows), truth] = True
        return table.assign(sets=["|".join(f"c{j}" for j in np.flatnonzero(row)) for row in false])
    if case == "given":
        given = np.where(rng.random(n_rows) < 0.1, rng.integers(N_LABELS, size=n_rows), truth)
        return table.assign(given=[f"c{j}" for j in given])
    skill = rng.beta(6, 2, size=N_ANNOTATORS)
    answers = np.full((n_rows, N_ANNOTATORS), "", dtype=object)
    for i, label in enumerate(truth):
        for who in rng.choice(N_ANNOTATORS, size=1 + rng.poisson(1.5), replace=False):
            answers[i, who] = f"c{label if rng.random() < skill[who] else rng.integers(N_LABELS)}"
    return table.join(pd.DataFrame(answers, columns=[f"A{a}" for a in range(N_ANNOTATORS)]))


def measure(case, method, commands, source, folder):
    """CPU seconds of the fit of the method and of each command."""
    alone = run(["-c", FIT, method, case], source, folder)[1]
    times = {"alone": float(alone.split()[-1])}
    start = run(["-m", "ambilearn", "--version"], source, folder)[0]
    for command in commands:
        words = [command, "table.csv", *CASES[case], "--out", OUTPUTS[command]]
        if not (case == "given" and command != "fit"):  # which fit no method
            words += ["--method", method]
        times[command] = run(["-m", "ambilearn", *words], source, folder)[0] - start
    return times


def run(words, source, folder):
    """CPU time and standard output of a Python process."""
    before = getrusage(RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env=os.environ | ONE_THREAD | {"PYTHONPATH": str(source)},
        check=True,
        capture_output=True,
        text=True,
    )
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, done.stdout


if __name__ == "__main__":
    main()
