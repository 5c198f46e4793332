r"""A model of candidate sets: which of them miss the true label.

With held-out outputs :math:`h_i`, *l* labels and a set of :math:`s_i = |S_i|` candidates in a row,

.. math::

    F_i &= (1 - \epsilon) \operatorname{softmax}(b\,h_i + c) + \epsilon / l, \\
    A_i &= (1 - \eta) \sum_{j \in S_i} F_{ij} \Big/ \binom{l - 1}{s_i - 1}, \qquad
    B_i = \eta \sum_{j \notin S_i} F_{ij} \Big/ \binom{l - 1}{s_i}

are the probabilities of the set if it contains the true label and if it does not: all sets of a
size that contain (do not contain) the true label are equally likely. The probability that the true
label of a row is missing is :math:`B_i / (A_i + B_i)`.

The factor *b* and one number :math:`c_j` for each label maximize :math:`\sum_i v_i \log (A_i +
B_i)`, with row weights *v*, for the fixed share :math:`\eta = .1`, plus the logarithm of the prior
:math:`c_j \sim N(0, 1/2)`. With a share that is estimated at the same time, rows without their true
label would lower *b* instead. Then :math:`\eta` maximizes the same sum plus the logarithm of the
prior :math:`\operatorname{Beta}(2, 20)`. :math:`\epsilon = .02` is the share of rows in which the
classifier may be wrong however certain it is: a share :math:`\eta` that is not above it explains no
set.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, gammaln, logit, logsumexp, softmax

from ambilearn.backend import HostSupport
from ambilearn.confidence.doubt import Doubt, has_ordinary_labels
from ambilearn.confidence.held_out import HeldOut, join_blocks, pairs_of_rows
from ambilearn.confidence.wrong_labels import judge_labels
from ambilearn.kernel.leave_one_out import OutputBlock

Floats = NDArray[np.float64]

_CLASSIFIER_ERRORS = 0.02  # ε
_LABEL_PRECISION = 2.0  # of the prior of c
_SHARE_PRIOR = (1.0, 19.0)  # rows without and with their true label
_FIXED_SHARE, _FIRST_FACTOR = 0.1, 5.0
_MAX_STEPS, _TOLERANCE = 500, 1e-5  # of expectation maximization for the share
_FACTORS = (0.01, 300.0)  # of outputs whose mean range in a row is one
# Of the outputs that the parameters are fitted to: at least 500 rows, unless they need much memory.
_ENTRIES, _MIN_ROWS, _MAX_ENTRIES = 200_000, 500, 1_000_000


class MissingTruth(NamedTuple):
    """The fitted model.

    Parameters
    ----------
    factor : float
        The factor b of the outputs.
    bias : ndarray of shape (l,)
        The numbers c.
    share : float
        The share η, which is too low if the classifier learned from the same sets.
    """

    factor: float
    bias: Floats
    share: float

    def probability(
        self, log_odds: Floats, sizes: NDArray[np.intp], change: Floats | float = 0.0
    ) -> Floats:
        """Probability that the true label is missing; 0 if all labels are candidates.

        ``log_odds`` are those of the sum of the probabilities of the candidates by softmax, and
        ``change`` is the change of the outputs of the other labels, less that of the candidates.
        """
        n_labels = len(self.bias)
        inside = expit(log_odds - self.factor * change)
        missing = np.zeros(len(sizes))
        some = sizes < n_labels
        log_a, log_b = _log_joint(inside[some], sizes[some], n_labels, logit(self.share))
        missing[some] = expit(log_b - log_a)
        return missing


def _log_joint(
    inside: Floats, sizes: NDArray[np.intp], n_labels: int, log_odds: float
) -> tuple[Floats, Floats]:
    """Logarithms of A and B, for sets that do not contain all labels."""
    mixed = _mix(inside, sizes, n_labels)
    log_sets = gammaln(n_labels) - gammaln(sizes + 1) - gammaln(n_labels - sizes)  # C(l - 1, s)
    odds_of_sets = np.log(n_labels - sizes) - np.log(sizes)  # C(l - 1, s) / C(l - 1, s - 1)
    log_a = np.log(mixed) - np.logaddexp(0, log_odds) + odds_of_sets
    log_b = np.log1p(-mixed) - np.logaddexp(0, -log_odds)
    return log_a - log_sets, log_b - log_sets


def _mix(inside: Floats, sizes: NDArray[np.intp], n_labels: int) -> Floats:
    """Probability of the candidates if the classifier may be wrong however certain it is."""
    return (1 - _CLASSIFIER_ERRORS) * inside + _CLASSIFIER_ERRORS * sizes / n_labels


def fit_missing_truth(
    outputs: Floats, mask: NDArray[np.bool_], row_weights: Floats | None = None
) -> MissingTruth:
    """Fit the model to held-out outputs and candidates, both of shape (n, l).

    Rows whose candidates are all labels give no evidence and change nothing.
    """
    used = ~mask.all(axis=1)
    n_labels = mask.shape[1]
    if not used.any():
        return MissingTruth(0.0, np.zeros(n_labels), _FIXED_SHARE)
    mask, sizes = mask[used], mask[used].sum(axis=1)
    weights = np.ones(len(mask)) if row_weights is None else row_weights[used]
    scale = float(np.average(np.ptp(outputs[used], axis=1), weights=weights)) or 1.0
    outputs = (outputs[used] - outputs[used].max(axis=1, keepdims=True)) / scale

    def probability_inside(theta: Floats) -> tuple[Floats, Floats]:
        proba = softmax(np.exp(theta[0]) * outputs + theta[1:], axis=1)
        return proba, np.minimum((proba * mask).sum(axis=1), 1.0)

    def loss(theta: Floats) -> tuple[float, Floats]:
        bias = theta[1:]
        proba, inside = probability_inside(theta)
        log_a, log_b = _log_joint(inside, sizes, n_labels, logit(_FIXED_SHARE))
        missing = expit(log_b - log_a)
        # Derivatives by the sum inside, and from there by the factor and the numbers of labels.
        mixed = _mix(inside, sizes, n_labels)
        slope = (1 - missing) / mixed - missing / (1 - mixed)
        slope *= (1 - _CLASSIFIER_ERRORS) * weights
        by_score = slope[:, None] * proba * (mask - inside[:, None])
        total = weights @ np.logaddexp(log_a, log_b) - _LABEL_PRECISION / 2 * bias @ bias
        by_factor = np.exp(theta[0]) * (by_score * outputs).sum()
        gradient = np.concatenate([[by_factor], by_score.sum(axis=0) - _LABEL_PRECISION * bias])
        return -float(total), -gradient

    start = np.concatenate([[np.log(_FIRST_FACTOR)], np.zeros(n_labels)])
    bounds = [tuple(np.log(_FACTORS)), *[(-20.0, 20.0)] * n_labels]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    log_a, log_b = _log_joint(probability_inside(found)[1], sizes, n_labels, 0.0)
    share = _fit_share(log_b - log_a, weights)
    return MissingTruth(float(np.exp(found[0]) / scale), found[1:], share)


def _fit_share(log_odds: Floats, weights: Floats) -> float:
    """The share η, given the log odds of each row at equal shares."""
    without, with_truth = _SHARE_PRIOR
    share = _FIXED_SHARE
    for _ in range(_MAX_STEPS):
        before = share
        missing = weights @ expit(log_odds + logit(share))
        share = (missing + without) / (weights.sum() + without + with_truth)
        if abs(share - before) < _TOLERANCE:
            break
    return float(share)


def doubt_of_outputs(held_out: HeldOut, candidates: HostSupport, random_state: int | None) -> Doubt:
    """Doubt by the held-out outputs of an estimator."""
    if has_ordinary_labels(candidates.sets):
        outputs = join_blocks(held_out.outputs(), candidates.sets.shape)
        return judge_labels(outputs, candidates.sets)
    return judge_sets(held_out.outputs, candidates, random_state, of_member=not held_out.own)


def judge_sets(
    outputs: Callable[[], Iterable[OutputBlock]],
    candidates: HostSupport,
    random_state: int | None,
    of_member: bool = False,
) -> Doubt:
    """Doubt in all rows by the fitted model.

    ``outputs`` is called twice and returns held-out outputs in blocks of rows; there is no matrix
    of all of them. The parameters are fitted to a random part of the rows if there are many.
    ``of_member`` is that of the :class:`Doubt`.
    """
    n, l = candidates.n_rows, candidates.n_labels
    n_used = max(min(_MIN_ROWS, _MAX_ENTRIES // l), _ENTRIES // l, 1)
    used = np.arange(n)
    if n > n_used:
        used = np.sort(np.random.default_rng(random_state).permutation(n)[:n_used])
    sets = candidates.sets[used]
    model = fit_missing_truth(_take_rows(outputs(), used, l), sets.to_mask(), sets.row_weights)
    inside, outside = np.empty(len(candidates.labels)), np.empty(n)
    other = np.empty(n, dtype=np.intp)
    for rows, block in outputs():
        scores = model.factor * block + model.bias
        pairs, places = pairs_of_rows(candidates, rows)
        inside[pairs] = scores[places]
        scores[places] = -np.inf
        other[rows] = scores.argmax(axis=1)
        outside[rows] = logsumexp(scores, axis=1)
    largest = candidates.largest(inside)
    powers = np.exp(inside - largest[candidates.rows])
    sums = candidates.row_sums(powers)
    log_odds = largest + np.log(sums) - outside
    names = candidates.classes.astype(object)[other]
    names[candidates.sizes == l] = None
    return Doubt(
        score=model.probability(log_odds, candidates.sizes),
        other=names,
        within=candidates.to_csr(powers / sums[candidates.rows]),
        score_after=partial(model.probability, log_odds, candidates.sizes),
        classes=candidates.classes,
        of_member=of_member,
    )


def _take_rows(blocks: Iterable[OutputBlock], wanted: NDArray[np.intp], n_labels: int) -> Floats:
    """Outputs of some rows, ascending."""
    found = np.empty((len(wanted), n_labels))
    for rows, outputs in blocks:
        is_wanted = np.isin(rows, wanted)
        found[np.searchsorted(wanted, rows[is_wanted])] = outputs[is_wanted]
    return found
