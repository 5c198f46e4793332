"""Time and memory of stacking and voting, relative to one fit of PL-CL in the same run.

Lost and MSRCv2 (training halves), and generated data of the size of Yahoo!News: 11 495 rows and 219
labels. The compared fits alternate, several times for the small sets, and the shortest times count,
so that the machine load is the same. Memory is the peak allocation of Python and NumPy during a
fit, because the peak of the process could come from an earlier step, such as reading the file.
Prints one line per size and method, with the ratios to PL-CL.
"""

import argparse
import tracemalloc
import warnings
from time import perf_counter

import numpy as np
from common import make_ambiguous, print_result, real_split
from sklearn.exceptions import ConvergenceWarning

from ambilearn.registry import METHODS

SIZES = ("lost", "msrcv2", "yahoo-news")
LEARNERS = ("PLCL", "PLVoting", "PLStacking")  # the others are compared with the first


def rows_of(size, scale):
    """Training rows, candidate sets, test rows and truth; None without the file."""
    if size != "yahoo-news":
        return real_split(size)
    n = max(50, round(11495 * scale))
    X, Y, y = make_ambiguous(2 * n, 163, 219, 1.91)
    return X[:n], Y[:n], X[n:], y[n:]


def make(learner):
    """An estimator with its default parameters."""
    return METHODS[learner.lower()].load()()


def fit_times(X, Y, learners, repeats):
    """Shortest time of each learner's fit, and the fitted models."""
    models = {learner: make(learner) for learner in learners}
    times = {learner: [] for learner in learners}
    for _ in range(repeats):
        for learner, model in models.items():
            began = perf_counter()
            model.fit(X, Y)
            times[learner].append(perf_counter() - began)
    return {learner: min(each) for learner, each in times.items()}, models


def peak_memory(X, Y, learner):
    """Peak bytes of one fit."""
    make(learner).fit(X[:50], Y[:50])  # warm up lazy imports
    tracemalloc.start()
    make(learner).fit(X, Y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def main():
    """Measure every size and method, or the given ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, nargs="*", default=list(SIZES))
    parser.add_argument("--learner", choices=LEARNERS, nargs="*", default=list(LEARNERS))
    parser.add_argument("--scale", type=float, default=1.0, help="share of the 11 495 rows")
    parser.add_argument("--repeats", type=int, default=7, help="fits to the small sets")
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for size in args.size:
        split = rows_of(size, args.scale)
        if split is None:
            print_result("stacking_cost", data=size, skipped="file not found; set AMBILEARN_DATA")
            continue
        X, Y, X_test, y_test = split
        learners = list(dict.fromkeys([LEARNERS[0], *args.learner]))
        memory = {each: peak_memory(X, Y, each) for each in learners}
        repeats = 1 if size == "yahoo-news" else args.repeats
        times, models = fit_times(X, Y, learners, repeats)
        for learner in learners:
            print_result(
                "stacking_cost",
                data=size,
                learner=learner,
                rows=X.shape[0],
                labels=Y.shape[1],
                fit=times[learner],
                time_ratio=times[learner] / times[LEARNERS[0]],
                memory=memory[learner],
                memory_ratio=memory[learner] / memory[LEARNERS[0]],
                accuracy=float(np.mean(models[learner].predict(X_test) == y_test)),
            )


if __name__ == "__main__":
    main()
