"""
Choosing parameters without a true label
========================================

In earnest nobody knows the true labels, so they cannot choose the parameters. Candidate sets of
held-out rows can: a prediction that lies outside its row's set is certainly wrong. This example
follows two scores that use nothing else, and looks at the hidden labels only at the very end.
"""

# %%
# A mask is what scikit-learn can cut into folds
# ----------------------------------------------

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
# Two scores that see candidate sets only
# ---------------------------------------
#
# The *covering rate* is the share of predictions that lie in the set. The *approximated accuracy*
# also asks how sure the model was among the candidates. Both go into scikit-learn's own search.

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
# The hidden truth, at the end
# ----------------------------
#
# Had the true labels been there, which ``reg`` would they have chosen?

grid = search.cv_results_["param_sure__reg"].astype(float)
hidden = []
for reg in grid:
    model = make_pipeline(StandardScaler(), SURE(reg=reg, max_iter=200)).fit(X_train, mask)
    hidden.append(np.mean(data.classes[model.predict(X_test)] == y_test))

fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
for name, colour in [("covering rate", "#0072b2"), ("approximated accuracy", "#009e73")]:
    mean = search.cv_results_[f"mean_test_{name}"]
    ax.semilogx(grid, mean, marker="o", color=colour, label=f"{name} (no true label)")
ax.semilogx(grid, hidden, "k--", marker="s", label="accuracy on new rows (hidden)")
ax.axvline(search.best_params_["sure__reg"], color="#0072b2", alpha=0.25, lw=8)
ax.set(xlabel="reg, the ridge weight of SURE", ylabel="score")
ax.grid(alpha=0.3)
ax.legend(frameon=False)
plt.show()

# %%
# The covering rate lies above the accuracy, because a false label of the set counts as covered. The
# heights of the curves do not matter; their tops do, and all three have it at the same place. Too
# little regularisation believes every candidate, too much believes none, and held-out candidate
# sets show both.
#
# For larger grids of a kernel method :class:`~ambilearn.selection.CandidateSearchCV` does the same
# and shares the work that the points have in common; see :doc:`/guide/selection`.
