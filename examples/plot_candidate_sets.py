"""
What a candidate set is, and what PL-CL does with it
====================================================

Each training row carries a *set* of labels, and exactly one of them is right. Here every point is
drawn as a small pie: one slice for each label that it may have. Before learning the slices are
equal. Afterwards their sizes are the confidences that :class:`~ambilearn.PLCL` has found.
"""

# %%
# Three groups of people, and captions that name too many
# -------------------------------------------------------
#
# Ninety points in three groups. Two of three points get a second name, drawn at random.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from ambilearn import PLCL
from ambilearn.datasets import make_candidates

names = np.array(["anna", "bob", "cleo"])
X, number = make_blobs(90, centers=[(0, 2), (2, -1), (-2, -1)], cluster_std=0.85, random_state=3)
truth = names[number]
candidates, statistics = make_candidates(truth, p=2 / 3, r=1, random_state=0)

for i in range(5):
    print(X[i].round(2), sorted(candidates.to_sets()[i]))

# %%
# Learning
# --------
#
# ``fit`` takes the sets as they are. ``label_distributions_`` then has one row for each point: the
# confidence of every label, zero where it is no candidate.

model = PLCL().fit(X, candidates)
P = model.label_distributions_
print(P[:5].round(2))

# %%
# Before and after
# ----------------
#
# The right panel also shows, as background, which label the model predicts for a new point there.
# Points that were wrongly resolved have a black ring.

COLOURS = ["#e69f00", "#0072b2", "#009e73"]


def draw_pies(ax, X, shares):
    for centre, row in zip(X, shares, strict=True):
        kept = row > 0.01
        ax.pie(
            row[kept],
            colors=np.array(COLOURS)[kept],
            center=centre,
            radius=0.16,
            frame=True,
            wedgeprops={"linewidth": 0},
        )
    ax.set(xticks=[], yticks=[], aspect="equal", xlim=(-4.2, 4.2), ylim=(-3.4, 4.2))


fig, (before, after) = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")

draw_pies(before, X, candidates.scatter(candidates.uniform()))
before.set_title("what you have: sets of candidates")

u, v = np.meshgrid(np.linspace(-4.2, 4.2, 150), np.linspace(-3.4, 4.2, 150))
region = model.decision_function(np.c_[u.ravel(), v.ravel()]).argmax(axis=1).reshape(u.shape)
after.contourf(u, v, region, levels=[-0.5, 0.5, 1.5, 2.5], colors=COLOURS, alpha=0.15)
draw_pies(after, X, P)
wrong = model.transduction_ != truth
after.scatter(*X[wrong].T, s=130, facecolors="none", edgecolors="black")
after.set_title("what you get: confidences, and a classifier")

handles = [plt.Line2D([], [], marker="o", ls="", color=c) for c in COLOURS]
fig.legend(handles, names, loc="outside lower center", ncols=3, frameon=False)
plt.show()

# %%
# Near the borders some pies stay divided: nothing in the data tells which name was meant. Those are
# the ones to look at by hand, see :ref:`sphx_glr_gallery_plot_clean_labels.py`.

ambiguous = candidates.sizes > 1
right = model.transduction_ == truth
print(f"{ambiguous.sum()} ambiguous points, {right[ambiguous].sum()} of them resolved rightly")
