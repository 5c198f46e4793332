"""Calibration of the confidences that CrowdClassifier gives, before and after.

Before: skills smoothed by one answer, and the product T of answers and classifier as confidences of
the cleaned rows; the plain outputs of the classifier for new rows. After: the defaults.

Real crowds with PL-CL and the default stack: all rows, and random halves of the music clips.
Held-out outputs of PL-CL have a closed form, so that its seed matters little; the stack is fitted
with ten seeds. Simulated crowds: 1000 items, 40 annotators with an accuracy of .4 to .9 (.55 to .95
for two labels), and outputs of a classifier that are fixed and too flat. `rho` is the probability
that an annotator makes the mistake that others make in the same item, `delta` the share of items
that look like another label to both people and features, which nothing can detect. Simulated
answers to real rows: PL-CL learns from half of the rows of a table and predicts the others, with
the plain outputs, a temperature by the closed form of the rounds, and by folds of PL-CL itself.

Prints a table: accuracy, mean confidence, expected calibration error (ECE), and excess ECE with
half the width of a 95 % interval over the repetitions, and its maximum. For simulated crowds, also
the mean difference of the accuracies and its standard error over the draws.
"""

import argparse
from unittest.mock import patch

import numpy as np
from common import data_folder, excess_calibration_error
from crowd import load_rows, make_features
from scipy.stats import sem, t, zscore
from sklearn.pipeline import make_pipeline

from ambilearn import PLCL, PLStacking
from ambilearn.confidence import scale_scores
from ambilearn.crowd import CrowdClassifier, Votes, consensus
from ambilearn.crowd import classifier as crowd_classifier
from ambilearn.crowd.evidence import PooledEvidence, judge_rows
from ambilearn.datasets import load_dataset
from ambilearn.metrics import expected_calibration_error


def product(votes, confidences, held_out, smoothing):
    """The confidences before: the product T, and no temperature."""
    return PooledEvidence(confidences, 0.0, 1.0)


METHODS = {"PL-CL": PLCL, "stack": lambda: PLStacking(random_state=0)}
TABLES = ("digits", "ecoli", "steel", "vehicle")


def fit_before(X, votes, estimator, seed):
    """CrowdClassifier as it was before."""
    with (
        patch.object(crowd_classifier, "pool_evidence", product),
        patch.object(CrowdClassifier, "_calibrate"),  # no temperature
    ):
        return CrowdClassifier(estimator, smoothing=1.0, random_state=seed).fit(X, votes)


def fit_after(X, votes, estimator, seed):
    """CrowdClassifier with its defaults."""
    return CrowdClassifier(estimator, random_state=seed).fit(X, votes)


def measure(confidences, truth):
    """Accuracy, mean confidence, ECE and excess ECE; labels are numbers."""
    right, sure = confidences.argmax(axis=1) == truth, confidences.max(axis=1)
    errors = expected_calibration_error(right, sure), excess_calibration_error(right, sure)
    return [right.mean(), sure.mean(), *errors]


def show(name, rows):
    """Print means over the repetitions, and a 95 % interval and the maximum of the excess ECE."""
    n, means, most = len(rows), np.mean(rows, 0), np.max(rows, 0)[3]
    half = t.ppf(0.975, n - 1) * np.std(rows, 0, ddof=1)[3] / n**0.5 if n > 1 else 0.0
    cells = " ".join(f"{value:7.3f}" for value in [*means, half, most])
    print(f"{name:<52}{cells} {len(rows):4d}", flush=True)


def real(name, method, halves, repeats):
    """Cleaned and new rows of a real crowd, all rows with several seeds, or random halves."""
    votes, X, truth, X_new, truth_new = load_rows(data_folder() / "crowd", name)
    estimator = make_pipeline(make_features(name), METHODS[method]())
    truth, truth_new = (np.searchsorted(votes.classes, y) for y in (truth, truth_new))
    answers = [
        (votes.items[i], votes.annotators[a], votes.classes[k])
        for i, a, k in zip(
            votes.item_indices, votes.annotator_indices, votes.label_indices, strict=True
        )
    ]
    found = {}
    for seed in range(repeats):
        rows = np.arange(len(truth))
        if halves:
            rows = np.sort(np.random.default_rng(seed).permutation(rows)[: len(rows) // 2])
        kept = set(votes.items[rows].tolist())
        part = Votes.from_long(
            [answer for answer in answers if answer[0] in kept],
            items=votes.items[rows],
            classes=votes.classes.tolist(),
        )
        for when, fit in (("before", fit_before), ("after", fit_after)):
            model = fit(X[rows], part, estimator, seed)
            cleaned = measure(model.label_distributions_, truth[rows])
            found.setdefault(("cleaned", when), []).append(cleaned)
            new = measure(model.predict_proba(X_new), truth_new)
            found.setdefault(("new", when), []).append(new)
    for (which, when), rows in sorted(found.items(), key=lambda pair: pair[0][0]):
        show(f"{name}, {method}{', halves' if halves else ''}: {which} rows, {when}", rows)


def normalize(table):
    """Rows scaled to the sum one."""
    return table / table.sum(axis=1, keepdims=True)


def simulate(seed, n_labels, per_item, rho, delta, n=1000, n_annotators=40):
    """Votes, outputs of a classifier and truth."""
    rng = np.random.default_rng(seed)
    sharp = 1.0 if n_labels == 2 else 2.0
    truth = rng.integers(n_labels, size=n)
    other = (truth + rng.integers(1, n_labels, size=n)) % n_labels
    looks = np.where(rng.random(n) < delta, other, truth)
    scores = rng.normal(size=(n, n_labels)) + sharp * np.eye(n_labels)[looks]
    outputs = normalize(np.exp(0.7 * sharp * scores))
    return simulate_answers(rng, looks, n_labels, per_item, rho, n_annotators), outputs, truth


def simulate_answers(rng, looks, n_labels, per_item, rho, n_annotators=40):
    """Votes of annotators for items that look like some labels."""
    low, high = (0.55, 0.95) if n_labels == 2 else (0.4, 0.9)
    skill = rng.uniform(low, high, n_annotators)[:, None, None]
    wrong = rng.dirichlet(np.ones(n_labels), (n_annotators, n_labels))
    wrong[:, np.arange(n_labels), np.arange(n_labels)] = 0
    wrong /= wrong.sum(axis=2, keepdims=True)
    confusion = skill * np.eye(n_labels) + (1 - skill) * wrong
    answers = []
    for i, label in enumerate(looks.tolist()):
        shared = rng.choice(n_labels, p=confusion[:, label].mean(axis=0))
        n_answers = max(1, min(rng.poisson(per_item), n_annotators))
        for a in rng.choice(n_annotators, n_answers, replace=False).tolist():
            own = rng.choice(n_labels, p=confusion[a, label])
            answers.append((i, a, int(shared if rng.random() < rho else own)))
    return Votes.from_long(answers, items=range(len(looks)), classes=range(n_labels))


def simulated(seeds):
    """Before and after in simulated crowds with fixed outputs of the classifier."""
    worlds = [(0, 0), (0.3, 0), (0.5, 0), (0, 0.1), (0.3, 0.1)]
    for n_labels in (2, 5, 8):
        for per_item in (2.5, 6):
            for rho, delta in worlds:
                before, after, sharing = [], [], []
                for seed in seeds:
                    votes, outputs, truth = simulate(seed, n_labels, per_item, rho, delta)
                    T = normalize(votes.counts().toarray() + 0.1)
                    for _ in range(20):
                        T = judge_rows(votes, T, outputs, 1.0).confidences
                    before.append(measure(T, truth))
                    found = consensus(votes, outputs)
                    after.append(measure(found.label_distributions, truth))
                    sharing.append(found.sharing)
                name = f"{n_labels} labels, {per_item} answers, rho {rho}, delta {delta}"
                show(f"{name}: before", before)
                show(f"{name}: after, rho {np.mean(sharing):.2f}", after)
                gain = np.subtract(after, before)[:, 0]
                error = sem(gain)
                print(
                    f"  gain of accuracy {gain.mean():+.4f}, standard error {error:.4f}", flush=True
                )


def simulated_answers(seeds):
    """New rows of real tables with simulated answers, by three choices of the temperature."""
    for name in TABLES:
        data = load_dataset(name, data_home=data_folder(), download=False)
        X = np.nan_to_num(zscore(np.asarray(data.X)))
        y = np.unique(data.y, return_inverse=True)[1]
        for rho in (0, 0.3):
            found = {"plain": [], "closed form": [], "folds": []}
            for seed in seeds:
                rng = np.random.default_rng(seed)
                rows = rng.permutation(len(y))[:1000]
                train, test = rows[: len(rows) // 2], rows[len(rows) // 2 :]
                votes = simulate_answers(rng, y[train], y.max() + 1, 3, rho)
                model = CrowdClassifier(PLCL(), random_state=seed)
                model._judge(X[train], votes)
                closed_form = model.inverse_temperature_
                model.fit(X[train], votes)
                outputs = np.zeros((len(test), y.max() + 1))
                outputs[:, model.estimator_.classes_] = model.estimator_.predict_proba(X[test])
                with np.errstate(divide="ignore"):
                    scores = np.log(outputs)
                factors = 1.0, closed_form, model.inverse_temperature_
                for kind, b in zip(found, factors, strict=True):
                    found[kind].append(measure(scale_scores(scores, b), y[test]))
            for kind, rows in found.items():
                show(f"{name}, simulated answers, rho {rho}: {kind}", rows)


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10, help="halves, and seeds of the stack")
    parser.add_argument("--seeds", type=int, default=5, help="simulated crowds of each kind")
    parts = ["music", "sentiment", "simulated", "answers"]
    parser.add_argument("--parts", nargs="+", default=parts, choices=parts)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    args = parser.parse_args()
    print(f"{'':<52}accuracy, confidence, ECE, excess ECE, ± 95 % interval, maximum; n")
    for method in args.methods:
        if "music" in args.parts:
            real("music", method, False, 1 if method == "PL-CL" else args.repeats)
            real("music", method, True, args.repeats)
        if "sentiment" in args.parts and method == "PL-CL":  # the default for sentences
            real("sentiment", method, False, 1)
    if "simulated" in args.parts:
        simulated(range(300, 300 + args.seeds))
    if "answers" in args.parts:
        simulated_answers(range(args.seeds))


if __name__ == "__main__":
    main()
