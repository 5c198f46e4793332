"""
Training any other model with the confidences
=============================================

PL-CL has found out how likely each candidate is. A gradient boosting, a random forest, a network of
yours can learn from that: as soft labels, that is, each row once for each of its candidates, with
the confidence as its weight.
"""

# %%
# Confidences
# -----------

import matplotlib.pyplot as plt
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from ambilearn import PLCL
from ambilearn.bridges import soft_labels, to_sample_weights
from ambilearn.datasets import load_dataset, make_candidates

data = load_dataset("digits")
X_train, X_test, y_train, y_test = train_test_split(
    data.X / 16, data.y, train_size=500, test_size=800, random_state=0
)
candidates, _ = make_candidates(y_train, r=4, random_state=0)
plcl = PLCL().fit(X_train, candidates)

# %%
# One line for each row and candidate: this is the form in which to hand confidences on, to a file
# or to another program.

print(soft_labels(plcl).head(7))

# %%
# Any model that takes ``sample_weight``
# --------------------------------------
#
# :func:`~ambilearn.bridges.to_sample_weights` repeats the rows, which is all that is needed. Next
# to it: the model that gets every candidate with equal weight, as if nothing had been found out,
# and the one that is told the true labels.

rows, labels, weights = to_sample_weights(plcl, X_train)
print(X_train.shape, "becomes", rows.shape)

others = {
    "logistic regression": LogisticRegression(C=10, max_iter=500),
    "support vectors": SVC(),
    "extra trees": ExtraTreesClassifier(random_state=0),
}
ways = {
    "all candidates alike": to_sample_weights(candidates.scatter(candidates.uniform()), X_train),
    "confidences of PL-CL": (rows, labels, weights),
    "true labels": (X_train, y_train, None),
}
accuracy = {
    (way, name): model.fit(X, y, sample_weight=weight).score(X_test, y_test)
    for way, (X, y, weight) in ways.items()
    for name, model in others.items()
}

# %%
# What came out
# -------------

fig, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
colours = ["#bbbbbb", "#0072b2", "#f0e442"]
for place, (way, colour) in enumerate(zip(ways, colours, strict=True)):
    heights = [accuracy[way, name] for name in others]
    bars = ax.bar(
        [i + (place - 1) * 0.26 for i in range(3)], heights, 0.24, color=colour, label=way
    )
    ax.bar_label(bars, fmt="%.2f", fontsize=9, padding=2)
ax.axhline(plcl.score(X_test, y_test), color="#0072b2", ls=":", label="PL-CL itself")
ax.set_xticks(range(3), others)
ax.set(ylabel="accuracy on new rows", ylim=(0, 1.25), yticks=[0, 0.5, 1])
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, ncols=4, loc="upper center", fontsize=9)
plt.show()

# %%
# A model without ``sample_weight`` gets the cleaned labels, ``plcl.transduction_``, or only the
# rows of large confidence. ``to_sample_weights(plcl, X_train, min_weight=0.1)`` leaves out the
# crumbs.
