"""Learn to read digits when half of the labels are ambiguous.

Every second training image of scikit-learn's digits gets two or three candidate labels, one of
them right. PL-CL learns a classifier from that and finds out which candidate was meant.
"""

from time import perf_counter

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ambilearn import PLCL


def add_false_labels(y, rng):
    """Candidate sets: the true label and, for half of the rows, one or two random others."""
    sets = [{int(label)} for label in y]
    for i in rng.choice(len(y), len(y) // 2, replace=False):
        sets[i] |= set(map(int, rng.choice(10, rng.integers(1, 3), replace=False)))
    return sets


def main():
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    candidates = add_false_labels(y_train, np.random.default_rng(0))
    ambiguous = np.array([len(s) > 1 for s in candidates])

    began = perf_counter()
    model = PLCL().fit(X_train, candidates)
    seconds = perf_counter() - began

    sizes = [len(s) for s in candidates]
    found = model.transduction_ == y_train
    print(f"digits: {len(X_train)} training rows, {np.mean(sizes):.2f} candidate labels per row")
    print(f"  first rows: {candidates[:4]}")
    print("PL-CL")
    print(f"  accuracy on {len(X_test)} new rows        {model.score(X_test, y_test):.3f}")
    print(f"  disambiguation, all training rows  {found.mean():.3f}")
    print(f"  disambiguation, ambiguous rows     {found[ambiguous].mean():.3f}")
    print(f"  time to fit                        {seconds:.2f} s, {model.n_iter_} iterations")


if __name__ == "__main__":
    main()
