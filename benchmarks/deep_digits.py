"""DeepPLCL on digits: votes, weight decay, and few rows.

    python benchmarks/deep_digits.py votes heads
    python benchmarks/deep_digits.py few --epochs 300 --seeds 8

``votes``: three simulated annotators; their union, and the votes as weights. Two fifths of the
digits are hard: annotators are correct there less often. ``heads``: a small convolutional network
and candidates at random, with and without the complementary head. ``decays``: the same network,
with several values of ``weight_decay``. These use 900 digits with noise. ``few``: 100, 200 and 400
digits without noise, as rows of pixels and as images, for the same network and the default. Prints
the accuracy on new rows and of the cleaned labels, means over the seeds.
"""

import argparse

import numpy as np
from common import print_result
from sklearn.datasets import load_digits

from ambilearn.deep import DeepPLCL

N_ROWS, N_LABELS = 900, 10


def make_rows(noise, rng):
    """Training and new rows, and their labels."""
    X, y = load_digits(return_X_y=True)
    train, test = np.split(rng.permutation(len(y)), [N_ROWS])
    X = X + noise * rng.normal(size=X.shape)
    return X[train], y[train], X[test], y[test]


def make_votes(y, share_correct, rng):
    """Number of votes of three annotators for each label, shape (n, l)."""
    confusions = rng.dirichlet(np.full(N_LABELS, 0.3), N_LABELS)
    np.fill_diagonal(confusions, 0)
    confusions /= confusions.sum(1, keepdims=True)
    hard = rng.random(len(y)) < 0.4
    votes = np.zeros((len(y), N_LABELS))
    for _ in range(3):
        correct = rng.random(len(y)) < np.where(hard, share_correct - 0.25, share_correct + 0.17)
        wrong = np.array([rng.choice(N_LABELS, p=confusions[label]) for label in y])
        votes[np.arange(len(y)), np.where(correct, y, wrong)] += 1
    return votes


def make_mask(y, q, rng):
    """Candidates: the label, and every other with probability q."""
    mask = rng.random((len(y), N_LABELS)) < q
    mask[np.arange(len(y)), y] = True
    return mask


def as_images(rows):
    """Rows of pixels as images."""
    return rows.reshape(-1, 8, 8).astype(np.float32)


def make_images(seed, q, noise=4.0):
    """Training and new images with noise, their labels, and candidates of the training images."""
    rng = np.random.default_rng(seed)
    X, y, X_test, y_test = make_rows(noise, rng)
    return (as_images(X), y, as_images(X_test), y_test), make_mask(y, q, rng)


def make_network():
    """Features of images of 8 × 8 pixels."""
    from torch import nn

    layers = []
    for n_in, n_out in ((1, 16), (16, 32)):
        conv = nn.Conv2d(n_in, n_out, 3, padding=1)
        layers += [conv, nn.BatchNorm2d(n_out), nn.GELU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers[:-1], nn.Flatten())


def measure(rows, candidates, **parameters):
    """Accuracy on new rows and of the cleaned labels."""
    X, y, X_test, y_test = rows
    model = DeepPLCL(**parameters).fit(X, candidates)
    return model.score(X_test, y_test), np.mean(model.transduction_ == y)


def measure_votes(seed, epochs, share_correct, noise):
    """Accuracies for the union and for the votes."""
    rng = np.random.default_rng(seed)
    rows = make_rows(noise, rng)
    votes = make_votes(rows[1], share_correct, rng)
    kinds = {"union": votes > 0, "votes": votes}
    return {k: measure(rows, v, epochs=epochs, random_state=seed) for k, v in kinds.items()}


def measure_heads(seed, epochs, q):
    """Accuracies with and without the complementary head."""
    rows, mask = make_images(seed, q)
    common = {"module": make_network, "epochs": epochs, "random_state": seed}
    kinds = {"head": {}, "no head": {"comp_weight": 0.0}}
    return {kind: measure(rows, mask, **changes, **common) for kind, changes in kinds.items()}


def measure_decays(seed, epochs, q):
    """Accuracies for each value of ``weight_decay``."""
    rows, mask = make_images(seed, q)
    common = {"module": make_network, "epochs": epochs, "random_state": seed}
    return {
        f"weight_decay={decay}": measure(rows, mask, weight_decay=decay, **common)
        for decay in (0.0025, 0.005, 0.01, 0.02, 0.04, 0.08)
    }


def measure_few(seed, epochs, n_rows):
    """Accuracies for a multilayer perceptron, a small convolutional network and a ResNet-9."""
    rng = np.random.default_rng(seed)
    X, y, X_test, y_test = make_rows(0.0, rng)
    X, y = X[:n_rows], y[:n_rows]
    mask = make_mask(y, 0.3, rng)
    common = {"epochs": epochs, "random_state": seed}
    images = as_images(X), y, as_images(X_test), y_test
    return {
        "MLP": measure((X, y, X_test, y_test), mask, **common),
        "CNN": measure(images, mask, module=make_network, **common),
        "ResNet-9": measure(images, mask, **common),
    }


SETTINGS = {
    "votes": (
        measure_votes,
        [
            {"share_correct": share, "noise": noise}
            for share, noise in ((0.75, 3.0), (0.75, 6.0), (0.6, 3.0))
        ],
    ),
    "heads": (measure_heads, [{"q": 0.5}, {"q": 0.7}]),
    "decays": (measure_decays, [{"q": 0.0}, {"q": 0.5}]),
    "few": (measure_few, [{"n_rows": n_rows} for n_rows in (100, 200, 400)]),
}


def main():
    """One line for each setting and kind of rows."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("settings", nargs="+", choices=SETTINGS)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=6)
    args = parser.parse_args()
    for name in args.settings:
        function, kinds = SETTINGS[name]
        for options in kinds:
            runs = [function(seed, args.epochs, **options) for seed in range(args.seeds)]
            for kind in runs[0]:
                new, cleaned = np.mean([run[kind] for run in runs], axis=0)
                print_result("deep_digits", **options, kind=kind, new=new, cleaned=cleaned)


if __name__ == "__main__":
    main()
