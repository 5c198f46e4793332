"""Make people.csv: faces in the photos of a club, and the names in each caption.

Every row is one face, with measurements in the photo and all names in the caption. The data are
synthetic. Run this script to write people.csv.
"""

from pathlib import Path

import numpy as np
import pandas as pd

#            height  shoulders  hair     glasses
PEOPLE = {
    "anna": (164, 38, "brown", "no"),
    "bob": (183, 47, "brown", "yes"),
    "cleo": (171, 40, "black", "no"),
    "dan": (177, 45, "blond", "no"),
    "eva": (160, 36, "blond", "yes"),
}


def make_people(n_rows: int = 60, seed: int = 0) -> tuple[pd.DataFrame, list[str]]:
    """The table, and the true name of each row."""
    rng = np.random.default_rng(seed)
    names = list(PEOPLE)
    rows, truth = [], []
    for i in range(n_rows):
        name = names[i % len(names)]
        height, shoulders, hair, glasses = PEOPLE[name]
        if rng.random() < 0.15:  # contact lenses, or sunglasses
            glasses = "no" if glasses == "yes" else "yes"
        if rng.random() < 0.15:  # dyed, or bad light
            hair = rng.choice(["brown", "black", "blond"])
        others = rng.choice([other for other in names if other != name], rng.integers(3), False)
        rows.append(
            {
                "height_cm": round(rng.normal(height, 4), 1),
                "shoulder_cm": round(rng.normal(shoulders, 2), 1),
                "hair": hair,
                "glasses": glasses,
                "names": "|".join(sorted({name, *others})),
            }
        )
        truth.append(name)
    table = pd.DataFrame(rows)
    table.loc[7, "height_cm"] = np.nan  # a person who sits
    table.loc[23, "hair"] = None  # a person with a hat
    return table, truth


if __name__ == "__main__":
    make_people()[0].to_csv(Path(__file__).with_name("people.csv"), index=False)
