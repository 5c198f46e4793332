"""Accuracy and time of the default stack with the exact kernel and with landmarks.

Simulated tables of 50 features. Each label has three Gaussian clusters; two false labels on average
(of two labels: a false label in half of the rows). Prints one JSON line for each table, with the
shares of right labels of training rows (``cleaned``) and of new rows (``new``), and the CPU seconds
of the fit. With ``--device cuda``, PyTorch fits on a GPU, for accuracies only: the exact kernel of
20 000 rows takes minutes on a CPU.
"""

import argparse
import time
import warnings

import numpy as np
from common import print_result

from ambilearn import PLCL, PLStacking
from ambilearn.backend.arrays import to_numpy

METHODS = {"plstacking": PLStacking, "plcl": PLCL}


def simulate(n, n_labels, seed, n_new=2000, d=50, per_label=3):
    """Training X, mask and truth, new X and truth."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_labels, size=n + n_new)
    centers = rng.normal(size=(n_labels, per_label, d))
    X = centers[y, rng.integers(per_label, size=len(y))]
    X = X + {2: 2.6, 20: 1.9, 100: 1.5}.get(n_labels, 1.7) * rng.normal(size=X.shape)
    X = (X - X[:n].mean(axis=0)) / X[:n].std(axis=0)
    mask = rng.random((n, n_labels)) < (0.5 if n_labels == 2 else 2 / (n_labels - 1))
    mask[np.arange(n), y[:n]] = True
    return X[:n], mask.astype(int), y[:n], X[n:], y[n:]


def main():
    """One line for each size, number of labels, seed and number of landmarks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[2000, 5000, 10000, 20000])
    parser.add_argument("--labels", type=int, nargs="+", default=[2, 20, 100])
    parser.add_argument("--landmarks", type=int, nargs="+", default=[0, 500, 1000, 2000, 4000])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--method", choices=METHODS, default="plstacking")
    parser.add_argument("--device")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for seed in args.seeds:
        for n in args.rows:
            for n_labels in args.labels:
                X, mask, y, X_new, y_new = simulate(n, n_labels, seed)
                if args.device:
                    import sklearn
                    import torch

                    sklearn.set_config(array_api_dispatch=True)  # and SCIPY_ARRAY_API=1
                    X, X_new = (torch.asarray(each, device=args.device) for each in (X, X_new))
                for m in args.landmarks:
                    if m >= n:
                        continue
                    model = METHODS[args.method](n_landmarks=m or None, random_state=0)
                    began, wall = time.process_time(), time.perf_counter()
                    model.fit(X, mask)
                    seconds, passed = time.process_time() - began, time.perf_counter() - wall
                    print_result(
                        "default_landmarks",
                        method=args.method,
                        rows=n,
                        labels=n_labels,
                        seed=seed,
                        landmarks=m,
                        cleaned=float(np.mean(to_numpy(model.transduction_) == y)),
                        new=float(np.mean(to_numpy(model.predict(X_new)) == y_new)),
                        seconds=seconds,
                        wall=passed,
                    )


if __name__ == "__main__":
    main()
