"""Confidences before and after calibration, and audits by a few checked rows.

    python benchmarks/calibration.py sets     # candidate sets and a crowd, ten random halves
    python benchmarks/calibration.py audit    # coverage and width of the interval of an audit
    python benchmarks/calibration.py checked  # calibration error after an audit

PL-CL and the default stack on Lost, MSRCv2 and FG-NET are fitted to a random half of the rows,
z-scored: "cleaned" are these rows, "new" the others. On music and sentences it is CrowdClassifier
with PL-CL; the new rows are those of the test file. Excess ECE is the calibration error minus that
of labels drawn from the confidences (ambilearn.metrics). True labels are used only to measure, and
by the audits.

Fits are kept in --folder, one file each, so that an interrupted run continues; the audits use the
fits of the first half. Each command prints one JSON line per row and then a table.
"""

import argparse
from functools import cache
from pathlib import Path
from time import perf_counter

import numpy as np
from common import data_folder, data_split, excess_calibration_error, print_result
from joblib import Parallel, delayed
from scipy.stats import norm, t
from sklearn.pipeline import make_pipeline

from ambilearn import PLCL, PLStacking
from ambilearn.backend import HOST
from ambilearn.candidates import as_candidates
from ambilearn.confidence import (
    CheckedCalibration,
    calibrate_candidates,
    draw_audit,
    estimate_share_right,
)
from ambilearn.metrics import expected_calibration_error

SETS, CROWDS = ("lost", "msrcv2", "fg-net"), ("music", "sentiment")
METHODS = {"plcl": PLCL, "stack": lambda: PLStacking(random_state=0)}
AUDITS = (50, 100, 200)
CHECKED = (25, 50, 100, 200)


def fit_sets(name, method, seed):
    """Scores, confidences and correctness of cleaned and of new rows."""
    X, sets, y, X_new, y_new = data_split(name, seed)
    began = perf_counter()
    model = METHODS[method]().fit(X, sets)
    fitted = perf_counter()
    found = calibrate_candidates(model, X, sets, random_state=seed)
    seconds = fitted - began, perf_counter() - fitted
    support = HOST.support(as_candidates(sets))
    learned = support.gather(model.label_distributions_)
    best = support.best_pairs(learned)
    proba = model.predict_proba(X_new)
    new = proba.argmax(axis=1)
    at = np.arange(len(new)), new
    scaled = found.scale(proba)
    print(f"# {name} {method} {seed}: {found.reason}; {seconds[0]:.0f} s, {seconds[1]:.0f} s more")
    return {
        "cleaned_score": learned[best],
        "cleaned_confidence": (learned if found.cleaned is None else found.cleaned)[best],
        "cleaned_right": support.sets.classes[support.labels[best]] == y,
        "new_score": proba[at],
        "new_confidence": (proba if scaled is None else scaled)[at],
        "new_right": model.classes_[new] == y_new,
        "calibrated": scaled is not None,
        "seconds": seconds,
    }


def fit_crowd(name, method, seed):
    """The same for the answers of annotators."""
    from crowd import load_rows, make_features

    from ambilearn.crowd import CrowdClassifier

    votes, X, y, X_new, y_new = load_rows(data_folder() / "crowd", name)
    began = perf_counter()
    estimator = make_pipeline(make_features(name), METHODS[method]())
    model = CrowdClassifier(estimator, random_state=seed).fit(X, votes)
    learned, proba = model.label_distributions_, model.predict_proba(X_new)
    parts = {}
    for rows, table, truth in (("cleaned", learned, y), ("new", proba, y_new)):
        parts[f"{rows}_score"] = parts[f"{rows}_confidence"] = table.max(axis=1)
        parts[f"{rows}_right"] = model.classes_[table.argmax(axis=1)] == truth
    return parts | {"calibrated": True, "seconds": (perf_counter() - began, 0.0)}


def fits(folder, names, methods, seeds, n_jobs):
    """Fits of all data sets, methods and halves, from files where they exist."""
    folder.mkdir(parents=True, exist_ok=True)

    def get(name, method, seed):
        path = folder / f"{name}-{method}-{seed}.npz"
        if not path.exists():
            fit = fit_crowd if name in CROWDS else fit_sets
            np.savez(path, **fit(name, method, seed))
        with np.load(path) as stored:
            return (name, method, seed), dict(stored)

    tasks = [
        delayed(get)(name, method, seed) for seed in seeds for name in names for method in methods
    ]
    return dict(Parallel(n_jobs=n_jobs)(tasks))


def compare_sets(arguments):
    """Calibration error before and after, mean over halves with 95 % intervals."""
    seeds = range(arguments.halves)
    found = fits(arguments.folder, SETS, METHODS, seeds, arguments.jobs)
    lines = []
    for name in SETS:
        for method in METHODS:
            for rows in ("cleaned", "new"):
                parts = [found[name, method, seed] for seed in seeds]
                right = [part[f"{rows}_right"] for part in parts]
                errors = {}
                for column in ("score", "confidence"):
                    pairs = list(zip(right, (p[f"{rows}_{column}"] for p in parts), strict=True))
                    errors[column] = [
                        [metric(*pair) for pair in pairs]
                        for metric in (expected_calibration_error, excess_calibration_error)
                    ]
                before, after = errors["score"], errors["confidence"]
                change = np.subtract(after[1], before[1])
                acted = int(sum(part["calibrated"] for part in parts))
                print_result(
                    "sets",
                    data=name,
                    method=method,
                    rows=rows,
                    right=float(np.mean(np.concatenate(right))),
                    ece=float(np.mean(before[0])),
                    ece_after=float(np.mean(after[0])),
                    excess=float(np.mean(before[1])),
                    excess_after=float(np.mean(after[1])),
                    largest_increase=float(change.max()),
                    calibrated_halves=acted,
                )
                cells = [_interval(each) for each in (before[1], after[1], change)]
                cells += [f"{acted} of {len(parts)}"]
                lines.append(f"| {name} {method} {rows} | " + " | ".join(cells) + " |")
    _table("excess ECE | before | after | change | calibrated", lines)
    if "music" in arguments.crowds:
        import crowd_calibration

        print("\naccuracy, confidence, ECE, excess ECE, ± 95 % interval, maximum; halves")
        for method in crowd_calibration.METHODS:
            crowd_calibration.real("music", method, True, arguments.halves)


def _interval(values):
    """Mean and half width of a 95 % interval over the halves."""
    half = t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / len(values) ** 0.5
    return f"{np.mean(values):.3f} ± {half:.3f}"


def _table(head, lines):
    print(f"\n| {head} |\n|{'---|' * (head.count('|') + 1)}")
    print("\n".join(lines))


def tables(arguments):
    """Score and correctness of the rows of every table that is audited."""
    found = fits(arguments.folder, SETS, METHODS, [0], arguments.jobs)
    found |= fits(arguments.folder, arguments.crowds, ["plcl"], [0], 1)
    for (name, method, _), part in found.items():
        for rows in ("cleaned", "new"):
            yield f"{name} {method} {rows}", part[f"{rows}_score"], part[f"{rows}_right"]


def check_coverage(arguments):
    """Coverage and mean width of 95 % intervals, and of Wilson's for a simple random sample."""
    lines = []
    for name, score, right in tables(arguments):
        cells = []
        for n in AUDITS:
            if n > 0.8 * len(score):
                cells.append("—")
                continue
            ours = simulate(score, right, n, arguments.audits)
            drawn = np.random.default_rng(0).hypergeometric(
                right.sum(), (~right).sum(), n, size=arguments.audits
            )
            theirs = np.array([wilson(x, n) for x in drawn])
            share = right.mean()
            covered = [
                np.mean((low <= share + 1e-9) & (share <= high + 1e-9))
                for low, high in (ours.T, theirs.T)
            ]
            widths = [float(np.mean(each[:, 1] - each[:, 0])) for each in (ours, theirs)]
            print_result(
                "audit",
                data=name,
                n=n,
                right=float(share),
                coverage=float(covered[0]),
                width=widths[0],
                wilson_coverage=float(covered[1]),
                wilson_width=widths[1],
            )
            cells.append(f"{covered[0]:.3f}, {widths[0]:.3f} ({covered[1]:.3f}, {widths[1]:.3f})")
        lines.append(f"| {name} | {right.mean():.3f} | " + " | ".join(cells) + " |")
    heads = " | ".join(f"{n} rows" for n in AUDITS)
    _table(f"coverage, width (Wilson) | right | {heads}", lines)


def simulate(score, right, n, audits):
    """Intervals of many audits."""
    intervals = []
    for seed in range(audits):
        sample = draw_audit(score, n, seed)
        found = estimate_share_right(
            right[sample.rows], sample.stratum_sizes, sample.strata[sample.rows]
        )
        intervals.append((found.low, found.high))
    return np.array(intervals)


@cache
def wilson(x, n):
    """Wilson's 95 % interval."""
    z = norm.ppf(0.975)
    center, half = x + z**2 / 2, z * np.sqrt(x * (n - x) / n + z**2 / 4)
    return (center - half) / (n + z**2), (center + half) / (n + z**2)


def check_calibration(arguments):
    """Excess ECE of the rows that were not checked, mean over audits."""
    lines = []
    for name, score, right in tables(arguments):
        before = excess_calibration_error(right, score)
        cells = []
        for n in CHECKED:
            if n > 0.8 * len(score):
                cells.append("—")
                continue
            errors = []
            for seed in range(arguments.repeats):
                rows = draw_audit(score, n, seed).rows
                rest = np.setdiff1d(np.arange(len(score)), rows)
                calibrated = CheckedCalibration(score[rows], right[rows], score)(score[rest])
                errors.append(excess_calibration_error(right[rest], calibrated))
            print_result("checked", data=name, n=n, before=before, excess=float(np.mean(errors)))
            cells.append(f"{np.mean(errors):.3f}")
        lines.append(f"| {name} | {before:.3f} | " + " | ".join(cells) + " |")
    heads = " | ".join(str(n) for n in CHECKED)
    _table(f"excess ECE after checked rows | 0 | {heads}", lines)


def main():
    """One of the three measurements."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["sets", "audit", "checked"])
    parser.add_argument("--folder", type=Path, default=Path("out/calibration"))
    parser.add_argument("--halves", type=int, default=10, help="random halves")
    parser.add_argument("--audits", type=int, default=1000, help="simulated audits")
    parser.add_argument("--repeats", type=int, default=100, help="audits that calibrate")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--crowds", nargs="*", choices=CROWDS, default=CROWDS)
    arguments = parser.parse_args()
    measure = {"sets": compare_sets, "audit": check_coverage, "checked": check_calibration}
    measure[arguments.what](arguments)


if __name__ == "__main__":
    main()
