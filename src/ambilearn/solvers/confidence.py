r"""Label confidences that are smooth on a graph: a quadratic program on the candidate support.

.. math:: \min_P\ \|P - O\|_F^2 + c\,\|(I - W) P\|_F^2 \quad\text{s.t.}\quad
          P \mathbf 1 = \mathbf 1,\ 0 \le P \le Y

(Eq. (P rewritten problem) of [1]_, with :math:`W = G^\top`). Only candidate entries are variables:
nnz(Y), not n·l. LALO and PLDA use a graph Laplacian *L* instead,
:math:`c\,\mathrm{tr}(P^\top L P)`. On the support both are a quadratic form in *p*, and the solver
needs only products with its matrix. The solver is accelerated projected gradient [2]_ with restart
[3]_. Because the objective is quadratic, the curvature along each step costs nothing extra, so the
step length does not require a bound on the norm of the matrix.

Steps and tolerance are relative to the scale :math:`a_i + c` of each row *i*, which has the weight
:math:`a_i` in the first term. A row of small weight thus converges as fast as the others, and
multiplying the objective by a number changes nothing. The projection remains the same, because all
candidates of a row have the same scale.

References
----------
.. [1] Jia, Si, Zhang. Complementary classifier induced partial label learning. KDD 2023.
.. [2] Beck, Teboulle. A fast iterative shrinkage-thresholding algorithm for linear inverse
   problems. SIAM J. Imaging Sciences 2(1), 183-202, 2009.
.. [3] O'Donoghue, Candès. Adaptive restart for accelerated gradient schemes. Foundations of
   Computational Mathematics 15, 715-732, 2015.
"""

from math import isfinite

from array_api_compat import array_namespace

from ambilearn._utils.types import Array, Matrix
from ambilearn.solvers.result import Solution
from ambilearn.solvers.simplex import CandidateSimplex


def solve_confidences(
    simplex: CandidateSimplex,
    roughness: Matrix,
    target: Array | None,
    weight: float,
    start: Array,
    *,
    cost: Array | None = None,
    anchor: float | Array = 1.0,
    tol: float = 1e-9,
    max_steps: int = 5000,
) -> Solution[Array]:
    r"""Minimize :math:`\|p - o\|_a^2 + c\,p^\top R p + d^\top p` over the candidate simplices.

    The first term is :math:`\sum_i a_i (p_i - o_i)^2`.

    Parameters
    ----------
    simplex : CandidateSimplex
        The feasible set.
    roughness : sparse matrix, array, or object that supports ``@``
        Symmetric positive semi-definite *R*.
    target : array of shape (n_pairs,) or None
        *o*. None omits the first term, as in the initialization of PL-CL; the minimizer is then not
        always unique.
    weight : float
        *c* ≥ 0.
    start : array of shape (n_pairs,)
        Feasible start.
    cost : array of shape (n_pairs,), optional
        *d*; zero by default.
    anchor : float or array of shape (n_pairs,), default=1.0
        Weight *a* > 0 of the distance to *o*, equal for all pairs of a row.
    tol : float, default=1e-9
        Tolerance for the largest entry of the projected gradient, relative to the scale
        :math:`2 (a + c)` of its row.
    max_steps : int, default=5000
        Maximum number of steps.

    Returns
    -------
    Solution
        ``value`` is the support vector *p*.
    """
    xp = array_namespace(start)
    anchor = 0.0 if target is None else anchor
    linear = xp.zeros_like(start) if target is None else anchor * target
    if cost is not None:
        linear = linear - cost / 2

    def product(p: Array) -> Array:
        """Product with the matrix A of the objective, whose gradient is 2 (A p − linear)."""
        rough = roughness @ p
        rough *= weight
        rough += anchor * p
        return rough

    p = y = start
    Ap = Ay = product(start)
    scale = anchor + weight
    curvature = 1.0  # relative to the scale; increased when a step finds a larger one
    momentum = 1.0
    residual = float("inf")
    steps = 0
    while steps < max_steps:
        steps += 1
        gradient = Ay - linear
        while True:
            moved = simplex.project(y - gradient / (curvature * scale), near=p)
            Amoved = product(moved)
            step = moved - y
            length = float(xp.sum(scale * step * step))
            found = float(xp.sum(step * (Amoved - Ay)))
            if found <= curvature * length * (1 + 1e-10):
                break
            if not isfinite(found):
                raise FloatingPointError(
                    "The label confidences are not finite. Scale the features, or lower the "
                    "weights of the method."
                )
            curvature = 1.05 * found / length
        residual = curvature * float(xp.max(xp.abs(step)))
        if residual <= tol:
            return Solution(moved, True, steps, residual)
        ahead = moved - p
        if float(xp.sum(scale * step * ahead)) < 0:  # the momentum increases the objective: restart
            momentum = 1.0
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        push = (momentum - 1) / following
        y, Ay = moved + push * ahead, Amoved + push * (Amoved - Ap)
        p, Ap, momentum = moved, Amoved, following
    return Solution(p, False, steps, residual)
