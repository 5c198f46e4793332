"""Can the share of rows whose label is in no answer be estimated from the answers? No.

Crowds of 40 annotators, three answers to each of 700 items, ten labels. In a share of the items all
annotators see the same wrong label (a shared mistake), and answer as if it were the right one. So
the answers have the same distribution whatever that share is; the truth differs.

One JSON line for each share of shared mistakes: the true share of items whose label is in no
answer, the estimate by Dawid and Skene's model with one confusion matrix for all annotators, and
how often a 95 % interval by bootstrap over the items covers the true share.
"""

import argparse
from dataclasses import replace

import numpy as np
from common import print_result

from ambilearn.crowd import Votes
from ambilearn.crowd.skills import Skills

N_ITEMS, N_LABELS, N_ANNOTATORS, N_ANSWERS = 700, 10, 40, 3
DRAWS = 40  # of the bootstrap


def main():
    """Print a line for each share of shared mistakes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--crowds", type=int, default=20)
    args = parser.parse_args()
    for shared in (0.0, 0.02, 0.05, 0.1, 0.2):
        found = [measure(shared, seed) for seed in range(args.crowds)]
        truth, estimate, covered = map(float, np.mean(found, axis=0))
        print_result(
            "shared_mistakes", shared=shared, truth=truth, estimate=estimate, covered=covered
        )


def measure(shared, seed):
    """True share of items whose label is in no answer, its estimate, and whether it is covered."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(N_LABELS, size=N_ITEMS)
    mistaken = rng.random(N_ITEMS) < shared
    seen = np.where(mistaken, (truth + rng.integers(1, N_LABELS, N_ITEMS)) % N_LABELS, truth)
    skill = rng.beta(4.2, 1.8, N_ANNOTATORS)
    answers = []
    for i, label in enumerate(seen.tolist()):
        for who in rng.choice(N_ANNOTATORS, N_ANSWERS, replace=False).tolist():
            wrong = (label + int(rng.integers(1, N_LABELS))) % N_LABELS
            answers.append((i, who, label if rng.random() < skill[who] else wrong))
    votes = Votes.from_long(answers, items=range(N_ITEMS), classes=range(N_LABELS))
    share = np.mean(votes.counts().toarray()[np.arange(N_ITEMS), truth] == 0)
    drawn = [estimate(take(votes, rng.integers(N_ITEMS, size=N_ITEMS))) for _ in range(DRAWS)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return share, estimate(votes), low <= share <= high


def take(votes, rows):
    """The answers to some items, of which one may come twice."""
    places = [np.flatnonzero(votes.item_indices == row) for row in rows]
    new_rows = np.repeat(np.arange(len(rows)), [len(each) for each in places])
    kept = np.concatenate(places)
    return replace(
        votes,
        item_indices=new_rows,
        annotator_indices=votes.annotator_indices[kept],
        label_indices=votes.label_indices[kept],
    )


def estimate(votes, n_iter=30):
    """Posterior mass of labels in no answer, with one confusion matrix for all annotators."""
    counts = votes.counts().toarray()
    together = replace(
        votes,
        annotators=votes.annotators[:1],
        annotator_indices=np.zeros_like(votes.annotator_indices),
    )
    posterior = counts / counts.sum(axis=1, keepdims=True)
    for _ in range(n_iter):
        skills = Skills.estimate(together, posterior, smoothing=1.0)
        logarithms = skills.log_likelihood(together)
        joint = np.exp(logarithms - logarithms.max(axis=1, keepdims=True)) * posterior.mean(axis=0)
        posterior = joint / joint.sum(axis=1, keepdims=True)
    return float(np.where(counts > 0, 0.0, posterior).sum(axis=1).mean())


if __name__ == "__main__":
    main()
