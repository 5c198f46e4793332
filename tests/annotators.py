"""Made-up annotators of known skill, on items with features that tell of the labels."""

import numpy as np
import pandas as pd

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
