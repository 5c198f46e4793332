"""PL-CL on a cluster: two single-threaded worker processes against one, in one run.

The workers generate the rows block by block. Prints one JSON line with both times and their ratio,
which should be at least 1.5. With ``--sizes``, prints a line per number of rows, each measured in a
separate process: time, and peak memory of this process and the workers.
"""

import argparse
import resource
import subprocess
import sys
from time import perf_counter

import numpy as np
from common import print_result
from dask import delayed
from distributed import Client, LocalCluster
from scipy import sparse
from threadpoolctl import threadpool_limits

from ambilearn.distributed import DistributedPLCL

FEATURES, LABELS, CANDIDATES = 64, 100, 2.5
BLOCK = 10_000  # rows


def make_block(n, seed):
    """Rows of Gaussian classes, their sparse candidate mask, and true labels."""
    centers = np.random.default_rng(0).normal(size=(LABELS, FEATURES))
    rng = np.random.default_rng([1, seed])
    y = rng.integers(LABELS, size=n)
    X = centers[y] + 2.0 * rng.normal(size=(n, FEATURES))
    mask = rng.random((n, LABELS)) < (CANDIDATES - 1) / (LABELS - 1)
    mask[np.arange(n), y] = True
    return X, sparse.csr_array(mask), y


def rows_of(n, seed):
    """Rows of a block alone."""
    return make_block(n, seed)[0]


def mask_of(n, seed):
    """Candidate mask of a block alone."""
    return make_block(n, seed)[1]


def peak_memory():
    """Peak memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def fit(rows, workers, iterations, landmarks):
    """Fit on a cluster with a number of workers; time and further measurements."""
    sizes = np.diff(np.append(np.arange(0, rows, BLOCK), rows)).tolist()
    X = [delayed(rows_of)(size, seed) for seed, size in enumerate(sizes)]
    Y = [delayed(mask_of)(size, seed) for seed, size in enumerate(sizes)]
    # tol=0: the same number of iterations for all fits.
    model = DistributedPLCL(n_landmarks=landmarks, max_iter=iterations, tol=0, random_state=0)
    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    # One thread per process: Dask limits the workers, and the context limits this process.
    with threadpool_limits(1), LocalCluster(**options) as cluster, Client(cluster) as client:
        few = 20 * LABELS
        model.fit(*make_block(few, 10**6)[:2])  # warm up imports on the workers
        began = perf_counter()
        model.fit(X, Y)
        took = perf_counter() - began
        peaks = client.run(peak_memory)
        X_test, _, y_test = make_block(BLOCK, 10**6)
        return {
            "rows": rows,
            "workers": workers,
            "partitions": len(model.partition_sizes_),
            "iterations": model.n_iter_,
            "landmarks": landmarks,
            "fit": took,
            "peak_memory_driver": peak_memory(),
            "peak_memory_workers": sum(peaks.values()),
            "accuracy": model.score(X_test, y_test),
        }


def main():
    """Measure the speed-up, or time and memory for several sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--sizes", type=int, nargs="*", help="numbers of rows, with two workers")
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--landmarks", type=int, default=300)
    args = parser.parse_args()
    given = {"iterations": args.iterations, "landmarks": args.landmarks}
    if args.sizes is None:
        one, two = (fit(args.rows, workers, **given) for workers in (1, 2))
        both = {"fit_one_worker": one.pop("fit"), "fit_two_workers": two.pop("fit")}
        ratio = both["fit_one_worker"] / both["fit_two_workers"]
        print_result("distributed_plcl", **two | both, ratio=ratio)
    elif len(args.sizes) == 1:
        print_result("distributed_plcl", **fit(*args.sizes, 2, **given))
    else:
        for rows in args.sizes:
            options = (f"--{name}={value}" for name, value in given.items())
            subprocess.run([sys.executable, __file__, *options, "--sizes", str(rows)], check=True)


if __name__ == "__main__":
    main()
