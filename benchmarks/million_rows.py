"""PL-CL with a low-rank kernel up to a million rows: time and its parts, memory, and slope.

``--landmarks 0`` uses the exact kernel, for comparison at smaller sizes. Every size runs in a
separate process, which gives its peak memory.
"""

import argparse
import json
import resource
import subprocess
import sys
from time import perf_counter

import numpy as np
from common import make_ambiguous, print_result, time_parts

from ambilearn import PLCL

PARTS = {  # function → what it is called in the report
    "landmarks.sampled_sigma": "bandwidth",
    "landmarks.choose_landmarks": "landmarks",
    "landmarks.transform": "features",
    "primal.of": "moments",
    "products.target_sums": "target_sums",
    "products.pair_outputs": "outputs",
    "neighbors.fit": "neighbors",
    "neighbors.difference_grams": "feature_grams",
    "adaptive.fit_graph": "graph_weights",
    "adaptive.smooth": "confidences",
}


def fit_one(args, n):
    """Fit n rows, and measure."""
    n_test = 10_000
    X, Y, y = make_ambiguous(n + n_test, args.features, args.labels, args.candidates)
    model = PLCL(n_landmarks=args.landmarks or None, random_state=0, verbose=args.verbose)
    began = perf_counter()
    parts = time_parts(lambda: model.fit(X[:n], Y[:n]), PARTS)
    return {
        "rows": n,
        "fit": round(perf_counter() - began, 2),
        "iterations": model.n_iter_,
        "parts": {name: round(seconds, 2) for name, seconds in parts.items()},
        "peak_memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "accuracy": round(float(model.score(X[n:], y[n:])), 4),
        "disambiguation_accuracy": round(float(np.mean(model.transduction_ == y[:n])), 4),
    }


def main():
    """Fit every size; print one line with the slope of log time against log rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 300_000, 1_000_000])
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--labels", type=int, default=100)
    parser.add_argument("--candidates", type=float, default=2.5)
    parser.add_argument("--landmarks", type=int, default=500, help="0 is the exact kernel")
    parser.add_argument("--verbose", type=int, default=0)
    parser.add_argument("--here", action="store_true", help="fit one size in this process")
    args = parser.parse_args()
    if args.here:
        print(json.dumps(fit_one(args, args.sizes[0])))
        return
    found = []
    for n in args.sizes:
        shape = ("features", "labels", "candidates", "landmarks", "verbose")
        options = [text for name in shape for text in (f"--{name}", str(getattr(args, name)))]
        command = [sys.executable, __file__, "--here", "--sizes", str(n), *options]
        lines = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout
        found.append(json.loads(lines.splitlines()[-1]))
    slope = None
    if len(found) > 1:
        logs = np.log([[one["rows"], one["fit"]] for one in (found[0], found[-1])])
        slope = float((logs[1, 1] - logs[0, 1]) / (logs[1, 0] - logs[0, 0]))
    print_result("million_rows", slope=slope, landmarks=args.landmarks, sizes=found)


if __name__ == "__main__":
    main()
