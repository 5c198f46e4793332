"""The oracle: PL-CL as printed, equation by equation, with an off-the-shelf interior-point solver.

Slow and plain on purpose. Nothing of ambilearn is imported; letters and transposes are the paper's
(``G`` has the neighbors of sample i in column i; kernel coefficients carry the factor 1/2λ). Two
things come from the authors' code because the paper leaves them open: the graph lives on rows
scaled to unit length, and a row is excluded from its neighbors by its index.
"""

from dataclasses import dataclass, field
from functools import lru_cache

import clarabel
import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist


def solve_qp(H, c, simplex_rows, upper, reduce=True):
    """min ½ v'Hv + c'v  s.t.  simplex_rows v = 1, 0 ≤ v ≤ upper, by clarabel.

    Variables with bounds 0 ≤ v ≤ 0 are 0 and need not be handed to the solver: on a Lost half-split
    that is a hundred times faster. With ``reduce=False`` they stay, as equations v = 0 (an
    interior-point method needs an interior): the n·l variables that the paper solves for.
    """
    H, simplex_rows = (M.tocsc() if sparse.issparse(M) else M for M in (H, simplex_rows))
    fixed, free = upper == 0, np.flatnonzero(upper > 0)
    if reduce and fixed.any():
        v = np.zeros(len(c))
        v[free] = solve_qp(H[free][:, free], c[free], simplex_rows[:, free], upper[free])
        return v
    if isinstance(simplex_rows, np.ndarray):  # one simplex after another: always the same
        given = simplex_rows.astype(float), upper.astype(float)
        constraints = _dense_constraints(len(c), *(each.tobytes() for each in given))
    else:
        constraints = _constraints(simplex_rows, upper)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    above = sparse.triu(H).tocsc() if sparse.issparse(H) else sparse.csc_matrix(np.triu(H))
    solution = clarabel.DefaultSolver(above, c, *constraints, settings).solve()
    if solution.status not in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved):
        raise RuntimeError(f"clarabel: {solution.status}")
    return np.array(solution.x)


def _constraints(simplex_rows, upper):
    """The matrix, the right-hand side and the cones of simplex_rows v = 1, 0 ≤ v ≤ upper."""
    fixed, free = np.flatnonzero(upper == 0), np.flatnonzero(upper > 0)
    identity = sparse.identity(len(upper), format="csc")
    A = sparse.vstack([simplex_rows, identity[fixed], -identity[free], identity[free]]).tocsc()
    n_equal = simplex_rows.shape[0] + len(fixed)
    b = np.concatenate(
        [np.ones(simplex_rows.shape[0]), np.zeros(len(fixed) + len(free)), upper[free]]
    )
    return A, b, [clarabel.ZeroConeT(n_equal), clarabel.NonnegativeConeT(2 * len(free))]


@lru_cache
def _dense_constraints(n, simplex_rows, upper):
    rows = np.frombuffer(simplex_rows).reshape(-1, n)
    return _constraints(sparse.csc_matrix(rows), np.frombuffer(upper))


def unit_rows(X):
    norms = np.sqrt((X**2).sum(axis=1, keepdims=True))
    return X / np.where(norms > 0, norms, 1)


def knn(X, k):
    """Indices of the k nearest other rows, by full distance matrix."""
    distances = cdist(X, X)
    np.fill_diagonal(distances, np.inf)
    return np.argsort(distances, axis=1, kind="stable")[:, :k]


def graph_step(X, P, neighbor_indices, gamma, mu):
    """Eq. (G solution), column by column."""
    n, k = neighbor_indices.shape
    G = np.zeros((n, n))
    for i in range(n):
        Dx = np.array([X[i] - X[a] for a in neighbor_indices[i]])
        Dp = np.array([P[i] - P[a] for a in neighbor_indices[i]])
        B = gamma * Dx @ Dx.T + mu * Dp @ Dp.T
        scale = max(np.trace(B) / k, 1e-300)
        G[neighbor_indices[i], i] = solve_qp(B / scale, np.zeros(k), np.ones((1, k)), np.ones(k))
    return G


def confidence_step(O, G, Y, fit_weight, reduce=True):
    """Eq. (P solution): vec(P) stacks the columns; T = 2 (I − G)(I − G)'.

    ``fit_weight`` is 2(1 + β)/μ, or one such number a row; 0 gives the problem that initializes P.
    """
    n, n_labels = Y.shape
    fit_weight = np.tile(np.broadcast_to(fit_weight, n), n_labels)
    I_G = sparse.identity(n) - sparse.csr_matrix(G)
    T = 2 * (I_G @ I_G.T)
    C = sparse.block_diag([T] * n_labels)
    H = C + sparse.diags(fit_weight)
    rows = sparse.hstack([sparse.identity(n)] * n_labels)
    upper = Y.ravel(order="F").astype(float)
    vec = solve_qp(H, -fit_weight * O.ravel(order="F"), rows, upper, reduce)
    return vec.reshape((n, n_labels), order="F")


def kernel_classifier(K, targets, scale, v=1.0):
    """Eq. (A b solution) with 1/2λ = scale: A, b, and the outputs H; row i counts v_i times."""
    n = len(K)
    M = scale * K + 0.5 * np.diag(1 / np.broadcast_to(v, n))
    s = np.linalg.solve(M.T, np.ones(n))
    b = s @ targets / s.sum()
    A = np.linalg.solve(M, targets - b)
    return A, b, scale * K @ A + b


def mean_distance(X, v):
    """Mean pairwise distance of the copies of the rows, v_i of row i."""
    pairs = np.outer(v, v)
    np.fill_diagonal(pairs, v * np.maximum(v - 1, 0))
    return np.sum(pairs * cdist(X, X)) / pairs.sum()


@dataclass
class LiteralPLCL:
    """Algorithm 1 of the paper with a fixed number of iterations; X dense, Y a 0/1 matrix.

    Not in the paper: weights of candidates, whose shares in each row are rewarded by ρ; and weights
    of rows, in all terms but those of the graph.
    """

    alpha: float = 0.5
    beta: float = 0.5
    gamma: float = 1.0
    mu: float = 1.0
    rho: float = 2.0
    reg: float = 0.03
    k: int = 10
    iterations: int = 8
    complementary: bool = True
    graph: bool = True
    reduce: bool = True
    objective: list = field(default_factory=list)

    def fit(self, X, Y, v=1.0):
        """Y may be a table of weights; row i counts v_i times."""
        v = np.broadcast_to(v, len(X))
        reward = self.rho * (Y / Y.sum(axis=1, keepdims=True))
        Y = (Y > 0).astype(float)
        reward -= self.rho * Y / Y.sum(axis=1, keepdims=True)
        n, n_labels = Y.shape
        self.X, self.sigma = X, mean_distance(X, v)
        K = np.exp(-cdist(X, X, "sqeuclidean") / (2 * self.sigma**2))
        unit = unit_rows(X)
        beta = self.beta if self.complementary else 0.0

        P = Y / Y.sum(axis=1, keepdims=True)
        if self.graph:
            neighbor_indices = knn(unit, self.k)
            G = graph_step(unit, np.zeros((n, 1)), neighbor_indices, 1.0, 0.0)
            P = confidence_step(np.zeros_like(P), G, Y, 0.0, self.reduce)
        others = np.maximum(n_labels - Y.sum(axis=1, keepdims=True), 1)
        Q = np.where(Y == 0, 1 / others, 0.0)

        for _ in range(self.iterations):
            A, b, H = kernel_classifier(K, P, 1 / (2 * self.reg), v)
            if self.complementary:
                A_hat, _, H_hat = kernel_classifier(K, Q, self.alpha / (2 * self.reg), v)
                mixed = (self.alpha * H_hat + beta * (1 - P)) / (self.alpha + beta)
                Q = np.minimum(1, np.maximum(1 - Y, mixed))
            O = (H + reward / 2 + beta * (1 - Q)) / (1 + beta)
            if self.graph:
                G = graph_step(unit, P, neighbor_indices, self.gamma, self.mu)
                P = confidence_step(O, G, Y, 2 * v * (1 + beta) / self.mu, self.reduce)
            else:
                P = confidence_step(O, np.eye(n), Y, 2.0, self.reduce)
            value = (v[:, None] * ((H - P) ** 2 - reward * P)).sum()
            value += self.reg * self._norm(K, A, 1 / (2 * self.reg))
            if self.complementary:
                value += self.alpha * (v[:, None] * (H_hat - Q) ** 2).sum()
                value += beta * (v[:, None] * (1 - P - Q) ** 2).sum()
                value += self.reg * self._norm(K, A_hat, self.alpha / (2 * self.reg))
            if self.graph:
                value += self.mu * ((P.T - P.T @ G) ** 2).sum()
                value += self.gamma * ((unit.T - unit.T @ G) ** 2).sum()
            self.objective.append(value)

        self.P, self.Q, self.A, self.b, self.H = P, Q, A, b, H
        self.H_hat = H_hat if self.complementary else None
        self.G = G if self.graph else None
        return self

    @staticmethod
    def _norm(K, A, scale):
        """‖W‖² for W = scale · Φ'A."""
        return scale**2 * np.sum(A * (K @ A))

    def scores(self, X):
        """Eq. (prediction), before the arg max."""
        K = np.exp(-cdist(X, self.X, "sqeuclidean") / (2 * self.sigma**2))
        return K @ self.A / (2 * self.reg) + self.b


def literal_grams(Z, neighbor_indices):
    """Gram matrices of the differences of each row to its neighbors."""
    out = []
    for i, members in enumerate(neighbor_indices):
        D = np.array([Z[i] - Z[a] for a in members])
        out.append(D @ D.T)
    return np.array(out)
