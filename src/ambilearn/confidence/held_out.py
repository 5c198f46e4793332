"""Held-out outputs of a method: in closed form, by votes of other rows, or by folds."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from ambilearn._utils.limits import row_blocks
from ambilearn.backend import HostSupport, index_rows
from ambilearn.backend.arrays import to_numpy
from ambilearn.base import PartialLabelClassifier
from ambilearn.confidence.missing_truth import gather_inside
from ambilearn.kernel.leave_one_out import OutputBlock
from ambilearn.learners import HELD_OUT_ROUNDS, Fold, find_ridge_method, fit_folds
from ambilearn.rows import TrainingRows

STAGE = "looking for rows without their true label"  # status message
_HALVES = 2  # folds of a method that has no closed form


def ridge_regressor(
    estimator: Any,
    X: Any,
    candidates: HostSupport,
    n_folds: int | None,
    rows: TrainingRows | None = None,
) -> Any:
    """Regressor with leave-one-out outputs in closed form; None if folds are needed or wanted."""
    method = find_ridge_method(estimator) if n_folds is None else None
    if method is None:
        return None
    rows = method._training_rows(X) if rows is None else rows
    return method._make_regressor(rows, candidates.sets)


def leave_one_out(regressor: Any, candidates: HostSupport) -> Callable[[], Iterable[OutputBlock]]:
    """Function that returns leave-one-out outputs in closed form.

    The targets are first the shares of the candidates, then the outputs projected onto the
    candidates, so that no row's confidences come from its own fit.
    """
    targets = candidates.prior()
    for _ in range(HELD_OUT_ROUNDS - 1):
        inside = gather_inside(regressor.held_out(targets), candidates)
        targets = candidates.simplex.project(inside + candidates.preference())
    return lambda: regressor.held_out(targets)


def has_held_out_outputs(estimator: Any) -> bool:
    """Whether the outputs of a fit on its training rows are held out already."""
    return getattr(estimator, "_train_output_is_held_out", False)


def outputs_by_fits(
    estimator: Any,
    X: Any,
    candidates: HostSupport,
    n_folds: int | None,
    random_state: int | None,
    progress: Callable[[str], None],
    rows: TrainingRows | None = None,
    fitted: bool = False,
) -> Callable[[], Iterable[OutputBlock]]:
    """Function that returns held-out outputs of an estimator without a closed form.

    All fits are done here; the function predicts in blocks, so that no matrix of all rows and
    labels is needed.

    The estimator is a method, a pipeline that ends in one, or a search over one. If ``n_folds`` is
    None, they are those of the fit itself if these are held out already (the votes of PL-KNN), and
    outputs by two halves of other estimators. ``rows`` are those of earlier fits to the same X.
    With ``fitted``, the estimator was fitted to these rows and labels. ``progress`` is called with
    a status message before each step.
    """
    if has_held_out_outputs(estimator) and n_folds is None:
        progress(STAGE)
        if not fitted:
            rows = estimator._training_rows(X) if rows is None else rows
            estimator = clone(estimator)._fit_rows(rows, candidates.sets)
        return partial(_training_outputs, estimator)
    if candidates.n_rows < 3:
        raise ValueError(
            f"X has {candidates.n_rows} rows, but doubt by folds needs at least three."
        )
    n_folds = _HALVES if n_folds is None else n_folds
    folds = fit_folds(estimator, X, candidates.sets, n_folds, random_state, progress, stage=STAGE)
    return partial(_outputs_of_folds, list(folds), np.arange(candidates.n_labels))


def _training_outputs(model: PartialLabelClassifier) -> Iterator[OutputBlock]:
    """Outputs of a fitted method on its training rows, which are held out."""
    outputs: Any = to_numpy(model.train_output_)
    labels = np.arange(model.classes_.shape[0])
    for rows in row_blocks(outputs.shape[0], 4 * len(labels)):
        block = outputs[rows].toarray() if sparse.issparse(outputs) else outputs[rows]
        yield OutputBlock(np.arange(rows.start, rows.stop), labels, block)


def _outputs_of_folds(folds: list[Fold], labels: NDArray[np.intp]) -> Iterator[OutputBlock]:
    """Outputs of estimators that were fitted without a fold of the rows."""
    for fold in folds:
        for part in row_blocks(len(fold.rows), 4 * len(labels)):
            block = index_rows(fold.X, np.arange(part.start, part.stop))
            yield OutputBlock(fold.rows[part], labels, _outputs(fold.model, block))


def _outputs(model: Any, X: Any) -> NDArray[np.float64]:
    """One output per row and label, also where two labels share one."""
    if not hasattr(model, "decision_function"):
        return np.asarray(to_numpy(model.predict_proba(X)))
    outputs = np.asarray(to_numpy(model.decision_function(X)))
    return np.column_stack([-outputs, outputs]) / 2 if outputs.ndim == 1 else outputs


def join_blocks(blocks: Iterable[OutputBlock], shape: tuple[int, int]) -> NDArray[np.float64]:
    """All outputs as one matrix of shape (n, l)."""
    joined = np.empty(shape)
    for rows, labels, outputs in blocks:
        joined[np.ix_(rows, labels)] = outputs
    return joined
