"""Trees and other classifiers in CandidateClassifier, beside PL-CL and the default stack.

Real sets, and four of UCI with generated candidates, by the paper's protocol: random splits with 50
or 80 % of the rows for training, z-scored. Each learner is fitted alone; ``stack + …`` is the vote
of the default stack and the learner (:class:`~ambilearn.PLVoting`), from the same fits. Appends one
JSON line for each split and learner to a file and continues after its last line; ``--report``
prints its means. Splits of a learner that is too slow are left out with ``--learner``.
"""

import argparse
import json
import warnings
from collections import defaultdict
from pathlib import Path
from time import process_time

import numpy as np
from common import data_folder
from scipy.stats import ttest_rel, zscore
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from ambilearn import PLCL, CandidateClassifier, PLStacking
from ambilearn.backend import HOST
from ambilearn.base import normalize_candidate_votes
from ambilearn.datasets import load_dataset, make_candidates
from ambilearn.methods.ipal import restore_class_mass

REAL = ("lost", "msrcv2", "fg-net")
CONTROLLED = ("glass", "steel", "vehicle", "ecoli")
SETS = {"r=1": {"r": 1}, "r=2": {"r": 2}, "eps=.7": {"epsilon": 0.7}}
STACK = "stack"
LEARNERS = {
    "PL-CL": lambda seed: PLCL(),
    STACK: lambda seed: PLStacking(),
    "forest": lambda seed: CandidateClassifier("forest", random_state=seed),
    "boosting": lambda seed: CandidateClassifier("boosting", random_state=seed),
    "logistic": lambda seed: CandidateClassifier(LogisticRegression(), random_state=seed),
    "MLP": lambda seed: CandidateClassifier(MLPClassifier(max_iter=100), random_state=seed),
}


def split(name, kind, share, seed):
    """Training X, sets and truth, test X and truth."""
    data = load_dataset(name, data_home=data_folder(), download=False)
    X = np.nan_to_num(zscore(data.X))
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = np.split(order, [len(X) // 2 if share == 50 else round(0.8 * len(X))])
    if kind == "real":
        sets = data.candidates[train]
    else:
        classes = np.unique(data.y)
        sets, _ = make_candidates(data.y[train], classes=classes, random_state=seed, **SETS[kind])
    return X[train], sets, data.y[train], X[test], data.y[test]


def vote(first, second, sets):
    """Confidences of new and training rows by a vote of two, as PLVoting computes them."""
    candidates = HOST.support(sets)
    p = (candidates.gather(first[1]) + candidates.gather(second[1])) / 2
    scaled = restore_class_mass(candidates, p, candidates.prior(), 0.5)
    p = normalize_candidate_votes(candidates, scaled)
    return (first[0] + second[0]) / 2, candidates.scatter(p)


def measure(task, learners, write):
    """Fit the learners to one split, and write the scores of each."""
    X, sets, y, X_new, y_new = split(*task)
    found = {}
    for learner in learners:
        began = process_time()
        model = LEARNERS[learner](task[-1]).fit(X, sets)
        seconds = process_time() - began
        found[learner] = model.predict_proba(X_new), model.label_distributions_
        results = [(learner, found[learner], seconds)]
        if STACK in found and learner not in ("PL-CL", STACK):
            results.append((f"stack + {learner}", vote(found[STACK], found[learner], sets), None))
        for name, (new, cleaned), taken in results:
            figures = {
                "new": float(np.mean(sets.classes[new.argmax(axis=1)] == y_new)),
                "cleaned": float(np.mean(sets.classes[cleaned.argmax(axis=1)] == y)),
            }
            write({"task": task, "learner": name, **figures, "seconds": taken})


def report(lines):
    """Means of each setting and learner, and p-values of paired t-tests against the stack."""
    runs = defaultdict(dict)
    for line in lines:
        *setting, seed = line["task"]
        runs[tuple(setting), line["learner"]][seed] = line
    for (setting, learner), found in runs.items():
        stack = runs.get((setting, STACK), {})
        shared = sorted(set(found) & set(stack))
        shown = {}
        for figure in ("new", "cleaned"):
            shown[figure] = round(float(np.mean([found[seed][figure] for seed in found])), 3)
            if learner != STACK and len(shared) > 1:
                pairs = [[each[seed][figure] for seed in shared] for each in (found, stack)]
                shown[f"{figure} - stack"] = round(float(np.mean(np.subtract(*pairs))), 3)
                shown[f"{figure} p"] = float(f"{ttest_rel(*pairs).pvalue:.2g}")
        times = [line["seconds"] for line in found.values() if line["seconds"] is not None]
        shown["seconds"] = round(float(np.mean(times)), 2) if times else None
        print(json.dumps([*setting, learner, len(found), shown]))


def main():
    """Measure what the file lacks, or print its means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--data", nargs="+", default=[*REAL, *CONTROLLED])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--share", nargs="+", type=int, default=[50, 80])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--learner", nargs="+", choices=LEARNERS, default=list(LEARNERS))
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    if args.file.exists():
        lines = [json.loads(line) for line in args.file.read_text().splitlines()]
    if args.report:
        report(lines)
        return
    done = {(*line["task"], line["learner"]) for line in lines}
    with args.file.open("a") as file:

        def write(line):
            if (*line["task"], line["learner"]) not in done:
                print(json.dumps(line), file=file, flush=True)

        for seed in range(args.seeds):
            for name in args.data:
                for kind in ["real"] if name in REAL else args.sets:
                    for share in args.share:
                        task = (name, kind, share, seed)
                        missing = [each for each in args.learner if (*task, each) not in done]
                        needs_stack = set(missing) - {"PL-CL", STACK}
                        learners = [STACK] * bool(needs_stack) + missing
                        measure(task, dict.fromkeys(learners), write)


if __name__ == "__main__":
    main()
