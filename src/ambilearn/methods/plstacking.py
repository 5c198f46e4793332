"""Stacking: the outputs of some methods are features of others."""

from contextlib import suppress
from typing import Any, Self

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import Tags, get_tags
from sklearn.utils.sparsefuncs import mean_variance_axis

from ambilearn._utils.sklearn_compat import HasMethods
from ambilearn._utils.types import Estimator, Matrix, Params, RandomState
from ambilearn.backend import Support
from ambilearn.kernel import MAX_DENSE_LABELS
from ambilearn.learners import method_inside, split_rows
from ambilearn.methods._ensemble import EnsembleClassifier, check_member
from ambilearn.methods._members import (
    as_confidences,
    candidate_confidences,
    fit_members,
    mean_confidences,
    member_scores,
    member_train_scores,
    warn_without_method,
)
from ambilearn.methods.ipal import IPAL
from ambilearn.methods.plcl import PLCL
from ambilearn.methods.plvoting import PLVoting
from ambilearn.methods.sure import SURE
from ambilearn.rows import TrainingRows
from ambilearn.validation import validate_rows

_CONSTANT = 1e-10  # an output that varies less, relative to its size, is rounding


class PLStacking(EnsembleClassifier):
    r"""Stack of methods: the outputs of some are features of others.

    Similar to :class:`sklearn.ensemble.StackingClassifier`, for candidate sets. The members learn
    from :math:`X`. Their scaled outputs on the training rows, one column per member and label,
    are appended to :math:`X`, and the final estimator learns from the same candidate sets and
    :math:`[X, Z]`:

    .. math:: z^m_j(x) = s \, \frac{f^m_j(x) - \operatorname{mean}_i f^m_j(x_i)}
                                  {\operatorname{std}_i f^m_j(x_i)}

    where :math:`s^2` is the mean variance of the features that are not constant, so that an output
    has the weight of a feature; without ``passthrough``, :math:`s = 1`.

    The output of a kernel classifier for a training row depends on the candidate sets of the row
    and of its neighbors. By default, the outputs are therefore those on the training rows; for
    candidate sets, this is more accurate than out-of-fold outputs.

    Parameters
    ----------
    estimators : list of (str, estimator), default=None
        Members of the first level and their names, as in :class:`~ambilearn.PLVoting`. The default
        is PL-CL and SURE, ``"plcl"`` and ``"sure"``. Without members (``[]``, or all of them
        ``"drop"``), the stack equals its final estimator.
    final_estimator : estimator, default=None
        Learns from the rows with the outputs; a classifier of another library learns from the mean
        confidences of the members. Pass a stack for more levels. The default is
        ``PLVoting(estimators=[("plcl", PLCL()), ("ipal", IPAL())])``, the mean of PL-CL and IPAL.
    passthrough : bool, default=True
        Whether the final estimator learns from X and the outputs, or only from the outputs.
    cv : int, splitter or iterable of splits, default=None
        None uses the outputs of the members on their training rows. A number of shuffled folds, or
        a splitter that does not use labels, gives out-of-fold outputs.
    n_jobs : int, default=None
        Number of processes that fit members at the same time. In one process, members share
        kernel, graph and factorizations; several processes do not.
    n_landmarks : int, optional
        Number of landmarks for every member that supports them and has no number of its own,
        including the final estimator.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, and of every member without a seed.
    verbose : int, default=0
        Print a line per member.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
        The labels, in the order of the columns below.
    label_distributions_ : ndarray or csr_array of shape (n, l)
        Confidences of the final estimator in the candidates of the training rows: zero outside the
        candidates, rows sum to one; sparse if y is a sparse mask.
    transduction_ : ndarray of shape (n,)
        Disambiguated label of each training row: the candidate with the largest confidence.
    estimators_ : list of estimators
        The fitted members, in the order of ``member_names_``.
    named_estimators_ : Bunch
        The fitted members by name.
    member_names_ : list of str
        Sorted names of the members.
    final_estimator_ : estimator
        The fitted final estimator.
    output_mean_, output_scale_ : ndarray of shape (n_members * l,)
        Mean of the outputs over the training rows, and their standard deviation divided by *s*;
        infinite for a constant output, so that it becomes zero.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, if X is a data frame with string column names.

    See Also
    --------
    PLVoting : The mean of several members.
    ambilearn.selection.CandidateSearchCV : Chooses members and parameters without true labels.

    Notes
    -----
    Scale the features first (:class:`sklearn.preprocessing.StandardScaler`). A fit takes 2 to 3.5
    times as long as a fit of PL-CL.

    The outputs of a member are its ``train_output_``. A method without this attribute, such as
    IPAL, and a classifier of another library predict the training rows like new rows, which is
    overconfident: pass ``cv`` for such members.

    The order of the members does not change the result: they are sorted by name. The outputs are
    dense: with a sparse mask of more than 1000 labels the fit raises an error;
    :class:`~ambilearn.PLVoting` has no such limit.

    ``fit`` accepts ``sample_weight`` if all members and the final estimator do. The default stack
    does not, because IPAL has no weights.

    References
    ----------
    .. [1] Wolpert. Stacked generalization. Neural Networks 5(2), 241-259, 1992.

    Examples
    --------
    >>> from ambilearn import IPAL, PLStacking
    >>> X = [[1.0, 0.1], [1.1, 0.0], [0.9, 0.2], [0.1, 1.0], [0.0, 0.9], [0.2, 1.1]]
    >>> y = [{"cat"}, {"cat", "dog"}, {"cat", "emu"}, {"dog"}, {"dog", "emu"}, {"cat", "dog"}]
    >>> stack = PLStacking(final_estimator=IPAL(n_neighbors=2)).set_params(plcl__n_neighbors=2)
    >>> stack.fit(X, y).predict([[1.0, 0.0], [0.0, 1.0]])
    array(['cat', 'dog'], dtype='<U3')
    >>> stack.transduction_
    array(['cat', 'cat', 'cat', 'dog', 'dog', 'dog'], dtype='<U3')
    """

    _parameter_constraints = {
        **EnsembleClassifier._parameter_constraints,
        "final_estimator": [HasMethods(["fit", "predict"]), None],
        "passthrough": ["boolean"],
        "cv": ["cv_object"],
    }
    _tuning_grid = {"passthrough": (True, False)}

    def __init__(
        self,
        estimators: list[tuple[str, Estimator]] | None = None,
        *,
        final_estimator: Estimator = None,
        passthrough: bool = True,
        cv: Any = None,
        n_jobs: int | None = None,
        n_landmarks: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimators = estimators
        self.final_estimator = final_estimator
        self.passthrough = passthrough
        self.cv = cv
        self.n_jobs = n_jobs
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.verbose = verbose

    @staticmethod
    def _default_estimators() -> list[tuple[str, Estimator]]:
        return [("plcl", PLCL()), ("sure", SURE())]

    def set_params(self, **params: Any) -> Self:
        """Set parameters, members (``"drop"`` omits one), and parameters of members.

        Parameters
        ----------
        **params
            Values by name, such as ``plcl__alpha=1.0`` or ``final_estimator__weights=(2, 1)``.
            Default members can be named as well.

        Returns
        -------
        self : object
        """
        inside = any(name.startswith("final_estimator__") for name in params)
        if inside and self.final_estimator is None and "final_estimator" not in params:
            self.final_estimator = _default_final_estimator()
        return super().set_params(**params)

    def _settable_params(self) -> Params:
        params = super()._settable_params()
        if self.final_estimator is None:
            final = _default_final_estimator().get_params()
            params |= {f"final_estimator__{name}": value for name, value in final.items()}
        return params

    def _fit(self, rows: TrainingRows, candidates: Support) -> None:
        members = self._checked_members()
        final = self._final()
        check_member("final_estimator", final)
        self._check_sizes(candidates, members)
        if members:
            self._features_of_next_level(rows.X)
        warn_without_method(members or [("final_estimator", final)], candidates)

        seed = self._seed()
        prepared = [(name, self._prepare(member, seed)) for name, member in members]
        self.estimators_ = fit_members(
            prepared, rows, candidates, n_jobs=self.n_jobs, verbose=self.verbose
        )
        self.member_names_ = [name for name, _ in members]
        self.output_mean_ = self.output_scale_ = candidates.backend.asarray(np.empty(0))
        next_rows = self._scale_outputs(prepared, rows, candidates, seed) if members else rows
        confidences = None
        if method_inside(final) is None:
            confidences = mean_confidences(self.estimators_, rows.X, candidates)
        (self.final_estimator_,) = fit_members(
            [("final_estimator", self._prepare(final, seed))],
            next_rows,
            candidates,
            confidences=confidences,
            verbose=self.verbose,
        )
        p = candidate_confidences(self.final_estimator_, next_rows.X, candidates)
        self.label_distributions_ = candidates.as_output(p)

    def _scale_outputs(
        self,
        members: list[tuple[str, Estimator]],
        rows: TrainingRows,
        candidates: Support,
        seed: int | None,
    ) -> TrainingRows:
        """Rows of the final estimator; sets the mean and the scale of the members' outputs."""
        if self.cv is None:
            outputs = (
                member_train_scores(each, rows.X, candidates.classes) for each in self.estimators_
            )
            Z = concat_columns(*outputs)
        else:
            Z = self._held_out_outputs(members, rows, candidates, seed)
        xp = array_namespace(Z)
        self.output_mean_, scale = xp.mean(Z, axis=0), xp.std(Z, axis=0)
        # The rounding of a constant must not separate equal rows.
        is_constant = scale <= _CONSTANT * xp.max(xp.abs(Z), axis=0)
        self.output_scale_ = xp.where(is_constant, xp.inf, scale / self._spread(rows.X))
        return TrainingRows(self._append_outputs(rows.X, Z))

    def _spread(self, X: Matrix) -> float:
        """Root of the mean variance of the features of the next level that are not constant."""
        features = self._features_of_next_level(X)
        if features is None:
            return 1.0
        if sparse.issparse(features):
            variances = mean_variance_axis(features, axis=0)[1]
        else:
            variances = array_namespace(features).var(features, axis=0)
        xp = array_namespace(variances)
        varying = variances[variances > _CONSTANT**2 * xp.max(variances)]
        return float(xp.mean(varying)) ** 0.5 if varying.shape[0] else 1.0

    def _held_out_outputs(
        self,
        members: list[tuple[str, Estimator]],
        rows: TrainingRows,
        candidates: Support,
        seed: int | None,
    ) -> NDArray[np.float64]:
        """Out-of-fold outputs of the members, shape (n, n_members * l)."""
        backend, sets = candidates.backend, candidates.sets
        parts: list[Matrix] = []
        n_rows = candidates.n_rows
        position = np.full(n_rows, -1)  # of each row in the parts
        n_held_out = 0
        for split in split_rows(self.cv, rows.X, n_rows, seed):
            train, test = (np.arange(n_rows)[part] for part in split)  # from masks and lists
            X_test = rows.take(test, train if self._pairwise else None).X
            held_in = rows.take(train, train if self._pairwise else None)
            fitted = fit_members(members, *held_in.for_sets(sets[train]), n_jobs=self.n_jobs)
            parts.append(
                concat_columns(*(member_scores(each, X_test, sets.classes) for each in fitted))
            )
            position[test] = n_held_out + np.arange(len(test))
            n_held_out += len(test)
        if (position < 0).any():
            raise ValueError(
                f"No fold of cv={self.cv!r} holds out row {int(np.argmin(position))}: every row "
                "must be held out once, as with KFold."
            )
        return backend.take_rows(array_namespace(*parts).concat(parts), position)

    def _final(self) -> Estimator:
        """The final estimator; the default one has the ``n_jobs`` and ``verbose`` of the stack."""
        if self.final_estimator is not None:
            return self.final_estimator
        return _default_final_estimator().set_params(n_jobs=self.n_jobs, verbose=self.verbose)

    def _learners(self) -> list[tuple[str, Estimator]]:
        return [*self._named_members(), ("final_estimator", self._final())]

    def _check_sizes(self, candidates: Support, members: list[tuple[str, Estimator]]) -> None:
        if not members:
            return
        if candidates.sets.sparse_mask and candidates.n_labels > MAX_DENSE_LABELS:
            raise ValueError(
                f"Stacking appends a column for each member and label to X, and there are "
                f"{candidates.n_labels} labels in a sparse mask: use PLVoting, which needs no "
                "dense matrix of rows and labels, or pass a dense mask if memory allows."
            )
        if self._pairwise and self.passthrough:
            raise ValueError(
                "The members need a kernel matrix as X, to which no outputs can be appended: pass "
                "passthrough=False, so that the final estimator learns only from the outputs."
            )
        if get_tags(self._final()).input_tags.pairwise:
            raise ValueError(
                "The final estimator learns from the outputs of the members, which are not a "
                "kernel matrix: use another kernel than 'precomputed'."
            )

    def _scores(self, X: Matrix) -> NDArray[np.float64]:
        return member_scores(self.final_estimator_, self._with_outputs(X), self.classes_)

    def _with_outputs(self, X: Matrix) -> Matrix:
        """New rows with the outputs of the members, for the final estimator."""
        if not self.estimators_:
            return X
        outputs = (member_scores(each, X, self.classes_) for each in self.estimators_)
        return self._append_outputs(X, concat_columns(*outputs))

    def _append_outputs(self, X: Matrix, Z: NDArray[np.float64]) -> Matrix:
        """The features and the scaled outputs, or the latter alone without passthrough."""
        Z = (Z - self.output_mean_) / self.output_scale_
        features = self._features_of_next_level(X)
        return Z if features is None else concat_columns(features, Z)

    def _features_of_next_level(self, X: Matrix) -> Matrix:
        """X as an array or sparse matrix for the final estimator; None without passthrough."""
        if not self.passthrough or not hasattr(X, "columns"):
            return X if self.passthrough else None
        try:
            return validate_rows(self, X, reset=False)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"The final estimator also learns from X and needs numbers: {error} Or pass "
                "passthrough=False, so that it learns only from the outputs of the members."
            ) from error

    def _confidences(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return as_confidences(self.final_estimator_, scores)

    @property
    def _pairwise(self) -> bool:
        return get_tags(self).input_tags.pairwise

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        with suppress(AttributeError, TypeError, ValueError):  # fit reports invalid members
            final = get_tags(self._final()).input_tags
            tags.input_tags.sparse &= final.sparse
            if not self._named_members():
                tags.input_tags.pairwise = final.pairwise
        return tags


def _default_final_estimator() -> PLVoting:
    return PLVoting(estimators=[("plcl", PLCL()), ("ipal", IPAL())])


def concat_columns(*blocks: Matrix) -> Matrix:
    """Concatenate the columns of several blocks; sparse if one of them is."""
    if any(sparse.issparse(block) for block in blocks):
        return sparse.hstack(blocks).tocsr()
    return array_namespace(*blocks).concat(blocks, axis=1)
