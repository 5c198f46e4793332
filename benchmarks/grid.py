"""Fifty points of the paper's grid on one split: fits that share work, and separate fits.

The default is 8 outer iterations, as in the authors' code. ``--converge`` runs every fit until
convergence, so that the iterations, which cannot be shared, take a larger part of the time. The
separate fits are timed on evenly spaced points and extrapolated, unless ``--all`` is given; the
results at these points must be exactly equal.
"""

import argparse
from time import perf_counter

import numpy as np
from common import print_result, real_split, resampled_digits

from ambilearn import PLCL
from ambilearn.datasets import make_candidates
from ambilearn.selection import draw_points, fit_points

VALUES = [0.001, 0.01, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 4.0]
GRID = dict.fromkeys(("alpha", "beta", "gamma", "mu"), VALUES)


def compare(name, X, Y, points, every, loop):
    """Time both variants, and compare the results."""
    began = perf_counter()
    shared = list(fit_points(PLCL(**loop), points, X, Y))
    grid_time = perf_counter() - began

    separate_time, equal, checked = 0.0, True, range(0, len(points), every)
    for i in checked:
        began = perf_counter()
        alone = PLCL(**points[i], **loop).fit(X, Y)
        separate_time += perf_counter() - began
        equal &= np.array_equal(alone.label_distributions_, shared[i].label_distributions_)
        equal &= np.array_equal(alone.dual_coef_, shared[i].dual_coef_)
    separate_time *= len(points) / len(checked)
    print_result(
        "grid",
        data=name,
        rows=X.shape[0],
        points=len(points),
        ratio=grid_time / separate_time,
        grid=grid_time,
        separate=separate_time,
        separate_fits_timed=len(checked),
        equal_bit_for_bit=bool(equal),
        iterations=int(sum(model.n_iter_ for model in shared)),
    )


def main():
    """Run MSRCv2, if its file exists, and 5 000 rows of digits."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=50)
    parser.add_argument("--all", action="store_true", help="time every separate fit")
    parser.add_argument("--converge", action="store_true", help="no fixed number of iterations")
    args = parser.parse_args()
    loop = {} if args.converge else {"max_iter": 8, "tol": 0}
    points = sorted(draw_points(GRID, args.points, random_state=0), key=lambda each: each["alpha"])
    split = real_split("msrcv2")
    if split is None:
        print_result("grid", data="msrcv2", skipped="file not found; set AMBILEARN_DATA")
    else:
        compare("msrcv2", *split[:2], points, every=1, loop=loop)
    X, y, _, _ = resampled_digits(5000)
    sets, _ = make_candidates(y, p=0.8, r=2, random_state=0)
    compare("digits, resampled", X, sets, points, every=1 if args.all else 5, loop=loop)


if __name__ == "__main__":
    main()
