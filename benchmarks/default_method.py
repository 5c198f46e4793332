"""Comparison of default methods for `ambilearn clean` and `fit`.

Runs the command line, as for a user's table. Lost, MSRCv2 and FG-NET are numeric tables with ten
random halves. The music clips and the sentences have the original answers of their annotators: all
answers as candidates (``union``), or weighted by the skills of the annotators (``skills``); the
sentences are free text. ``cleaned`` and ``new`` are the accuracies on the rows of the table and on
new rows. ``auc`` is that of the doubt score, for rows whose true label is not a candidate.
``seconds`` is the CPU time of `clean`; ``time_ratio`` is relative to PL-CL.
"""

import argparse
import sys
import tempfile
import warnings
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from click.testing import CliRunner
from common import data_folder, print_result
from scipy.stats import ttest_rel
from sklearn.metrics import roc_auc_score

from ambilearn.cli.main import main as ambilearn
from ambilearn.datasets import load_dataset

PEOPLE = Path(__file__).resolve().parents[1] / "examples" / "people.csv"
METHODS = ("plcl", "plstacking")  # the others are compared with the first
NUMBERS = ("lost", "msrcv2", "fg-net")
CROWDS = ("music", "sentiment")


def write_half(name, seed, folder):
    """A random half as a table with candidates, the other with the truth; the command's options."""
    data = load_dataset(name, data_home=data_folder(), download=False)
    frame = pd.DataFrame(data.X).rename(columns="x{}".format)
    frame["truth"] = [f"l{label}" for label in data.y]
    sets = data.candidates.to_sets()
    frame["names"] = ["|".join(sorted(f"l{label}" for label in each)) for each in sets]
    train, test = np.split(np.random.default_rng(seed).permutation(len(frame)), [len(frame) // 2])
    frame.iloc[train].to_csv(folder / "table.csv", index=False)
    frame.iloc[test].drop(columns="names").to_csv(folder / "new.csv", index=False)
    return [str(folder / "table.csv"), "--candidates", "names", "--exclude", "truth"]


def crowd_options(name, skills):
    """The command's options for a table with answers in long form."""
    folder = data_folder() / "crowd"
    columns = ["--item", "item", "--annotator", "annotator", "--answer", "label"]
    rows = ["--features-from", str(folder / f"{name}-train.csv"), "--exclude", "truth"]
    judged = "--weight-annotators" if skills else "--no-weight-annotators"
    return [str(folder / f"{name}-answers.csv"), *columns, *rows, judged]


def run(*arguments):
    """Run the command in this process; the seconds that it takes."""
    began = process_time()
    result = CliRunner().invoke(ambilearn, [str(each) for each in arguments])
    if result.exit_code:
        sys.exit(result.output)
    return process_time() - began


def measure(options, new, method, folder):
    """Scores of one method on a table and on new rows."""
    seconds = run("clean", *options, "--method", method, "--out", folder / "cleaned.csv")
    run("fit", *options, "--method", method, "--out", folder / "a.model")
    run("predict", folder / "a.model", new, "--out", folder / "labeled.csv")
    cleaned = pd.read_csv(folder / "cleaned.csv")
    labeled = pd.read_csv(folder / "labeled.csv")
    figures = {
        "cleaned": float((cleaned["label"] == cleaned["truth"]).mean()),
        "new": float((labeled["label"] == labeled["truth"]).mean()),
        "seconds": seconds,
    }
    return figures, cleaned


def absent_truth(name, cleaned):
    """Rows of a crowd whose true label is not among the answers."""
    answers = pd.read_csv(data_folder() / "crowd" / f"{name}-answers.csv")
    given = answers.groupby("item")["label"].agg(set)
    pairs = zip(cleaned["item"], cleaned["truth"], strict=True)
    return np.array([truth not in given[item] for item, truth in pairs])


def report(data, found):
    """One line for each method, with the ratio and the p-values of paired t-tests."""
    first = found[METHODS[0]]
    for method, lines in found.items():
        figures = {key: float(np.mean([line[key] for line in lines])) for key in lines[0]}
        figures["time_ratio"] = figures["seconds"] / np.mean([line["seconds"] for line in first])
        if len(lines) > 1 and lines is not first:
            for key in ("cleaned", "new"):
                pairs = [[line[key] for line in each] for each in (lines, first)]
                figures[f"p_{key}"] = float(ttest_rel(*pairs).pvalue)
        print_result("default_method", data=data, method=method, runs=len(lines), **figures)


def main():
    """Measure every data set, or the given ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--data", nargs="+", default=[*NUMBERS, *CROWDS])
    parser.add_argument("--answers", nargs="+", choices=["union", "skills"], default=["union"])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = Path(name_of_folder)
        for method in METHODS:  # warm up lazy imports
            run("clean", PEOPLE, "--candidates", "names", "--method", method)
        for name in args.data:
            if name in NUMBERS:
                found = {method: [] for method in METHODS}
                for seed in range(args.seeds):
                    options = write_half(name, seed, folder)
                    for method in METHODS:
                        figures, _ = measure(options, folder / "new.csv", method, folder)
                        found[method].append(figures)
                report(name, found)
                continue
            new = data_folder() / "crowd" / f"{name}-test.csv"
            for answers in args.answers:
                found = {}
                for method in METHODS:
                    options = crowd_options(name, answers == "skills")
                    figures, cleaned = measure(options, new, method, folder)
                    absent = absent_truth(name, cleaned)
                    figures["auc"] = float(roc_auc_score(absent, cleaned["doubt"]))
                    found[method] = [figures]
                report(f"{name}, {answers}", found)


if __name__ == "__main__":
    main()
