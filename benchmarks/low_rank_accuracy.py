"""Accuracy and time of low-rank PL-CL against the exact kernel, at 5 000 rows.

The training rows are noisy samples from half of the 1 797 digits, without duplicates; the other
half are the test rows.
"""

import argparse
from time import perf_counter

import numpy as np
from common import print_result, resampled_digits

from ambilearn import PLCL
from ambilearn.datasets import make_candidates


def main():
    """Exact fit first, then one low-rank fit for each number of landmarks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--landmarks", type=int, nargs="+", default=[100, 300, 1000])
    args = parser.parse_args()
    X, y, X_test, y_test = resampled_digits(args.rows)
    sets, _ = make_candidates(y, p=0.8, r=2, random_state=0)

    def fit(**params):
        began = perf_counter()
        model = PLCL(**params).fit(X, sets)
        return model, perf_counter() - began

    exact, exact_time = fit()
    expected = exact.score(X_test, y_test)
    for m in args.landmarks:
        model, seconds = fit(n_landmarks=m, random_state=0)
        accuracy = model.score(X_test, y_test)
        print_result(
            "low_rank_accuracy",
            rows=args.rows,
            landmarks=m,
            ratio=exact_time / seconds,
            exact_accuracy=expected,
            accuracy=accuracy,
            difference=accuracy - expected,
            agreement=float(np.mean(model.transduction_ == exact.transduction_)),
            exact_fit=exact_time,
            fit=seconds,
        )


if __name__ == "__main__":
    main()
