"""What a person gains who settles some rows: by the margin, by the new order, by chance.

A person gives the first rows of an order their true label, the stack is fitted again, and what is
right among all cleaned labels and on new rows is counted. Lost and MSRCv2 at random halves with the
truth swapped out of one set in ten, the music clips as their annotators left them. ``doubt and
margin`` is the order of ``ambilearn review``, which judges the stack by its own held-out outputs;
``quick doubt and margin`` that of ``ambilearn clean``, which takes those of its PL-CL. ``oracle``
settles rows without their truth first, which nobody can know. The lines are kept in
``docs/review_curves.jsonl``.
"""

import argparse
import warnings
from collections import defaultdict

import numpy as np
from common import data_split, print_result
from sklearn.exceptions import ConvergenceWarning

from ambilearn import PLStacking, as_candidates, find_doubtful
from ambilearn.datasets import add_noise
from ambilearn.tables.ranking import choose_candidates, review_order

SHARES = (0.0, 0.02, 0.05, 0.1, 0.2)
CHANCES = 3  # orders by chance, of which the mean is taken
FOLDS = 5  # of the stack's own held-out outputs


def main():
    """One line for every data set, order and share of settled rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--data", nargs="+", default=["lost", "msrcv2", "music"])
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in args.data:
        found = defaultdict(list)
        for seed in range(1 if name == "music" else args.seeds):
            for order, share, figures in measure(name, seed):
                found[order, share].append(figures)
        for (order, share), figures in found.items():
            means = np.mean(figures, axis=0)
            names = ("transductive", "accuracy", "wrong", "absent")
            values = dict(zip(names, map(float, means), strict=True))
            print_result("review_curves", data=name, order=order, settled=share, **values)


def measure(name, seed):
    """What is right, on the cleaned and on new rows, and what was wrong in the rows settled."""
    X, sets, y, X_test, y_test = data_split(name, seed)
    if name != "music":
        sets = add_noise(sets, y, eta=0.1, random_state=seed)
    model = PLStacking().fit(X, sets)
    wrong, absent = model.transduction_ != y, ~sets.covers(y)
    rng = np.random.default_rng(seed)
    orders = {
        "margin": review_order(choices(model, sets)),
        "quick doubt and margin": by_doubt(model, X, sets, n_folds=None),
        "doubt and margin": by_doubt(model, X, sets),
        "oracle": np.lexsort((rng.random(len(y)), ~absent)),
    }
    chances = [rng.permutation(len(y)) for _ in range(CHANCES)]
    for share in SHARES:
        n = round(share * len(y))

        def figures(rows, n=n):
            fitted = PLStacking().fit(X, settle(sets, y, rows[:n]))
            right = np.mean(fitted.transduction_ == y), fitted.score(X_test, y_test)
            return *right, wrong[rows[:n]].sum() / len(y), absent[rows[:n]].sum() / len(y)

        for order, rows in orders.items():
            yield order, share, figures(rows)
        yield "chance", share, np.mean([figures(rows) for rows in chances], axis=0)
    yield from in_rounds(X, sets, y, X_test, y_test, wrong, absent)


def in_rounds(X, sets, y, X_test, y_test, wrong, absent):
    """The same where the rest is ordered anew after each share of rows."""
    settled = np.empty(0, dtype=np.intp)
    for share in SHARES:
        now = settle(sets, y, settled)
        model = PLStacking().fit(X, now)
        more = round(share * len(y)) - len(settled)
        if more:
            settled = np.concatenate([settled, by_doubt(model, X, now, settled)[:more]])
            model = PLStacking().fit(X, settle(sets, y, settled))
        right = np.mean(model.transduction_ == y), model.score(X_test, y_test)
        hits = wrong[settled].sum() / len(y), absent[settled].sum() / len(y)
        yield "doubt and margin, in rounds", share, (*right, *hits)


def by_doubt(model, X, sets, settled=(), n_folds=FOLDS):
    """Doubtful rows and close calls by turns."""
    return review_order(
        choices(model, sets), find_doubtful(model, X, sets, n_folds=n_folds), settled
    )


def choices(model, sets):
    """Label, confidence and margin of each row."""
    return choose_candidates(sets, sets.gather(model.label_distributions_))


def settle(sets, y, rows):
    """The sets with the truth alone in some rows."""
    settled = sets.to_sets()
    for row in rows:
        settled[row] = {y[row]}
    return as_candidates(settled, classes=sets.classes)


if __name__ == "__main__":
    main()
