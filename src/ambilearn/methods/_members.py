"""Members of an ensemble: fit them to the same rows and compute their scores.

A member learns from candidate sets if it is a method, alone, at the end of a pipeline or in a
search. Any other classifier is *foreign*: it learns from the confidences of the methods.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from ambilearn._utils.types import Array, Estimator, Matrix
from ambilearn._utils.warnings import warn_user
from ambilearn.backend import HOST, HostSupport, Support, index_rows
from ambilearn.base import PartialLabelClassifier, normalize_candidate_votes
from ambilearn.learners import align_columns, is_search, method_inside, weight_argument
from ambilearn.rows import TrainingRows

Members = Sequence[tuple[str, Estimator]]


def computes_on_devices(estimator: Estimator) -> bool:
    """Whether a member supports arrays of other libraries than NumPy."""
    if isinstance(estimator, Pipeline):
        *before, (_, last) = estimator.steps
        steps = [step for _, step in before if step not in (None, "passthrough")]
        return computes_on_devices(last) and all(get_tags(s).array_api_support for s in steps)
    ours = isinstance(estimator, PartialLabelClassifier)
    return ours and bool(get_tags(estimator).array_api_support)


def warn_without_method(members: Members, candidates: Support) -> None:
    """Warn if all members are foreign and the candidates have no weights."""
    is_ambiguous = candidates.n_pairs > candidates.n_rows and candidates.sets.weights is None
    if is_ambiguous and all(method_inside(member) is None for _, member in members):
        warn_user(
            f"No member ({', '.join(name for name, _ in members)}) learns from candidate sets, so "
            "all candidates of a row have equal weight. Add a method of this library, such as "
            "('plcl', PLCL()); the other members then learn from its confidences."
        )


def fit_members(
    members: Members,
    rows: TrainingRows,
    candidates: Support,
    *,
    confidences: NDArray[np.float64] | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> list[Estimator]:
    """Fit clones of the members to the same rows.

    Kernel, graph and factorizations are computed once for all members that need them, and for all
    fits that share the rows, as in a search. Foreign members learn
    from ``confidences``, of shape (n_pairs,): by default the mean of those of the others, or the
    shares of the candidates' weights if there are no others. With ``n_jobs``, processes fit members
    at the same time, without sharing work; on a device, members are fitted one after the other.
    """
    ours = [each for each in members if method_inside(each[1]) is not None]
    foreign = [each for each in members if method_inside(each[1]) is None]
    for name, member in ours:
        with errors_name(name):
            member._validate_params()
    run = _Run(rows, candidates, verbose)
    in_parallel = effective_n_jobs(n_jobs) > 1 and len(ours) > 1 and candidates.backend is HOST
    if in_parallel and not rows.keep_results:
        fitted = Parallel(n_jobs=n_jobs)(
            delayed(run.fit)(name, member, rows) for name, member in ours
        )
    else:
        fitted = _fit_sharing(ours, run)
    if foreign:
        if confidences is None:
            confidences = mean_confidences(fitted, rows.X, candidates)
        fit = delayed(run.fit_to_confidences)
        fitted += Parallel(n_jobs=n_jobs)(fit(*each, confidences) for each in foreign)
    by_name = dict(zip((name for name, _ in [*ours, *foreign]), fitted, strict=True))
    return [by_name[name] for name, _ in members]


def _fit_sharing(members: Members, run: "_Run") -> list[Estimator]:
    """Fit members one after the other to shared rows.

    Of rows that no other fits share, the member with the most factorizations is fitted last and may
    overwrite the kernel matrix.
    """
    rows, is_shared = run.rows, run.rows.keep_results
    if not is_shared:
        rows = TrainingRows(rows.X, rows.backend, shared=len(members) > 1)
    order = np.argsort([getattr(member, "_n_factors", 0) for _, member in members], kind="stable")
    fitted = {}
    for i in order:
        if i == order[-1] and not is_shared:
            run.release(rows)
        name, member = members[i]
        fitted[i] = run.fit(name, member, rows)
    return [fitted[i] for i in range(len(members))]


class _Run:
    """Fit single members to the same rows; errors name the member."""

    def __init__(self, rows: TrainingRows, candidates: Support, verbose: int) -> None:
        self.rows, self._verbose = rows, verbose
        self.has_frame = hasattr(rows.X, "columns")
        self._sets = candidates.sets
        self._numbers: TrainingRows | None = None  # the rows of a data frame, for methods

    def release(self, rows: TrainingRows) -> None:
        """Before the last fit: its results are not needed for another one."""
        for each in (rows, self._numbers):
            if each is not None:
                each.release()

    def fit(self, name: str, member: Estimator, rows: TrainingRows) -> Estimator:
        """Fit a clone of a member to candidate sets."""
        with self._reporting(name):  # the weights of the rows are part of the candidate sets
            member = clone(member)
            if not isinstance(member, PartialLabelClassifier) or not member._shares_rows:
                return member.fit(rows.X, self._sets)
            if self.has_frame and not member._passes_frames():
                rows = self._rows_of_numbers(member)
            return member._fit_rows(rows, self._sets)

    def _rows_of_numbers(self, member: PartialLabelClassifier) -> TrainingRows:
        """The columns of the data frame as a member validates them, shared if they are numbers."""
        if self._numbers is not None:
            return self._numbers
        rows = member._training_rows(self.rows.X)
        if not hasattr(rows.X, "columns"):
            self._numbers = rows
        return rows

    def fit_to_confidences(
        self, name: str, member: Estimator, confidences: NDArray[np.float64]
    ) -> Estimator:
        """Fit a clone of a foreign member.

        Every row is repeated for each of its candidates, with the confidence as weight. Without
        ``sample_weight``, and in a search, every row occurs once, with its most likely candidate:
        a search would have the same row in the training rows and in the held-out rows of a fold.
        """
        support = HostSupport(self._sets, HOST)
        with self._reporting(name):
            weight_name = weight_argument(member)
            if weight_name is None or is_search(member):
                best = support.classes[support.best_labels(confidences)]
                given = {}
                if weight_name is not None and support.row_weights is not None:
                    given[weight_name] = support.row_weights
                return clone(member).fit(self.rows.X, best, **given)
            weights = confidences * support.pair_weights
            pairs = np.flatnonzero(weights)
            rows = index_rows(self.rows.X, support.rows[pairs])
            labels = support.classes[support.labels[pairs]]
            return clone(member).fit(rows, labels, **{weight_name: weights[pairs]})

    @contextmanager
    def _reporting(self, name: str) -> Iterator[None]:
        began = perf_counter()
        with errors_name(name):
            yield
        if self._verbose:
            print(f"{name}: fitted in {perf_counter() - began:.2f} s", flush=True)


@contextmanager
def errors_name(name: str) -> Iterator[None]:
    """Add the name of the member to errors."""
    kinds = (ValueError, TypeError, RuntimeError)
    try:
        yield
    except kinds as error:
        kind = next(each for each in kinds if isinstance(error, each))
        raise kind(f"The member {name!r} could not be fitted: {error}") from error
    except Exception as error:  # such as a MemoryError, whose type callers rely on
        error.add_note(f"The member {name!r} could not be fitted.")
        raise


# --- outputs of a fitted member, one column for each of the given labels ------------------------


def member_scores(fitted: Estimator, X: Matrix, classes: Array) -> NDArray[np.float64]:
    """Scores of a fitted member for new rows; the confidences of a foreign one."""
    if isinstance(fitted, PartialLabelClassifier):
        return fitted._checked_scores(X)
    if method_inside(fitted) is None:
        return align_columns(fitted.predict_proba(X), fitted.classes_, classes)
    if isinstance(fitted, Pipeline):
        before, last = fitted[:-1], fitted.steps[-1][1]
        return member_scores(last, before.transform(X) if len(before) else X, classes)
    return member_scores(fitted.best_estimator_, X, classes)


def as_confidences(fitted: Estimator, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores of a member as its confidences, rows of shape (n, l) that sum to one."""
    learner = method_inside(fitted)
    return scores if learner is None else learner._confidences(scores)


def member_train_scores(fitted: Estimator, X: Matrix, classes: Array) -> NDArray[np.float64]:
    """Scores of a fitted member for its training rows.

    ``train_output_``, if it exists and has an entry for every label; otherwise as for new rows.
    """
    learner = method_inside(fitted)
    outputs = getattr(learner, "train_output_", None)
    is_sparse = sparse.issparse(outputs)
    if learner is None or outputs is None or (is_sparse and not learner._train_output_is_held_out):
        return member_scores(fitted, X, classes)
    return outputs.toarray() if is_sparse else outputs


def mean_confidences(
    fitted: Iterable[Estimator],
    X: Matrix,
    candidates: Support,
    weights: NDArray[np.float64] | None = None,
) -> Any:
    """Mean of the members' confidences in the candidates of their training rows.

    The weights of the members sum to one. Without members, the result has the shares of the
    candidates' weights.
    """
    found = [candidate_confidences(each, X, candidates) for each in fitted]
    if not found:
        return candidates.prior()
    if weights is None:
        weights = candidates.backend.asarray(np.ones(len(found)))
    total = array_namespace(weights).sum(weights)
    return weighted_sum(weights, found) / total


def weighted_sum(weights: Array, arrays: Iterable[Array]) -> Array:
    """The weighted sum of arrays, on their device."""
    return sum(weights[m] * each for m, each in enumerate(arrays))


def candidate_confidences(fitted: Estimator, X: Matrix, candidates: Support) -> Array:
    """A member's confidences in the candidates of its training rows, a support vector."""
    learner = method_inside(fitted)
    if learner is not None:
        return candidates.gather(learner.label_distributions_)
    scores = candidates.gather(member_scores(fitted, X, candidates.classes))
    return normalize_candidate_votes(candidates, scores)
