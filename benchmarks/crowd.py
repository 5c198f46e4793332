"""Cleaned labels from the answers of real annotators, and classifiers trained on them.

Music: ten genres, 44 annotators, 700 clips and 300 new ones, 124 features, z-scored. Sentiment: two
labels, 203 annotators, 4 999 sentences and 3 999 new ones, as TF-IDF. The files are described in
docs/measurements/votes.md and are never part of the project. Only the upper bound uses true labels;
parameters are defaults, or chosen with the answers ("reg by evidence").

Prints one JSON line per approach, then a table: accuracy of the cleaned labels and on new rows,
with 95 % bootstrap intervals over the rows, and the paired difference to Dawid–Skene.
"""

import argparse
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
from common import data_folder, print_result
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ambilearn import PLCL, PLStacking
from ambilearn.candidates import as_candidates
from ambilearn.crowd import CrowdClassifier, Votes, dawid_skene

DRAWS = 2000
REGS = [0.03, 0.1, 0.3, 1.0]


def load(folder, name):
    """Votes, features and truth of the rows, and features and truth of new rows."""
    votes, X, truth, X_new, truth_new = load_rows(folder, name)
    features = make_features(name)
    return votes, features.fit_transform(X), truth, features.transform(X_new), truth_new


def load_rows(folder, name):
    """The same before :func:`make_features`: texts, or numbers."""
    train, test, answers = (
        pd.read_csv(folder / f"{name}-{part}.csv") for part in ("train", "test", "answers")
    )
    numbers = [column for column in train if column not in ("item", "truth")]
    X, X_new = (
        part["text"].to_numpy() if "text" in part else part[numbers].to_numpy()
        for part in (train, test)
    )
    votes = Votes.from_long(answers, items=train["item"])
    return votes, X, train["truth"].to_numpy(), X_new, test["truth"].to_numpy()


def make_features(name):
    """Transformer of the rows."""
    return StandardScaler() if name == "music" else TfidfVectorizer(sublinear_tf=True)


def aggregated(name, votes):
    """Labels computed only from the answers."""
    if name == "majority":
        return votes.classes[votes.counts().toarray().argmax(axis=1)]
    if name == "Dawid–Skene":
        return votes.classes[dawid_skene(votes).argmax(axis=1)]
    from crowdkit.aggregation import OneCoinDawidSkene

    frame = votes.to_frame().set_axis(["task", "worker", "label"], axis=1)
    return OneCoinDawidSkene(n_iter=100).fit_predict(frame).reindex(votes.items).to_numpy()


def ways(data, votes, X, truth, seeds):
    """Name of each approach and a function that returns cleaned labels and a fitted classifier."""
    plain = SVC() if data == "music" else LogisticRegression(max_iter=1000)
    plcl = PLCL()
    plain_name = type(plain).__name__

    def from_labels(labels):
        return labels, plain.fit(X, labels)

    def from_candidates(sets):
        model = plcl.fit(X, sets)
        return model.transduction_, model

    def from_crowd(estimator, seed=0, **params):
        model = CrowdClassifier(estimator, random_state=seed, **params).fit(X, votes)
        return model.transduction_, model

    for name in ("majority", "one-coin", "Dawid–Skene"):
        yield f"{name} + {plain_name}", lambda name=name: from_labels(aggregated(name, votes))
    union = votes.to_candidates(weights=False)
    yield "union + PL-CL", lambda: from_candidates(union)
    two = votes.to_candidates(min_votes=2, fallback="union", weights=False)
    yield "two votes + PL-CL", lambda: from_candidates(two)
    yield "votes as weights + PL-CL", lambda: from_candidates(votes.to_candidates())
    posterior = as_candidates(dawid_skene(votes), classes=votes.classes)
    yield "Dawid–Skene as weights + PL-CL", lambda: from_candidates(posterior)
    logistic = LogisticRegression(max_iter=1000)
    yield "crowd + LogisticRegression", lambda: from_crowd(logistic)
    yield "crowd + PL-CL", lambda: from_crowd(plcl)
    yield (
        "crowd + PL-CL, reg by evidence",
        lambda: from_crowd(plcl, param_grid={"reg": REGS}),
    )
    stacked = data == "music"  # on sentences it is not better, and takes half an hour
    stack = PLStacking(random_state=0)
    if stacked:
        yield "crowd + PLStacking", lambda: from_crowd(stack)
    for seed in range(1, seeds):
        yield f"crowd + PL-CL, other folds {seed}", lambda seed=seed: from_crowd(plcl, seed)
        if stacked:
            yield f"crowd + PLStacking, other folds {seed}", lambda s=seed: from_crowd(stack, s)
    yield f"true labels + {plain_name}", lambda: from_labels(truth)
    yield "true labels + PL-CL", lambda: from_candidates(truth)


def interval(hits, draws):
    """Mean and 95 % interval, for rows drawn again."""
    low, high = np.quantile(hits[draws].mean(axis=1), [0.025, 0.975])
    return float(hits.mean()), float(low), float(high)


def compare(data, folder, seeds):
    """Print a line per approach, and a table."""
    votes, X, truth, X_new, truth_new = load(folder, data)
    rng = np.random.default_rng(0)
    draws = [rng.integers(len(y), size=(DRAWS, len(y))) for y in (truth, truth_new)]
    hits, lines = {}, []
    for name, run in ways(data, votes, X, truth, seeds):
        began = perf_counter()
        labels, model = run()
        hits[name] = (labels == truth, model.predict(X_new) == truth_new)
        chosen = getattr(model, "best_params_", {})
        figures = [interval(h * 1.0, d) for h, d in zip(hits[name], draws, strict=True)]
        values = dict(zip(("cleaned", "cleaned_low", "cleaned_high"), figures[0], strict=True))
        values |= dict(zip(("new", "new_low", "new_high"), figures[1], strict=True))
        seconds = perf_counter() - began
        print_result("crowd", data=data, way=name, **values, **chosen, seconds=seconds)
        lines.append((name, figures))
    baseline = next(name for name in hits if name.startswith("Dawid–Skene +"))
    print(f"\n{data}: cleaned labels right, new rows right; difference to {baseline}")
    for name, figures in lines:
        cells = []
        pairs = zip(figures, hits[name], hits[baseline], draws, strict=True)
        for (mean, low, high), ours, theirs, drawn in pairs:
            gain, least, most = interval(ours * 1.0 - theirs, drawn)
            cells.append(
                f"{mean:.3f} [{low:.3f}, {high:.3f}] {gain:+.3f} [{least:+.3f}, {most:+.3f}]"
            )
        print(f"  {name:<36}{cells[0]:<46}{cells[1]}", flush=True)
    print()


def main():
    """Run all data sets whose files exist."""
    parser = argparse.ArgumentParser(description=__doc__)
    folder = data_folder() / "crowd"
    parser.add_argument("--data", type=Path, default=folder, help="folder with the files")
    parser.add_argument("--seeds", type=int, default=1, help="seeds of the folds to try")
    parser.add_argument("--sets", nargs="+", default=["music", "sentiment"])
    args = parser.parse_args()
    for name in args.sets:
        if (args.data / f"{name}-answers.csv").exists():
            compare(name, args.data, args.seeds)
        else:
            print_result("crowd", data=name, skipped=f"no files in {args.data.name}")


if __name__ == "__main__":
    main()
