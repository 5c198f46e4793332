"""
Training any other model with the confidences
=============================================

Use the confidences of PL-CL to train another model, such as gradient boosting, a random forest or a
network: each row is repeated once per candidate, with the confidence as its weight.
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
# The soft labels have one line for each row and candidate. Use this form to write confidences to a
# file or to pass them to another program.

print(soft_labels(plcl).head(7))

# %%
# Any model that supports ``sample_weight``
# -----------------------------------------
#
# :func:`~ambilearn.bridges.to_sample_weights` repeats the rows. For comparison, the same models are
# fitted to all candidates with equal weights, and to the true labels.

rows, labels, weights = to_sample_weights(plcl, X_train)
print(X_train.shape, "becomes", rows.shape)

others = {
    "logistic regression": LogisticRegression(C=10, max_iter=500),
    "support vectors": SVC(),
    "extra trees": ExtraTreesClassifier(random_state=0),
}
mask = candidates.to_mask()
ways = {
    "equal weights": to_sample_weights(mask / mask.sum(axis=1, keepdims=True), X_train),
    "confidences of PL-CL": (rows, labels, weights),
    "true labels": (X_train, y_train, None),
}
accuracy = {
    (way, name): model.fit(X, y, sample_weight=weight).score(X_test, y_test)
    for way, (X, y, weight) in ways.items()
    for name, model in others.items()
}

# %%
# Results
# -------

fig, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
colors = ["#bbbbbb", "#0072b2", "#f0e442"]
for place, (way, color) in enumerate(zip(ways, colors, strict=True)):
    heights = [accuracy[way, name] for name in others]
    bars = ax.bar([i + (place - 1) * 0.26 for i in range(3)], heights, 0.24, color=color, label=way)
    ax.bar_label(bars, fmt="%.2f", fontsize=9, padding=2)
ax.axhline(plcl.score(X_test, y_test), color="#0072b2", ls=":", label="PL-CL itself")
ax.set_xticks(range(3), others)
ax.set(ylabel="accuracy on new rows", ylim=(0, 1.25), yticks=[0, 0.5, 1])
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, ncols=4, loc="upper center", fontsize=9)
plt.show()

# %%
# Fit a model without ``sample_weight`` to the cleaned labels, ``plcl.transduction_``, or to the
# rows with large confidences. ``to_sample_weights(plcl, X_train, min_weight=0.1)`` omits candidates
# with small confidences.
