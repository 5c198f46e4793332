"""Doubt in candidate sets, and the order in which a person checks the rows.

Random halves of Lost, MSRCv2, FG-NET and digits, z-scored; the sets of digits have one coupled
false label (``digits-coupled``, ε = .7) or random ones (``digits-random``, q = .3). The true label
is replaced by a random label that is not a candidate in a share η of the rows.

For each data set, method and η: the share of flagged rows (doubt above one half) with the share of
the flags that are right, pooled over the halves, and the share of wrong labels among the first 5,
10 and 20 % of the rows by the earlier order (held-out difference and margin by turns), by the
margin, and by ``review_order``, with the paired 95 % interval of the last one minus the better of
the others.
"""

import argparse
import warnings
from collections import defaultdict

import numpy as np
from common import data_split, print_result
from scipy.stats import t, zscore
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from ambilearn import PLCL, PLStacking, as_candidates, find_doubtful
from ambilearn.backend import HOST
from ambilearn.confidence.held_out import hold_out, join_blocks
from ambilearn.datasets import add_noise, make_candidates
from ambilearn.tables.ranking import choose_candidates, review_order

DATA = ("lost", "msrcv2", "fg-net", "digits-coupled", "digits-random")
METHODS = {"plcl": PLCL, "stack": lambda: PLStacking(random_state=0)}
SHARES = (0.05, 0.1, 0.2)


def main():
    """One line for every data set, method and share of rows without their true label."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--halves", type=int, default=10)
    parser.add_argument("--data", nargs="+", default=DATA)
    parser.add_argument("--eta", nargs="+", type=float, default=[0, 0.05, 0.1, 0.2])
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in args.data:
        for eta in args.eta:
            found = defaultdict(list)
            for seed in range(args.halves):
                X, sets, y = load(name, seed)
                noisy = add_noise(sets, y, eta=eta, random_state=seed) if eta else sets
                difference = held_out_difference(X, noisy)
                for method, make in METHODS.items():
                    found[method].append(measure(make(), X, noisy, y, difference))
            for method, parts in found.items():
                summarize(name, method, eta, parts)


def load(name, seed):
    """Rows, candidates and true labels of a random half."""
    if not name.startswith("digits"):
        X, sets, y = data_split(name, seed)[:3]
        return X, as_candidates(sets), y
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(y))[: len(y) // 2]
    X, y = np.nan_to_num(zscore(X))[rows], y[rows]
    kind = {"r": 1, "epsilon": 0.7} if name.endswith("coupled") else {"kind": "flip", "q": 0.3}
    return X, make_candidates(y, **kind, classes=range(10), random_state=seed)[0], y


def held_out_difference(X, sets):
    """Largest held-out output of PL-CL outside of each set minus the largest one in it."""
    outputs = join_blocks(hold_out(PLCL(), X, HOST.support(sets), None, 0).outputs(), sets.shape)
    mask = sets.to_mask()
    outside = np.where(mask, -np.inf, outputs).max(axis=1)
    return np.where(mask.all(axis=1), -1, outside - np.where(mask, outputs, -np.inf).max(axis=1))


def measure(model, X, sets, y, difference):
    """Flags, right flags, and the share of wrong labels among the first rows of three orders."""
    learned = HOST.support(sets).gather(model.fit(X, sets).label_distributions_)
    choices = choose_candidates(sets, learned)
    doubt = find_doubtful(X, sets, estimator=model)
    wrong, by_margin = choices.labels != y, review_order(choices)
    doubtful = np.argsort(-difference, kind="stable")[: np.count_nonzero(difference > 0)]
    by_turns = np.column_stack([doubtful, by_margin[: len(doubtful)]]).ravel()
    places = np.concatenate([by_turns, by_margin])
    earlier = places[np.sort(np.unique(places, return_index=True)[1])]
    flagged = doubt.doubtful
    orders = {"earlier": earlier, "margin": by_margin, "new": review_order(choices, doubt)}
    return {
        "flags": (flagged.sum(), (flagged & ~sets.covers(y)).sum(), len(y)),
        "earlier flags": ((difference > 0).sum(), (~sets.covers(y))[difference > 0].sum()),
        **{
            key: [wrong[order[: round(share * len(y))]].mean() for share in SHARES]
            for key, order in orders.items()
        },
    }


def summarize(name, method, eta, parts):
    """Print means, and the paired interval."""
    flags, right, n = np.sum([part["flags"] for part in parts], axis=0).tolist()
    before, before_right = np.sum([part["earlier flags"] for part in parts], axis=0).tolist()
    values = {key: np.array([part[key] for part in parts]) for key in ("earlier", "margin", "new")}
    line = {}
    for i, share in enumerate(SHARES):
        means = {key: float(table[:, i].mean()) for key, table in values.items()}
        better = max(("earlier", "margin"), key=means.get)
        gap = values["new"][:, i] - values[better][:, i]
        half = float("nan")
        if len(gap) > 1:
            half = float(t.ppf(0.975, len(gap) - 1) * gap.std(ddof=1) / np.sqrt(len(gap)))
        line[f"first {share:.0%}"] = [round(means[key], 3) for key in ("earlier", "margin", "new")]
        line[f"gap {share:.0%}"] = [round(float(gap.mean()), 3), round(half, 3)]
    print_result(
        "doubt",
        data=name,
        method=method,
        eta=eta,
        halves=len(parts),
        flagged=flags / n,
        n_flags=flags,
        right=right / max(flags, 1),
        earlier_flagged=before / n,
        earlier_right=before_right / max(before, 1),
        **line,
    )


if __name__ == "__main__":
    main()
