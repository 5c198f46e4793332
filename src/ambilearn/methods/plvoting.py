"""Voting: the mean of several methods' confidences."""

from collections.abc import Mapping, Sequence
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from ambilearn._utils.sklearn_compat import Interval
from ambilearn._utils.types import Estimator, Matrix, RandomState
from ambilearn.backend import Support
from ambilearn.base import normalize_candidate_votes
from ambilearn.methods._ensemble import EnsembleClassifier
from ambilearn.methods._members import (
    as_confidences,
    fit_members,
    mean_confidences,
    member_scores,
    warn_without_method,
    weighted_sum,
)
from ambilearn.methods.ipal import IPAL, restore_class_mass
from ambilearn.methods.plcl import PLCL
from ambilearn.methods.sure import SURE
from ambilearn.rows import TrainingRows


class PLVoting(EnsembleClassifier):
    r"""Mean of the confidences of several classifiers, learned from candidate sets.

    Similar to :class:`sklearn.ensemble.VotingClassifier` with ``voting="soft"``. With weights
    :math:`w_m` that sum to one and the confidences :math:`f^m` of the members,

    .. math:: f_j(x) = \sum_m w_m f^m_j(x), \qquad
              P_{ij} \propto \bar F_{ij}
              \Big( \sum_h F^0_{hj} \Big/ \sum_h \bar F_{hj} \Big)^\eta, \quad
              \bar F = \sum_m w_m P^m

    for new rows and for training rows. The factor moves the mass of each label toward its mass
    in the candidate sets, :math:`F^0_{ij} = [j \in S_i] / |S_i|`, because kernel methods and their
    mean favor frequent labels. IPAL [1]_ uses :math:`\eta = 1`.

    Parameters
    ----------
    estimators : list of (str, estimator), default=None
        Members and their names: methods of this library, alone, at the end of a pipeline or in a
        search. Any other classifier with ``predict_proba`` learns from the mean confidences of the
        methods: every row is repeated for each of its candidates, with the confidence as its
        weight (or has its most likely candidate as label, if ``fit`` has no ``sample_weight``, or
        the member is a search).
        ``"drop"`` instead of an estimator omits the member. The default is PL-CL, SURE and IPAL,
        ``"plcl"``, ``"sure"`` and ``"ipal"``. If a member is a pipeline, a search or a classifier
        of another library, all members receive a data frame unchanged, with its column names.
    weights : sequence of float or mapping of str to float, default=None
        Weight of each member, in the order of ``estimators`` or by name; a member with weight zero
        is not fitted. None gives equal weights.
    restore_mass : float, default=0.5
        Exponent :math:`\eta` between 0 and 1 of the factor in ``label_distributions_``. 1 is better
        if false candidates are often frequent labels, as on the real data sets of the PL-CL paper,
        and 0 if they are random and some labels are rare.
    n_jobs : int, default=None
        Number of processes that fit members at the same time. In one process, members share
        kernel, graph and factorizations; several processes do not.
    n_landmarks : int, optional
        Number of landmarks for every member that supports them and has no number of its own.
    random_state : int, RandomState instance or None, default=None
        Seed for every member without a seed.
    verbose : int, default=0
        Print a line per member.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The labels, in the order of the columns below.
    label_distributions_ : ndarray or csr_array of shape (n, l)
        Confidences P of the training rows: zero outside the candidates, rows sum to one; sparse if
        y is a sparse mask.
    transduction_ : ndarray of shape (n,)
        Disambiguated label of each training row: the candidate with the largest confidence.
    estimators_ : list of estimators
        The fitted members, in the order of ``member_names_``.
    named_estimators_ : Bunch
        The fitted members by name.
    member_names_ : list of str
        Sorted names of the members with a positive weight.
    weights_ : ndarray of shape (n_members,)
        Their weights, which sum to one.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if X is a data frame with string column names.

    See Also
    --------
    PLStacking : The outputs of members become features of another estimator.
    ambilearn.selection.CandidateSearchCV : Chooses members and weights without true labels.

    Notes
    -----
    Scale the features first (:class:`sklearn.preprocessing.StandardScaler`). With one member, all
    results are those of the member. The order of the members does not change the result: they are
    sorted by name.

    ``fit`` accepts ``sample_weight`` if all members do. The default members do not, because IPAL
    has no weights.

    References
    ----------
    .. [1] Zhang, Yu. Solving the partial label learning problem: an instance-based approach.
       IJCAI 2015.

    Examples
    --------
    >>> from ambilearn import IPAL, SURE, PLVoting
    >>> X = [[1.0, 0.1], [1.1, 0.0], [0.9, 0.2], [0.1, 1.0], [0.0, 0.9], [0.2, 1.1]]
    >>> y = [{"cat"}, {"cat", "dog"}, {"cat", "emu"}, {"dog"}, {"dog", "emu"}, {"cat", "dog"}]
    >>> members = [("sure", SURE()), ("ipal", IPAL(n_neighbors=2))]
    >>> model = PLVoting(estimators=members, weights={"sure": 2, "ipal": 1}).fit(X, y)
    >>> model.predict([[1.0, 0.0], [0.0, 1.0]])
    array(['cat', 'dog'], dtype='<U3')
    >>> model.transduction_
    array(['cat', 'cat', 'cat', 'dog', 'dog', 'dog'], dtype='<U3')
    """

    _parameter_constraints = {
        **EnsembleClassifier._parameter_constraints,
        "weights": [list, tuple, np.ndarray, Mapping, None],
        "restore_mass": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        estimators: list[tuple[str, Estimator]] | None = None,
        *,
        weights: Sequence[float] | Mapping[str, float] | None = None,
        restore_mass: float = 0.5,
        n_jobs: int | None = None,
        n_landmarks: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.restore_mass = restore_mass
        self.n_jobs = n_jobs
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.verbose = verbose

    @staticmethod
    def _default_estimators() -> list[tuple[str, Estimator]]:
        return [("plcl", PLCL()), ("sure", SURE()), ("ipal", IPAL())]

    def _fit(self, rows: TrainingRows, candidates: Support) -> None:
        named = self._checked_members()
        weights = self._weights_by_name()
        seed = self._seed()
        members = [
            (name, self._prepare(member, seed)) for name, member in named if weights[name] > 0
        ]
        if not members:
            raise ValueError(
                "There are no members: estimators is empty, or all members are dropped or have "
                "weight zero. Pass at least one."
            )
        warn_without_method(members, candidates)
        self.estimators_ = fit_members(
            members, rows, candidates, n_jobs=self.n_jobs, verbose=self.verbose
        )
        self.member_names_ = [name for name, _ in members]
        total = np.array([weights[name] for name in self.member_names_], dtype=np.float64)
        total /= total.max()  # so that the sum is finite
        self.weights_ = candidates.backend.asarray(total / total.sum())
        p = mean_confidences(self.estimators_, rows.X, candidates, self.weights_)
        if self.restore_mass and len(members) > 1:
            scaled = restore_class_mass(candidates, p, candidates.prior(), self.restore_mass)
            p = normalize_candidate_votes(candidates, scaled)
        self.label_distributions_ = candidates.as_output(p)

    def _learners(self) -> list[tuple[str, Estimator]]:
        weights = self._weights_by_name()
        return [each for each in self._named_members() if weights[each[0]] > 0]

    def _weights_by_name(self) -> dict[str, float]:
        """Weight of every member, including dropped members."""
        given = self._default_estimators() if self.estimators is None else self.estimators
        names = [name for name, _ in given]
        if self.weights is None:
            return dict.fromkeys(names, 1.0)
        if isinstance(self.weights, Mapping):
            if set(self.weights) != set(names):
                raise ValueError(
                    f"weights names {sorted(self.weights)}, but the members are {sorted(names)}: "
                    "pass one weight per member."
                )
            found = dict(self.weights)
        else:
            if len(self.weights) != len(names):
                raise ValueError(
                    f"weights has {len(self.weights)} entries but there are {len(names)} members "
                    f"({', '.join(names)}): pass one weight per member."
                )
            found = dict(zip(names, self.weights, strict=True))
        for name, weight in found.items():
            if not (isinstance(weight, Real) and np.isfinite(weight) and weight >= 0):
                raise ValueError(
                    f"The weight of {name!r} is {weight!r}: weights must be finite numbers and not "
                    "negative."
                )
        return found

    def _scores(self, X: Matrix) -> NDArray[np.float64]:
        scores = [member_scores(member, X, self.classes_) for member in self.estimators_]
        if len(scores) == 1:
            return scores[0]
        return weighted_sum(self.weights_, map(as_confidences, self.estimators_, scores))

    def _confidences(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        if len(self.estimators_) == 1:
            return as_confidences(self.estimators_[0], scores)
        return scores  # already the mean of confidences
