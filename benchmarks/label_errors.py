"""Wrong labels in ordinary data: `find_doubtful` and cleanlab on the same features.

Needs cleanlab, in a separate environment (``pip install cleanlab . pandas``). Data: five tables
with 15 % of the labels replaced at random (``uniform``) or 20 % by the next label (``pair``), ten
seeds each, at most 1000 rows; and one answer of a random annotator for each music clip and sentence
(``crowd``). cleanlab gets held-out probabilities of five folds of logistic regression or SVC; its
AUC is the better of two scores, its corrected label the most likely one where `find_label_issues`
finds an issue. ``excess_ece`` is the calibration error of the corrected labels' confidences.
``accuracy`` is that of PL-CL on new rows, fitted to given, corrected and true labels.
The last lines compare the time with that of five folds of the same estimator.
"""

import argparse
import warnings
from collections import defaultdict
from time import process_time

import numpy as np
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from common import data_folder, excess_calibration_error, music, print_result, sentiment
from scipy.stats import zscore
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.svm import SVC

from ambilearn import LALO, PLAGGD, PLCL, PLCP, SURE, as_candidates, find_doubtful
from ambilearn.confidence.find_doubtful import choose_ridges
from ambilearn.datasets import load_dataset

TABLES = ("digits", "ecoli", "glass", "steel", "vehicle")
CROWDS = {"music": music, "sentiment": sentiment}
MODELS = {
    "logistic": LogisticRegression(max_iter=200),
    "svc": SVC(probability=True, random_state=0),
}
MAX_ROWS = 1000


def main():
    """One line for each data set and kind of noise, and one for each estimator's time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--data", nargs="+", default=[*TABLES, *CROWDS])
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # labels with less than five rows, and deprecated parameters
    for name in args.data:
        for noise in ("crowd",) if name in CROWDS else ("uniform", "pair"):
            found = defaultdict(list)
            for seed in range(args.seeds):
                X, y, given = labeled_rows(name, noise, seed)
                for key, value in (compare(X, y, given) | train(X, y, given)).items():
                    found[key].append(value)
            means = {key: float(np.mean(values)) for key, values in found.items()}
            print_result("label_errors", data=name, noise=noise, seeds=args.seeds, **means)
    for estimator in (None, SURE(), LALO(), PLAGGD(), PLCL(), PLCP()):
        print_result("label_errors_time", **measure_time(estimator, args.repeats))


def labeled_rows(name, noise, seed):
    """Features, true and given labels of at most 1000 rows."""
    rng = np.random.default_rng(seed)
    if name in CROWDS:
        X, sets, y = CROWDS[name](min_votes=None)[:3]  # counts of the answers as weights
        counts = np.asarray(sets, dtype=float)
        given = [rng.choice(sets.classes, p=row / row.sum()) for row in counts]
        labels = {label: j for j, label in enumerate(sets.classes)}
        y, given = (np.array([labels[label] for label in each]) for each in (y, given))
        rows = np.sort(rng.permutation(len(y))[:MAX_ROWS])
        if name == "sentiment":
            X = TruncatedSVD(100, random_state=0).fit_transform(X)
        return zscore(X[rows]), y[rows], given[rows]
    data = load_dataset(name, data_home=data_folder(), download=False)
    X, y = np.nan_to_num(zscore(np.asarray(data.X))), np.unique(data.y, return_inverse=True)[1]
    order = np.random.default_rng(0).permutation(len(y))[:MAX_ROWS]
    kept = order[np.isin(y[order], np.flatnonzero(np.bincount(y[order]) >= 10))]
    X, y = X[kept], np.unique(y[kept], return_inverse=True)[1]
    n_labels = y.max() + 1
    wrong = rng.random(len(y)) < (0.15 if noise == "uniform" else 0.2)
    step = rng.integers(1, n_labels, size=len(y)) if noise == "uniform" else 1
    return X, y, np.where(wrong, (y + step) % n_labels, y)


def compare(X, y, given):
    """AUC, share of right labels, calibration and CPU seconds of both."""
    wrong = given != y
    began = process_time()
    doubt = find_doubtful(X, given)
    found = {"given_right": np.mean(~wrong), "seconds": process_time() - began}
    found |= _scores("ours", doubt, y, wrong)
    for name, model in MODELS.items():
        began = process_time()
        table = cross_val_predict(model, X, given, cv=5, method="predict_proba")
        columns = np.unique(given, return_inverse=True)[1]
        issues = find_label_issues(columns, table, n_jobs=1)
        found[f"seconds_cleanlab_{name}"] = process_time() - began
        corrected = np.where(issues, np.unique(given)[table.argmax(axis=1)], given)
        found[f"auc_cleanlab_{name}"] = max(
            roc_auc_score(wrong, -get_label_quality_scores(columns, table, method=method))
            for method in ("self_confidence", "normalized_margin")
        )
        found[f"right_cleanlab_{name}"] = np.mean(corrected == y)
        other = find_doubtful(pred_probs=table, labels=given)
        found |= _scores(f"ours_on_{name}", other, y, wrong)
    return found


def _scores(name, doubt, y, wrong):
    right = doubt.label == y
    return {
        f"auc_{name}": roc_auc_score(wrong, doubt.score),
        f"right_{name}": np.mean(right),
        f"excess_ece_{name}": excess_calibration_error(right, doubt.confidence),
        f"wrong_of_first_25_{name}": np.sum(
            ~right[np.argsort(doubt.confidence, kind="stable")[:25]]
        ),
    }


def train(X, y, given):
    """Accuracy on the second half of PL-CL fitted to three kinds of labels of the first half."""
    half = len(y) // 2
    corrected = find_doubtful(X[:half], given[:half]).label
    kinds = {"given": given[:half], "corrected": corrected, "true": y[:half]}
    return {
        f"accuracy_{kind}": PLCL().fit(X[:half], labels).score(X[half:], y[half:])
        for kind, labels in kinds.items()
    }


class TunedRidges(ClassifierMixin, BaseEstimator):
    """The default of `find_doubtful` as an ordinary classifier."""

    def fit(self, X, y):
        """Choose the parameters, and fit both classifiers."""
        self.classes_ = np.unique(y)
        self.members_ = [each.fit(X, y) for each in choose_ridges(X, as_candidates(y))]
        return self

    def predict_proba(self, X):
        """Weighted mean of both."""
        gaussian, linear = (each.predict_proba(X) for each in self.members_)
        return (2 * gaussian + linear) / 3

    def predict(self, X):
        """The most likely label."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def measure_time(estimator, repeats):
    """CPU seconds of closed form and of five folds with `find_label_issues`, alternating."""
    X, _, given = labeled_rows("digits", "uniform", 0)
    folds = TunedRidges() if estimator is None else estimator

    def with_folds():
        table = cross_val_predict(folds, X, given, cv=5, method="predict_proba")
        find_label_issues(given, table, n_jobs=1)

    times = defaultdict(list)
    for _ in range(repeats):
        for name, run in (
            ("closed_form", lambda: find_doubtful(X, given, estimator=estimator)),
            ("five_folds", with_folds),
        ):
            began = process_time()
            run()
            times[name].append(process_time() - began)
    best = {name: min(values) for name, values in times.items()}
    ratio = best["five_folds"] / best["closed_form"]
    return {"estimator": type(folds).__name__, "rows": len(X), **best, "ratio": ratio}


if __name__ == "__main__":
    main()
