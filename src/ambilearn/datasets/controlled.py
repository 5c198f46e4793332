r"""Generate random candidate sets from true labels, as in the literature.

Three generators: the controlled protocol of the paper (*p*, *r*, ε), independent flips, and flips
that depend on the instance. All of them keep the true label, unless there is noise (η).
"""

from collections.abc import Collection
from dataclasses import dataclass
from math import floor
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from ambilearn._utils.labels import label_array
from ambilearn._utils.limits import row_blocks
from ambilearn._utils.types import Array, Matrix, RandomState
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.datasets.false_labels import (
    Sampler,
    check_noise,
    check_probability,
    confusion_probabilities,
    coupled_label_sampler,
    distinct_label_sampler,
    flip_sampler,
    swap_truth,
)

_MAX_REDRAWS = 100  # of an empty set, which then gets its true label


@dataclass(frozen=True, eq=False)
class CandidateStatistics:
    """Statistics of generated candidate sets.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    n_partial : int
        Number of rows with more than one candidate.
    share_partial : float
        Share of such rows; *p* of the controlled protocol.
    mean_size : float
        Mean number of candidates per row.
    max_size : int
        Size of the largest candidate set.
    coupled_labels : ndarray of shape (n_labels,) or None
        With ε: the label coupled to each class, in the order of the classes.
    coupled_share : float or None
        With ε: share of the partial rows that have their coupled label; the observed ε.
    ambiguity_degree : float
        Largest share, over all pairs of labels, of the rows of one label that have the other as a
        candidate [1]_.
    n_without_truth : int
        Number of rows whose true label is not a candidate. Zero without noise.
    share_without_truth : float
        Share of such rows; the observed η.

    References
    ----------
    .. [1] T. Cour, B. Sapp, B. Taskar, "Learning from partial labels", JMLR 12, 2011.
    """

    n_rows: int
    n_partial: int
    share_partial: float
    mean_size: float
    max_size: int
    coupled_labels: Array | None
    coupled_share: float | None
    ambiguity_degree: float
    n_without_truth: int
    share_without_truth: float


def make_candidates(
    y: ArrayLike,
    *,
    kind: str = "controlled",
    p: float = 1.0,
    r: int = 1,
    epsilon: float | None = None,
    q: float | None = None,
    X: Matrix = None,
    proba: ArrayLike | None = None,
    noise: str | None = None,
    eta: float | None = None,
    classes: Collection[object] | None = None,
    random_state: RandomState = None,
) -> tuple[CandidateSets, CandidateStatistics]:
    r"""Make candidate sets from true labels.

    Of *n* rows, exactly :math:`\lfloor pn + 1/2 \rfloor` are chosen at random to be partial; the
    others keep their true label as the only candidate. In a partial row with the true label *y*,
    the false labels :math:`j \ne y` are drawn as follows, where *l* is the number of labels.

    ``kind="controlled"`` [1]_
        *r* distinct false labels, drawn uniformly. With ε (then :math:`r = 1`), each class has one
        coupled label, drawn once for the whole run; it is the false label with probability ε, and
        every other label with probability :math:`(1 - ε)/(l - 2)`.

    ``kind="flip"`` [2]_
        Each false label independently with probability *q*. A row may therefore stay unambiguous.

    ``kind="instance"`` [3]_
        Each false label independently with probability
        :math:`q \, f_j(x) / \max_{k \ne y} f_k(x)`, so that labels with a high probability under a
        plain classifier *f* are more frequent. With :math:`q = 1`, the most probable false label
        is always a candidate.

    The true label is in every set, unless there is noise:

    ``noise="swap"`` [4]_
        With probability η the true label is replaced by a label that is not a candidate, drawn
        uniformly; sizes do not change. A set of all labels does not change.

    ``noise="drop"`` [5]_
        The true label is kept with probability :math:`1 - η`. A row without any candidate is drawn
        again, with its true and false labels. Rows that are not partial therefore keep their
        label, and with ``kind="flip"`` and :math:`p = 1` the expected share of rows without it is

        .. math:: \frac{η\,(1 - (1 - q)^{l - 1})}{1 - η\,(1 - q)^{l - 1}}

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        True labels.
    kind : {"controlled", "flip", "instance"}, default="controlled"
        How false labels are drawn.
    p : float, default=1.0
        Share of the rows that are partial.
    r : int, default=1
        False labels in each partial row (``"controlled"``).
    epsilon : float, optional
        Probability of the coupled label (``"controlled"`` with ``r=1``). By default false labels
        are uniform, which is :math:`ε = 1/(l - 1)`.
    q : float, optional
        Probability of a false label: required for ``"flip"``, 1.0 by default for ``"instance"``.
    X : array-like or sparse matrix of shape (n_rows, n_features), optional
        Features for ``"instance"``. The plain classifier is logistic regression on standardized
        features; the probabilities are out of fold (5 folds).
    proba : array-like of shape (n_rows, n_labels), optional
        Probabilities of your own classifier for ``"instance"``, instead of X.
    noise : {"swap", "drop"}, optional
        How rows lose their true label. By default every row keeps it.
    eta : float, optional
        Probability that a row loses its true label, η; required with ``noise``.
    classes : array-like of shape (n_labels,), optional
        All labels; by default the sorted labels in ``y``. Pass it if ``y`` is only a part of the
        data, in which rare labels may be missing.
    random_state : int, RandomState instance or None, default=None
        Seed. The same seed gives the same candidate sets.

    Returns
    -------
    candidates : CandidateSets
        The candidate sets.
    statistics : CandidateStatistics
        Share of partial rows, sizes, coupling, rows without their true label.

    See Also
    --------
    add_noise : The same noise for existing candidate sets.

    References
    ----------
    .. [1] Y. Jia, C. Si, M.-L. Zhang, "Complementary classifier induced partial label learning",
           KDD 2023, section on controlled UCI data sets.
    .. [2] L. Feng, J. Lv, B. Han, M. Xu, G. Niu, X. Geng, B. An, M. Sugiyama, "Provably consistent
           partial-label learning", NeurIPS 2020.
    .. [3] N. Xu, C. Qiao, X. Geng, M.-L. Zhang, "Instance-dependent partial label learning",
           NeurIPS 2021.
    .. [4] Z. Lian, M. Xu, L. Chen, L. Sun, B. Liu, J. Tao, "IRNet: Iterative refinement network for
           noisy partial label learning", 2022.
    .. [5] H. Wang, R. Xiao, Y. Li, L. Feng, G. Niu, G. Chen, J. Zhao, "PiCO+: Contrastive label
           disambiguation for robust partial label learning", IEEE TPAMI 46(5), 2024.

    Examples
    --------
    >>> from ambilearn.datasets import load_dataset, make_candidates
    >>> data = load_dataset("digits")
    >>> sets, statistics = make_candidates(data.y, p=0.5, r=2, random_state=0)
    >>> statistics.n_partial, round(statistics.mean_size, 3)
    (899, 2.001)
    >>> sets, statistics = make_candidates(data.y, kind="flip", q=0.1, random_state=0)
    >>> round(statistics.mean_size, 1)
    1.9
    >>> sets, statistics = make_candidates(data.y, r=2, noise="swap", eta=0.1, random_state=0)
    >>> statistics.n_without_truth, round(statistics.share_without_truth, 3)
    (183, 0.102)
    """
    truth = _check_true_labels(y, classes)
    codes, n_labels = truth.labels, len(truth.classes)
    rng = np.random.default_rng(check_random_state(random_state).randint(2**32, dtype=np.uint64))
    p = check_probability("p", p)
    eta = _check_eta(noise, eta)
    coupled = None
    if kind == "controlled":
        _check_unused(kind, q=q, X=X, proba=proba)
        if epsilon is None:
            draw = distinct_label_sampler(codes, n_labels, _check_r(r, n_labels), rng)
        else:
            coupled = _draw_coupled_labels(epsilon, r, n_labels, rng)
            draw = coupled_label_sampler(codes, n_labels, coupled, epsilon, rng)
    elif kind == "flip":
        _check_unused(kind, r=None if r == 1 else r, epsilon=epsilon, X=X, proba=proba)
        if q is None:
            raise ValueError(
                "kind='flip' needs q, the probability of a false label: pass for example q=0.1."
            )
        q = check_probability("q", q)
        draw = flip_sampler(lambda rows: np.full((1, n_labels), q), n_labels, rng)
    elif kind == "instance":
        _check_unused(kind, r=None if r == 1 else r, epsilon=epsilon)
        q = check_probability("q", 1.0 if q is None else q)
        draw = flip_sampler(confusion_probabilities(truth, X, proba, q, rng), n_labels, rng)
    else:
        raise ValueError(f"kind must be 'controlled', 'flip' or 'instance', got {kind!r}.")
    n_partial = floor(round(p * len(codes), 9) + 0.5)  # halves up; p·n without rounding noise
    partial = np.zeros(len(codes), dtype=bool)
    partial[rng.permutation(len(codes))[:n_partial]] = True
    sets = _draw_candidates(truth, partial, draw, eta if noise == "drop" else 0.0, rng)
    if noise == "swap":
        sets = swap_truth(sets, codes, eta, rng)
    return sets, _compute_statistics(sets, codes, coupled)


def _draw_candidates(
    truth: CandidateSets,
    partial: NDArray[np.bool_],
    draw: Sampler,
    drop: float,
    rng: np.random.Generator,
) -> CandidateSets:
    """Draw the sets block by block, which needs little memory."""
    n_rows, n_labels = truth.shape
    labels, sizes = [], []

    def draw_block(rows: slice) -> NDArray[np.bool_]:
        mask = draw(rows)
        mask &= partial[rows, None]
        kept = rng.random(len(mask)) >= drop if drop else True
        mask[np.arange(len(mask)), truth.labels[rows]] = kept
        return mask

    for rows in row_blocks(n_rows, n_labels):
        mask = draw_block(rows)
        if drop:
            _fill_empty_rows(mask, rows, partial[rows], truth.labels[rows], draw_block)
        pairs = np.flatnonzero(mask)
        # Searching the sorted pairs is faster than remainders and sums over the mask.
        firsts = np.arange(len(mask) + 1) * n_labels
        sizes.append(np.diff(np.searchsorted(pairs, firsts)))
        pairs -= np.repeat(firsts[:-1], sizes[-1])
        labels.append(pairs)
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    return CandidateSets(truth.classes, indptr, np.concatenate(labels))


def _fill_empty_rows(
    mask: NDArray[np.bool_],
    rows: slice,
    partial: NDArray[np.bool_],
    codes: NDArray[np.intp],
    draw: Sampler,
) -> None:
    """Draw empty rows again, in place; rows that stay empty get their true label."""
    empty = ~mask.any(axis=1)
    for _ in range(_MAX_REDRAWS):
        if not (empty & partial).any():
            break
        mask[empty] = draw(rows)[empty]
        empty = ~mask.any(axis=1)
    mask[empty, codes[empty]] = True


def _compute_statistics(
    sets: CandidateSets, codes: NDArray[np.intp], coupled: NDArray[np.intp] | None
) -> CandidateStatistics:
    n_partial = int((sets.sizes > 1).sum())
    true_code = np.repeat(codes, sets.sizes)
    keys = true_code * len(sets.classes) + sets.labels  # pairs of true label and candidate
    pairs, counts = np.unique(keys, return_counts=True)
    first, second = np.divmod(pairs, len(sets.classes))
    share = np.where(first != second, counts / np.bincount(codes)[first], 0.0)
    n_without_truth = len(sets) - int((sets.labels == true_code).sum())
    coupled_share = None
    if coupled is not None and n_partial:
        coupled_share = float((sets.labels == coupled[true_code]).sum() / n_partial)
    return CandidateStatistics(
        n_rows=len(sets),
        n_partial=n_partial,
        share_partial=n_partial / len(sets),
        mean_size=float(sets.sizes.mean()),
        max_size=int(sets.sizes.max()),
        coupled_labels=None if coupled is None else sets.classes[coupled],
        coupled_share=coupled_share,
        ambiguity_degree=float(share.max()),
        n_without_truth=n_without_truth,
        share_without_truth=n_without_truth / len(sets),
    )


def _check_true_labels(y: ArrayLike, classes: Collection[object] | None) -> CandidateSets:
    """The true labels as sets of one label."""
    if isinstance(y, (list, tuple)) and not any(isinstance(row, list) for row in y):
        y = label_array(y)
    y = np.asarray(y)
    if y.ndim != 1:
        raise ValueError(
            f"y must have one true label per row; its shape is {y.shape}. (A mask or a list "
            "of sets already has candidates.)"
        )
    truth = as_candidates(y)
    if (truth.sizes != 1).any():
        i = int(np.flatnonzero(truth.sizes != 1)[0])
        raise ValueError(
            f"y must have one true label per row, not sets of labels, but row {i} is a set of "
            f"{truth.sizes[i]}: such rows already have candidates."
        )
    if classes is None:
        return truth
    # Only the distinct labels are looked up among the classes, not every row.
    found = as_candidates([(label,) for label in truth.classes.tolist()], classes=classes)
    return CandidateSets(found.classes, truth.indptr, found.labels[truth.labels])


def _check_unused(kind: str, **unused: Any) -> None:
    for name, value in unused.items():
        if value is not None:
            raise ValueError(
                f"{name} is not used with kind={kind!r}: remove it, or choose another kind."
            )


def _check_eta(noise: str | None, eta: float | None) -> float:
    if noise is None:
        if eta is not None:
            raise ValueError("eta needs noise: pass noise='swap' or noise='drop' as well.")
        return 0.0
    if eta is None:
        raise ValueError(
            f"noise={noise!r} needs eta, the probability that a row loses its true label: pass for "
            "example eta=0.1."
        )
    check_noise(noise, eta)
    return float(eta)


def _check_r(r: Any, n_labels: int) -> int:
    if n_labels == 1:
        raise ValueError(
            "There is only one label, so there is no false label: pass all labels as classes=."
        )
    if not isinstance(r, Integral) or not 1 <= int(r) <= n_labels - 1:
        raise ValueError(
            f"r must be between 1 and {n_labels - 1}, the number of false labels; got {r!r}."
        )
    return int(r)


def _draw_coupled_labels(
    epsilon: Any, r: int, n_labels: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Draw the coupled label of each class, after a check of epsilon."""
    if r != 1:
        raise ValueError(f"epsilon is defined only for r=1, got r={r!r}: pass only one of them.")
    _check_r(r, n_labels)
    if check_probability("epsilon", epsilon) != 1 and n_labels == 2:
        raise ValueError("With two labels the false label is always the same: epsilon must be 1.")
    return (np.arange(n_labels) + rng.integers(1, n_labels, n_labels)) % n_labels
