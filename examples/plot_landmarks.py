"""
A large table with landmarks
============================

The kernel methods compare all pairs of rows: twice the rows need four times the memory and eight
times the time. With ``n_landmarks`` they compare rows with a few *landmarks* instead. Time and
memory are then proportional to the number of rows, and the accuracy changes little.
"""

# %%
# A table of any length
# ---------------------
#
# The rows are images of digits, drawn with replacement, with noise.

from time import process_time

import matplotlib.pyplot as plt
import numpy as np

from ambilearn import SURE
from ambilearn.datasets import load_dataset, make_candidates

data = load_dataset("digits")
X_test, y_test = data.X[1200:] / 16, data.y[1200:]


def draw_rows(n, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.integers(1200, size=n)
    X = data.X[rows] / 16 + rng.normal(scale=0.2, size=(n, 64))
    candidates, _ = make_candidates(data.y[rows], r=3, random_state=seed)
    return X, candidates


# %%
# Exact and with landmarks
# ------------------------
#
# The example uses SURE because it is fast; ``PLCL``, ``PLAGGD`` and ``LALO`` have the same
# parameter. The landmarks are the centers of k-means, determined by ``random_state``.

sizes = [500, 1000, 2000, 4000]
landmarks = [None, 50, 200]
seconds = np.empty((len(landmarks), len(sizes)))
accuracy = np.empty_like(seconds)
for j, n in enumerate(sizes):
    X, candidates = draw_rows(n)
    for i, m in enumerate(landmarks):
        began = process_time()
        model = SURE(n_landmarks=m, random_state=0, max_iter=20, tol=0).fit(X, candidates)
        seconds[i, j] = process_time() - began
        accuracy[i, j] = model.score(X_test, y_test)

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for m, times, scores in zip(landmarks, seconds, accuracy, strict=True):
    name = "exact" if m is None else f"{m} landmarks"
    left.loglog(sizes, times, marker="o", label=name)
    right.semilogx(sizes, scores, marker="o", label=name)
left.set(title="CPU time of one fit, s", xlabel="training rows")
right.set(title="accuracy on new rows", xlabel="training rows", ylim=(0.7, 1))
for ax in (left, right):
    ax.set_xticks(sizes, sizes)
    ax.minorticks_off()
    ax.grid(alpha=0.3)
left.legend(frameon=False)
plt.show()

# %%
# With more landmarks the accuracy approaches that of the exact kernel. Time and memory (8 bytes for
# each row and landmark) grow with their number. Start with a few hundred; see
# :doc:`/guide/large-data`.

for m, times, scores in zip(landmarks, seconds, accuracy, strict=True):
    print(f"landmarks {m!s:4}  {times[-1]:.2f} s  accuracy {scores[-1]:.3f}")
