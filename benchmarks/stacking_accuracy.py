"""Stacking, voting and every single method on ten random halves of the paper's small data sets.

The splits are those of the fidelity page: seeds 0 to 9, z-scored, default parameters; true labels
are used only for the scores. ``… by covering rate`` and ``… by approximated accuracy`` choose
members or weights by a search on the candidate sets of the training half. Prints one line per data
set and learner, with the p-value of a paired t-test against the stack; results are in
``docs/stacking.jsonl``.
"""

import argparse
import warnings
from collections import defaultdict

import numpy as np
from common import data_split, print_result
from scipy.stats import ttest_rel
from sklearn.exceptions import ConvergenceWarning

from ambilearn import IPAL, PLCL, PLStacking, PLVoting
from ambilearn.metrics import (
    approximated_accuracy_scorer,
    covering_rate_scorer,
    tolerance_accuracy,
)
from ambilearn.registry import installed_methods
from ambilearn.selection import CandidateSearchCV

STACK = "PLStacking"
FIGURES = ("accuracy", "within_3", "transductive")


SCORERS = {
    "covering rate": covering_rate_scorer,
    "approximated accuracy": approximated_accuracy_scorer,
}
# Of PL-CL, SURE and IPAL: all of them, each pair, each alone.
SUBSETS = [None, (1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
WEIGHTS = [(1, 1), (1, 0), (3, 1), (2, 1), (1, 2), (1, 3), (0, 1)]  # of PL-CL and IPAL
LEARNERS = {
    **{method.name: method.load()() for method in installed_methods().values()},
    "PLStacking, PL-CL on top": PLStacking(final_estimator=PLCL()),
    "PLStacking, IPAL on top": PLStacking(final_estimator=IPAL()),
    "PLStacking, five folds": PLStacking(cv=5, random_state=0),
}
for name, scorer in SCORERS.items():
    choice = {"scoring": scorer, "random_state": 0}  # five folds; ties keep the input order
    LEARNERS[f"PLStacking, weights by {name}"] = CandidateSearchCV(
        PLStacking(), {"final_estimator__weights": WEIGHTS}, **choice
    )
    LEARNERS[f"PLVoting, members by {name}"] = CandidateSearchCV(
        PLVoting(), {"weights": SUBSETS}, **choice
    )


def main():
    """One line for every data set and learner."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--data", nargs="+", default=["lost", "msrcv2", "fg-net"])
    parser.add_argument("--learner", nargs="+", choices=LEARNERS, default=list(LEARNERS))
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in args.data:
        found = defaultdict(list)
        for seed in range(args.seeds):
            for learner in dict.fromkeys([STACK, *args.learner]):
                found[learner].append(measure(LEARNERS[learner], name, seed))
        for learner, figures in found.items():
            report(name, learner, np.array(figures), np.array(found[STACK]))


def measure(model, name, seed):
    """Accuracy on new rows, exact and with tolerance, and transductive accuracy."""
    X, sets, y, X_test, y_test = data_split(name, seed)
    model.fit(X, sets)
    predicted = model.predict(X_test)
    fitted = getattr(model, "best_estimator_", model)
    return (
        np.mean(predicted == y_test),
        tolerance_accuracy(y_test, predicted, 3, classes=sets.classes),
        np.mean(fitted.transduction_ == y),
    )


def report(name, learner, figures, stack):
    """Means, standard deviations, and p-values against the stack."""
    values = {}
    for figure, column, reference in zip(FIGURES, figures.T, stack.T, strict=True):
        values[figure] = float(column.mean())
        values[f"{figure}_std"] = float(column.std(ddof=1))
        if learner != STACK:
            values[f"{figure}_p"] = float(ttest_rel(column, reference).pvalue)
    print_result("stacking_accuracy", data=name, learner=learner, seeds=len(figures), **values)


if __name__ == "__main__":
    main()
