"""
Cleaning labels, and what to look at first
==========================================

You do not want a classifier, you want the labels: which of its candidates does each row have? And
since no method is always right, which rows should a person look at?
"""

# %%
# Digits, and labels that are easily confused
# -------------------------------------------
#
# False labels are those that a plain classifier would confuse with the true one
# (``kind="instance"``): a 3 that may be an 8, not a 3 that may be a 6.

import matplotlib.pyplot as plt
import numpy as np

from ambilearn import PLCL
from ambilearn.datasets import load_dataset, make_candidates

data = load_dataset("digits")
X, y = data.X[:900] / 16, data.y[:900]
candidates, statistics = make_candidates(y, kind="instance", q=0.9, X=X, random_state=0)
print(f"{statistics.mean_size:.2f} candidates a row, at most {statistics.max_size}")

# %%
# The cleaned labels are in ``transduction_``
# -------------------------------------------

model = PLCL().fit(X, candidates)
right = model.transduction_ == y
print(f"resolved rightly: {right.mean():.3f} of the rows")

# %%
# The *margin* of a row is its largest confidence minus the second largest. Where it is small, the
# model says that it does not know. A row with a single candidate has the margin 1.

ranked = np.sort(model.label_distributions_, axis=1)
margin = ranked[:, -1] - ranked[:, -2]
most_ambiguous = np.argsort(margin, kind="stable")

fig, axes = plt.subplots(2, 8, figsize=(9, 3.4), layout="constrained", height_ratios=[1, 1])
for (picture, bars), i in zip(axes.T, most_ambiguous, strict=False):
    picture.imshow(data.X[i].reshape(8, 8), cmap="gray_r")
    picture.set(xticks=[], yticks=[])
    picture.set_title(f"row {i}", fontsize=9)
    labels = np.flatnonzero(candidates.to_mask()[i])
    confidences = model.label_distributions_[i, labels]
    chosen = data.classes[labels] == model.transduction_[i]
    bars.barh(range(len(labels)), confidences, color=np.where(chosen, "#0072b2", "#bbbbbb"))
    bars.set_yticks(range(len(labels)), data.classes[labels])
    bars.set(xlim=(0, 1), xticks=[0, 1])
    bars.spines[["top", "right"]].set_visible(False)
fig.suptitle("the eight rows to look at first, and the confidence of each candidate")
plt.show()

# %%
# Does it pay to look at those first?
# -----------------------------------
#
# Suppose that a person gives the right label to every row that is looked at. Going by the margin
# finds the mistakes far sooner than going through the rows in any order.

mistakes = ~right
looked_at = np.arange(1, len(y) + 1) / len(y)
fig, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
ax.plot(looked_at, np.cumsum(mistakes[most_ambiguous]) / mistakes.sum(), label="by the margin")
ax.plot([0, 1], [0, 1], "k:", label="in any order")
ax.set(xlabel="share of the rows looked at", ylabel="share of the mistakes found")
ax.grid(alpha=0.3)
ax.legend(frameon=False)
plt.show()

# %%
# On the command line, ``ambilearn clean`` writes this table from a CSV file, and
# ``ambilearn review`` a page on which to look and correct: see :doc:`/guide/own-data`.
