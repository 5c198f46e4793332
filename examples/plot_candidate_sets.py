"""
Candidate sets and PL-CL
========================

Each training row has a *set* of labels, and exactly one of them is correct. In this example every
point is drawn as a small pie with one slice per candidate. Before the fit all slices are equal.
After the fit their sizes are the confidences of :class:`~ambilearn.PLCL`.
"""

# %%
# Points with several names
# -------------------------
#
# The data are ninety points in three groups. Two of three points get a random second name.

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
# Fit
# ---
#
# ``fit`` accepts the sets. ``label_distributions_`` has one row for each point: the confidence of
# every label, zero for labels that are not candidates.

model = PLCL().fit(X, candidates)
P = model.label_distributions_
print(P[:5].round(2))

# %%
# Before and after
# ----------------
#
# The background of the right panel is the label that the model predicts for a new point. Points
# with a wrong cleaned label have a black ring.

COLORS = ["#e69f00", "#0072b2", "#009e73"]


def draw_pies(ax, X, shares):
    for center, row in zip(X, shares, strict=True):
        kept = row > 0.01
        ax.pie(
            row[kept],
            colors=np.array(COLORS)[kept],
            center=center,
            radius=0.16,
            frame=True,
            wedgeprops={"linewidth": 0},
        )
    ax.set(xticks=[], yticks=[], aspect="equal", xlim=(-4.2, 4.2), ylim=(-3.4, 4.2))


fig, (before, after) = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")

mask = candidates.to_mask()
draw_pies(before, X, mask / mask.sum(axis=1, keepdims=True))
before.set_title("before: candidate sets")

u, v = np.meshgrid(np.linspace(-4.2, 4.2, 150), np.linspace(-3.4, 4.2, 150))
region = model.decision_function(np.c_[u.ravel(), v.ravel()]).argmax(axis=1).reshape(u.shape)
after.contourf(u, v, region, levels=[-0.5, 0.5, 1.5, 2.5], colors=COLORS, alpha=0.15)
draw_pies(after, X, P)
wrong = model.transduction_ != truth
after.scatter(*X[wrong].T, s=130, facecolors="none", edgecolors="black")
after.set_title("after: confidences and a classifier")

handles = [plt.Line2D([], [], marker="o", ls="", color=c) for c in COLORS]
fig.legend(handles, names, loc="outside lower center", ncols=3, frameon=False)
plt.show()

# %%
# Near the borders some pies remain divided, because the data do not determine the name. Check these
# points by hand; see :ref:`sphx_glr_gallery_plot_clean_labels.py`.

ambiguous = candidates.sizes > 1
right = model.transduction_ == truth
print(
    f"{ambiguous.sum()} ambiguous points, {right[ambiguous].sum()} of them with the correct label"
)
