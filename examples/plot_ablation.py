"""
The parts of PL-CL
==================

PL-CL has three parts: a kernel classifier, a *complementary* classifier for the labels that a row
does **not** have, and a graph that makes the confidences of neighbors similar. This example
measures the contribution of each part.
"""

# %%
# Two classifiers
# ---------------
#
# For every row PL-CL computes confidences *P* that a label is correct, which are zero for labels
# that are not candidates, and *Q* that it is not, which are one for those labels. The objective
# penalizes deviations of P + Q from 1.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from ambilearn import PLCL
from ambilearn.datasets import load_dataset, make_candidates

data = load_dataset("digits")
X_train, X_test, y_train, y_test = train_test_split(
    data.X / 16, data.y, train_size=200, test_size=800, random_state=0
)
candidates, _ = make_candidates(y_train, r=4, random_state=0)
model = PLCL().fit(X_train, candidates)
P, Q = model.label_distributions_, model.complementary_distributions_

row = np.argsort(np.sort(P, axis=1)[:, -1])[len(P) // 4]  # neither easy nor very hard
fig, ax = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
width = 0.4
ax.bar(data.classes - width / 2, P[row], width, label="P: label is correct", color="#0072b2")
ax.bar(
    data.classes + width / 2,
    Q[row],
    width,
    label="Q: label is not correct",
    color="#d55e00",
    alpha=0.6,
)
ax.set(xticks=data.classes, xlabel="label", ylabel="confidence", ylim=(0, 1.25))
names = [f"[{c}]" if c in candidates.to_sets()[row] else str(c) for c in data.classes]
ax.set_xticks(data.classes, names)
ax.set_title(f"one training row, true label {y_train[row]}; candidates in brackets")
ax.legend(frameon=False, ncols=2, loc="upper left")
plt.show()

# %%
# Without one part
# ----------------
#
# Every variant is fitted to the same four random training sets.

variants = {
    "all parts": PLCL(),
    "no complementary": PLCL(complementary=False),
    "no graph": PLCL(graph=False),
    "neither": PLCL(complementary=False, graph=False),
    "linear": PLCL(kernel="linear"),
}
scores = {name: [] for name in variants}
for seed in range(4):
    X_train, X_test, y_train, y_test = train_test_split(
        data.X / 16, data.y, train_size=200, test_size=800, random_state=seed
    )
    candidates, _ = make_candidates(y_train, r=4, random_state=seed)
    for name, variant in variants.items():
        scores[name].append(variant.fit(X_train, candidates).score(X_test, y_test))

fig, ax = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
for place, (name, values) in enumerate(scores.items()):
    ax.plot(values, [place] * len(values), "o", color="#0072b2", alpha=0.5)
    ax.plot(np.mean(values), place, "k|", markersize=22)
    print(f"{name:17} {np.mean(values):.3f} ± {np.std(values, ddof=1):.3f}")
ax.set_yticks(range(len(scores)), scores)
ax.set_ylim(len(scores) - 0.4, -0.6)
ax.set(xlabel="accuracy on new rows (points: four training sets, bars: their mean)")
ax.grid(axis="x", alpha=0.3)
plt.show()

# %%
# The kernel and the graph improve the accuracy. The complementary classifier does not, here and on
# the data of the paper (:doc:`/reproduction`). It costs a second factorization, so use
# ``complementary=False`` if time matters.
