"""PL-CL and a literal implementation of the paper on a half-split of Lost: equality and speed.

The literal implementation (tests/literal.py) solves every quadratic program with an interior-point
solver and n·l variables for the confidences, as in the paper and the published code. This takes
about ten minutes. ``ratio_reduced`` compares with the same solver without the variables that are
fixed at zero, which the published code keeps; ``--reduced`` runs only this comparison.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from common import best_time, make_ambiguous, print_result, real_split

from ambilearn import PLCL

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from literal import LiteralPLCL


def main():
    """Fit all variants and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reduced", action="store_true", help="leave out the n·l-variable problem")
    args = parser.parse_args()
    split = real_split("lost")
    data = "generated" if split is None else "lost"
    if split is None:
        X, Y, y = make_ambiguous(1122, 108, 16, 2.23)
        split = X[:561], Y[:561].toarray().astype(int), X[561:], y[561:]
    X, Y, X_test, _ = split

    model = PLCL(max_iter=8, tol=0)
    fit_time = best_time(lambda: model.fit(X, Y), repeats=5)
    literal = LiteralPLCL()
    reduced_time = best_time(lambda: literal.fit(X, Y), repeats=1)
    result = {"fit": fit_time, "literal_reduced": reduced_time}
    result["ratio_reduced"] = reduced_time / fit_time
    if not args.reduced:
        print("solving the paper's n·l-variable problems, some ten minutes ...", file=sys.stderr)
        literal = LiteralPLCL(reduce=False)
        literal_time = best_time(lambda: literal.fit(X, Y), repeats=1)
        result = {"ratio": literal_time / fit_time, "literal": literal_time, **result}
    print_result(
        "plcl_vs_literal",
        **result,
        data=data,
        max_difference_P=float(np.abs(model.label_distributions_ - literal.P).max()),
        max_difference_Q=float(np.abs(model.complementary_distributions_ - literal.Q).max()),
        different_predictions=int(
            np.sum(model.predict(X_test) != literal.scores(X_test).argmax(axis=1))
        ),
    )


if __name__ == "__main__":
    main()
