"""PL-CL against the paper solved literally, on one Lost half-split: same answers, how much faster.

The literal solution (tests/literal.py) hands every quadratic program to an interior-point solver.
By default it leaves out the variables that are fixed at zero, which no published code does and
which already makes it fifty times faster; ``--unreduced`` solves for all n·l variables, as the
paper writes it, and takes some ten minutes.
"""

import argparse
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
from common import best_time, make_ambiguous, print_result, real_split

from ambilearn import PLCL

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from literal import LiteralPLCL


def main():
    """Fit both ways and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--unreduced", action="store_true", help="solve for all n·l variables")
    args = parser.parse_args()
    split = real_split("lost")
    if split is None:
        X, Y, y = make_ambiguous(1122, 108, 16, 2.23)
        split = X[:561], Y[:561].toarray().astype(int), X[561:], y[561:]
    X, Y, X_test, _ = split

    model = PLCL(max_iter=8, tol=0)
    fit_time = best_time(lambda: model.fit(X, Y), repeats=5)
    began = perf_counter()
    literal = LiteralPLCL(reduce=not args.unreduced).fit(X, Y)
    literal_time = perf_counter() - began
    print_result(
        "plcl_vs_literal",
        ratio=literal_time / fit_time,
        fit=fit_time,
        literal=literal_time,
        literal_variables="n*l" if args.unreduced else "candidates only",
        data="generated" if real_split("lost") is None else "lost",
        max_difference_P=float(np.abs(model.label_distributions_ - literal.P).max()),
        max_difference_Q=float(np.abs(model.complementary_distributions_ - literal.Q).max()),
        different_predictions=int(
            np.sum(model.predict(X_test) != literal.scores(X_test).argmax(axis=1))
        ),
    )


if __name__ == "__main__":
    main()
