"""Detection of rows whose true label is not a candidate: accuracy and time.

Random halves of Lost and MSRCv2, with the true label replaced in a fraction η of the sets; the
music clips and the sentences with the original answers. ``auc`` is that of the score for rows
without their true label, ``named`` the fraction of these rows whose suggestion is correct, and
``ratio`` the time relative to a fit.
"""

import argparse
import warnings
from collections import defaultdict

import numpy as np
from common import best_time, data_folder, data_split, print_result
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score

from ambilearn import find_doubtful
from ambilearn.datasets import add_noise
from ambilearn.registry import METHODS, installed_methods

BY_FOLDS = ", by five folds"  # instead of the closed form of a member
KERNEL_METHODS = ("PLCL", "PLAGGD", "LALO", "SURE")


def main():
    """One line for every data set and method."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--data", nargs="+", default=["lost", "msrcv2", "music", "sentiment"])
    parser.add_argument("--repeats", type=int, default=2)
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in args.data:
        eta = 0.1 if name in ("lost", "msrcv2") else 0.0
        methods = [
            *(method.name for method in installed_methods().values()),
            f"PLStacking{BY_FOLDS}",
        ]
        found = defaultdict(list)
        for seed in range(args.seeds if eta else 1):
            X, sets, y = sentences() if name == "sentiment" else data_split(name, seed)[:3]
            noisy = add_noise(sets, y, eta=eta, random_state=seed) if eta else sets
            for method in KERNEL_METHODS if name == "sentiment" else methods:
                found[method].append(measure(method, X, noisy, y, args.repeats))
        for method, lines in found.items():
            means = {key: float(np.mean([line[key] for line in lines])) for key in lines[0]}
            print_result("doubt", data=name, method=method, eta=eta, seeds=len(lines), **means)


def measure(name, X, sets, y, repeats):
    """Detection by one method, and its time relative to the fit."""
    options = {"n_folds": 5} if name.endswith(BY_FOLDS) else {}
    model = METHODS[name.removesuffix(BY_FOLDS).lower()].load()()
    doubt = find_doubtful(X, sets, estimator=model, **options)
    fit = best_time(lambda: model.fit(X, sets), repeats)
    search = best_time(lambda: find_doubtful(X, sets, estimator=model, **options), repeats)
    absent = ~sets.covers(y)
    return {
        "auc": roc_auc_score(absent, doubt.score),
        "named": np.mean(doubt.suggestion[absent] == y[absent]),
        "without_truth": absent.mean(),
        "ratio": search / fit,
    }


def sentences(n_rows=2500, n_dimensions=200):
    """Sentences in few dimensions, the union of the answers, and the true labels."""
    import pandas as pd
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    from ambilearn import as_candidates

    folder = data_folder() / "crowd"
    table = pd.read_csv(folder / "sentiment-train.csv").head(n_rows)
    answers = pd.read_csv(folder / "sentiment-answers.csv")
    answered = answers.groupby("item")["label"].agg(set)
    table = table[table["item"].isin(answered.index)]
    X = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(table["text"])
    X = TruncatedSVD(n_dimensions, random_state=0).fit_transform(X)
    return X, as_candidates(answered[table["item"]].to_list()), table["truth"].to_numpy()


if __name__ == "__main__":
    main()
