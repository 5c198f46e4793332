"""A first look at ambilearn, with the digits data of scikit-learn.

Writes a table of handwritten digits whose labels are ambiguous, chooses a label for each row,
writes a page on which a person reviews the choice, and compares all methods. Each step is a command
of ``ambilearn``, printed before it runs. Needs the extra ``all``. All files are written to one
folder, by default ``out/demo``.
"""

import sys
from pathlib import Path
from shlex import join
from time import perf_counter

import numpy as np
import pandas as pd
from PIL import Image

from ambilearn.cli.main import main as ambilearn
from ambilearn.datasets import load_dataset, make_candidates


def make_table(folder: Path, n_rows: int) -> Path:
    """Digits as a CSV file: pixels, image file, candidate labels, true label."""
    data = load_dataset("digits")
    X, y = data.X[:n_rows], data.y[:n_rows]
    # False labels are digits that look similar to the true one: a 3 that may be an 8.
    candidates, _ = make_candidates(y, kind="instance", q=0.9, X=X / 16, random_state=0)
    (folder / "images").mkdir(parents=True, exist_ok=True)
    names = [f"images/{i:03}.png" for i in range(n_rows)]
    for name, row in zip(names, X, strict=True):
        pixels = (255 - row * 15.9).astype(np.uint8).reshape(8, 8)
        Image.fromarray(pixels).resize((96, 96), Image.Resampling.BICUBIC).save(folder / name)
    table = pd.DataFrame(X.astype(int), columns=[f"pixel_{i}" for i in range(64)])
    table.insert(0, "image", names)
    table["digit"] = ["|".join(map(str, np.flatnonzero(row))) for row in candidates.to_mask()]
    table["truth"] = y
    path = folder / "digits.csv"
    table.to_csv(path, index=False)
    print(f"Wrote {path}. The column 'digit' has the candidate labels of each image:\n")
    print(table[["image", "digit", "truth"]].head(5).to_string(index=False))
    sizes = candidates.to_mask().sum(axis=1)
    guess = (1 / sizes).mean()
    print(f"\n{(sizes > 1).sum()} of {n_rows} rows are ambiguous.", end=" ")
    print(f"A random choice among the candidates is right for {guess:.0%} of the rows.")
    return path


def run(*arguments: object) -> None:
    """Run a command of ambilearn in this process, after printing it."""
    words = [str(argument) for argument in arguments]
    print(f"\n$ ambilearn {join(words)}", flush=True)
    ambilearn(words, standalone_mode=False)


def main(folder: Path, n_rows: int = 400, run_options: tuple[str, ...] = ()) -> None:
    began = perf_counter()
    print("Step 1 of 4: make an ambiguous table.\n")
    table = make_table(folder, n_rows)
    columns = (table, "--candidates", "digit", "--truth", "truth", "--exclude", "image")
    experiment = ("demo", "--quick", "--store", folder / "results.sqlite")
    page, report = folder / "review.html", folder / "report.html"

    print("\nStep 2 of 4: choose one label for each row. True labels are used only for the report.")
    run("clean", *columns, "--out", folder / "clean.csv")
    print("\nStep 3 of 4: write a page for the rows that a person should look at.")
    run("review", *columns, "--embed-images", "--out", page)
    print("\nStep 4 of 4: compare all methods on digits that are not in the training data.")
    run("paper", "run", *experiment, *run_options)
    run("paper", "tables", *experiment)
    run("paper", "report", *experiment, "--out", report)

    print(f"\nDone in {perf_counter() - began:.0f} s. What to do next:")
    installed = Path(sys.executable).with_name("ambilearn")
    inside = installed.exists() and installed.is_relative_to(Path.cwd())
    command = installed.relative_to(Path.cwd()) if inside else "ambilearn"
    print(f"  open {page} and {report} in a browser")
    print(f"  {command} clean YOUR.csv --candidates COLUMN --out clean.csv")
    print(f"  {command} review YOUR.csv --candidates COLUMN")
    print(f"  {command} --help")
    print("  read README.md and docs/guide/index.md")


if __name__ == "__main__":
    main(Path(*(sys.argv[1:2] or ["out/demo"])))
