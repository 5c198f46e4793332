"""PL-CL from Parquet with more data than fit in the memory of all workers.

Two worker processes with memory limits fit a table that is larger than both limits together, so
Dask spills to disk. Prints one JSON line. Raises an error if the data fit in memory, or if Dask
ended a worker because it exceeded its limit.
"""

import argparse
import logging
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from common import print_result
from dask.utils import format_bytes
from distributed import Client, LocalCluster
from distributed.diagnostics import MemorySampler
from threadpoolctl import threadpool_limits

from ambilearn.distributed import DistributedPLCL

FEATURES, LABELS, CANDIDATES = 2048, 20, 2.5
BLOCK, PARTITION = 1000, 1500  # rows of a file and, roughly, of a partition
SMALL_WORKERS = {
    # By default results may use 60 % of the limit. Imported code uses 40 % of this small limit.
    "distributed.worker.memory.target": 0.2,
    "distributed.worker.memory.spill": 0.6,
    # Otherwise the C library does not return freed memory to the system.
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 65536,
}


def make_block(n, seed):
    """Rows of Gaussian classes, with candidates such as "3|17", and their true labels."""
    centers = np.random.default_rng(0).normal(size=(LABELS, FEATURES))
    rng = np.random.default_rng([1, seed])
    y = rng.integers(LABELS, size=n)
    mask = rng.random((n, LABELS)) < (CANDIDATES - 1) / (LABELS - 1)
    mask[np.arange(n), y] = True
    names = ["|".join(map(str, np.flatnonzero(row))) for row in mask]
    return centers[y] + 6.0 * rng.normal(size=(n, FEATURES)), names, y


def write_block(folder, n, seed):
    """Write a file of the table: a column of vectors, and one of names."""
    X, names, _ = make_block(n, seed)
    frame = pd.DataFrame({"vector": list(X), "names": names})
    frame.to_parquet(folder / f"{seed:05}.parquet", compression=None)


def fit(folder, rows, limit, landmarks):
    """Write the table, fit it with two workers with a memory limit, and report time and memory."""
    # The allocator of pyarrow keeps freed memory, which Dask counts as used.
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"
    table = folder / "table"
    table.mkdir()
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    options |= {"memory_limit": limit, "local_directory": folder, "silence_logs": logging.ERROR}
    with (
        threadpool_limits(1),
        dask.config.set(SMALL_WORKERS),
        LocalCluster(**options) as cluster,
        Client(cluster) as client,
    ):
        data = rows * FEATURES * 8
        limits = sum(worker.memory_manager.memory_limit for worker in cluster.workers.values())
        if data <= limits:
            sys.exit(f"{format_bytes(data)} of data fit in {format_bytes(limits)}: raise --rows.")
        sizes = np.diff(np.append(np.arange(0, rows, BLOCK), rows)).tolist()
        write = dask.delayed(write_block)
        dask.compute(*(write(table, size, seed) for seed, size in enumerate(sizes)))
        processes = client.run(os.getpid)

        # Otherwise Dask reads several files as one block.
        with dask.config.set({"dataframe.parquet.minimum-partition-size": 1}):
            frame = dd.read_parquet(table)
            X = [dask.delayed(np.stack)(part) for part in frame["vector"].to_delayed()]
            y = frame["names"].str.split("|")
        partitions = max(1, rows // PARTITION)
        model = DistributedPLCL(n_landmarks=landmarks, random_state=0, n_partitions=partitions)
        memory = MemorySampler()
        began = perf_counter()
        with memory.sample("process", measure="process"), memory.sample("disk", measure="spilled"):
            model.fit(X, y)
        took = perf_counter() - began
        peaks = memory.to_pandas().max()
        X_test, _, y_test = make_block(5000, 10**6)
        return {
            "rows": rows,
            "data": data,
            "memory_limit_workers": limits,
            "peak_memory_workers": int(peaks["process"]),
            "peak_on_disk": int(peaks["disk"]),
            "workers_lost": len(set(processes.values()) - set(client.run(os.getpid).values())),
            "partitions": len(model.partition_sizes_),
            "iterations": model.n_iter_,
            "landmarks": landmarks,
            "fit": took,
            "accuracy": model.score(X_test, y_test.astype(str)),
        }


def main():
    """Measure once; raise if a worker was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=170_000)
    parser.add_argument("--limit", default="700 MB", help="memory limit of a worker")
    parser.add_argument("--landmarks", type=int, default=100)
    args = parser.parse_args()
    with TemporaryDirectory() as folder:
        found = fit(Path(folder), args.rows, args.limit, args.landmarks)
    print_result("beyond_memory", **found)
    if found["workers_lost"]:
        sys.exit(f"{found['workers_lost']} worker(s) exceeded the limit of {args.limit}.")


if __name__ == "__main__":
    main()
