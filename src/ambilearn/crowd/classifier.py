"""Estimate labels and skills of annotators together, from answers and features."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import signature
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable
from sklearn.utils.validation import check_is_fitted

from ambilearn._utils.fit_state import unfitted_on_error
from ambilearn._utils.rounds import Round, report_round
from ambilearn._utils.sklearn_compat import HasMethods, Interval, _num_samples
from ambilearn._utils.structure import check_structure
from ambilearn._utils.warnings import warn_user
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.crowd.dawid_skene_model import dawid_skene
from ambilearn.crowd.held_out import HeldOut, HeldOutByFolds, HeldOutByRidge, fit_candidates
from ambilearn.crowd.report import AnnotatorReport, report_annotators
from ambilearn.crowd.skills import Skills
from ambilearn.crowd.votes import Votes
from ambilearn.learners import (
    align_columns,
    find_ridge_method,
    set_learner,
    without_preprocessing,
)

_FOLDS = 5  # of a classifier that has no closed form
_ENSEMBLE_ROUNDS = 2  # of folds, after those of a member that has a closed form


class CrowdClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    r"""A classifier that learns from the answers of annotators and estimates their skills.

    Skills of annotators are estimated from the labels of the rows, and these from the answers and
    from the features, by a classifier that was fitted without the answers to these rows. With the
    likelihood :math:`\Lambda_{ij}` of the answers to row *i* if its label is *j*
    (:class:`~ambilearn.crowd.skills.Skills`) and held-out confidences :math:`F` of the
    classifier, the confidences of the rows are

    .. math:: T_{ij} \propto \Lambda_{ij} \left((1 - \varepsilon) F_{ij} + \varepsilon \pi_j\right)

    where :math:`\pi` is the share of each label, and :math:`\varepsilon`, the distrust in the
    features, maximizes the likelihood of the answers. The fit starts from Dawid and Skene's model
    of the answers alone, then alternates: skills from *T*, classifier from *T*, *T* from both. This
    is the scheme of Raykar et al. [1]_, with any classifier and held-out confidences, so that no
    answer is evidence for its own row twice.

    The label of a row may be one that no annotator gave. No true label is used.

    Parameters
    ----------
    estimator : classifier
        A method of this library, such as :class:`~ambilearn.PLCL`, which learns from *T* as
        weights of candidates; or any classifier whose ``fit`` takes ``sample_weight``. Either may
        be at the end of a pipeline. It needs ``predict_proba``.
    param_grid : mapping or None, default=None
        Values of parameters of ``estimator`` to choose from, such as ``{"reg": [0.03, 0.3]}``.
        Before the first round those are taken under which the answers are most likely
        (``evidence_``).
    smoothing : float, default=1.0
        Every annotator's confusion matrix is smoothed by this many answers of the crowd.
    min_share : float, default=0.01
        Candidates of a row, for the classifier, are the labels with at least this share of the
        confidence of its best label.
    cv : int or None, default=None
        Folds of the held-out confidences. With None, PL-CL, PL-AGGD, LALO, SURE and PLCP take
        their leave-one-out outputs in closed form, as in :func:`ambilearn.find_doubtful`; a stack
        or a vote takes those of its first such member until they converge, then two rounds of
        five folds of its own; other classifiers take five folds.
    max_iter : int, default=20
        Limit of rounds, without the two rounds of folds of a stack or a vote. A round takes ``cv``
        fits, or none in closed form.
    tol : float, default=0.02
        The rounds end when T changes by at most this, :math:`\|T_t - T_{t-1}\|_F / \sqrt n`.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, if there are any; they stay the same in every round.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The labels.
    label_distributions_ : ndarray of shape (n, l)
        Confidences T of the training rows.
    transduction_ : ndarray of shape (n,)
        Cleaned label of each training row.
    unvoted_ : ndarray of shape (n,)
        Confidence that no annotator gave the label of a row; zero without answers. It orders the
        rows; its mean is not an estimate of the share of such rows.
    annotators_ : AnnotatorReport
        Answers, agreement with the result, and confusions of each annotator.
    candidates_ : CandidateSets
        What ``estimator_`` learned from: T, without the labels below ``min_share``.
    estimator_ : classifier
        Fitted to all rows; it predicts.
    skills_ : Skills
        The smoothed confusion matrices.
    feature_trust_ : float
        How much the features tell, :math:`1 - \varepsilon`.
    evidence_ : float
        How well features foretell answers, a score that needs no true label: the mean over the
        rows of :math:`\log \sum_j \Lambda_{ij} ((1 - \varepsilon) F_{ij} + \varepsilon \pi_j) /
        \max_j \Lambda_{ij}`, at most 0.
    best_params_ : dict
        What was chosen from ``param_grid``.
    n_iter_ : int
        Rounds done.

    See Also
    --------
    dawid_skene : The answers alone.

    References
    ----------
    .. [1] V. C. Raykar et al., "Learning from crowds", Journal of Machine Learning Research 11,
       2010.

    Examples
    --------
    >>> from ambilearn import PLCL
    >>> from ambilearn.crowd import CrowdClassifier, Votes
    >>> X = [[0.0], [0.1], [0.2], [0.3], [1.0], [1.1], [1.2], [1.3]]
    >>> votes = Votes.from_wide(
    ...     [["a", "a", "b"], ["a", "a", "b"], ["a", "a", "a"], ["a", "b", "b"]]
    ...     + [["b", "b", "a"], ["b", "b", "b"], ["b", "b", "a"], ["b", "b", "a"]],
    ...     annotators=["ann", "ben", "cat"],
    ... )
    >>> model = CrowdClassifier(PLCL(n_neighbors=2), random_state=0).fit(X, votes)
    >>> model.transduction_.tolist()
    ['a', 'a', 'a', 'a', 'b', 'b', 'b', 'b']
    >>> model.annotators_.agreement.tolist()
    [1.0, 0.875, 0.25]
    >>> model.predict([[0.15], [1.15]])
    array(['a', 'b'], dtype='<U1')
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "estimator": [HasMethods(["fit", "predict", "predict_proba"])],
        "param_grid": [Mapping, None],
        "smoothing": [Interval(Real, 0, None, closed="neither")],
        "min_share": [Interval(Real, 0, 1, closed="right")],
        "cv": [Interval(Integral, 2, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        param_grid: Mapping[str, Sequence[Any]] | None = None,
        smoothing: float = 1.0,
        min_share: float = 0.01,
        cv: int | None = None,
        max_iter: int = 20,
        tol: float = 0.02,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.smoothing = smoothing
        self.min_share = min_share
        self.cv = cv
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the answers and the features.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Features of the items, in the order of ``votes.items``.
        y : Votes, or table of shape (n, n_annotators)
            The answers; a table is read by :meth:`Votes.from_wide`.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        estimator = self._judge(X, y)
        with unfitted_on_error(self):
            self.estimator_ = fit_candidates(estimator, X, self.candidates_)
        return self

    def _judge(self, X: Any, y: Any) -> Any:
        """Judge annotators and rows; returns the classifier that is to be fitted to the result."""
        self._validate_params()
        _check_learner(self.estimator)
        votes = y if isinstance(y, Votes) else Votes.from_wide(y)
        self._check_rows(X, votes)
        (X,) = indexable(X)  # which some sparse matrices are not
        with unfitted_on_error(self):
            return self._judge_votes(X, votes)

    def _judge_votes(self, X: Any, votes: Votes) -> Any:
        self.classes_ = votes.classes
        start = dawid_skene(votes)
        estimator, held_out = self._choose_parameters(X, votes, start)
        self.n_iter_ = 0
        found, change = self._alternate(held_out, votes, start, self.max_iter)
        if change > self.tol:
            warn_user(
                f"After {self.max_iter} rounds the confidences still change by {change:.1g}. "
                "Raise max_iter, or tol if that is near enough.",
                ConvergenceWarning,
            )
        if isinstance(held_out, HeldOutByRidge) and _is_ensemble(estimator):
            own = self._by_folds(estimator, X, votes)
            found, _ = self._alternate(own, votes, found.confidences, _ENSEMBLE_ROUNDS)
        confidences = found.confidences
        self.feature_trust_, self.evidence_ = found.feature_trust, found.evidence
        self.skills_ = Skills.estimate(votes, confidences, smoothing=self.smoothing)
        self.label_distributions_ = confidences
        self.transduction_ = votes.classes[np.argmax(confidences, axis=1)]
        self.unvoted_ = _unvoted_confidence(votes, confidences)
        self.annotators_: AnnotatorReport = report_annotators(votes, confidences)
        self.candidates_ = self._to_candidates(confidences)
        return estimator

    def _check_rows(self, X: Any, votes: Votes) -> None:
        check_structure(X, "X")
        if _num_samples(X) != len(votes):
            raise ValueError(
                f"X has {_num_samples(X)} rows but the votes have {len(votes)} items: give the "
                "item of each row as items= when the votes are read."
            )
        if len(votes) < (needed := self.cv or 2):
            raise ValueError(
                f"{needed} folds need as many items, the votes have {len(votes)}: lower cv."
                if self.cv
                else f"A row is judged by the others, and the votes have {len(votes)} items: "
                "give at least two."
            )

    def _choose_parameters(
        self, X: Any, votes: Votes, start: NDArray[np.float64]
    ) -> tuple[Any, HeldOut]:
        """The classifier with the best parameters of the grid, and its held-out confidences.

        The best parameters are those under which the answers are most likely.
        """
        points = list(ParameterGrid(self.param_grid or {}))
        models = [clone(self.estimator).set_params(**point) for point in points]
        if len(models) == 1:
            self.best_params_: dict[str, Any] = points[0]
            return models[0], self._hold_out(models[0], X, votes)
        evidence = []
        for model in models:
            find = self._by_folds if _is_ensemble(model) else self._hold_out
            evidence.append(self._judge_rows(find(model, X, votes), votes, start).evidence)
        best = int(np.argmax(evidence))
        self.best_params_ = points[best]
        return models[best], self._hold_out(models[best], X, votes)

    def _hold_out(self, estimator: Any, X: Any, votes: Votes) -> HeldOut:
        """Held-out confidences in closed form where there is one, otherwise by folds."""
        if self.cv is None:
            rows, last = without_preprocessing(X, estimator)
            method = find_ridge_method(last)
            if method is not None:
                everything = self._to_candidates(np.ones((len(votes), len(votes.classes))))
                return HeldOutByRidge(method, rows, everything)
        return self._by_folds(estimator, X, votes)

    def _by_folds(self, estimator: Any, X: Any, votes: Votes) -> HeldOut:
        n_folds = self.cv or min(_FOLDS, len(votes))
        return HeldOutByFolds(estimator, X, n_folds, self.random_state)

    def _alternate(
        self, held_out: HeldOut, votes: Votes, confidences: NDArray[np.float64], max_iter: int
    ) -> tuple["CombinedEvidence", float]:
        """Confidences after some rounds, and how much the last one changed them."""
        name, limit = type(self).__name__, self.n_iter_ + max_iter
        for _ in range(max_iter):
            self.n_iter_ += 1
            found = self._judge_rows(held_out, votes, confidences)
            change = float(np.linalg.norm(found.confidences - confidences)) / len(votes) ** 0.5
            confidences = found.confidences
            report_round(Round(name, self.n_iter_, limit, change, self.tol))
            if change <= self.tol:
                break
        return found, change

    def _judge_rows(
        self, held_out: HeldOut, votes: Votes, confidences: NDArray[np.float64]
    ) -> "CombinedEvidence":
        """New confidences, by the answers and by a classifier that learns from the old ones."""
        skills = Skills.estimate(votes, confidences, smoothing=self.smoothing)
        return combine_evidence(
            skills.log_likelihood(votes),
            held_out(self._to_candidates(confidences)),
            confidences.mean(axis=0),
        )

    def _to_candidates(self, confidences: NDArray[np.float64]) -> CandidateSets:
        best = confidences.max(axis=1, keepdims=True)
        table = np.where(confidences >= self.min_share * best, confidences, 0.0)
        # Sparse, for a dense table with one column would be read as a column of labels.
        sets = as_candidates(sparse.csr_array(table), classes=self.classes_)
        return replace(sets, sparse_mask=False)

    def predict(self, X: Any) -> NDArray[Any]:
        """Most likely label of every row, by its features.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        labels : ndarray of shape (n,)
        """
        check_is_fitted(self)
        labels: NDArray[Any] = self.estimator_.predict(X)
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Confidence of every label, by the features of the rows.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        confidences : ndarray of shape (n, l)
            In the order of ``classes_``; zero for a label that ``estimator_`` has not learned,
            because it is a candidate of no row.
        """
        check_is_fitted(self)
        found = self.estimator_.predict_proba(X)
        return align_columns(found, self.estimator_.classes_, self.classes_)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Share of rows whose predicted label is right.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Their true labels. Votes, in which nothing says what is right, are refused.
        sample_weight : array-like of shape (n,), optional
            Weight of each row.

        Returns
        -------
        score : float
        """
        if isinstance(y, Votes) or np.ndim(y) > 1:
            raise ValueError(
                "score compares predictions with true labels, one for each row, and y has the "
                "votes of annotators: give true labels. Without any, evidence_ of the fit says how "
                "well the features foretell the answers."
            )
        share: float = super().score(X, y, sample_weight)
        return share


class CombinedEvidence(NamedTuple):
    """Confidences from answers and features, the trust in the features, and the evidence."""

    confidences: NDArray[np.float64]
    feature_trust: float
    evidence: float


def combine_evidence(
    log_likelihood: NDArray[np.float64],
    held_out: NDArray[np.float64],
    prior: NDArray[np.float64],
    *,
    max_iter: int = 50,
) -> CombinedEvidence:
    r"""Confidences of the rows from their answers and from held-out outputs of a classifier.

    :math:`T_{ij} \propto \Lambda_{ij} ((1 - \varepsilon) F_{ij} + \varepsilon \pi_j)` with the
    :math:`\varepsilon` of the largest likelihood
    :math:`\prod_i \sum_j \Lambda_{ij} ((1 - \varepsilon) F_{ij} + \varepsilon \pi_j)`, found by
    expectation maximization.

    Parameters
    ----------
    log_likelihood : ndarray of shape (n, l)
        :math:`\log \Lambda`.
    held_out : ndarray of shape (n, l)
        *F*: non-negative, rows sum to one.
    prior : ndarray of shape (l,)
        :math:`\pi`.
    max_iter : int, default=50
        Steps for :math:`\varepsilon`.

    Returns
    -------
    CombinedEvidence
    """
    likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    by_features = np.einsum("ij,ij->i", likelihood, held_out)
    by_prior = likelihood @ prior
    doubt = 0.5
    for _ in range(max_iter):
        share = doubt * by_prior
        doubt = float(np.mean(share / ((1 - doubt) * by_features + share)))
    joint = likelihood * ((1 - doubt) * held_out + doubt * prior)
    total = joint.sum(axis=1, keepdims=True)
    return CombinedEvidence(joint / total, 1 - doubt, float(np.log(total).mean()))


def _unvoted_confidence(votes: Votes, confidences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Confidence in labels that nobody gave, of each item; zero where there are no answers."""
    voted = votes.counts().toarray() > 0
    off = np.where(voted, 0.0, confidences).sum(axis=1)
    return np.where(voted.any(axis=1), off, 0.0)


def _check_learner(estimator: Any) -> None:
    """Raise an error if a classifier takes neither candidate sets nor weights of rows."""
    last = _last(estimator)
    parameters = signature(last.fit).parameters.values()
    takes_weights = any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters)
    if set_learner(estimator) is None and not takes_weights:
        raise TypeError(
            f"{type(last).__name__} cannot learn from confidences: give CrowdClassifier a method "
            "of this library, such as PLCL(), or a classifier whose fit takes sample_weight, such "
            "as LogisticRegression(), alone or at the end of a pipeline."
        )


def _is_ensemble(estimator: Any) -> bool:
    return getattr(_last(estimator), "_is_ensemble", False)


def _last(estimator: Any) -> Any:
    """The last step of a pipeline, or the estimator itself."""
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
