r"""Doubt in ordinary labels by a model of how often each true label was given as each other label.

The given label :math:`k_i` of row *i* is a noisy copy of the true one. With held-out outputs *h*,
a temperature *b* and a noise matrix *N*,

.. math:: F_i = \operatorname{softmax}(b\,h_i), \qquad
          P(k_i = k) = \sum_j F_{ij} N_{jk}, \qquad
          T_{ij} \propto F_{ij} N_{j k_i} .

*b* and *N* maximize the likelihood of the given labels *jointly*: without *N*, the wrong labels
would lower *b* so much that no label would be changed. This is the model of Dawid and Skene [1]_
for one annotator, with the classifier in place of the class prior.

References
----------
.. [1] Dawid, Skene. Maximum likelihood estimation of observer error-rates using the EM algorithm.
   Applied Statistics 28(1), 20-28, 1979.
"""

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from ambilearn._utils.array_checks import column_names
from ambilearn._utils.labels import listed_labels
from ambilearn._utils.text import pluralize
from ambilearn._utils.types import Label
from ambilearn._utils.warnings import warn_user
from ambilearn.backend.arrays import to_numpy
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.confidence.doubt import LabelDoubt
from ambilearn.metrics.checks import check_probabilities
from ambilearn.validation import check_row_weights

_ODDS = 3.0  # by which another label must be ahead to replace the given one
_MIN_STANDARD_ERRORS = 2.0  # by which the outputs must be larger for rows with the label
_SMALLEST_PROBABILITY = 1e-6  # smaller ones, and zero, count as this

# The noise model.
_FIRST_RATE = 0.2  # share of wrong labels before the first step
_PRIOR_ROWS = 50.0  # rows that shrink each row of N to the common share of wrong labels
_MATRIX_STEPS = 5  # of N between two searches for b
_MAX_ROUNDS = 50
_TOLERANCE = 1e-3  # change of N in a round below which the rounds end
_LOG_TEMPERATURES = tuple(np.log([0.3, 300.0]))  # of outputs whose mean range in a row is one
_MEAN_LOG_TEMPERATURE = np.log(10.0)  # of the prior, which has the variance one


def judge_labels(outputs: NDArray[np.float64], sets: CandidateSets) -> LabelDoubt:
    """Find wrong labels by the noise model, given one label for each row.

    ``outputs``, of shape (n, l), are held-out outputs or logarithms of held-out probabilities.
    Warns if they do not predict the given labels better than chance: the noise model would then
    take rare labels, or any others, for errors.
    """
    given, rows, classes = sets.labels, np.arange(len(sets)), sets.classes
    if len(classes) == 1:
        return _unchanged(sets, probability=1.0)
    row_weights = check_row_weights(None, outputs, sets.row_weights)
    if not _predict_labels(outputs, given, row_weights):
        warn_user(
            "The features do not predict the given labels better than chance, so wrong labels "
            "cannot be found: no label is changed, and there are no confidences. Add features or "
            "rows, or pass the held-out probabilities of a better model."
        )
        return _unchanged(sets, probability=np.nan)
    posterior, matrix, _ = fit_noise_model(outputs, given, row_weights)
    others = posterior.copy()
    others[rows, given] = 0.0
    wrong = others.sum(axis=1)
    others[rows, given] = -1.0
    best = others.argmax(axis=1)
    change = others[rows, best] > _ODDS * posterior[rows, given]
    # Without its only row, a label is unknown to the classifier: there is no evidence against it.
    change &= np.bincount(given)[given] > 1
    label = np.where(change, best, given)
    return LabelDoubt(
        score=np.minimum(wrong, 1.0),
        other=classes[best],
        label=classes[label],
        change=change,
        confidence=posterior[rows, label],
        probabilities=posterior,
        classes=classes,
        noise_matrix=matrix,
    )


def _predict_labels(
    outputs: NDArray[np.float64], given: NDArray[np.intp], row_weights: NDArray[np.float64] | None
) -> bool:
    """Whether the output of a label is larger in the rows that have it, beyond chance."""
    weights = np.ones(len(given)) if row_weights is None else row_weights
    gains = outputs[np.arange(len(given)), given]
    gains = gains - np.average(outputs, axis=0, weights=weights)[given]
    standard_error = np.sqrt(weights**2 @ (gains - np.average(gains, weights=weights)) ** 2)
    return bool(weights @ gains > _MIN_STANDARD_ERRORS * standard_error)


def _unchanged(sets: CandidateSets, probability: float) -> LabelDoubt:
    """The result if there is one label only, or the features do not predict the labels."""
    n, l = sets.shape
    return LabelDoubt(
        score=np.zeros(n),
        other=np.full(n, None, dtype=object),
        label=sets.classes[sets.labels],
        change=np.zeros(n, dtype=bool),
        confidence=np.full(n, probability),
        probabilities=np.full((n, l), probability),
        classes=sets.classes,
        noise_matrix=np.full((l, l), probability),
    )


def read_probabilities(
    pred_probs: Any, labels: Any, classes: Collection[Label] | None
) -> tuple[NDArray[np.float64], CandidateSets]:
    """Check held-out probabilities of a model and the labels of the same rows.

    The labels of the columns are ``classes``, or the columns of a data frame, or the sorted
    distinct labels. Returns the logarithms of the probabilities, and the labels.
    """
    if classes is None:
        classes = column_names(pred_probs)
    table = check_probabilities(pred_probs, "pred_probs")
    n_rows, n_columns = table.shape
    if classes is not None and len(listed := listed_labels(classes, "classes")) != n_columns:
        raise ValueError(
            f"pred_probs has {pluralize(n_columns, 'column')} for {len(listed)} classes: pass one "
            "class for each column, in the same order."
        )
    sets = as_candidates(to_numpy(labels), classes=classes)
    if len(sets) != n_rows:
        raise ValueError(
            f"pred_probs has {pluralize(n_rows, 'row')} but there are {len(sets)} labels: pass one "
            "label for each row."
        )
    if len(sets.classes) != n_columns:
        raise ValueError(
            f"pred_probs has {pluralize(n_columns, 'column')} but there are {len(sets.classes)} "
            "different labels: pass the labels of the columns as classes=, such as "
            "classes=model.classes_."
        )
    return np.log(np.maximum(table, _SMALLEST_PROBABILITY)), sets


def fit_noise_model(
    outputs: NDArray[np.float64],
    given: NDArray[np.intp],
    row_weights: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    r"""Fit temperature and noise matrix to the given labels.

    Each round searches for *b* on a line, with the prior :math:`\log b \sim N(\log 10, 1)` for
    outputs whose mean range is one: where no row contradicts a large *b*, only the prior limits it.
    Then it improves *N* by steps of expectation maximization:
    with the expected counts :math:`C_{jk} = \sum_i v_i T_{ij} [k_i = k]` and row weights *v*,

    .. math:: N_{jk} = \frac{C_{jk} + s\,U_{jk}}{\sum_k C_{jk} + s}, \qquad
              U_{jj} = 1 - e, \quad U_{jk} = \frac e{l - 1}, \qquad
              e = \frac{1 + \sum_{j \ne k} C_{jk}}{2 + \sum_{jk} C_{jk}} .

    Thus every label has the common share *e* of wrong labels until its rows show another one
    (:math:`s = 50` rows).

    Parameters
    ----------
    outputs : ndarray of shape (n, l)
        Held-out outputs of a classifier, or logarithms of held-out probabilities; at least two
        labels.
    given : ndarray of shape (n,)
        Column of the given label of each row.
    row_weights : ndarray of shape (n,), optional
        Weight of each row: 2 counts as two rows.

    Returns
    -------
    posterior : ndarray of shape (n, l)
        Probabilities T from the features and the given label.
    matrix : ndarray of shape (l, l)
        Probability N of each given label (column) for each true label (row).
    temperature : float
        The factor b of the outputs.
    """
    n, l = outputs.shape
    weights = np.ones(n) if row_weights is None else row_weights
    one_hot = np.eye(l)[given] * weights[:, None]
    scale = float(np.average(np.ptp(outputs, axis=1), weights=weights)) or 1.0
    matrix = _common_matrix(_FIRST_RATE, l)
    for _ in range(_MAX_ROUNDS):
        temperature = _best_temperature(outputs / scale, given, matrix, weights) / scale
        held_out, before = softmax(temperature * outputs, axis=1), matrix
        for _ in range(_MATRIX_STEPS):
            posterior = _posterior(held_out, matrix, given)
            matrix = _update_matrix(posterior.T @ one_hot)
        if np.abs(matrix - before).max() < _TOLERANCE:
            break
    return _posterior(held_out, matrix, given), matrix, temperature


def _posterior(held_out: Any, matrix: Any, given: Any) -> NDArray[np.float64]:
    joint = held_out * matrix[:, given].T
    return joint / joint.sum(axis=1, keepdims=True)


def _best_temperature(outputs: Any, given: Any, matrix: Any, weights: Any) -> float:
    likelihoods = matrix[:, given].T
    below_best = outputs - outputs.max(axis=1, keepdims=True)  # so that no exponential overflows

    def loss(log_temperature: float) -> float:
        powers = np.exp(np.exp(log_temperature) * below_best)
        shares = np.einsum("ij,ij->i", powers, likelihoods) / powers.sum(axis=1)
        prior = (log_temperature - _MEAN_LOG_TEMPERATURE) ** 2 / 2
        return prior - float(weights @ np.log(shares))

    found = minimize_scalar(
        loss, bounds=_LOG_TEMPERATURES, method="bounded", options={"xatol": 0.01}
    )
    return float(np.exp(found.x))


def _update_matrix(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    total = counts.sum()
    rate = (1 + total - np.trace(counts)) / (2 + total)
    common = _PRIOR_ROWS * _common_matrix(rate, len(counts))
    return (counts + common) / (counts.sum(axis=1, keepdims=True) + _PRIOR_ROWS)


def _common_matrix(rate: float, n_labels: int) -> NDArray[np.float64]:
    """Noise matrix with the same error rate for every label, and equally likely errors."""
    matrix = np.full((n_labels, n_labels), rate / (n_labels - 1))
    np.fill_diagonal(matrix, 1 - rate)
    return matrix
