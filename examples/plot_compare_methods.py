"""
Seven methods on digits
=======================

This example compares PL-CL and the six methods in its paper. All methods have the same interface.
The candidate sets grow from two to eight of ten labels; the methods differ more for larger sets.
"""

# %%
# Candidate sets of increasing size
# ---------------------------------
#
# :func:`~ambilearn.datasets.make_candidates` adds *r* false labels to every training row. The test
# rows keep their true labels for the score.

import warnings
from time import perf_counter

import matplotlib.pyplot as plt
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from ambilearn import IPAL, LALO, PLAGGD, PLCL, PLDA, PLKNN, SURE
from ambilearn.datasets import load_dataset, make_candidates

# Each method has the iteration limit of its paper and warns if it reaches it.
warnings.simplefilter("ignore", ConvergenceWarning)

data = load_dataset("digits")
X_train, X_test, y_train, y_test = train_test_split(
    data.X / 16, data.y, train_size=500, test_size=700, stratify=data.y, random_state=0
)

methods = [PLCL(), SURE(), PLAGGD(), LALO(), IPAL(), PLDA(), PLKNN()]
false_labels = [1, 3, 5, 7]
accuracy, seconds = {}, {}
for method in methods:
    name = type(method).__name__
    began = perf_counter()
    accuracy[name] = []
    for r in false_labels:
        candidates, _ = make_candidates(y_train, r=r, random_state=r)
        accuracy[name].append(method.fit(X_train, candidates).score(X_test, y_test))
    seconds[name] = (perf_counter() - began) / len(false_labels)

# %%
# Results
# -------

fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
for name, values in accuracy.items():
    ax.plot(false_labels, values, marker="o", label=name, lw=3 if name == "PLCL" else 1.5)
ax.set(
    xlabel="false labels in every candidate set (of 9 possible)",
    ylabel="accuracy on new rows",
    xticks=false_labels,
)
ax.grid(alpha=0.3)
ax.legend(frameon=False)
plt.show()

# %%
# The time of one fit on 500 rows, in seconds:

for name, value in seconds.items():
    print(f"{name:7} {value:.2f}")

# %%
# Neighbors are very informative in this data set. The order of the methods differs on other data:
# :doc:`/fidelity` and :doc:`/reproduction` have measurements on real candidate sets, and
# :ref:`sphx_glr_gallery_plot_choose_parameters.py` shows how to choose on your own data.
