"""Accuracy after a review of some rows, in the order of review_rank, of margin, and at random.

The first rows of an order get their true label, the stack is fitted again, and the accuracy of all
cleaned labels and on new rows is measured. Random halves of Lost and MSRCv2 with the true label
replaced in 10 % of the sets, and the music clips with the original answers. ``review`` is the order
of ``ambilearn clean`` and ``review``, by the probability that the label is wrong; ``review, in
rounds`` is computed anew after each step. ``oracle`` reviews rows without their true label first,
which is not possible in practice. Results are in ``docs/review_curves.jsonl``.

With ``--session`` the rows are reviewed through :class:`ambilearn.review.ReviewSession`, with one
random row in ten, and compared with new orders at the same shares ("in rounds"): a line for each
half, order and share. The music clips are then resampled: another random 90 % of the rows for each
seed.

With ``--coverage`` half of the rows are reviewed through a session with PL-CL, which is fitted
after each tenth of the rows to save time. Each line has the true share of right labels and the
interval that the session shows. The sums are in ``docs/review_session.jsonl``, with the lines of
``--session`` and of ``review_latency.py``.
"""

import argparse
import warnings
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from common import data_split, print_result
from sklearn.exceptions import ConvergenceWarning

from ambilearn import PLCL, PLStacking, as_candidates, find_doubtful
from ambilearn.backend import HOST
from ambilearn.datasets import add_noise
from ambilearn.review import ReviewSession
from ambilearn.tables.ranking import choose_candidates, review_order

SHARES = (0.0, 0.02, 0.05, 0.1, 0.2)
CHANCES = 3  # number of random orders that are averaged
COVERAGE_SHARES = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)


def main():
    """One line for every data set, order and share of settled rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--data", nargs="+", default=["lost", "msrcv2", "music"])
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--session", action="store_true", help="review through ReviewSession")
    parser.add_argument("--orders", nargs="+", default=["session", "in rounds"])
    parser.add_argument("--coverage", action="store_true", help="intervals of many sessions")
    parser.add_argument("--jobs", type=int, default=1, help="processes for sessions")
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    if args.session or args.coverage:
        seeds = range(args.first_seed, args.first_seed + args.seeds)
        tasks = [(name, seed) for seed in seeds for name in args.data]
        if args.session:
            tasks = [(*task, order) for task in tasks for order in args.orders]
        with ProcessPoolExecutor(args.jobs) as pool:
            list(pool.map(compare_session if args.session else cover, *zip(*tasks, strict=True)))
        return
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
    """Accuracy on the cleaned and on new rows, and errors in the reviewed rows."""
    X, sets, y, X_test, y_test = data_split(name, seed)
    if name != "music":
        sets = add_noise(sets, y, eta=0.1, random_state=seed)
    model = PLStacking().fit(X, sets)
    wrong, absent = model.transduction_ != y, ~sets.covers(y)
    rng = np.random.default_rng(seed)
    orders = {
        "margin": review_order(choices(model, sets)),
        "review": order_of_review(model, X, sets),
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


def compare_session(name, seed, order):
    """Print the gains in accuracy through the session or in rounds, a line for each share."""
    rows = noisy_split(name, seed)
    if order == "session":
        steps = through_session(*rows, seed)
    else:
        nothing = np.zeros(len(rows[0]), dtype=bool)  # errors in the reviewed rows are not counted
        steps = ((share, figures, {}) for _, share, figures in in_rounds(*rows, nothing, nothing))
    _, start, _ = next(steps)
    for share, figures, estimate in steps:
        print_result(
            "review_session",
            data=name,
            seed=seed,
            order=order,
            settled=share,
            gain=float(figures[0] - start[0]),
            gain_new_rows=float(figures[1] - start[1]),
            **estimate,
        )


def noisy_split(name, seed):
    """A random half with noise, or nine tenths of the music clips."""
    X, sets, y, X_test, y_test = data_split(name, seed)
    if name != "music":
        return X, add_noise(sets, y, eta=0.1, random_state=seed), y, X_test, y_test
    kept = np.sort(np.random.default_rng(seed).permutation(len(y))[: round(0.9 * len(y))])
    return X[kept], sets[kept], y[kept], X_test, y_test


def estimated(session, y):
    """True share of right labels, and the interval that the session shows, if any."""
    estimate = session.estimate()
    low, high = (None, None) if estimate is None else (float(estimate.low), float(estimate.high))
    return {"truth": float(np.mean(session.transduction_ == y)), "low": low, "high": high}


def cover(name, seed):
    """Print the true share of right labels and its interval at several points of a session."""
    X, sets, y, _, _ = noisy_split(name, seed)
    refit_after = round(0.1 * len(y))
    session = ReviewSession(PLCL(), X, sets, refit_after=refit_after, random_state=seed)
    for share in COVERAGE_SHARES:
        review_until(session, round(share * len(y)), y, at_once=5)
        print_result(
            "review_coverage",
            data=name,
            seed=seed,
            settled=share,
            **estimated(session, y),
        )


def review_until(session, n_settled, y, at_once=1):
    """Settle rows in the order of the session, which changes after each, or after several."""
    while (n_left := n_settled - len(session.labels_)) > 0:
        for row in session.next_rows(min(at_once, n_left)):
            session.settle(row, y[row])


def through_session(X, sets, y, X_test, y_test, seed):
    """Accuracy after a share of the rows, settled in the order of the session."""
    session = ReviewSession(PLStacking(), X, sets, random_state=seed)
    for share in SHARES:
        review_until(session, round(share * len(y)), y)
        model = PLStacking().fit(X, settle(sets, y, list(session.labels_)))
        right = np.mean(model.transduction_ == y), model.score(X_test, y_test)
        yield share, right, estimated(session, y)


def in_rounds(X, sets, y, X_test, y_test, wrong, absent):
    """Same, with a new order of the remaining rows after each step."""
    settled = np.empty(0, dtype=np.intp)
    for share in SHARES:
        now = settle(sets, y, settled)
        model = PLStacking().fit(X, now)
        more = round(share * len(y)) - len(settled)
        if more:
            settled = np.concatenate([settled, order_of_review(model, X, now, settled)[:more]])
            model = PLStacking().fit(X, settle(sets, y, settled))
        right = np.mean(model.transduction_ == y), model.score(X_test, y_test)
        hits = wrong[settled].sum() / len(y), absent[settled].sum() / len(y)
        yield "review, in rounds", share, (*right, *hits)


def order_of_review(model, X, sets, settled=()):
    """Rows by the probability that their label is wrong, as ``review_rank`` of ``clean``."""
    return review_order(choices(model, sets), find_doubtful(X, sets, estimator=model), settled)


def choices(model, sets):
    """Label, confidence and margin of each row."""
    return choose_candidates(sets, HOST.support(sets).gather(model.label_distributions_))


def settle(sets, y, rows):
    """Candidate sets with only the true label in some rows."""
    settled = sets.to_sets()
    for row in rows:
        settled[row] = {y[row]}
    return as_candidates(settled, classes=sets.classes)


if __name__ == "__main__":
    main()
