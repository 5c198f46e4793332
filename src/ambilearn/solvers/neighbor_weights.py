r"""Weights that reconstruct each row from its neighbors: many small quadratic programs at once.

For every row *i* with Gram matrix :math:`B_i` of the differences to its *k* neighbors,

.. math:: \min_w\ w^\top B_i w \quad \text{s.t.}\quad \mathbf 1^\top w = 1,\ w \ge 0

(Eq. (G solution) of [1]_), or, without the sum, for :mod:`nonnegative least squares
<ambilearn.solvers.nonnegative_least_squares>`,

.. math:: \min_{w \ge 0}\ w^\top B_i w - 2 c_i^\top w .

On a face, where only the *free* weights differ from zero, both minimizers solve
:math:`B_{ff} v = c_f`, with :math:`c = \mathbf 1` and *v* scaled to sum to one in the first case.
The active-set method [2]_ runs on all rows at once, with one batched ``linalg.solve`` per step;
finished rows are removed from the batch. Without a start, all weights are free at first, and
negative weights are fixed at zero until none is left; this face is usually near the optimal one.

References
----------
.. [1] Jia, Si, Zhang. Complementary classifier induced partial label learning. KDD 2023.
.. [2] Nocedal, Wright. Numerical Optimization, 2nd ed., section 16.5. Springer, 2006.
"""

from types import ModuleType

from array_api_compat import array_namespace, device

from ambilearn._utils.types import Array
from ambilearn.solvers.result import Solution

# Tolerance of the optimality conditions, for matrices with mean diagonal 1. It is far below the
# usual ridge, so that the ridge decides between duplicates, and above the rounding error of slopes.
_TOLERANCE = 1e-13


def minimize_over_weights(
    B: Array, linear: Array, start: Array | None, *, sum_to_one: bool, max_steps: int
) -> tuple[Array, bool, int]:
    """Minimize the problem of every row over its non-negative weights.

    ``B``, of shape (n, k, k), has symmetric positive definite matrices with a mean diagonal of
    about 1. ``linear``, of shape (n, k), has the vectors *c*; ones with ``sum_to_one``, which
    selects the first problem. ``start`` has feasible weights; a start close to the solution needs
    fewer steps. Returns the weights, whether all are optimal, and the number of steps of the
    slowest row.
    """
    xp = array_namespace(B)
    n, k = linear.shape
    where = device(B)
    identity = xp.eye(k, dtype=B.dtype, device=where)
    w = xp.ones_like(linear) if start is None else start
    free = w > 0
    # True while a row has no feasible weights, only a face.
    seeking = xp.full((n, 1), start is None, device=where)
    entered = xp.zeros_like(free)
    rows = xp.arange(n, device=where)
    done_rows, done_weights = [], []
    steps = 0
    while rows.shape[0] and steps < max_steps:
        steps += 1
        target, level = _minimize_on_face(xp, B, linear, free, identity, sum_to_one)
        blocked = free & (target < 0)
        inside = ~xp.any(blocked, axis=1, keepdims=True)
        slope = xp.matmul(B, target[:, :, None])[:, :, 0] - level
        violation = xp.where(free, xp.zeros_like(slope), -slope)

        # A row is finished if the minimizer on the face is feasible and no further weight would
        # reduce the objective. It is also finished if a weight that just became free turns
        # negative: it became free because of rounding.
        optimal = inside & (xp.max(violation, axis=1, keepdims=True) <= _TOLERANCE)
        finished = (optimal | xp.any(blocked & entered, axis=1, keepdims=True))[:, 0]
        if xp.any(finished):
            (done,), (remaining,) = xp.nonzero(finished), xp.nonzero(~finished)
            done_rows.append(xp.take(rows, done))
            done_weights.append(xp.take(xp.where(inside, target, w), done, axis=0))
            rows = xp.take(rows, remaining)
            B, linear, w, free, seeking, target, blocked, inside, violation = (
                xp.take(each, remaining, axis=0)
                for each in (B, linear, w, free, seeking, target, blocked, inside, violation)
            )
        if not rows.shape[0]:
            break

        # If the minimizer on the face is feasible, move there and free the weight with the largest
        # violation. Otherwise move until the first weight reaches zero and fix that weight; rows
        # without feasible weights fix all negative weights instead.
        entered = inside & _one_hot(xp, xp.argmax(violation, axis=1), k)
        shrinking = xp.where(blocked, w - target, xp.ones_like(w))
        reach = xp.where(blocked, w / shrinking, xp.full_like(w, xp.inf))
        first_zero = _one_hot(xp, xp.argmin(reach, axis=1), k)
        step = xp.where(inside, xp.ones_like(w), xp.min(reach, axis=1, keepdims=True))
        w = w + step * (target - w)
        free = xp.where(inside, free | entered, free & ~xp.where(seeking, blocked, first_zero))
        w = xp.where(free & (w > 0), w, xp.zeros_like(w))
        seeking = seeking & ~inside

    order = xp.argsort(xp.concat([*done_rows, rows]))
    weights = xp.take(xp.concat([*done_weights, w]), order, axis=0)
    return weights, not rows.shape[0], steps


def _minimize_on_face(
    xp: ModuleType, B: Array, linear: Array, free: Array, identity: Array, sum_to_one: bool
) -> tuple[Array, Array]:
    """Minimizer over the free weights without sign constraints, and ``B @ w`` of the free weights.

    The equation of a weight that is not free is ``w = 0``.
    """
    both = free[:, :, None] & free[:, None, :]
    system = xp.where(both, B, identity)
    right = xp.where(free, linear, xp.zeros_like(linear))
    direction = xp.linalg.solve(system, right[:, :, None])[:, :, 0]
    if not sum_to_one:
        return direction, linear
    total = xp.sum(direction, axis=1, keepdims=True)
    return direction / total, linear / total


def with_ridge(xp: ModuleType, gram: Array, ridge: float) -> tuple[Array, Array]:
    """Matrices divided by their mean diagonal, plus a ridge, and the means of shape (n, 1, 1).

    Zero matrices become the ridge only.
    """
    k = gram.shape[1]
    identity = xp.eye(k, dtype=gram.dtype, device=device(gram))
    scale = xp.linalg.trace(gram)[:, None, None] / k
    scale = xp.where(scale > 0, scale, xp.ones_like(scale))
    return gram / scale + ridge * identity, scale


def _one_hot(xp: ModuleType, index: Array, k: int) -> Array:
    """Rows of length k that are True only at the given index."""
    return index[:, None] == xp.arange(k, device=device(index))[None, :]


def solve_neighbor_weights(
    gram: Array, start: Array | None = None, *, ridge: float = 1e-10, max_steps: int = 1000
) -> Solution[Array]:
    """Minimize ``w @ gram[i] @ w`` over the simplex for every *i*.

    Parameters
    ----------
    gram : array of shape (n, k, k)
        Symmetric positive semi-definite matrices.
    start : array of shape (n, k), optional
        Feasible weights to start from. A start close to the solution needs fewer steps.
    ridge : float, default=1e-10
        Added to the diagonal, relative to its mean. If a matrix is singular (more neighbors than
        dimensions, duplicate rows), the minimizer is not unique; the ridge selects the one with
        the smallest norm, which does not depend on the machine. Zero matrices give equal weights.
    max_steps : int, default=1000
        Maximum number of steps; ten neighbors need about ten.

    Returns
    -------
    Solution
        ``value`` of shape (n, k): non-negative rows that sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> solve_neighbor_weights(np.array([[[1.0, 0.0], [0.0, 3.0]]])).value.round(4)
    array([[0.75, 0.25]])
    """
    xp = array_namespace(gram)
    B, _ = with_ridge(xp, gram, ridge)
    ones = xp.ones(B.shape[:2], dtype=B.dtype, device=device(B))
    weights, is_optimal, steps = minimize_over_weights(
        B, ones, start, sum_to_one=True, max_steps=max_steps
    )
    weights = weights / xp.sum(weights, axis=1, keepdims=True)
    return Solution(weights, is_optimal, steps, _violation(xp, B, weights))


def _violation(xp: ModuleType, B: Array, w: Array) -> float:
    """Largest decrease in slope from moving weight to another neighbor."""
    slope = xp.matmul(B, w[:, :, None])[:, :, 0]
    level = xp.sum(slope * w, axis=1)
    return float(xp.max(level - xp.min(slope, axis=1)))
