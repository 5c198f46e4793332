"""
Several methods together: votes and stacks
==========================================

Methods that read candidate sets differently err on different rows. :class:`~ambilearn.PLStacking`
uses that: what some methods make of the training rows becomes features of others. It is what
``ambilearn clean`` and ``fit`` use for tables of ordinary size.
"""

# %%
# Digits with seven candidates each
# ---------------------------------
#
# Six false labels beside the true one, drawn at random: a set rules out three of ten digits.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from ambilearn import IPAL, PLCL, SURE, PLStacking, PLVoting
from ambilearn.datasets import load_dataset, make_candidates

# SURE keeps its paper's limit of iterations, and would say so where it reaches it.
warnings.simplefilter("ignore", ConvergenceWarning)

data = load_dataset("digits")


def make_split(seed):
    """Rows to learn from with their candidate sets and truth, and new rows with their truth."""
    X, X_new, y, y_new = train_test_split(
        data.X / 16, data.y, train_size=300, test_size=700, stratify=data.y, random_state=seed
    )
    candidates, _ = make_candidates(y, r=6, random_state=seed)
    return X, candidates, y, X_new, y_new


# %%
# They err on different rows
# --------------------------
#
# Of the new rows that the method of a line gets wrong, the share that the method of a column gets
# right.

X, candidates, y, X_new, y_new = make_split(0)
singles = {"PL-CL": PLCL(), "SURE": SURE(), "IPAL": IPAL()}
right = {name: model.fit(X, candidates).predict(X_new) == y_new for name, model in singles.items()}
print(f"{'wrong':8}" + "".join(f"{name:>8}" for name in singles))
for name in singles:
    shares = "".join(f"{right[other][~right[name]].mean():8.2f}" for other in singles)
    print(f"{name:8}{shares}")

# %%
# Side by side
# ------------
#
# A vote is the mean of what its members say; in a stack some learn from what others say. Both are
# used as any single method is. On digits, where neighbours are good, IPAL is as good as either:
# over five splits all three get 0.92 of the new rows right, PL-CL and SURE 0.89. Means of three:

models = singles | {"vote": PLVoting(), "stack": PLStacking()}
new_rows, told_apart = ({name: [] for name in models} for _ in range(2))
for seed in range(3):
    X, candidates, y, X_new, y_new = make_split(seed)
    for name, model in models.items():
        model.fit(X, candidates)
        new_rows[name].append(model.score(X_new, y_new))
        told_apart[name].append(np.mean(model.transduction_ == y))

fig, axes = plt.subplots(1, 2, figsize=(8.5, 3.4), sharey=True, layout="constrained")
titles = ("new rows that are right", "training rows told apart")
for ax, title, found in zip(axes, titles, (new_rows, told_apart), strict=True):
    means = [np.mean(values) for values in found.values()]
    bars = ax.bar(list(found), means, color=["#bbbbbb"] * 3 + ["#56b4e9", "#0072b2"])
    ax.bar_label(bars, fmt="%.3f")
    ax.set(title=title, ylim=(0.8, 1.0))
    ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# Members of your own
# -------------------
#
# Any method with any parameters can be a member, and any other classifier with ``predict_proba``:
# :doc:`/guide/stacking` says how, what was measured on real candidate sets, and where a stack is no
# better than PL-CL.

stack = PLStacking(final_estimator=IPAL(n_neighbors=15)).fit(X, candidates)
print(f"IPAL with more neighbours on top: {stack.score(X_new, y_new):.3f}")
