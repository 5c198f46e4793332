"""A small table of people, with all kinds of columns."""

import numpy as np
import pandas as pd

NAMES = ["anna", "bob", "cleo"]


def make_people():
    """60 rows as text, as a CSV file has them: numbers with gaps, a category, an id, a truth."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(60):
        k = i % 3
        others = {NAMES[j] for j in range(3) if j != k and rng.random() < 0.4}
        rows.append(
            {
                "id": f"{i:03d}x",
                "height": f"{150 + 20 * k + rng.normal():.2f}",
                "weight": "" if i % 7 == 0 else f"{50 + 15 * k + rng.normal():.2f}",
                "town": ["Rome", "Oslo", "Zürich", ""][k if i % 5 else 3],
                "member": str(bool(i % 2)),
                "born": f"{1950 + 20 * k}-0{1 + i % 9}-15",
                "names": "|".join(sorted({NAMES[k], *others})),
                "truth": NAMES[k],
            }
        )
    return pd.DataFrame(rows, dtype=str)
