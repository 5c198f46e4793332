"""PL-CL at the size of Yahoo!News, relative to the linear algebra that every exact method needs.

This lower bound (floor) is the distance matrix with GEMM, the exponential, two Cholesky
factorizations, and the triangular solves of the same number of iterations, with the same threads in
the same run.
"""

import argparse
import resource
from time import perf_counter

import numpy as np
from common import make_ambiguous, print_result, time_parts
from scipy import linalg

from ambilearn import PLCL

PARTS = {  # function → what it is called in the report
    "functions.train_kernel": "kernel",
    "cholesky.factorize_by_lapack": "factor",
    "ridge.solve": "ridge_solves",
    "neighbors.fit": "neighbors",
    "neighbors.difference_grams": "grams",
    "support_graph.difference_grams": "grams",
    "neighbor_weights.solve_neighbor_weights": "neighbor_weights",
    "confidence.solve_confidences": "confidences",
}


def floor(X, n_labels, ridges, iterations):
    """Time of the necessary linear algebra, and its parts."""
    targets = np.random.default_rng(0).random((len(X), n_labels))
    marks = [perf_counter()]
    squares = (X**2).sum(axis=1)
    K = X @ X.T
    K *= -2
    K += squares[:, None]
    K += squares
    sigma2 = K[0].mean()
    K *= -0.5 / sigma2
    np.exp(K, out=K)
    marks.append(perf_counter())
    factors = []
    for ridge in ridges:
        M = K.copy(order="F")
        M[np.diag_indices_from(M)] += ridge
        factors.append(linalg.cho_factor(M, lower=True, overwrite_a=True, check_finite=False))
    marks.append(perf_counter())
    for _ in range(iterations):
        for factor in factors:
            linalg.cho_solve(factor, targets, check_finite=False)
    marks.append(perf_counter())
    return dict(zip(("kernel", "factor", "ridge_solves"), np.diff(marks), strict=True))


def main():
    """Fit, then time the floor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=11495)
    parser.add_argument("--features", type=int, default=163)
    parser.add_argument("--labels", type=int, default=219)
    parser.add_argument("--candidates", type=float, default=1.9)
    parser.add_argument("--iterations", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=2)
    args = parser.parse_args()
    X, Y, y = make_ambiguous(args.rows, args.features, args.labels, args.candidates)

    # Fit and lower bound alternate, and the best times count: the machine load is the same.
    fits, floors = [], []
    for repeat in range(args.repeats):
        model = PLCL(max_iter=args.iterations, tol=0)
        fits.append(time_parts(lambda model=model: model.fit(X, Y), PARTS))
        if repeat == 0:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        floors.append(floor(X, args.labels, (model.reg, model.reg / model.alpha), model.n_iter_))
    fit_parts = min(fits, key=lambda parts: sum(parts.values()))
    floor_parts = min(floors, key=lambda parts: sum(parts.values()))
    fit_time, floor_time = sum(fit_parts.values()), sum(floor_parts.values())
    print_result(
        "plcl_vs_floor",
        ratio=fit_time / floor_time,
        fit=fit_time,
        floor=floor_time,
        rows=args.rows,
        iterations=model.n_iter_,
        fit_parts={k: round(v, 3) for k, v in fit_parts.items()},
        floor_parts={k: round(float(v), 3) for k, v in floor_parts.items()},
        peak_memory=peak,
        peak_memory_limit=4 * args.rows**2 * 8 + 2**30,
        disambiguation_accuracy=float(np.mean(model.transduction_ == y)),
    )


if __name__ == "__main__":
    main()
