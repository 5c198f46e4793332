"""Choice of the hyper-parameters of a task without true labels.

The search itself is :mod:`ambilearn.selection`.
"""

from typing import Any

from ambilearn.experiments.splits import Split
from ambilearn.experiments.task import Task
from ambilearn.selection import CandidateSearchCV

_SCORING = {"approximated": "approximated_accuracy", "covering": "covering_rate"}


def choose(task: Task, split: Split) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters of the grid for one split, and a summary of the search.

    The summary has the number of ``points`` and ``fits``, and the best ``score``.
    """
    search = task.search
    found = CandidateSearchCV(
        task.estimator(),
        search["grid"],
        n_points=search["points"],
        include_current=True,
        scoring=_SCORING[search["scoring"]],
        halving=search["kind"] == "halving",
        refit=False,
        random_state=search["seed"],
    ).fit(split.X_train, split.candidates)
    n_points = len(found.cv_results_["params"])
    account = {"points": n_points, "fits": found.n_fits_, "score": found.best_score_}
    return found.best_params_, account
