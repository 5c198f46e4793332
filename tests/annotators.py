"""Simulated annotators of known skill, on items whose features depend on the labels."""

import numpy as np
import pandas as pd

from ambilearn.crowd import Votes

LABELS = np.array(["cat", "dog", "emu"])


def make_crowd(n=90, errors=(0.1, 0.2, 0.3, 0.3), lots=2, answered=0.8, noise=0.5, seed=0):
    """Features X, truth, and answers in long form.

    One annotator for each error rate, and so many more who draw lots: r0, r1, …
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n)
    X = np.eye(3)[truth] + noise * rng.normal(size=(n, 3))
    rows = []
    for a, error in enumerate([*errors, *[None] * lots]):
        name = f"a{a}" if error is not None else f"r{a - len(errors)}"
        for i in np.flatnonzero(rng.random(n) < answered):
            wrong = rng.random() < error if error is not None else True
            label = truth[i] if not wrong else rng.integers(3)
            if error is not None and wrong:
                label = (truth[i] + 1 + rng.integers(2)) % 3
            rows.append((f"i{i:03d}", name, LABELS[label]))
    answers = pd.DataFrame(rows, columns=["item", "annotator", "label"])
    return X, LABELS[truth], answers.sample(frac=1, random_state=seed).reset_index(drop=True)


def item_names(n=90):
    """Names of the items, in the order of the features."""
    return [f"i{i:03d}" for i in range(n)]


def write_crowd(folder, n=40):
    """Write answers in long form and features; the answers' file and the options that name both."""
    X, _, answers = make_crowd(n=n)
    answers.to_csv(folder / "answers.csv", index=False)
    features = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    features.insert(0, "item", item_names(n))
    features.to_csv(folder / "items.csv", index=False)
    form = ["--item", "item", "--annotator", "annotator", "--answer", "label"]
    return folder / "answers.csv", [*form, "--features-from", folder / "items.csv"]


def make_sharing_crowd(n=800, n_labels=6, n_annotators=20, answers=5, sharing=0.0, seed=0):
    """Votes of annotators who share mistakes, outputs of a calibrated classifier, and the truth.

    An item looks like one label to all annotators. Each of them gives this label with probability
    ``sharing``, and otherwise one by the own skill. Labels are numbers.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_labels, size=n)
    scores = rng.normal(size=(n, n_labels)) + 1.5 * np.eye(n_labels)[truth]
    outputs = np.exp(1.5 * scores)
    outputs /= outputs.sum(axis=1, keepdims=True)
    skill = rng.uniform(0.45, 0.85, n_annotators)
    wrong = (1 - skill) / (n_labels - 1)
    confusion = wrong[:, None, None] + (skill - wrong)[:, None, None] * np.eye(n_labels)
    table = np.full((n, n_annotators), None, dtype=object)
    for i, label in enumerate(truth):
        looks = rng.choice(n_labels, p=confusion[:, label].mean(axis=0))
        for a in rng.choice(n_annotators, answers, replace=False):
            own = rng.choice(n_labels, p=confusion[a, label])
            table[i, a] = int(looks if rng.random() < sharing else own)
    return Votes.from_wide(table, classes=range(n_labels)), outputs, truth
