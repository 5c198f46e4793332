"""Base class of voting and stacking: members by name, as in scikit-learn's ensembles."""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from numbers import Integral
from operator import itemgetter
from typing import Any, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import Bunch, Tags, check_random_state, get_tags
from sklearn.utils.validation import validate_data

from ambilearn._utils.sklearn_compat import _BaseComposition, _safe_indexing
from ambilearn._utils.types import AnyCandidates, Estimator, Matrix, Params, RandomState
from ambilearn.backend.device_arrays import not_supported_on_device
from ambilearn.base import PartialLabelClassifier
from ambilearn.candidates import CandidateSets
from ambilearn.kernel import LANDMARKS_CONSTRAINT
from ambilearn.learners import find_ridge_method, is_search, method_inside, takes_row_weights
from ambilearn.methods._members import computes_on_devices


class EnsembleClassifier(_BaseComposition, PartialLabelClassifier):
    """Base class of ensembles.

    A subclass has the parameters ``estimators``, ``n_jobs``, ``n_landmarks``, ``random_state`` and
    ``verbose``, defines the members of ``estimators=None``, and sets ``estimators_`` and
    ``member_names_`` in its fit.
    """

    estimators: list[tuple[str, Estimator]] | None
    n_landmarks: int | None
    random_state: RandomState

    _parameter_constraints = {
        "estimators": [list, None],
        "n_jobs": [Integral, None],
        "n_landmarks": [None, LANDMARKS_CONSTRAINT],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    __metadata_request__fit = {"sample_weight": None}
    _computes_on_devices = True  # if all members do
    _is_ensemble = True

    @staticmethod
    @abstractmethod
    def _default_estimators() -> list[tuple[str, Estimator]]:
        """New members, for ``estimators=None``."""

    # --- parameters, those of the members among them --------------------------------------------

    def get_params(self, deep: bool = True) -> Params:
        """Parameters, and with ``deep`` those of the given members as ``member__parameter``.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the members and their parameters.

        Returns
        -------
        params : dict
        """
        return self._get_params("estimators", deep=deep)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, members (``"drop"`` omits one), and parameters of members.

        Parameters
        ----------
        **params
            Values by name, such as ``plcl__alpha=1.0``. Default members can be named as well.

        Returns
        -------
        self : object
        """
        named = {name.partition("__")[0] for name in params}
        if self.estimators is None and "estimators" not in params:
            default = self._default_estimators()
            if named & {name for name, _ in default}:
                self.estimators = default
        self._set_params("estimators", **params)
        return self

    def _settable_params(self) -> Params:
        if self.estimators is not None:
            return self.get_params()
        default = clone(self).set_params(estimators=self._default_estimators())
        return {**default.get_params(), "estimators": None}

    # --- members --------------------------------------------------------------------------------

    def _named_members(self) -> list[tuple[str, Estimator]]:
        """The members that are not dropped, with their names, sorted by name.

        The result then does not depend on the given order, not even in the last bit of a sum.
        """
        given = self._default_estimators() if self.estimators is None else self.estimators
        return sorted((each for each in given if not _is_dropped(each[1])), key=itemgetter(0))

    def _checked_members(self) -> list[tuple[str, Estimator]]:
        """The members; raises an error if one of them cannot be a member."""
        for i, item in enumerate(self.estimators or []):
            if not (isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)):
                raise ValueError(
                    "estimators must be a list of pairs, ('name', estimator); item "
                    f"{i} is {item!r}."
                )
        self._validate_names([name for name, _ in self.estimators or []])
        members = self._named_members()
        for name, member in members:
            check_member(name, member)
        if len({get_tags(member).input_tags.pairwise for _, member in members}) > 1:
            raise ValueError(
                "Some members take a kernel matrix as X (kernel='precomputed') and some take "
                "features: give all of them the same kernel='precomputed', or none."
            )
        return members

    def _learners(self) -> list[tuple[str, Estimator]]:
        """All estimators that are fitted."""
        return self._named_members()

    def _innermost_learners(self) -> Iterator[tuple[str, Estimator]]:
        """All fitted estimators that are not ensembles, with the names of their parameters."""
        for name, learner in self._learners():
            if isinstance(learner, EnsembleClassifier):
                inside = learner._innermost_learners()
                yield from ((f"{name}__{inner}", each) for inner, each in inside)
            else:
                yield name, learner

    @property
    def _takes_row_weights(self) -> bool:
        return all(takes_row_weights(learner) for _, learner in self._learners())

    def _check_row_weights(self, candidates: CandidateSets) -> None:
        """Raise an error before the fit if rows have weights and a member cannot use them."""
        if candidates.row_weights is None:
            return
        self._checked_members()
        for name, learner in self._innermost_learners():
            if not takes_row_weights(learner):
                is_final = name.rpartition("__")[2] == "final_estimator"
                other = "PLCL()" if is_final else "'drop'"  # a stack needs a final estimator
                raise ValueError(
                    f"{type(self).__name__} cannot weight rows, because {name!r} "
                    f"({type(learner).__name__}) does not support sample_weight. Omit "
                    f"sample_weight, or replace the member with set_params({name}={other})."
                )

    # --- data frames ----------------------------------------------------------------------------

    @property
    def _shares_rows(self) -> bool:
        return type(self).fit is EnsembleClassifier.fit

    def _passes_frames(self) -> bool:
        """Whether a member is not just a method and may need the columns by name."""
        if get_tags(self).input_tags.pairwise:
            return False
        return any(
            not isinstance(member, PartialLabelClassifier) or member._passes_frames()
            for _, member in self._named_members() or self._learners()
        )

    def _validate_rows(self, X: Matrix, **options: Any) -> Matrix:
        if not hasattr(X, "columns"):
            return super()._validate_rows(X, **options)
        self._checked_members()
        if not self._passes_frames():
            return super()._validate_rows(X, **options)
        # The members validate the columns that they use.
        return validate_data(self, X, reset=options.get("reset", True), skip_check_array=True)

    def _block(self, X: Matrix, rows: slice) -> Matrix:
        return _safe_indexing(X, rows) if hasattr(X, "columns") else X[rows, ...]

    # --- on a device ----------------------------------------------------------------------------

    def _check_device_support(self, X: Matrix) -> None:
        self._checked_members()
        for name, learner in self._host_only_learners():
            raise not_supported_on_device(f"{name!r} ({type(learner).__name__})", X)

    def _host_only_learners(self) -> Iterator[tuple[str, Estimator]]:
        """The learners that do not support device arrays."""
        inside = self._innermost_learners()
        return ((name, learner) for name, learner in inside if not computes_on_devices(learner))

    def _prepare(self, member: Estimator, seed: int | None) -> Estimator:
        """A clone with the landmarks and the seed of the ensemble, unless it has its own."""
        member = clone(member)
        given = {"n_landmarks": self.n_landmarks, "random_state": seed}
        missing = {
            name: given[parameter]
            for name, value in member.get_params().items()
            if value is None and (parameter := name.rpartition("__")[2]) in given
        }
        return member.set_params(**missing)

    def _seed(self) -> int | None:
        """The same seed for all members, so that they share their landmarks."""
        if self.random_state is None:
            return None
        if isinstance(self.random_state, Integral):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _ridge_method(self) -> Estimator:
        ensemble = clone(self)
        ensemble._validate_params()
        seed = ensemble._seed()
        members = (ensemble._prepare(member, seed) for _, member in ensemble._checked_members())
        return next((found for each in members if (found := find_ridge_method(each))), None)

    @property
    def named_estimators_(self) -> Bunch:
        """The fitted members by their names."""
        return Bunch(**dict(zip(self.member_names_, self.estimators_, strict=True)))

    # --- fit ------------------------------------------------------------------------------------

    def fit(self, X: Matrix, y: AnyCandidates, **fit_params: Any) -> Self:
        """Learn from candidate sets.

        Parameters
        ----------
        X : array-like, data frame or sparse matrix of shape (n, d)
            Training rows.
        y : sequence of label collections, mask of shape (n, l), or labels of shape (n,)
            Candidate sets; see :func:`ambilearn.candidates.as_candidates`.
        **fit_params
            ``sample_weight``, of shape (n,), only if every member supports it.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        for name in fit_params:
            if name != "sample_weight":
                raise TypeError(
                    f"fit of {type(self).__name__} has no argument {name!r}: only sample_weight is "
                    "passed on to the members."
                )
        return self._check_and_fit(X, y, fit_params.get("sample_weight"))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        with suppress(AttributeError, TypeError, ValueError):  # fit reports invalid members
            members = [get_tags(member).input_tags for _, member in self._named_members()]
            tags.input_tags.sparse = all(member.sparse for member in members)
            tags.array_api_support = not any(self._host_only_learners())
            tags.input_tags.pairwise = any(member.pairwise for member in members)
        return tags


def check_member(name: str, member: Estimator) -> None:
    """Raise an error for a member that is not a classifier, or has no confidences."""
    if isinstance(member, type) or not hasattr(member, "fit") or not is_classifier(member):
        raise ValueError(
            f"{name!r} is not a classifier but {member!r}: pass an estimator, such as PLCL(), or "
            "'drop'."
        )
    if is_search(member) and not member.refit:
        raise ValueError(
            f"{name!r} is a search with refit=False, which cannot predict: pass refit=True."
        )
    if method_inside(member) is None and not hasattr(member, "predict_proba"):
        raise ValueError(
            f"{name!r} ({type(member).__name__}) has no predict_proba, which members need: wrap "
            "it in sklearn.calibration.CalibratedClassifierCV."
        )


def _is_dropped(member: Estimator) -> bool:
    return isinstance(member, str) and member == "drop"
