"""
From annotator votes to a classifier
====================================

Three people label each image, and often disagree. A majority vote ignores the other votes. This
example keeps every label with a vote as a candidate and uses the features to decide.
"""

# %%
# Three inaccurate annotators
# ---------------------------
#
# The annotators are wrong on 30 %, 50 % and 60 % of the images. The votes are a table with one
# column per annotator.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from ambilearn import PLCL, votes_to_candidates
from ambilearn.datasets import load_dataset

data = load_dataset("digits")
X_train, X_test, y_train, y_test = train_test_split(
    data.X / 16, data.y, train_size=600, test_size=800, random_state=0
)

rng = np.random.default_rng(0)
votes = pd.DataFrame({"ann": y_train, "ben": y_train, "cat": y_train})
for name, error in {"ann": 0.3, "ben": 0.5, "cat": 0.6}.items():
    wrong = rng.random(len(votes)) < error
    votes.loc[wrong, name] = (y_train[wrong] + rng.integers(1, 10, wrong.sum())) % 10
print(votes.head())

# %%
# Candidate sets: the union of the votes
# --------------------------------------

candidates = votes_to_candidates(votes)
print("first rows:", [sorted(labels) for labels in candidates.to_sets()[:5]])
print(f"{candidates.sizes.mean():.2f} candidates per row")
print(f"the true label is a candidate in {candidates.covers(y_train).mean():.1%} of the rows")

# %%
# Majority vote or candidate sets?
# --------------------------------
#
# Partial-label learning assumes that the true label is in the set. This holds for most rows here.
# (With ``min_votes=2`` a candidate needs two votes.)

majority = votes.mode(axis=1)[0].astype(int).to_numpy()  # a tie goes to the smallest label
plcl = PLCL().fit(X_train, candidates)

accuracy = {
    "majority vote,\nsupport vectors": SVC().fit(X_train, majority).score(X_test, y_test),
    "majority vote,\nPL-CL": PLCL().fit(X_train, majority).score(X_test, y_test),
    "union of votes,\nPL-CL": plcl.score(X_test, y_test),
}
cleaned = {
    "the best annotator": (votes["ann"] == y_train).mean(),
    "majority vote": (majority == y_train).mean(),
    "union of votes,\nPL-CL": (plcl.transduction_ == y_train).mean(),
}

fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharex=True)
panels = [("accuracy on training rows", cleaned), ("accuracy on new rows", accuracy)]
for ax, (title, scores) in zip(axes, panels, strict=True):
    bars = ax.barh(list(scores), list(scores.values()), color=["#bbbbbb", "#bbbbbb", "#0072b2"])
    ax.bar_label(bars, fmt="%.2f", padding=3)
    ax.set(title=title, xlim=(0, 1.1), xticks=[0, 0.5, 1])
    ax.invert_yaxis()
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# If no annotator chose the true label of a row, it is not a candidate, and no method can choose it.
# If this is frequent in your data, see :ref:`when-not`.
