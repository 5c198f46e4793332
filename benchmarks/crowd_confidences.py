"""Minimum number of votes per candidate, and calibration of the confidences, on two real crowds.

PL-CL with its default parameters on music clips (124 features, z-scored; ten genres) and on
sentences (TF-IDF; two opinions). Candidates are the labels with at least the given number of votes,
or all labels with a vote if none has that many; null means all labels with a vote, weighted by
their votes. Prints a line per number of votes, per bin of the confidences, and for PL-CL on the
true labels, an upper bound.
"""

import numpy as np
from common import music, print_result, sentiment

from ambilearn import PLCL

BINS = [(0.0, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01)]


def main():
    """Votes first, then the bins of the union and of two votes."""
    for name, load in (("music", music), ("sentiment", sentiment)):
        X, _, y, X_test, y_test = load()
        print_result("truth_known", data=name, accuracy=PLCL().fit(X, y).score(X_test, y_test))
        for min_votes in (1, 2, 3, None):
            X, sets, y, X_test, y_test = load(min_votes)
            model = PLCL().fit(X, sets)
            print_result(
                "votes_needed",
                data=name,
                min_votes=min_votes,
                mean_size=sets.sizes.mean(),
                with_truth=sets.covers(y).mean(),
                cleaned=np.mean(model.transduction_ == y),
                accuracy=model.score(X_test, y_test),
            )
            proba = model.predict_proba(X_test)
            predicted = model.classes_[proba.argmax(axis=1)]
            for rows, confidence, right in (
                ("training", model.label_distributions_.max(axis=1), model.transduction_ == y),
                ("new", proba.max(axis=1), predicted == y_test),
            ):
                for low, high in BINS:
                    here = (confidence >= low) & (confidence < high)
                    if here.any():
                        print_result(
                            "confidences",
                            data=name,
                            min_votes=min_votes,
                            rows=rows,
                            low=low,
                            high=min(high, 1.0),
                            n=int(here.sum()),
                            mean_confidence=confidence[here].mean(),
                            right=right[here].mean(),
                        )


if __name__ == "__main__":
    main()
