"""Fit a method to candidate sets in which a person has settled some rows."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

from ambilearn._utils.sklearn_compat import _num_samples
from ambilearn._utils.types import AnyCandidates, Estimator, Label, Matrix, Params
from ambilearn.backend import HOST
from ambilearn.backend.arrays import to_numpy
from ambilearn.base import PartialLabelClassifier
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.confidence.doubt import Doubt, LabelDoubt
from ambilearn.confidence.held_out import hold_out
from ambilearn.confidence.missing_truth import doubt_of_outputs
from ambilearn.learners import find_ridge_method, method_inside, without_preprocessing
from ambilearn.methods.plcl import PLCL
from ambilearn.tables.candidate_table import CandidateTable
from ambilearn.tables.corrections import apply_corrections
from ambilearn.tables.description import Corrections
from ambilearn.tables.devices import with_own_device
from ambilearn.tables.fit import check_images, fit_table
from ambilearn.tables.given_labels import correct_table
from ambilearn.tables.judging import judge_table
from ambilearn.tables.methods import make_method
from ambilearn.tables.preprocessing import fit_preprocessing

Labels = Mapping[int, Label]
Judge = Callable[[Labels], NDArray[np.float64]]
_FEW_ROWS = 1000  # up to these, the doubt of an ensemble takes five fits, above two
_MAX_EXACT_ROWS, _LANDMARKS = 5000, 500  # of PL-CL in the place of a method without a closed form


class Learned(NamedTuple):
    """Result of a fit.

    Parameters
    ----------
    sets : CandidateSets
        What the method was fitted to: a settled row has its label as only candidate. With
        annotators, the candidates that a person chooses from.
    confidences : ndarray of shape (n_pairs,)
        Confidence of every candidate.
    doubt : Doubt or None
        Held-out doubt in the candidates; None if there are too few rows, or all are settled.
    labels : dict of int to label
        The settled rows.
    judged : ndarray of shape (n, l) or None
        Confidence of every label by the annotators and the method.
    """

    sets: CandidateSets
    confidences: NDArray[np.float64]
    doubt: Doubt | None
    labels: dict[int, Label]
    judged: NDArray[np.float64] | None = None


class Learner:
    """Fits an estimator repeatedly to the same rows with changing candidate sets.

    Kernel, factorization and neighbors are computed once; only the sets change.

    Parameters
    ----------
    estimator : estimator
        A method of this library, alone, at the end of a pipeline, or in a search. It is cloned.
    X : array-like, data frame or sparse matrix of shape (n, d)
        Rows.
    y : candidate sets of n rows
        What is known before the review.
    doubt : bool, default=True
        Whether to look for rows whose true label is not a candidate.
    trust_candidates : bool, default=False
        Whether the true label of every row is a candidate, so that its doubt is zero.
    random_state : int, default=0
        Seed of these folds.
    """

    def __init__(
        self,
        estimator: Estimator,
        X: Matrix,
        y: AnyCandidates,
        *,
        doubt: bool = True,
        trust_candidates: bool = False,
        random_state: int = 0,
    ) -> None:
        if method_inside(estimator) is None:
            raise TypeError(
                f"{type(estimator).__name__} does not learn from candidate sets: pass a method of "
                "this library, such as PLCL(), alone, at the end of a pipeline, or in a search."
            )
        self.sets = as_candidates(to_numpy(y), n_rows=_num_samples(X))
        self.shown = self.sets  # the candidates that a person chooses from
        # In host memory, because the update after an answer is computed there.
        self.X, self.estimator = without_preprocessing(to_numpy(X), estimator)
        if isinstance(self.X, list) and np.ndim(self.X[0]) == 1:
            self.X = np.asarray(self.X)
        kind = getattr(getattr(self.X, "dtype", None), "kind", "f")
        # Otherwise they are images, for which nothing has a closed form.
        self._has_numbers = len(getattr(self.X, "shape", ())) == 2 and kind not in "OSU"
        self.doubt = doubt and self.n_rows > 2
        self.trust_candidates = trust_candidates
        self.random_state = random_state
        self._shares_rows = (
            isinstance(self.estimator, PartialLabelClassifier) and self.estimator._shares_rows
        )
        self._rows: Any = None  # shared by all fits
        self._judge: Judge | None = None
        self._regressor: Any = None

    def judging(self, judge: Judge, shown: CandidateSets) -> Self:
        """Use the confidences that a function returns for the settled rows.

        For answers of several annotators, whose reliability is estimated anew in each fit, together
        with the method. ``shown`` has the candidates that a person chooses from. The function
        returns the confidences of all labels, shape (n, l), in the order of ``shown.classes``.
        """
        self._judge, self.shown = judge, shown
        return self

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.sets)

    def learn(self, labels: Labels) -> Learned:
        """Fit to the sets with these settled rows, and look for those without their true label."""
        labels = dict(labels)
        given = apply_corrections(self.sets, Corrections(labels))
        judged = None if self._judge is None else self._judge(labels)
        sets = given if judged is None else self.shown
        found = self._fit(sets) if judged is None else judged
        confidences = HOST.support(sets).gather(found)
        self._prepare_update(sets)
        doubt = None
        if self.doubt and len(labels) < self.n_rows:
            if judged is None:
                doubt = self._find_doubt(given)
            else:
                doubt = Doubt.in_answers(judged, self.shown.classes, given)
            doubt = doubt.settled(range(self.n_rows) if self.trust_candidates else labels)
        return Learned(sets, confidences, doubt, labels, judged)

    def _prepare_update(self, sets: CandidateSets) -> None:
        """Compute once what :meth:`influence` needs."""
        if self._regressor is None and self._has_numbers:
            method = find_ridge_method(self.estimator) or self._substitute()
            if self._rows is None:
                self._rows = method._training_rows(self.X)
            self._regressor = method._make_regressor(self._rows, sets)

    def _fit(self, sets: CandidateSets) -> NDArray[np.float64]:
        """Confidences of all labels by the method."""
        if not self._shares_rows:
            model: Estimator = method_inside(clone(self.estimator).fit(self.X, sets))
            return to_numpy(model.label_distributions_)
        if self._rows is None:
            self._rows = self.estimator._training_rows(self.X)
        return to_numpy(clone(self.estimator)._fit_rows(self._rows, sets).label_distributions_)

    def _substitute(self) -> Any:
        """Method with a closed form for one without; of low rank if there are many rows."""
        n_landmarks = _LANDMARKS if self.n_rows > _MAX_EXACT_ROWS else None
        return PLCL(n_landmarks=n_landmarks, random_state=self.random_state)

    def _find_doubt(self, sets: CandidateSets) -> Doubt:
        """Doubt in the sets, for an ensemble by fits to folds of the rows.

        In closed form it would be that of one member, which finds fewer sets without their label.
        """
        support, seed = HOST.support(sets), self.random_state
        learner: Estimator = method_inside(self.estimator)
        n_folds = (5 if self.n_rows <= _FEW_ROWS else 2) if learner._is_ensemble else None
        rows = self._rows if n_folds is None else None
        held_out = hold_out(self.estimator, self.X, support, n_folds, seed, rows=rows)
        return doubt_of_outputs(held_out, support, seed).in_sets()

    def nearest(self, row: int) -> NDArray[np.intp]:
        """All rows by their distance from a row in the features of the method, itself first.

        Empty for images.
        """
        if not self._has_numbers:
            return np.empty(0, dtype=np.intp)
        squares = self.X.multiply(self.X) if sparse.issparse(self.X) else np.square(self.X)
        products = self.X @ self.X[[row]].T
        products = products.toarray() if sparse.issparse(products) else np.asarray(products)
        distances = np.asarray(squares.sum(axis=1)).ravel() - 2 * products.ravel()
        distances[row] = -np.inf
        return np.argsort(distances, kind="stable")

    @property
    def has_update(self) -> bool:
        """Whether answers change the outputs of other rows before the next fit."""
        return self._regressor is not None

    def influence(
        self, rows: NDArray[np.intp], changes: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """How new targets of some rows, shape (k, c), change the held-out outputs, shape (n, c).

        Available if ``has_update``.
        """
        return self._regressor.influence(rows, changes)


class GivenLabelLearner(Learner):
    """Compares the given label of each row with those of similar rows, in the place of a fit.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        Rows.
    given : CandidateSets
        The given label of each row.
    shown : CandidateSets
        The labels that a person chooses from.
    correct : callable
        Function of the settled rows that returns the doubt in all labels.
    random_state : int, default=0
        Seed of the substitute that accounts for answers.
    """

    def __init__(
        self,
        X: Matrix,
        given: CandidateSets,
        shown: CandidateSets,
        correct: Callable[[Labels], LabelDoubt],
        *,
        random_state: int = 0,
    ) -> None:
        super().__init__(PLCL(), X, given, random_state=random_state)
        self.shown, self._correct = shown, correct
        self._columns = {label: j for j, label in enumerate(shown.classes.tolist())}

    def learn(self, labels: Labels) -> Learned:
        """Compare the labels, of which some are settled."""
        labels = dict(labels)
        doubt = self._correct(labels)
        judged = np.zeros((self.n_rows, len(self._columns)))
        assert doubt.classes is not None
        for j, label in enumerate(doubt.classes.tolist()):
            if label in self._columns:  # not one that a person has typed
                judged[:, self._columns[label]] = np.nan_to_num(doubt.probabilities[:, j])
        sets = self.shown
        self._prepare_update(sets)
        # Without a better one, the given label stays.
        columns = [self._columns[label] for label in self.sets.classes.tolist()]
        at = np.arange(self.n_rows), np.array(columns)[self.sets.labels]
        judged[at] = np.maximum(judged[at], 1e-9)
        confidences = HOST.support(sets).gather(judged)
        left = None if len(labels) == self.n_rows else doubt
        return Learned(sets, confidences, left, labels, judged)


def make_learner(
    table: CandidateTable,
    method: str,
    params: Params,
    *,
    tune: bool = False,
    random_state: int = 0,
    device: str | None = None,
    doubt: bool = True,
    trust_candidates: bool = False,
    progress: Callable[[str], None] = lambda text: None,
) -> Learner:
    """The learner of a table without corrections, judged if annotators are to be judged.

    The other arguments are those of :func:`ambilearn.tables.fit_table`. Parameters are chosen once.
    ``doubt`` and ``trust_candidates`` are those of :class:`Learner`. ``device`` is for methods with
    a parameter of this name.
    """
    estimator = make_method(method, params, n_rows=len(table.frame), random_state=random_state)
    if tune:
        model = fit_table(
            table,
            method,
            params,
            tune=True,
            random_state=random_state,
            device=device,
            progress=progress,
        )
        estimator = clone(model.method)
    check_images(table, estimator)
    estimator, _ = with_own_device(estimator, device)
    _, X = fit_preprocessing(table, progress)
    learner = Learner(
        estimator,
        X,
        table.given,
        doubt=doubt,
        trust_candidates=trust_candidates,
        random_state=random_state,
    )
    votes = table.votes
    if table.judgment is None or votes is None:
        return learner

    def judge(labels: Labels) -> NDArray[np.float64]:
        corrected = table.with_checked(labels)
        judged = judge_table(corrected, method, params, random_state=random_state, new_rows=False)
        assert judged.table.judged is not None
        return judged.table.judged

    pairs = zip(table.given.to_sets(), table.candidates.to_sets(), strict=True)
    either = as_candidates([given | judged for given, judged in pairs], classes=votes.classes)
    return learner.judging(judge, either)


def make_given_label_learner(
    table: CandidateTable,
    shown: CandidateSets,
    method: str | None,
    params: Params | None,
    *,
    random_state: int = 0,
    progress: Callable[[str], None] = lambda text: None,
) -> Learner:
    """The learner of a table with one label per row; ``shown`` are the labels to choose from."""
    _, X = fit_preprocessing(table, progress)

    def correct(labels: Labels) -> LabelDoubt:
        checked = table.with_checked(labels)
        options: dict[str, Any] = {"random_state": random_state, "prefix": None}
        return correct_table(checked, method, params, **options).doubt

    return GivenLabelLearner(X, table.candidates, shown, correct, random_state=random_state)
