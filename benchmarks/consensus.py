"""Labels of crowds from answers and a model's probabilities: `consensus` and CROWDLAB.

    pip install cleanlab
    python benchmarks/consensus.py --sets music sentiment cifar

Both get the same held-out probabilities of small models, which are trained on majority labels in
five folds. CROWDLAB is cleanlab's `get_label_quality_multiannotator`. The three columns of
CIFAR-10N are not three persons: `consensus` gets all its answers as those of one annotator.
CROWDLAB takes one answer from each annotator, and gets them as those of three.

Prints a line for each set and model: share of correct labels, AUROC of the confidence for correct
labels, ECE, excess ECE and seconds of `consensus` / of CROWDLAB; then the items that only one of
them labels correctly, and the p-value of McNemar's exact test.
"""

import argparse
import io
import tarfile
from dataclasses import replace
from time import process_time

import numpy as np
import pandas as pd
from common import data_folder, excess_calibration_error
from crowd import load
from PIL import Image
from scipy.stats import binomtest
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from ambilearn.crowd import Votes, consensus
from ambilearn.metrics import expected_calibration_error

CIFAR_CLASSES = ("airplane", "automobile", "bird", "cat", "deer")
CIFAR_CLASSES += ("dog", "frog", "horse", "ship", "truck")


def crowd(name):
    """Votes, features, truth and models of a real crowd."""
    votes, X, truth, *_ = load(data_folder() / "crowd", name)
    models = {"logistic regression": LogisticRegression(C=1.0, max_iter=300)}
    if name == "music":
        models = {
            "logistic regression": LogisticRegression(C=0.1, max_iter=300),
            "SVC": SVC(probability=True, random_state=0),
            "random forest": RandomForestClassifier(200, random_state=0),
        }
    return votes, X, np.searchsorted(votes.classes, truth), models


def cifar(n_rows):
    """The first images of CIFAR-10N: all answers by one annotator."""
    folder = data_folder() / "images"
    with np.load(folder / "cifar10n.npz") as file:
        answers, truth = file["answers"], file["truth"].astype(int)
    number = np.zeros(len(truth), dtype=int)
    for label in range(10):
        rows = truth == label
        number[rows] = np.arange(rows.sum())
    wanted = {f"train/{CIFAR_CLASSES[truth[i]]}/{number[i]:04d}.jpg": i for i in range(n_rows)}
    X = np.empty((n_rows, 32 * 32 * 3), dtype=np.float32)
    with tarfile.open(folder / "cifar10-jpeg.tar.xz") as archive:
        for member in archive:
            if member.name.removeprefix("./") in wanted:
                picture = Image.open(io.BytesIO(archive.extractfile(member).read()))
                X[wanted.pop(member.name.removeprefix("./"))] = np.asarray(picture).ravel()
            if not wanted:
                break
    assert not wanted, f"{len(wanted)} images are missing"
    votes = Votes.from_wide(answers[:n_rows].astype(int), classes=range(10))
    model = make_pipeline(
        PCA(100, whiten=True, random_state=0), SVC(C=3.0, probability=True, random_state=0)
    )
    models = {
        "PCA + SVC": model,
        "PCA + logistic regression": make_pipeline(
            PCA(100, random_state=0), StandardScaler(), LogisticRegression(C=0.01, max_iter=300)
        ),
    }
    return votes, X / 255, truth[:n_rows], models


def crowdlab(votes, held_out):
    """Labels and confidences by cleanlab."""
    from cleanlab.multiannotator import get_label_quality_multiannotator

    table = np.full((len(votes), len(votes.annotators)), np.nan)
    table[votes.item_indices, votes.annotator_indices] = votes.label_indices
    found = get_label_quality_multiannotator(pd.DataFrame(table), held_out, verbose=False)
    quality = found["label_quality"]
    return (
        quality["consensus_label"].to_numpy(dtype=int),
        quality["consensus_quality_score"].to_numpy(),
    )


def ours(votes, held_out):
    """Labels and confidences by consensus."""
    found = consensus(votes, held_out)
    return found.label_distributions.argmax(axis=1), found.confidences


def timed(function, *inputs):
    """Result, and processor time."""
    began = process_time()
    return function(*inputs), process_time() - began


def compare(name, votes, X, truth, models):
    """Print a line for each model."""
    counts = votes.counts().toarray()
    if name == "cifar":  # answers by one annotator; the same label may be given twice
        together = replace(
            votes,
            annotators=votes.annotators[:1],
            annotator_indices=np.zeros_like(votes.annotator_indices),
        )
    for model_name, model in models.items():
        held_out = cross_val_predict(model, X, counts.argmax(axis=1), cv=5, method="predict_proba")
        held_out = np.clip(held_out, 1e-6, None)
        held_out /= held_out.sum(axis=1, keepdims=True)
        right, lines = {}, {}
        for who, function, answers in (
            ("consensus", ours, together if name == "cifar" else votes),
            ("CROWDLAB", crowdlab, votes),
        ):
            (labels, sure), seconds = timed(function, answers, held_out)
            hits = right[who] = labels == truth
            lines[who] = (
                hits.mean(),
                roc_auc_score(hits, sure),
                expected_calibration_error(hits, sure),
                excess_calibration_error(hits, sure),
                seconds,
            )
        cells = " | ".join(
            f"{a:.4f} / {b:.4f}" if i == 0 else f"{a:.3f} / {b:.3f}"
            for i, (a, b) in enumerate(zip(*lines.values(), strict=True))
        )
        mine = int((right["consensus"] & ~right["CROWDLAB"]).sum())
        theirs = int((right["CROWDLAB"] & ~right["consensus"]).sum())
        p = binomtest(mine, mine + theirs).pvalue if mine + theirs else 1.0
        alone = (held_out.argmax(axis=1) == truth).mean()
        print(
            f"{name}, {model_name} ({alone:.3f} right alone): {cells} | {mine}:{theirs}, p {p:.2g}",
            flush=True,
        )


def main():
    """Run the sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=["music", "sentiment", "cifar"])
    parser.add_argument("--rows", type=int, default=5000, help="images of CIFAR-10N")
    args = parser.parse_args()
    print("consensus / CROWDLAB: correct | AUROC | ECE | excess ECE | seconds | only one correct")
    for name in args.sets:
        compare(name, *(cifar(args.rows) if name == "cifar" else crowd(name)))


if __name__ == "__main__":
    main()
