"""Estimate labels and skills of annotators together, from answers and features."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from inspect import signature
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ParameterGrid
from sklearn.utils import get_tags, indexable
from sklearn.utils.validation import check_is_fitted

from ambilearn._utils.array_checks import check_structure
from ambilearn._utils.rounds import Round, report_round, warn_unless_converged
from ambilearn._utils.sklearn_compat import HasMethods, Interval, StrOptions, _num_samples
from ambilearn._utils.types import (
    AnyCandidates,
    Array,
    Estimator,
    Label,
    Matrix,
    Params,
    RandomState,
)
from ambilearn._utils.warnings import ignoring, warn_user
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.confidence.calibration import fit_temperature, scale_scores
from ambilearn.crowd.evidence import CombinedEvidence, at_least, judge_rows, pool_evidence
from ambilearn.crowd.held_out import (
    HeldOut,
    HeldOutByFolds,
    HeldOutByRidge,
    fit_candidates,
    last_step,
)
from ambilearn.crowd.report import AnnotatorReport, report_annotators
from ambilearn.crowd.skills import Skills, Smoothing, dawid_skene
from ambilearn.crowd.votes import Votes, as_votes
from ambilearn.fitting import unfitted_on_error
from ambilearn.learners import (
    align_columns,
    find_ridge_method,
    method_inside,
    without_preprocessing,
)

# Rows with a known label, and the columns of their labels.
KnownRows = tuple[NDArray[np.intp], NDArray[np.intp]]

_FOLDS, _HALVES = 5, 2  # of a classifier that has no closed form, and of one with such a member
_LEAST_WEIGHT = 1e-9  # of a candidate
_LEAST_TRUST = 0.05  # in the features, below which they are useless
_LEAST_TEMPERATURE = 0.5  # inverse; below it, probabilities are far too certain
_ENSEMBLE_ROUNDS = 2  # of halves, after those of a member that has a closed form


class CrowdClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    r"""A classifier that learns from the answers of annotators and estimates their skills.

    The fit alternates between the labels of the rows, the skills of the annotators and a
    classifier. With the likelihood :math:`\Lambda_{ij}` of the answers to row *i* if its label is
    *j* (:class:`~ambilearn.crowd.skills.Skills`) and held-out outputs :math:`F` of the classifier,

    .. math:: T_{ij} \propto \Lambda_{ij} \left((1 - \varepsilon) F_{ij} + \varepsilon \pi_j\right)

    where :math:`\pi` is the share of each label, and :math:`\varepsilon`, the weight of the label
    shares, maximizes the likelihood of the answers. The first *T* is the posterior of Dawid and
    Skene's model, which uses the answers alone; then skills and classifier are estimated from *T*,
    and *T* from both. This is the scheme of Raykar et al. [1]_, with any classifier and held-out
    outputs, so that no answer is evidence for its own row twice.

    *T* is overconfident if annotators make the same mistakes, or if the classifier learned them.
    ``label_distributions_`` is therefore the mean of *T* and of two other models of the rows
    (:func:`~ambilearn.crowd.evidence.pool_evidence`), and ``predict_proba`` scales the outputs of
    the classifier by one temperature, so that their mean confidence matches that of
    ``label_distributions_``.

    The label of a row may be one that no annotator gave. No true label is used.

    Parameters
    ----------
    estimator : classifier
        A method of this library, such as :class:`~ambilearn.PLCL`, which learns from *T* as
        weights of candidates; or any classifier whose ``fit`` takes ``sample_weight``. Either may
        be at the end of a pipeline. It needs ``predict_proba``. A classifier with folds of its own
        (a search, ``CalibratedClassifierCV``, an SVC with probabilities) learns from the most
        likely label of each row.
    param_grid : mapping or None, default=None
        Values of parameters of ``estimator`` to choose from, such as ``{"reg": [0.03, 0.3]}``.
        Before the first round, the values with the largest ``evidence_`` are chosen.
    smoothing : float or "auto", default="auto"
        Weight, in answers, of the confusion matrix of all annotators in that of each annotator.
        "auto" chooses it in every round by the likelihood of the answers
        (:func:`~ambilearn.crowd.skills.choose_smoothing`).
    min_share : float, default=0.01
        The classifier learns from the labels of a row with at least this share of the confidence
        of its best label.
    cv : int or None, default=None
        Folds of the held-out outputs. With None, PL-CL, PL-AGGD, LALO, SURE and PLCP use their
        leave-one-out outputs in closed form, as in :func:`ambilearn.find_doubtful`; a stack or a
        vote uses those of its first such member until they converge, then two rounds of two halves
        of its own; other classifiers use five folds.
    max_iter : int, default=20
        Limit of rounds, without the two rounds of halves of a stack or a vote. A round takes ``cv``
        fits, or none in closed form.
    tol : float, default=0.02
        The rounds end when *T* changes by at most this, :math:`\|T_t - T_{t-1}\|_F / \sqrt n`.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, if there are any; they stay the same in every round.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The labels.
    label_distributions_ : ndarray of shape (n, l)
        Confidences of the training rows.
    transduction_ : ndarray of shape (n,)
        Cleaned label of each training row.
    unvoted_ : ndarray of shape (n,)
        Confidence that no annotator gave the label of a row; zero without answers. It orders the
        rows; its mean is not an estimate of the share of such rows.
    annotators_ : AnnotatorReport
        Answers, agreement with the result, and confusions of each annotator.
    candidates_ : CandidateSets
        The candidates that ``estimator_`` was fitted to: *T*, without the labels below
        ``min_share``. The cleaned label is always a candidate.
    estimator_ : classifier
        The classifier, fitted to all rows.
    skills_ : Skills
        The confusion matrices; ``skills_.smoothing`` is the weight that was chosen.
    feature_trust_ : float
        Weight of the features, :math:`1 - \varepsilon`.
    sharing_ : float
        Probability :math:`\rho` that an annotator makes the mistake that others make in the same
        row (:func:`~ambilearn.crowd.evidence.estimate_sharing`).
    inverse_temperature_ : float
        *b*: ``predict_proba`` is the output of ``estimator_`` to the power of *b*, scaled to the
        sum one. With it, the mean confidence of held-out outputs is the mean of
        ``label_distributions_`` in the predicted labels
        (:func:`~ambilearn.confidence.fit_temperature`). The outputs are those of folds of the
        whole pipeline; if the rounds had no folds, these are fits to two halves of ``candidates_``.
    evidence_ : float
        How well the features predict the answers, without true labels: the mean over the
        rows of :math:`\log \sum_j \Lambda_{ij} ((1 - \varepsilon) F_{ij} + \varepsilon \pi_j) /
        \max_j \Lambda_{ij}`, at most 0. It compares classifiers at equal skills, as ``param_grid``
        does; it does not compare values of ``smoothing``.
    best_params_ : dict
        The parameters chosen from ``param_grid``.
    n_iter_ : int
        Number of rounds.
    n_features_in_ : int
        Number of features, if ``estimator_`` has it.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if ``estimator_`` has them.

    See Also
    --------
    consensus : The same for the outputs of any model, without a fit.
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
        "smoothing": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "min_share": [Interval(Real, 0, 1, closed="right")],
        "cv": [Interval(Integral, 2, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Estimator,
        *,
        param_grid: Mapping[str, Sequence[Any]] | None = None,
        smoothing: Smoothing = "auto",
        min_share: float = 0.01,
        cv: int | None = None,
        max_iter: int = 20,
        tol: float = 0.02,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.smoothing = smoothing
        self.min_share = min_share
        self.cv = cv
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Matrix, y: AnyCandidates) -> Self:
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
        votes = as_votes(y)
        estimator = self._judge(X, votes)
        with unfitted_on_error(self):
            self._calibrate(estimator, X, votes)
            self.estimator_ = fit_candidates(estimator, X, self.candidates_)
            for name in ("n_features_in_", "feature_names_in_"):
                if hasattr(self.estimator_, name):
                    setattr(self, name, getattr(self.estimator_, name))
        return self

    def _judge(self, X: Matrix, votes: Votes, known: Mapping[int, Label] | None = None) -> Any:
        """Estimate skills and labels; returns the classifier to be fitted to ``candidates_``.

        ``known`` has the true labels of some rows: annotators are judged by them, too.
        """
        self._validate_params()
        _check_learner(self.estimator)
        self._check_rows(X, votes)
        (X,) = indexable(X)  # which some sparse matrices are not
        with unfitted_on_error(self):
            return self._judge_votes(X, votes, _known_rows(votes, known or {}))

    def _judge_votes(self, X: Matrix, votes: Votes, known: KnownRows) -> Any:
        self.classes_ = votes.classes
        with ignoring(ConvergenceWarning):  # of the start, not of the rounds
            start = _fix(dawid_skene(votes), known)
        estimator, held_out = self._choose_parameters(X, votes, start)
        self.n_iter_ = 0
        found, outputs, change = self._alternate(held_out, votes, start, known, self.max_iter)
        warn_unless_converged(type(self).__name__, change, self.tol, self.max_iter)
        if isinstance(held_out, HeldOutByRidge) and _is_ensemble(estimator):
            held_out = self._by_folds(estimator, X, votes)
            found, outputs, _ = self._alternate(
                held_out, votes, found.confidences, known, _ENSEMBLE_ROUNDS
            )
        self.feature_trust_, self.evidence_ = found.feature_trust, found.evidence
        pooled = pool_evidence(votes, found.confidences, outputs, self.smoothing)
        self.inverse_temperature_ = pooled.inverse_temperature
        self._warn_of_probabilities(type(last_step(estimator)).__name__)
        self.sharing_, confidences = pooled.sharing, _fix(pooled.confidences, known)
        self.skills_ = Skills.estimate(votes, confidences, smoothing=self.smoothing)
        self.label_distributions_ = confidences
        best = np.argmax(confidences, axis=1)
        self.transduction_ = votes.classes[best]
        self.candidates_ = self._to_candidates(found.confidences, best)
        self.unvoted_ = _unvoted_confidence(votes, confidences)
        self.annotators_: AnnotatorReport = report_annotators(votes, confidences)
        self._closed_form = isinstance(held_out, HeldOutByRidge)
        return estimator

    def _warn_of_probabilities(self, name: str) -> None:
        """Warn if the labels may be worse than those of the answers alone."""
        if self.feature_trust_ < _LEAST_TRUST:
            fault = (
                "do not predict the answers better than the shares of the labels: the labels come "
                "from the answers alone"
            )
        elif self.inverse_temperature_ < _LEAST_TEMPERATURE:
            fault = (
                "are far too certain: the labels may be worse than those of the answers alone "
                "(dawid_skene)"
            )
        else:
            return
        warn_user(
            f"The held-out probabilities of {name} {fault}. Choose another classifier, or "
            "calibrate its probabilities, as with CalibratedClassifierCV."
        )

    def _calibrate(self, estimator: Estimator, X: Matrix, votes: Votes) -> None:
        """Choose the temperature for new rows by folds of the classifier, after :meth:`_judge`.

        Folds of the rounds are used, if there were any. The closed form is less sharp than the
        classifier itself, and its preprocessing is not held out.
        """
        if self._closed_form and len(votes) > 2:  # a method needs two rows
            (X,) = indexable(X)
            with ignoring(Warning):  # which the fit to all rows gives, too
                outputs = self._by_folds(estimator, X, votes)(self.candidates_)
            answered = votes.answers_per_item > 0
            self.inverse_temperature_ = fit_temperature(
                np.log(at_least(outputs[answered])), self.label_distributions_[answered]
            )

    def _check_rows(self, X: Matrix, votes: Votes) -> None:
        check_structure(X, "X")
        if _num_samples(X) != len(votes):
            raise ValueError(
                f"X has {_num_samples(X)} rows but the votes have {len(votes)} items: pass the "
                "item of each row as items= to Votes.from_long."
            )
        if len(votes) < (needed := self.cv or 2):
            raise ValueError(
                f"{needed} folds need at least {needed} items, but the votes have {len(votes)}: "
                "lower cv."
                if self.cv
                else f"A row is judged by the other rows, but the votes have {len(votes)} items: "
                "pass at least two."
            )

    def _choose_parameters(
        self, X: Matrix, votes: Votes, start: NDArray[np.float64]
    ) -> tuple[Any, HeldOut]:
        """The classifier with the best parameters of the grid, and its held-out confidences.

        The best parameters are those under which the answers are most likely.
        """
        points = list(ParameterGrid(self.param_grid or {}))
        models = [clone(self.estimator).set_params(**clone(point, safe=False)) for point in points]
        if len(models) == 1:
            self.best_params_: Params = points[0]
            return models[0], self._hold_out(models[0], X, votes)
        evidence = []
        for model in models:
            find = self._by_folds if _is_ensemble(model) else self._hold_out
            outputs = find(model, X, votes)(self._to_candidates(start))
            evidence.append(judge_rows(votes, start, outputs, self.smoothing).evidence)
        best = int(np.argmax(evidence))
        self.best_params_ = points[best]
        return models[best], self._hold_out(models[best], X, votes)

    def _hold_out(self, estimator: Estimator, X: Matrix, votes: Votes) -> HeldOut:
        """Held-out confidences in closed form where there is one, otherwise by folds."""
        if self.cv is None:
            rows, last = without_preprocessing(X, estimator)
            method = find_ridge_method(last)
            if method is not None:
                everything = self._to_candidates(np.ones((len(votes), len(votes.classes))))
                return HeldOutByRidge(method, rows, everything)
        return self._by_folds(estimator, X, votes)

    def _by_folds(self, estimator: Estimator, X: Matrix, votes: Votes) -> HeldOut:
        method = method_inside(estimator)
        few = len(votes) < 4  # a method needs two rows
        in_part = method is not None and find_ridge_method(method) is not None and not few
        n_folds = self.cv or min(_HALVES if in_part else _FOLDS, len(votes))
        return HeldOutByFolds(estimator, X, n_folds, self.random_state)

    def _alternate(
        self,
        held_out: HeldOut,
        votes: Votes,
        confidences: NDArray[np.float64],
        known: KnownRows,
        max_iter: int,
    ) -> tuple[CombinedEvidence, NDArray[np.float64], float]:
        """Result and held-out outputs of the last of some rounds, and the change in this round."""
        name, limit = type(self).__name__, self.n_iter_ + max_iter
        for _ in range(max_iter):
            self.n_iter_ += 1
            outputs = held_out(self._to_candidates(confidences))
            found = judge_rows(votes, confidences, outputs, self.smoothing)
            found = found._replace(confidences=_fix(found.confidences, known))
            change = float(np.linalg.norm(found.confidences - confidences)) / len(votes) ** 0.5
            confidences = found.confidences
            report_round(Round(name, self.n_iter_, limit, change, self.tol))
            if change <= self.tol:
                break
        return found, outputs, change

    def _to_candidates(
        self, confidences: NDArray[np.float64], labels: NDArray[np.intp] | None = None
    ) -> CandidateSets:
        """Labels with enough confidence as weighted candidates, and one more label of each row."""
        kept = confidences >= self.min_share * confidences.max(axis=1, keepdims=True)
        if labels is not None:
            kept[np.arange(len(labels)), labels] = True
        table = np.where(kept, np.maximum(confidences, _LEAST_WEIGHT), 0.0)
        # Sparse, for a dense table with one column would be read as a column of labels.
        sets = as_candidates(sparse.csr_array(table), classes=self.classes_)
        return replace(sets, sparse_mask=False)

    def predict(self, X: Matrix) -> Array:
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
        return self.estimator_.predict(X)

    def predict_proba(self, X: Matrix) -> NDArray[np.float64]:
        """Confidence of every label, by the features of the rows.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Rows.

        Returns
        -------
        confidences : ndarray of shape (n, l)
            In the order of ``classes_``; zero for a label that ``estimator_`` has not learned,
            because it is a candidate of no row. See ``inverse_temperature_``.
        """
        check_is_fitted(self)
        outputs = self.estimator_.predict_proba(X)
        outputs = align_columns(outputs, self.estimator_.classes_, self.classes_)
        with np.errstate(divide="ignore"):  # a zero stays a zero
            return scale_scores(np.log(outputs), self.inverse_temperature_)

    def score(self, X: Matrix, y: AnyCandidates, sample_weight: ArrayLike | None = None) -> float:
        """Share of rows whose predicted label is right.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Their true labels. Votes are rejected.
        sample_weight : array-like of shape (n,), optional
            Weight of each row.

        Returns
        -------
        score : float
        """
        if isinstance(y, Votes) or np.ndim(y) > 1:
            raise ValueError(
                "score compares predictions with true labels, but y has the votes of annotators: "
                "pass one true label for each row. Without true labels, evidence_ of the fit "
                "measures how well the features predict the answers."
            )
        return super().score(X, y, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = deepcopy(get_tags(self.estimator).input_tags)
        return tags


def _unvoted_confidence(votes: Votes, confidences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Confidence in the labels that are not among the answers; zero without answers."""
    voted = votes.counts().toarray() > 0
    off = np.where(voted, 0.0, confidences).sum(axis=1)
    return np.where(voted.any(axis=1), off, 0.0)


def _known_rows(votes: Votes, known: Mapping[int, Label]) -> KnownRows:
    """Rows and columns of known labels; labels that no annotator gave are left out."""
    column = {label: j for j, label in enumerate(votes.classes.tolist())}
    pairs = [(row, column[label]) for row, label in known.items() if label in column]
    rows, columns = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return rows, columns


def _fix(confidences: NDArray[np.float64], known: KnownRows) -> NDArray[np.float64]:
    """Confidences in which known rows have their label for certain."""
    rows, columns = known
    fixed = confidences.copy()
    fixed[rows] = 0.0
    fixed[rows, columns] = 1.0
    return fixed


def _check_learner(estimator: Estimator) -> None:
    """Raise an error if a classifier takes neither candidate sets nor weights of rows."""
    last = last_step(estimator)
    parameters = signature(last.fit).parameters.values()
    takes_weights = any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters)
    if method_inside(estimator) is None and not takes_weights:
        raise TypeError(
            f"{type(last).__name__} cannot learn from confidences: pass CrowdClassifier a method "
            "of this library, such as PLCL(), or a classifier whose fit takes sample_weight, such "
            "as LogisticRegression(), alone or at the end of a pipeline."
        )


def _is_ensemble(estimator: Estimator) -> bool:
    return getattr(last_step(estimator), "_is_ensemble", False)
