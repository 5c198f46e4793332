r"""Weights that reconstruct each row from its neighbors: many small quadratic programs at once.

For every row *i* with Gram matrix :math:`B_i` of the differences to its *k* neighbors,

.. math:: \min_w\ w^\top B_i w \quad \text{s.t.}\quad \mathbf 1^\top w = 1,\ w \ge 0

(Eq. (G solution) of [1]_).

References
----------
.. [1] Jia, Si, Zhang. Complementary classifier induced partial label learning. KDD 2023.
"""

from types import ModuleType

from array_api_compat import array_namespace, device

from ambilearn._utils.types import Array
from ambilearn.solvers.active_set import minimize_over_weights, with_ridge
from ambilearn.solvers.result import Solution


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
    weights, status, steps = minimize_over_weights(
        B, ones, start, sum_to_one=True, max_steps=max_steps
    )
    weights = weights / xp.sum(weights, axis=1, keepdims=True)
    return Solution(weights, status, steps, _violation(xp, B, weights))


def _violation(xp: ModuleType, B: Array, w: Array) -> float:
    """Largest decrease in slope from moving weight to another neighbor."""
    slope = xp.matmul(B, w[:, :, None])[:, :, 0]
    level = xp.sum(slope * w, axis=1)
    return float(xp.max(level - xp.min(slope, axis=1)))
