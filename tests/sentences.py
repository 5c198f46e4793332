"""Small tables whose features are sentences, or lists of numbers."""

import numpy as np
import pandas as pd

SUBJECTS = ["The plot", "Its music", "This cast", "Every scene", "A long ending", "The camera"]
GOOD = ["is a delight", "feels fresh and warm", "moves us gently", "sparkles with wit"]
BAD = ["is a bore", "feels stale and cold", "leaves us asleep", "drags without wit"]


def make_sentences(n_rows=120):
    """Reviews, good or bad: mostly different texts, of words that recur; some rows have both."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(n_rows):
        truth = ["good", "bad"][i % 2]
        said = rng.choice(GOOD if truth == "good" else BAD, 2, replace=False)
        first, second = rng.choice(SUBJECTS, 2, replace=False)
        text = f"{first} {said[0]}, and {second.lower()} {said[1]}; {rng.integers(1000)} saw it."
        sets = "good|bad" if rng.random() < 0.4 else truth
        rows.append({"id": f"r{i:04d}", "review": text, "mood": sets, "truth": truth})
    return pd.DataFrame(rows, dtype=str)


def make_vectors(n_rows=40, length=6):
    """Rows with an embedding, an array in each cell, and the candidates in lists."""
    rng = np.random.default_rng(0)
    truth = np.arange(n_rows) % 2
    vectors = truth[:, None] + rng.normal(size=(n_rows, length)) / 3
    sets = [["p", "q"] if rng.random() < 0.4 else ["pq"[k]] for k in truth]
    return pd.DataFrame(
        {"embedding": list(vectors), "sets": sets, "truth": [["p", "q"][k] for k in truth]}
    )
