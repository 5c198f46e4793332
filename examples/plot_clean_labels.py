"""
Cleaning labels, and which rows to check
========================================

This example finds the correct candidate of each training row, and the rows that a person should
check first.
"""

# %%
# Digits with similar false labels
# --------------------------------
#
# The false labels are those that a classifier confuses with the true one (``kind="instance"``),
# such as 8 for a 3, but not 6.

import matplotlib.pyplot as plt
import numpy as np

from ambilearn import PLCL
from ambilearn.datasets import load_dataset, make_candidates

data = load_dataset("digits")
X, y = data.X[:900] / 16, data.y[:900]
candidates, statistics = make_candidates(y, kind="instance", q=0.9, X=X, random_state=0)
print(f"{statistics.mean_size:.2f} candidates per row, at most {statistics.max_size}")

# %%
# The cleaned labels are in ``transduction_``
# -------------------------------------------

model = PLCL().fit(X, candidates)
right = model.transduction_ == y
print(f"accuracy of the cleaned labels: {right.mean():.3f}")

# %%
# The *margin* of a row is its largest confidence minus the second largest. A small margin means
# that the model does not distinguish the candidates. A row with a single candidate has the margin
# 1.

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
fig.suptitle("the eight rows to check first, and the confidence of each candidate")
plt.show()

# %%
# The gain from this order
# ------------------------
#
# Assume that a person corrects every row that they check. In the order of the margin, they find the
# wrong labels much sooner than in a random order.

mistakes = ~right
checked = np.arange(1, len(y) + 1) / len(y)
fig, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
ax.plot(checked, np.cumsum(mistakes[most_ambiguous]) / mistakes.sum(), label="by margin")
ax.plot([0, 1], [0, 1], "k:", label="random order")
ax.set(xlabel="share of checked rows", ylabel="share of wrong labels found")
ax.grid(alpha=0.3)
ax.legend(frameon=False)
plt.show()

# %%
# On the command line, ``ambilearn clean`` cleans a CSV file, and ``ambilearn review`` writes a page
# to check and correct the labels; see :doc:`/guide/own-data`.
