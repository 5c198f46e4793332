r"""Rows whose truth is probably none of their candidates, and what it may be instead.

Outputs on the rows that a classifier has learned from cannot tell: it has learned that the truth is
in the set. Outputs that are *held out*, of a classifier that has not seen the row's own set, can.
"""

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.utils import get_tags, indexable

from ambilearn._utils.blocks import row_blocks
from ambilearn._utils.fit_cache import NO_CACHE, FitCache
from ambilearn._utils.optional import requires_extra
from ambilearn._utils.rounds import TimeLeft
from ambilearn._utils.sklearn_compat import _num_samples
from ambilearn._utils.structure import check_structure
from ambilearn._utils.text import pluralize
from ambilearn.backend import HOST, HostSupport, index_rows
from ambilearn.backend.arrays import is_device_array, to_numpy
from ambilearn.candidates import as_candidates
from ambilearn.kernel.regression import OutputBlock
from ambilearn.learners import (
    HELD_OUT_ROUNDS,
    find_ridge_method,
    set_learner,
    without_preprocessing,
)
from ambilearn.methods.plcl import PLCL
from ambilearn.methods.plknn import PLKNN

if TYPE_CHECKING:
    import pandas as pd

_FOLDS = 5  # of a method that has no closed form
_SURE = -1.0  # the score where every label is a candidate: the truth cannot be another


@dataclass(frozen=True, eq=False, repr=False)
class Doubt:
    """How likely the truth of each row is none of its candidates.

    Attributes
    ----------
    score : ndarray of shape (n_rows,)
        Best held-out output off the candidates minus the best one on them: the larger, the more
        doubtful; above zero another label is ahead of all candidates. It is -1 where every label is
        a candidate.
    suggestion : ndarray of shape (n_rows,)
        The label off the candidates with the best held-out output; None where there is no such
        label.
    """

    score: NDArray[np.float64]
    suggestion: NDArray[Any]

    @property
    def order(self) -> NDArray[np.intp]:
        """Rows by doubt, the most doubtful first."""
        return np.argsort(-self.score, kind="stable")

    def to_frame(self) -> "pd.DataFrame":
        """Table of scores and suggestions, one row for each row of X in the same order.

        Returns
        -------
        table : pandas.DataFrame
            With the columns ``score`` and ``suggestion``, and the row numbers as index ``row``.
        """
        with requires_extra("data", purpose="A table of doubt"):
            import pandas as pd
        rows = pd.RangeIndex(len(self.score), name="row")
        return pd.DataFrame({"score": self.score, "suggestion": self.suggestion}, index=rows)

    def __repr__(self) -> str:
        n_doubtful = np.count_nonzero(self.score > 0)
        return f"<Doubt: {pluralize(len(self.score), 'row')}, {n_doubtful} with a score above 0>"


def find_doubtful(
    X: Any,
    y: Any,
    *,
    estimator: Any = None,
    n_folds: int | None = None,
    random_state: int | None = 0,
    cache: FitCache | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> Doubt:
    r"""Find the rows whose truth is probably none of their candidates.

    The score of row *i* with candidates :math:`S_i` is

    .. math:: d_i = \max_{j \notin S_i} h_{ij} - \max_{j \in S_i} h_{ij}

    with *held-out* outputs *h*, from all rows but row *i*. For PL-CL, PL-AGGD, LALO, SURE and
    PLCP they take no fit at all: ridge regression of targets *T* has its leave-one-out outputs in
    closed form, :math:`h = T - (T - ST) / (1 - \operatorname{diag} S)` [1]_. The targets are first
    the candidates' shares, then, three times, these outputs projected onto the candidates, so that
    no row's confidences come from its own fit. For a stack or a vote, the outputs are those of the
    first member, in the order of the names, that has this closed form; by default PL-CL. IPAL and
    PLDA are fitted five times, PL-KNN once, since its votes are held out already.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n, d)
        Rows.
    y : sequence of label collections, mask of shape (n, l), labels of shape (n,), or CandidateSets
        Their candidate sets.
    estimator : estimator, optional
        A method, a pipeline that ends in one, or a search over one. Only its parameters are used;
        it is neither fitted nor changed. The default is :class:`~ambilearn.PLCL`, for which X
        should be scaled.
    n_folds : int, optional
        Number of folds, with one fit of the estimator each. By default there are none if the
        method has a closed form, and five otherwise.
    random_state : int or None, default=0
        Seed of the folds.
    cache : FitCache, optional
        Results that a fit of the same estimator to the same rows has computed.
    progress : callable, optional
        Called with a status message before each step.

    Returns
    -------
    Doubt

    Notes
    -----
    The score orders the rows. The number of rows above zero is not an estimate of the number of
    sets without their truth: where rows are hard to classify, a held-out output cannot separate a
    wrong set from a wrong classifier.

    References
    ----------
    .. [1] Cawley, Talbot. Fast exact leave-one-out cross-validation of sparse least-squares support
       vector machines. Neural Networks 17(10), 1467-1475, 2004.

    Examples
    --------
    >>> from ambilearn import find_doubtful
    >>> X = [[1.0, 0.1], [1.1, 0.0], [0.9, 0.2], [1.0, 0.0], [0.1, 1.0], [0.0, 0.9], [0.2, 1.1]]
    >>> y = [{"cat"}, {"cat", "dog"}, {"cat"}, {"dog"}, {"dog"}, {"dog", "emu"}, {"dog"}]
    >>> doubt = find_doubtful(X, y)
    >>> int(doubt.order[0]), str(doubt.suggestion[3])
    (3, 'cat')
    >>> doubt.to_frame().loc[[3]].round(2)
         score suggestion
    row
    3     0.42        cat
    """
    estimator = PLCL() if estimator is None else estimator
    if set_learner(estimator) is None:
        raise TypeError(
            f"{type(estimator).__name__} does not learn from candidate sets: pass a method of this "
            "library, such as PLCL(), alone, at the end of a pipeline, or in a search. To include "
            "another classifier, pass PLVoting(estimators=[...]) with both, and n_folds=5."
        )
    check_structure(X, "X")
    (X,) = indexable(X)  # which some sparse matrices are not
    candidates = HOST.support(as_candidates(to_numpy(y), n_rows=_num_samples(X)))
    cache = NO_CACHE if cache is None else cache
    X, estimator = without_preprocessing(X, estimator)
    ridge_method = find_ridge_method(estimator) if n_folds is None else None
    if ridge_method is not None:
        progress("looking for rows without their true label")
        regressor = ridge_method._make_regressor(X, candidates.sets, cache)
        targets = candidates.prior()
        for _ in range(HELD_OUT_ROUNDS):
            held_out = _summarize(regressor.held_out(targets), candidates)
            targets = candidates.simplex.project(held_out.inside + candidates.preference())
        return _judge(held_out, candidates)
    if isinstance(estimator, PLKNN) and n_folds is None:
        progress("looking for rows without their true label")
        blocks = _votes_of_others(clone(estimator).fit(X, candidates.sets, cache=cache))
    else:
        blocks = _folds(estimator, X, candidates, n_folds or _FOLDS, random_state, progress)
    return _judge(_summarize(blocks, candidates), candidates)


@dataclass
class _HeldOut:
    """Held-out outputs on the candidates, and the best one off them with its label."""

    inside: NDArray[np.float64]
    outside: NDArray[np.float64]
    label: NDArray[np.intp]


def _summarize(blocks: Iterable[OutputBlock], candidates: HostSupport) -> _HeldOut:
    """All that the score needs, from outputs of some rows and labels at a time."""
    n = candidates.n_rows
    found = _HeldOut(
        inside=np.empty(len(candidates.labels)),
        outside=np.full(n, -np.inf),
        label=np.full(n, -1, dtype=np.intp),
    )
    for rows, labels, outputs in blocks:
        pairs, places = _pairs_in_block(candidates, rows, labels)
        found.inside[pairs] = outputs[places]
        others = outputs.copy()
        others[places] = -np.inf
        best = np.argmax(others, axis=1)
        top = others[np.arange(len(rows)), best]
        ahead = top > found.outside[rows]
        found.label[rows] = np.where(ahead, labels[best], found.label[rows])
        found.outside[rows] = np.where(ahead, top, found.outside[rows])
    return found


def _pairs_in_block(
    candidates: HostSupport, rows: NDArray[np.intp], labels: NDArray[np.intp]
) -> tuple[NDArray[np.intp], tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Pairs of the support that lie in a block, and their places there."""
    row_place = np.full(candidates.n_rows, -1)
    row_place[rows] = np.arange(len(rows))
    label_place = np.full(candidates.n_labels, -1)
    label_place[labels] = np.arange(len(labels))
    at = row_place[candidates.rows], label_place[candidates.labels]
    pairs = np.flatnonzero((at[0] >= 0) & (at[1] >= 0))
    return pairs, (at[0][pairs], at[1][pairs])


def _judge(found: _HeldOut, candidates: HostSupport) -> Doubt:
    best = candidates.largest(found.inside)
    everything = candidates.sizes == candidates.n_labels
    score = np.where(everything, _SURE, found.outside - best)
    if not everything.any():
        return Doubt(score, candidates.classes[found.label])
    suggestion = candidates.classes.astype(object)[found.label]
    suggestion[everything] = None
    return Doubt(score, suggestion)


def _votes_of_others(model: PLKNN) -> Iterator[OutputBlock]:
    votes: Any = to_numpy(model.train_output_)
    labels = np.arange(model.classes_.shape[0])
    for rows in row_blocks(votes.shape[0], 4 * len(labels)):
        block = votes[rows].toarray() if sparse.issparse(votes) else votes[rows]
        yield OutputBlock(np.arange(rows.start, rows.stop), labels, block)


def _folds(
    estimator: Any,
    X: Any,
    candidates: HostSupport,
    n_folds: int,
    random_state: int | None,
    progress: Callable[[str], None],
) -> Iterator[OutputBlock]:
    n = candidates.n_rows
    if n < 3:
        raise ValueError(
            f"X has {n} rows, too few to leave some out and learn from the others: doubt by folds "
            "needs three."
        )
    folds = KFold(min(n_folds, n), shuffle=True, random_state=random_state)
    labels = np.arange(candidates.n_labels)
    pairwise = get_tags(estimator).input_tags.pairwise  # of a kernel matrix, columns are rows, too
    total, time_left = folds.get_n_splits(), TimeLeft()
    for i, (rest, rows) in enumerate(folds.split(np.empty(n)), start=1):
        left = time_left.describe(i - 1, total - i + 1)
        progress(f"looking for rows without their true label: {i} of {total} fits{left}")
        columns = rest if pairwise else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # who fits to all rows is warned of the same
            model = clone(estimator).fit(_take(X, rest, columns), candidates.sets[rest])
        for part in row_blocks(len(rows), 4 * len(labels)):
            outputs = _outputs(model, _take(X, rows[part], columns))
            yield OutputBlock(rows[part], labels, outputs)


def _take(X: Any, rows: NDArray[np.intp], columns: NDArray[np.intp] | None) -> Any:
    if columns is None or sparse.issparse(X) or is_device_array(X):  # refused by the fit
        return index_rows(X, rows)
    return np.asarray(X)[np.ix_(rows, columns)]


def _outputs(model: Any, X: Any) -> NDArray[np.float64]:
    """One output per row and label, also where two labels share one."""
    if not hasattr(model, "decision_function"):
        return np.asarray(to_numpy(model.predict_proba(X)))
    outputs = np.asarray(to_numpy(model.decision_function(X)))
    return np.column_stack([-outputs, outputs]) / 2 if outputs.ndim == 1 else outputs
