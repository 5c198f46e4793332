"""Every method fits and predicts at the sizes of Soccer Player and Yahoo!News (training halves).

Generated data of the same shape. Prints one JSON line per size and method, each measured in a
separate process for its peak memory. For the kernel methods, the ratio is the time of ``fit``
relative to the lower bound of ``plcl_vs_floor``: the necessary linear algebra of the same number of
iterations, with the same threads in the same run. The other methods should need less memory than
``dense_matrix``, the bytes of an n×n matrix.
"""

import argparse
import resource
import subprocess
import sys
from time import perf_counter

import numpy as np
from common import make_ambiguous, print_result
from plcl_vs_floor import floor

from ambilearn.registry import installed_methods

METHODS = {method.name: method.load() for method in installed_methods().values()}
SIZES = {  # rows in each half, features, labels, mean number of candidates
    "Soccer Player": (8736, 279, 171, 2.09),
    "Yahoo!News": (11495, 163, 219, 1.91),
}


def measure(size, method, scale):
    """Fit and predict with one method at one size, and print time and memory."""
    rows, features, labels, candidates = SIZES[size]
    rows = max(50, round(rows * scale))
    X, Y, y = make_ambiguous(2 * rows, features, labels, candidates)
    train, test = slice(rows), slice(rows, None)
    model = METHODS[method]()

    marks = [perf_counter()]
    model.fit(X[train], Y[train])
    marks.append(perf_counter())
    predicted = model.predict(X[test])
    marks.append(perf_counter())
    fit_time, predict_time = np.diff(marks)
    values = {
        "size": size,
        "method": method,
        "rows": rows,
        "iterations": getattr(model, "n_iter_", None),
        "fit": float(fit_time),
        "predict": float(predict_time),
        "peak_memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "dense_matrix": rows**2 * 8,
        "accuracy": float(np.mean(predicted == y[test])),
    }
    if hasattr(model, "dual_coef_"):
        ridges = (model.reg, model.reg / model.alpha) if method == "PLCL" else (model.reg,)
        floor_time = sum(floor(X[train], labels, ridges, model.n_iter_).values())
        values |= {"floor": float(floor_time), "ratio": float(fit_time / floor_time)}
    print_result("methods_at_scale", **values)


def main():
    """Measure every size and method, or the given ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, nargs="*", default=list(SIZES))
    parser.add_argument("--method", choices=METHODS, nargs="*", default=list(METHODS))
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows")
    args = parser.parse_args()
    if len(args.size) == len(args.method) == 1:
        measure(*args.size, *args.method, args.scale)
        return
    for size in args.size:
        for method in args.method:
            command = [sys.executable, __file__, "--size", size, "--method", method]
            subprocess.run([*command, "--scale", str(args.scale)], check=True)


if __name__ == "__main__":
    main()
