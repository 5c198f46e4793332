"""DeepPLCL on votes of made-up annotators for digits: their union, and the votes as weights.

Three annotators label 900 digits with noise. Two fifths of the digits are hard: annotators are
correct there less often. Prints the accuracy on new rows and of the cleaned labels, means over the
seeds.
"""

import argparse

import numpy as np
from common import print_result
from sklearn.datasets import load_digits

from ambilearn.deep import DeepPLCL

N_ROWS, N_LABELS = 900, 10


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


def measure(share_correct, noise, seed, epochs):
    """Accuracies (new rows, cleaned labels) of the union and of the votes, shape (2, 2)."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    train, test = np.split(rng.permutation(len(y)), [N_ROWS])
    X = X + noise * rng.normal(size=X.shape)
    votes = make_votes(y[train], share_correct, rng)
    found = []
    for candidates in (votes > 0, votes):
        model = DeepPLCL(epochs=epochs, random_state=seed).fit(X[train], candidates)
        found.append((model.score(X[test], y[test]), np.mean(model.transduction_ == y[train])))
    return np.array(found)


def main():
    """One line for each kind of annotators and noise."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=4)
    args = parser.parse_args()
    for share_correct, noise in ((0.75, 3.0), (0.75, 6.0), (0.6, 3.0)):
        runs = [measure(share_correct, noise, seed, args.epochs) for seed in range(args.seeds)]
        (union_new, union_cleaned), (votes_new, votes_cleaned) = np.mean(runs, axis=0)
        print_result(
            "deep_votes",
            share_correct=share_correct,
            noise=noise,
            union_new=union_new,
            union_cleaned=union_cleaned,
            votes_new=votes_new,
            votes_cleaned=votes_cleaned,
        )


if __name__ == "__main__":
    main()
