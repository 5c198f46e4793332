r"""Non-negative weights that reconstruct rows from neighbors: many small least-squares problems.

.. math:: \min_{w \ge 0}\ \Big\| x_i - \sum_a w_a z_a \Big\|^2

for every row *i* (Eq. (2) of [1]_). The solver needs only inner products: the Gram matrix
:math:`B_{ab} = z_a^\top z_b` of the neighbors and :math:`c_a = z_a^\top x_i`. Unlike the weights
of the graph of PL-CL, these are not constrained to sum to one.

References
----------
.. [1] Zhang, Yu. Solving the partial label learning problem: an instance-based approach.
   IJCAI 2015.
"""

from types import ModuleType

from array_api_compat import array_namespace

from ambilearn._utils.types import Array
from ambilearn.solvers.neighbor_weights import minimize_over_weights, with_ridge
from ambilearn.solvers.result import Solution


def solve_nonnegative_least_squares(
    gram: Array, products: Array, *, ridge: float = 1e-10, max_steps: int = 1000
) -> Solution[Array]:
    """Minimize ``w @ gram[i] @ w - 2 * products[i] @ w`` over ``w >= 0`` for every *i*.

    Parameters
    ----------
    gram : array of shape (n, k, k)
        Inner products of the neighbors with each other.
    products : array of shape (n, k)
        Inner products of the neighbors with the row to reconstruct.
    ridge : float, default=1e-10
        Added to the diagonal, relative to its mean. If a matrix is singular (more neighbors than
        dimensions, duplicate rows), the minimizer is not unique; the ridge selects the one with
        the smallest norm, which does not depend on the machine.
    max_steps : int, default=1000
        Maximum number of steps; ten neighbors need about ten.

    Returns
    -------
    Solution
        ``value`` of shape (n, k).

    Examples
    --------
    >>> import numpy as np
    >>> gram, products = np.array([[[1.0, 0.0], [0.0, 4.0]]]), np.array([[0.5, -1.0]])
    >>> solve_nonnegative_least_squares(gram, products).value.round(4)
    array([[0.5, 0. ]])
    """
    xp = array_namespace(gram)
    B, scale = with_ridge(xp, gram, ridge)
    # Scale the problem to unit size: the weights are proportional to the products.
    unit = xp.max(xp.abs(products), axis=1, keepdims=True)
    unit = xp.where(unit > 0, unit, xp.ones_like(unit))
    linear = products / unit
    weights, is_optimal, steps = minimize_over_weights(
        B, linear, None, sum_to_one=False, max_steps=max_steps
    )
    residual = _violation(xp, B, linear, weights)
    return Solution(weights * (unit / scale[:, :, 0]), is_optimal, steps, residual)


def _violation(xp: ModuleType, B: Array, c: Array, w: Array) -> float:
    """Largest slope: absolute for positive weights, only descending for zero weights."""
    slope = xp.matmul(B, w[:, :, None])[:, :, 0] - c
    return float(xp.max(xp.where(w > 0, xp.abs(slope), -slope)))
