"""The function that finds doubtful labels, and its classifiers for ordinary labels."""

from collections.abc import Callable, Collection, Iterator
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state, indexable

from ambilearn._utils.array_checks import check_structure
from ambilearn._utils.sklearn_compat import _num_samples
from ambilearn._utils.types import AnyCandidates, Estimator, Label, RandomState
from ambilearn.backend import HOST, index_rows
from ambilearn.backend.arrays import to_numpy
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.confidence.doubt import Doubt, has_ordinary_labels
from ambilearn.confidence.held_out import hold_out, join_blocks
from ambilearn.confidence.missing_truth import doubt_of_outputs, judge_sets
from ambilearn.confidence.wrong_labels import judge_labels, read_probabilities
from ambilearn.kernel import DEFAULT_N_LANDMARKS, MAX_EXACT_ROWS
from ambilearn.kernel.leave_one_out import OutputBlock
from ambilearn.learners import method_inside, without_preprocessing
from ambilearn.methods.plcl import PLCL
from ambilearn.methods.sure import SURE
from ambilearn.rows import TrainingRows

_WIDTHS = (0.35, 0.5, 0.7, 1.0)  # of the kernel, in mean distances
_RIDGES = (0.03, 0.3, 1.0, 3.0)  # relative to the mean squared norm of the features
_MAX_TUNING_ROWS = 1000
_KERNEL_SHARE = 2 / 3


def find_doubtful(
    X: Any = None,
    y: AnyCandidates = None,
    *,
    pred_probs: Any = None,
    labels: Any = None,
    classes: Collection[Label] | None = None,
    estimator: Estimator = None,
    n_folds: int | None = None,
    random_state: int | None = 0,
    progress: Callable[[str], None] = lambda text: None,
) -> Doubt:
    r"""Find wrong labels, and rows whose true label is not a candidate.

    **Ordinary labels.** If each row has one label, the result is a
    :class:`~ambilearn.confidence.LabelDoubt`: which labels to change, the corrected labels and
    their probabilities. With *held-out* outputs :math:`h_i` of a classifier that was fitted to all
    rows but row *i*, and the given labels :math:`k_i`,

    .. math:: F_i = \operatorname{softmax}(b\,h_i), \qquad T_{ij} \propto F_{ij} N_{j k_i} ,

    where the temperature *b*, with a weak prior, and the matrix *N* of label noise maximize the
    likelihood :math:`\prod_i \sum_j F_{ij} N_{j k_i}` of the given labels. A label is changed if
    another one has three times its probability in *T*. No true label is used. The outputs are those
    of two ridge classifiers, one with a Gaussian kernel and one linear, whose leave-one-out outputs
    have a closed form, :math:`h = Y - (Y - HY) / (1 - \operatorname{diag} H)` for targets *Y* and
    the hat matrix *H* [1]_; no cross-validation is needed. Pass ``estimator`` for the outputs of
    another method, or ``pred_probs`` and ``labels`` for those of any model.

    **Candidate sets.** The score of row *i* is the probability that none of its candidates
    :math:`S_i` is correct. With *l* labels, :math:`s_i = |S_i|` and
    :math:`F_i = (1 - \epsilon) \operatorname{softmax}(b\,h_i + c) + \epsilon / l`,

    .. math::

        d_i = \frac{B_i}{A_i + B_i}, \qquad
        A_i = \frac{(1 - \eta) \sum_{j \in S_i} F_{ij}}{\binom{l - 1}{s_i - 1}}, \qquad
        B_i = \frac{\eta \sum_{j \notin S_i} F_{ij}}{\binom{l - 1}{s_i}},

    where *b*, *c* and then the share :math:`\eta` of sets without their true label maximize the
    likelihood :math:`\prod_i (A_i + B_i)` of the sets, and :math:`\epsilon = .02` is the share of
    rows in which a classifier may be wrong however certain it is.

    PL-CL, PL-AGGD, LALO, SURE and PLCP have the closed form. The targets are first the candidates'
    shares, then, three times, the outputs projected onto the candidates, so that no row's
    confidences come from its own fit. For a stack or a vote, the outputs are those of the first
    member, in the order of the names, that has this closed form; by default PL-CL. The votes of
    PL-KNN are held out already. Other methods are fitted to each half of the rows, for the outputs
    on the other half.

    Parameters
    ----------
    X : array-like, data frame or sparse matrix of shape (n, d)
        Rows. Scale the features first.
    y : labels of shape (n,), or candidate sets in any form of :func:`~ambilearn.as_candidates`
        Their labels. A sparse mask is always treated as candidate sets.
    pred_probs : array-like or data frame of shape (n, l), optional
        Held-out probabilities of any model, for instance of
        :func:`sklearn.model_selection.cross_val_predict` with ``method="predict_proba"``. Pass
        ``labels`` with it, and neither ``X`` nor ``y``.
    labels : array-like of shape (n,), or candidate sets, optional
        Labels of the rows of ``pred_probs``.
    classes : array-like of shape (l,), optional
        Labels of the columns of ``pred_probs``. By default the names of the columns of a data
        frame, or the sorted labels that occur.
    estimator : estimator, optional
        A method, a pipeline that ends in one, or a search over one. Only its parameters are used;
        it is neither fitted nor changed. By default the two ridge classifiers for ordinary labels,
        and :class:`~ambilearn.PLCL` for candidate sets and with ``n_folds``.
    n_folds : int, optional
        Number of folds, with one fit of the estimator each. By default there are none if the
        method has a closed form, and two otherwise.
    random_state : int or None, default=0
        Seed of the folds, and of the rows on which the ridge classifiers are tuned.
    progress : callable, optional
        Called with a status message before each step.

    Returns
    -------
    Doubt or LabelDoubt

    Notes
    -----
    Neither the sum of the scores nor the number of rows above one half is an estimate of the number
    of sets without their true label: where rows are hard to classify, a held-out output cannot
    separate a wrong set from a wrong classifier. Most of these rows then have a score below one
    half.

    References
    ----------
    .. [1] Cawley, Talbot. Fast exact leave-one-out cross-validation of sparse least-squares support
       vector machines. Neural Networks 17(10), 1467-1475, 2004.

    Examples
    --------
    Ordinary labels; 15 % of them are wrong:

    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from ambilearn import find_doubtful
    >>> X, y = load_digits(n_class=4, return_X_y=True)
    >>> X, y = X[:300] / 16, y[:300]
    >>> rng = np.random.default_rng(0)
    >>> wrong = rng.random(300) < 0.15
    >>> given = np.where(wrong, (y + rng.integers(1, 4, size=300)) % 4, y)
    >>> doubt = find_doubtful(X, given)
    >>> doubt
    <LabelDoubt: 300 rows, 45 labels to change>
    >>> float(np.mean(given == y).round(3)), float(np.mean(doubt.label == y).round(3))
    (0.85, 0.997)

    Probabilities of another model:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_predict
    >>> P = cross_val_predict(LogisticRegression(), X, given, cv=5, method="predict_proba")
    >>> find_doubtful(pred_probs=P, labels=given)
    <LabelDoubt: 300 rows, 44 labels to change>

    Candidate sets:

    >>> X = [[1.0, 0.1], [1.1, 0.0], [0.9, 0.2], [1.0, 0.0], [0.1, 1.0], [0.0, 0.9], [0.2, 1.1]]
    >>> y = [{"cat"}, {"cat", "dog"}, {"cat"}, {"dog"}, {"dog"}, {"dog", "emu"}, {"dog"}]
    >>> doubt = find_doubtful(X, y)
    >>> int(doubt.order[0]), str(doubt.other[3])
    (3, 'cat')
    >>> doubt.to_frame().loc[[3]].round(2)
         score suggestion
    row
    3     0.11       None
    """
    of_model = [each is not None for each in (pred_probs, labels, classes)]
    if any(of_model):
        if any(each is not None for each in (X, y, estimator, n_folds)):
            raise ValueError(
                "pred_probs, labels and classes replace X, y, estimator and n_folds: pass one "
                "group or the other."
            )
        if not all(of_model[:2]):
            raise ValueError("pred_probs needs labels, and labels need pred_probs: pass both.")
        outputs, sets = read_probabilities(pred_probs, labels, classes)
        if has_ordinary_labels(sets):
            return judge_labels(outputs, sets)
        blocks = [OutputBlock(np.arange(len(sets)), np.exp(outputs))]
        return judge_sets(lambda: blocks, HOST.support(sets), random_state)
    if X is None or y is None:
        raise ValueError(
            "Pass rows and labels, find_doubtful(X, y), or the held-out probabilities of a model, "
            "find_doubtful(pred_probs=P, labels=y)."
        )
    if estimator is not None and method_inside(estimator) is None:
        raise TypeError(
            f"{type(estimator).__name__} does not learn from candidate sets: pass a method of this "
            "library, such as PLCL(), alone, at the end of a pipeline, or in a search. For any "
            "other classifier, pass its held-out probabilities as pred_probs= and the labels as "
            "labels=; to combine it with a method, pass PLVoting(estimators=[...]) with both, and "
            "n_folds=5."
        )
    check_structure(X, "X")
    (X,) = indexable(X)  # which some sparse matrices are not
    candidates = HOST.support(as_candidates(to_numpy(y), n_rows=_num_samples(X)))
    if has_ordinary_labels(candidates.sets) and estimator is None and n_folds is None:
        progress("looking for wrong labels")
        return judge_labels(tuned_outputs(X, candidates.sets, random_state), candidates.sets)
    X, estimator = without_preprocessing(X, PLCL() if estimator is None else estimator)
    held_out = hold_out(estimator, X, candidates, n_folds, random_state, progress)
    return doubt_of_outputs(held_out, candidates, random_state)


def tuned_outputs(
    X: Any, sets: CandidateSets, random_state: RandomState = 0
) -> NDArray[np.float64]:
    r"""Leave-one-out outputs (n, l) of two ridge classifiers, given one label for each row.

    They are :math:`h = \tfrac23 h_{\text{Gaussian kernel}} + \tfrac13 h_{\text{linear}}`. The mean
    of the two finds more wrong labels than either alone, since they make different errors. The
    parameters are those with the smallest leave-one-out squared error on at most 1000 rows, drawn
    with the seed ``random_state``: as variance of the noise and length scale of a Gaussian process
    they do not depend on the number of rows.
    """
    n = len(sets)
    if n == 1:
        raise ValueError("X has one row: at least two are needed to find wrong labels.")
    X = SURE()._validate_rows(X)
    rows = np.arange(n)
    if n > _MAX_TUNING_ROWS:
        rows = np.sort(check_random_state(random_state).permutation(n)[:_MAX_TUNING_ROWS])
    gaussian, linear = choose_ridges(index_rows(X, rows), sets[rows])
    if n >= MAX_EXACT_ROWS:
        gaussian.set_params(n_landmarks=DEFAULT_N_LANDMARKS, random_state=random_state)
    share = _KERNEL_SHARE
    fits = TrainingRows(X), sets
    return share * _leave_out(gaussian, *fits) + (1 - share) * _leave_out(linear, *fits)


def choose_ridges(X: Any, sets: CandidateSets) -> tuple[SURE, SURE]:
    """The Gaussian and the linear classifier with the smallest leave-one-out squared errors."""
    rows = SURE()._training_rows(X)
    mean_distance: Any = rows.for_sets(sets)[0].kernel("rbf").sigma
    # Half of the mean squared distance is the mean squared norm of the centered rows.
    linear = [SURE(kernel="linear", reg=ridge * mean_distance**2 / 2) for ridge in _RIDGES]
    kernels = [
        [SURE(sigma=width * mean_distance, reg=ridge) for ridge in _RIDGES] for width in _WIDTHS
    ]
    gaussian = chain.from_iterable(_errors(same_kernel, rows, sets) for same_kernel in kernels)
    return _smallest(gaussian), _smallest(_errors(linear, rows, sets))


def _errors(
    methods: list[SURE], rows: TrainingRows, sets: CandidateSets
) -> Iterator[tuple[float, SURE]]:
    """Leave-one-out squared error of methods that share a kernel."""
    weights = np.ones(len(sets)) if sets.row_weights is None else sets.row_weights
    targets = sets.to_mask()
    for method in methods:
        residuals = _leave_out(method, rows, sets) - targets
        yield float(weights @ (residuals**2).sum(axis=1)), method


def _smallest(errors: Iterator[tuple[float, SURE]]) -> SURE:
    return min(errors, key=lambda pair: pair[0])[1]


def _leave_out(method: SURE, rows: TrainingRows, sets: CandidateSets) -> NDArray[np.float64]:
    regressor = method._make_regressor(rows, sets)
    return join_blocks(regressor.held_out(HOST.support(sets).prior()), sets.shape)
