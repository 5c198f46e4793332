"""Approximate and exact neighbor search: recall, time, and growth of the time with n.

Clustered rows of unit length, as in the graph of PL-CL; k = 10. Prints one JSON line per n. The
exact search of a sample of rows gives the recall; its time is multiplied by n / sample, because it
compares each query with all rows. From the second n on, ``slope`` is that of log time against log n
since the first.
"""

import argparse
import resource
from math import log
from time import perf_counter

import numpy as np
from common import print_result
from sklearn.neighbors import NearestNeighbors

from ambilearn.backend.host.neighbors import unit_rows
from ambilearn.graph.neighbors import NeighborSearch

FEATURES, CLUSTERS, K = 64, 100, 10


def clustered(n, seed=0):
    """Rows around random centers; the noise is as large as the spread of the centers."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(CLUSTERS, FEATURES))
    X = rng.normal(size=(n, FEATURES))
    X += centers[rng.integers(CLUSTERS, size=n)]
    return unit_rows(X)


def measure(n, n_asked):
    """Recall, and seconds of the approximate and the exact search."""
    X = clustered(n)
    asked = np.random.default_rng(1).choice(n, min(n, n_asked), replace=False)

    began = perf_counter()
    approximate = NeighborSearch("approximate").fit(X, K)
    seconds = perf_counter() - began

    began = perf_counter()
    exact = exact_neighbors(X, asked)
    exact_seconds = (perf_counter() - began) * n / len(asked)
    found = (approximate[asked][:, :, None] == exact[:, None, :]).sum()
    return found / exact.size, seconds, exact_seconds


def exact_neighbors(X, asked):
    """The K nearest other rows of the queries."""
    search = NearestNeighbors(n_neighbors=K + 1, algorithm="brute").fit(X)
    found = search.kneighbors(X[asked], return_distance=False)
    other = found != asked[:, None]
    other[other.all(axis=1), -1] = False  # with many duplicates the row itself may be missing
    return found[other].reshape(len(asked), K)


def main():
    """Measure at every n."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--asked", type=int, default=1000, help="queries of the exact search")
    args = parser.parse_args()
    times = {}
    for n in args.rows:
        recall, times[n], exact = measure(n, args.asked)
        first = args.rows[0]
        print_result(
            "neighbor_recall",
            rows=n,
            features=FEATURES,
            k=K,
            recall=float(recall),
            approximate=times[n],
            exact_extrapolated=exact,
            rows_asked_exactly=min(n, args.asked),
            ratio=exact / times[n],
            slope=log(times[n] / times[first]) / log(n / first) if n != first else None,
            peak_memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        )


if __name__ == "__main__":
    main()
