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
from sklearn.model_selection import KFold, ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable
from sklearn.utils.validation import check_is_fitted

from ambilearn._utils.fit_state import unfitted_on_error
from ambilearn._utils.rounds import Round, report_round
from ambilearn._utils.sklearn_compat import HasMethods, Interval, _num_samples, _safe_indexing
from ambilearn._utils.structure import check_structure
from ambilearn._utils.warnings import warn_user
from ambilearn.backend import HOST
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.crowd.dawid_skene_model import dawid_skene
from ambilearn.crowd.report import AnnotatorReport, report_annotators
from ambilearn.crowd.skills import Skills
from ambilearn.crowd.unvoted import unvoted_confidence
from ambilearn.crowd.votes import Votes
from ambilearn.learners import align_columns, set_learner, weight_argument

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]  # rows to learn from, rows to judge


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
    cv : int, default=5
        Folds of the held-out confidences.
    max_iter : int, default=20
        Limit of rounds, of ``cv`` fits each.
    tol : float, default=0.02
        The rounds end when T changes by at most this, :math:`\|T_t - T_{t-1}\|_F / \sqrt n`.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, which stay the same in every round.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The labels.
    label_distributions_ : ndarray of shape (n, l)
        Confidences T of the training rows.
    transduction_ : ndarray of shape (n,)
        Cleaned label of each training row.
    unvoted_ : ndarray of shape (n,)
        Confidence that no annotator gave the label of a row; zero without answers. It
        tells which rows; :func:`estimate_unvoted_share` tells how many.
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
    estimate_unvoted_share : Share of rows with a label that no annotator gave.

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
        "cv": [Interval(Integral, 2, None, closed="left")],
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
        cv: int = 5,
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
        self._validate_params()
        _check_learner(self.estimator)
        votes = y if isinstance(y, Votes) else Votes.from_wide(y)
        self._check_rows(X, votes)
        (X,) = indexable(X)  # which some sparse matrices are not
        with unfitted_on_error(self):
            self._fit(X, votes)
        return self

    def _fit(self, X: Any, votes: Votes) -> None:
        self.classes_ = votes.classes
        splitter = KFold(self.cv, shuffle=True, random_state=self.random_state)
        folds = list(splitter.split(votes.items))
        confidences, change = dawid_skene(votes), np.inf
        skills = Skills.estimate(votes, confidences, smoothing=self.smoothing)
        likelihood = skills.log_likelihood(votes)
        estimator = self._choose_parameters(X, folds, confidences, likelihood)
        for n_iter in range(1, self.max_iter + 1):
            self.n_iter_ = n_iter
            found = self._judge_rows(estimator, X, folds, confidences, likelihood)
            change = float(np.linalg.norm(found.confidences - confidences)) / len(votes) ** 0.5
            confidences = found.confidences
            report_round(Round(type(self).__name__, n_iter, self.max_iter, change, self.tol))
            skills = Skills.estimate(votes, confidences, smoothing=self.smoothing)
            likelihood = skills.log_likelihood(votes)
            if change <= self.tol:
                break
        else:
            warn_user(
                f"After {self.max_iter} rounds the confidences still change by {change:.1g}. "
                "Raise max_iter, or tol if that is near enough.",
                ConvergenceWarning,
            )
        self.feature_trust_, self.evidence_ = found.feature_trust, found.evidence
        self.skills_ = skills
        self.label_distributions_ = confidences
        self.transduction_ = votes.classes[np.argmax(confidences, axis=1)]
        self.unvoted_ = unvoted_confidence(votes, confidences)
        self.annotators_: AnnotatorReport = report_annotators(votes, confidences)
        self.candidates_ = self._to_candidates(confidences)
        self.estimator_ = _fit_candidates(estimator, X, self.candidates_)

    def _check_rows(self, X: Any, votes: Votes) -> None:
        check_structure(X, "X")
        if _num_samples(X) != len(votes):
            raise ValueError(
                f"X has {_num_samples(X)} rows but the votes have {len(votes)} items: give the "
                "item of each row as items= when the votes are read."
            )
        if len(votes) < self.cv:
            raise ValueError(
                f"{self.cv} folds need as many items, the votes have {len(votes)}: lower cv."
            )

    def _choose_parameters(
        self,
        X: Any,
        folds: list[Fold],
        confidences: NDArray[np.float64],
        likelihood: NDArray[np.float64],
    ) -> Any:
        """The classifier with the parameters of the grid that predict the answers best."""
        points = list(ParameterGrid(self.param_grid or {}))
        models = [clone(self.estimator).set_params(**point) for point in points]
        best = 0
        if len(models) > 1:
            found = [self._judge_rows(m, X, folds, confidences, likelihood) for m in models]
            best = int(np.argmax([each.evidence for each in found]))
        self.best_params_: dict[str, Any] = points[best]
        return models[best]

    def _judge_rows(
        self,
        estimator: Any,
        X: Any,
        folds: list[Fold],
        confidences: NDArray[np.float64],
        likelihood: NDArray[np.float64],
    ) -> "CombinedEvidence":
        """New confidences, from the answers and from a classifier fitted to the old ones."""
        candidates = self._to_candidates(confidences)
        held_out = np.zeros(candidates.shape)
        for train, test in folds:
            model = _fit_candidates(estimator, _safe_indexing(X, train), candidates[train])
            found = model.predict_proba(_safe_indexing(X, test))
            held_out[test] = align_columns(found, model.classes_, self.classes_)
        return combine_evidence(likelihood, held_out, confidences.mean(axis=0))

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


def _check_learner(estimator: Any) -> None:
    """Raise an error if a classifier takes neither candidate sets nor weights of rows."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    parameters = signature(last.fit).parameters.values()
    takes_weights = any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters)
    if set_learner(estimator) is None and not takes_weights:
        raise TypeError(
            f"{type(last).__name__} cannot learn from confidences: give CrowdClassifier a method "
            "of this library, such as PLCL(), or a classifier whose fit takes sample_weight, such "
            "as LogisticRegression(), alone or at the end of a pipeline."
        )


def _fit_candidates(estimator: Any, X: Any, candidates: CandidateSets) -> Any:
    """A clone, fitted to weighted candidates: as y, or as repeated rows with weights."""
    model = clone(estimator)
    if set_learner(model) is not None:
        return model.fit(X, candidates)
    support = HOST.support(candidates)
    labels = candidates.classes[candidates.labels]
    rows = _safe_indexing(X, support.rows)
    name = weight_argument(model) or "sample_weight"
    return model.fit(rows, labels, **{name: support.prior()})
