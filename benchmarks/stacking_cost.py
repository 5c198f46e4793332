"""What a stack and a vote cost beside one fit of PL-CL: time and memory, measured in one run.

Lost and MSRCv2 (training halves), and generated data of the size of Yahoo!News: 11 495 rows and 219
labels. Every fit has a process of its own, so that the peak memory is its own; ``time_ratio`` and
``memory_ratio`` are over those of PL-CL at the same size. Memory is what the process holds at its
peak, less what it held before the fit. One line for each size and method.
"""

import argparse
import json
import resource
import subprocess
import sys
import warnings
from time import perf_counter

import numpy as np
from common import make_ambiguous, print_result, real_split
from sklearn.exceptions import ConvergenceWarning

from ambilearn.registry import METHODS

SIZES = ("lost", "msrcv2", "yahoo-news")
LEARNERS = ("PLCL", "PLVoting", "PLStacking")


def rows_of(size, scale):
    """Training rows, candidate sets, test rows and truth; None where the file is not here."""
    if size != "yahoo-news":
        return real_split(size)
    n = max(50, round(11495 * scale))
    X, Y, y = make_ambiguous(2 * n, 163, 219, 1.91)
    return X[:n], Y[:n], X[n:], y[n:]


def measure(size, learner, scale, repeats):
    """Shortest time of some fits, the memory that they took, and the accuracy, as one line."""
    X, Y, X_test, y_test = rows_of(size, scale)
    warnings.simplefilter("ignore", ConvergenceWarning)
    model = METHODS[learner.lower()].load()()
    model.__class__().fit(X[:50], Y[:50])  # whatever is imported late is there now
    before, seconds = peak_memory(), []
    for _ in range(repeats):
        began = perf_counter()
        model.fit(X, Y)
        seconds.append(perf_counter() - began)
    print(
        json.dumps(
            {
                "rows": X.shape[0],
                "labels": Y.shape[1],
                "fit": min(seconds),
                "memory": peak_memory() - before,
                "accuracy": float(np.mean(model.predict(X_test) == y_test)),
            }
        )
    )


def peak_memory():
    """Bytes that this process has held at most, so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main():
    """Measure every size and method, or the given ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, nargs="*", default=list(SIZES))
    parser.add_argument("--learner", choices=LEARNERS, nargs="*", default=list(LEARNERS))
    parser.add_argument("--scale", type=float, default=1.0, help="share of the 11 495 rows")
    parser.add_argument("--one", action="store_true", help="this process fits; for the script")
    args = parser.parse_args()
    if args.one:
        (size,), (learner,) = args.size, args.learner
        measure(size, learner, args.scale, repeats=1 if size == "yahoo-news" else 5)
        return
    for size in args.size:
        if size != "yahoo-news" and real_split(size) is None:
            print_result("stacking_cost", data=size, skipped="file not found; set AMBILEARN_DATA")
            continue
        found = {}
        for learner in dict.fromkeys(["PLCL", *args.learner]):
            command = [sys.executable, __file__, "--one", "--size", size, "--learner", learner]
            command += ["--scale", str(args.scale)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found[learner] = json.loads(done.stdout)
            ratios = {
                f"{name}_ratio": found[learner][what] / found["PLCL"][what]
                for name, what in (("time", "fit"), ("memory", "memory"))
            }
            print_result("stacking_cost", data=size, learner=learner, **found[learner], **ratios)


if __name__ == "__main__":
    main()
