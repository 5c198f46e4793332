"""
Choosing parameters without true labels
=======================================

In practice the true labels are not available to choose parameters. Use the candidate sets of
held-out rows instead: a prediction outside of its row's set is certainly wrong. This example
compares two scores for candidate sets with the accuracy on hidden labels.
"""

# %%
# Candidate sets as a mask
# ------------------------
#
# scikit-learn's tools can split a mask into folds.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ambilearn import SURE
from ambilearn.datasets import load_dataset, make_candidates
from ambilearn.metrics import approximated_accuracy_scorer, covering_rate_scorer

data = load_dataset("digits")
X_train, X_test, y_train, y_test = train_test_split(
    data.X, data.y, train_size=300, test_size=800, random_state=0
)
candidates, _ = make_candidates(y_train, r=5, random_state=0)
mask = candidates.to_mask()  # shape (n_rows, n_labels)

# %%
# Two scores for candidate sets
# -----------------------------
#
# The *covering rate* is the share of predictions in the set. The *approximated accuracy* also
# weights them by the confidence among the candidates. Both work in scikit-learn's search.

search = GridSearchCV(
    make_pipeline(StandardScaler(), SURE(max_iter=200)),
    {"sure__reg": np.logspace(-4, 2, 7)},
    scoring={
        "covering rate": covering_rate_scorer,
        "approximated accuracy": approximated_accuracy_scorer,
    },
    refit="covering rate",
    cv=5,
).fit(X_train, mask)

print("chosen:", search.best_params_)

# %%
# Comparison with the hidden labels
# ---------------------------------
#
# The accuracy on new rows for every value of ``reg``:

grid = search.cv_results_["param_sure__reg"].astype(float)
hidden = []
for reg in grid:
    model = make_pipeline(StandardScaler(), SURE(reg=reg, max_iter=200)).fit(X_train, mask)
    hidden.append(np.mean(data.classes[model.predict(X_test)] == y_test))

fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
for name, color in [("covering rate", "#0072b2"), ("approximated accuracy", "#009e73")]:
    mean = search.cv_results_[f"mean_test_{name}"]
    ax.semilogx(grid, mean, marker="o", color=color, label=f"{name} (no true label)")
ax.semilogx(grid, hidden, "k--", marker="s", label="accuracy on new rows (hidden)")
ax.axvline(search.best_params_["sure__reg"], color="#0072b2", alpha=0.25, lw=8)
ax.set(xlabel="reg, the ridge weight of SURE", ylabel="score")
ax.grid(alpha=0.3)
ax.legend(frameon=False)
plt.show()

# %%
# The covering rate is above the accuracy, because a predicted false label counts as covered if it
# is in the set. Only the position of the maximum matters, and it is the same for all three curves.
# Too little regularization overfits the candidates, and too much underfits them. Held-out candidate
# sets show both.
#
# For larger grids of a kernel method, :class:`~ambilearn.selection.CandidateSearchCV` does the same
# and shares computations between the points; see :doc:`/guide/selection`.
