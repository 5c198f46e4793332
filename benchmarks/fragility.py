"""Accuracy of every method if some candidate sets do not contain the true label.

Five random halves of Lost and MSRCv2, and the music clips with five draws of additional noise; the
sets of the clips are the union of a crowd's answers, and one in eight lacks the true label.
``plain labels`` is PL-CL on the true labels with the same noise, which shows the cost of wrong
labels. All methods have their default parameters. Results are in ``docs/fragility.jsonl``.
"""

import argparse
import warnings
from collections import defaultdict

import numpy as np
from common import data_split, print_result
from sklearn.exceptions import ConvergenceWarning

from ambilearn import PLCL
from ambilearn.datasets import add_noise
from ambilearn.registry import installed_methods

NOISE = [("swap", eta) for eta in (0.0, 0.1, 0.2, 0.3, 0.4)] + [("drop", 0.1), ("drop", 0.3)]


def main():
    """One line for every data set, method and amount of noise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--data", nargs="+", default=["lost", "msrcv2", "music"])
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in args.data:
        found = defaultdict(list)
        for seed in range(args.seeds):
            for key, figures in measure(name, seed):
                found[key].append(figures)
        for (method, kind, eta), figures in found.items():
            accuracy, cleaned, without_truth = np.mean(figures, axis=0)
            print_result(
                "fragility",
                data=name,
                method=method,
                noise=kind,
                eta=eta,
                accuracy=accuracy,
                accuracy_std=float(np.std(figures, axis=0)[0]),
                transductive=cleaned,
                without_truth=without_truth,
                seeds=len(figures),
            )


def measure(name, seed):
    """Accuracy on new rows and of the cleaned labels, and fraction of rows without true label."""
    X, sets, y, X_test, y_test = data_split(name, seed)
    for kind, eta in NOISE:
        noisy = add_noise(sets, y, kind=kind, eta=eta, random_state=seed)
        tasks = {method.name: (method.load()(), noisy) for method in installed_methods().values()}
        if kind == "swap":
            labels = add_noise([{label} for label in y.tolist()], y, eta=eta, random_state=seed)
            tasks["plain labels"] = PLCL(), labels
        for method, (model, candidates) in tasks.items():
            model.fit(X, candidates)
            figures = model.score(X_test, y_test), np.mean(model.transduction_ == y)
            yield (method, kind, eta), (*figures, 1 - candidates.covers(y).mean())


if __name__ == "__main__":
    main()
