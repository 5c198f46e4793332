"""Held-out outputs of a method: in closed form, by votes of other rows, or by folds."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from ambilearn._utils.limits import row_blocks
from ambilearn._utils.types import Estimator, Matrix
from ambilearn.backend import HostSupport, index_rows
from ambilearn.backend.arrays import to_numpy
from ambilearn.base import PartialLabelClassifier
from ambilearn.kernel.leave_one_out import OutputBlock
from ambilearn.learners import Fold, find_ridge_method, fit_folds, method_inside
from ambilearn.rows import TrainingRows

STAGE = "predicting every row from the others"  # status message
_HALVES = 2  # folds of a method that has no closed form
_ROUNDS = 3  # of held-out outputs, from which the targets of the last outputs are projected


class HeldOut(NamedTuple):
    """Held-out outputs of an estimator on its training rows; doubt and calibration share them.

    Parameters
    ----------
    outputs : callable
        Returns the outputs in blocks of rows and labels, without another fit.
    method : PartialLabelClassifier
        The method whose probabilities they become.
    own : bool
        Whether they are those of the estimator, fitted to all rows.
    """

    outputs: Callable[[], Iterable[OutputBlock]]
    method: PartialLabelClassifier
    own: bool

    def probabilities(self, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Probabilities of all labels, of shape (n, l)."""
        return self.method._confidences(join_blocks(self.outputs(), shape))


def hold_out(
    estimator: Estimator,
    X: Matrix,
    candidates: HostSupport,
    n_folds: int | None,
    random_state: int | None,
    progress: Callable[[str], None] = lambda text: None,
    rows: TrainingRows | None = None,
    fitted: bool = False,
) -> HeldOut:
    """Held-out outputs: in closed form, of the fit itself, or by folds.

    The estimator is a method, a pipeline that ends in one, or a search over one. If ``n_folds`` is
    None, the outputs are in closed form if it has a kernel method, those of the fit if these are
    held out already (the votes of PL-KNN), and by two halves otherwise. ``rows`` are those of
    earlier fits to the same X. With ``fitted``, the estimator was fitted to these rows and labels.
    ``progress`` is called with a status message before each step.
    """
    ridge = find_ridge_method(estimator) if n_folds is None else None
    if ridge is not None:
        progress(STAGE)
        regressor = ridge._make_regressor(
            ridge._training_rows(X) if rows is None else rows, candidates.sets
        )
        own = not getattr(estimator, "_is_ensemble", False)
        targets = project_outputs(regressor.held_out, candidates)
        return HeldOut(partial(regressor.held_out, targets), ridge, own)
    method: Estimator = method_inside(estimator)
    if n_folds is None and getattr(estimator, "_train_output_is_held_out", False):
        progress(STAGE)
        if not fitted:
            rows = estimator._training_rows(X) if rows is None else rows
            estimator = method = clone(estimator)._fit_rows(rows, candidates.sets)
        return HeldOut(partial(_training_outputs, estimator), method, True)
    if candidates.n_rows < 3:
        raise ValueError(f"X has {candidates.n_rows} rows, but folds need at least three.")
    n_folds = _HALVES if n_folds is None else n_folds
    folds = fit_folds(estimator, X, candidates.sets, n_folds, random_state, progress, stage=STAGE)
    return HeldOut(partial(_outputs_of_folds, list(folds)), method, False)


def project_outputs(
    held_out: Callable[[NDArray[np.float64]], Iterable[OutputBlock]], candidates: HostSupport
) -> NDArray[np.float64]:
    """Targets of each candidate for leave-one-out outputs in closed form, by rounds of outputs.

    The targets are first the shares of the candidates, then the outputs projected onto the
    candidates, so that no row's confidences come from its own fit. ``held_out`` returns the
    outputs for targets.
    """
    targets = candidates.prior()
    for _ in range(_ROUNDS if (candidates.sizes > 1).any() else 0):
        inside = np.empty(len(targets))
        for rows, outputs in held_out(targets):
            pairs, places = pairs_of_rows(candidates, rows)
            inside[pairs] = outputs[places]
        targets = candidates.simplex.project(inside + candidates.preference())
    return targets


def pairs_of_rows(
    candidates: HostSupport, rows: NDArray[np.intp]
) -> tuple[NDArray[np.intp], tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Candidates of some rows, and their places in a matrix of these rows and all labels."""
    place = np.full(candidates.n_rows, -1)
    place[rows] = np.arange(len(rows))
    at = place[candidates.rows]
    pairs = np.flatnonzero(at >= 0)
    return pairs, (at[pairs], candidates.labels[pairs])


def _training_outputs(model: PartialLabelClassifier) -> Iterator[OutputBlock]:
    """Outputs of a fitted method on its training rows, which are held out."""
    outputs: Any = to_numpy(model.train_output_)
    for rows in row_blocks(outputs.shape[0], 4 * outputs.shape[1]):
        block = outputs[rows].toarray() if sparse.issparse(outputs) else outputs[rows]
        yield OutputBlock(np.arange(rows.start, rows.stop), block)


def _outputs_of_folds(folds: list[Fold]) -> Iterator[OutputBlock]:
    """Outputs of estimators that were fitted without a fold of the rows."""
    for fold in folds:
        for part in row_blocks(len(fold.rows), 4 * fold.model.classes_.shape[0]):
            block = index_rows(fold.X, np.arange(part.start, part.stop))
            yield OutputBlock(fold.rows[part], _outputs(fold.model, block))


def _outputs(model: Estimator, X: Matrix) -> NDArray[np.float64]:
    """One output per row and label, also where two labels share one."""
    if not hasattr(model, "decision_function"):
        return np.asarray(to_numpy(model.predict_proba(X)))
    outputs = np.asarray(to_numpy(model.decision_function(X)))
    return np.column_stack([-outputs, outputs]) / 2 if outputs.ndim == 1 else outputs


def join_blocks(blocks: Iterable[OutputBlock], shape: tuple[int, int]) -> NDArray[np.float64]:
    """All outputs as one matrix of shape (n, l)."""
    joined = np.empty(shape)
    for rows, outputs in blocks:
        joined[rows] = outputs
    return joined
