"""The compared methods as published, step by step, with off-the-shelf solvers and loops over rows.

Slow and plain on purpose, like ``literal.py``, whose building blocks it uses. Nothing of ambilearn
is imported. Letters are those of each method's paper; ``Y`` is the 0/1 candidate matrix.
"""

from types import SimpleNamespace

import numpy as np
from literal import confidence_step, graph_step, kernel_classifier, knn, solve_qp, unit_rows
from scipy import sparse
from scipy.optimize import nnls
from scipy.spatial.distance import cdist, pdist


def uniform(Y):
    return Y / Y.sum(axis=1, keepdims=True)


def nearest(x, X, k, leave_out=None):
    """Indices and distances of the k rows of X nearest to x."""
    distances = np.sqrt(((X - x) ** 2).sum(axis=1))
    order = [a for a in np.argsort(distances, kind="stable") if a != leave_out][:k]
    return order, distances[order]


# --- PL-KNN -------------------------------------------------------------------------------------


def plknn_votes(x, X, Y, k, leave_out=None):
    """Hüllermeier & Beringer's weighted vote for one row."""
    members, distances = nearest(x, X, k, leave_out)
    votes = np.zeros(Y.shape[1])
    for a, d in zip(members, distances, strict=True):
        equal = distances.sum() == 0 or k == 1
        votes += Y[a] if equal else (1 - d / distances.sum()) * Y[a]
    return votes


# --- IPAL ---------------------------------------------------------------------------------------


def ipal(X, Y, X_new, k=10, alpha=0.95, iterations=100):
    X, X_new = unit_rows(X), unit_rows(X_new)
    n, n_labels = Y.shape
    H = np.zeros((n, n))
    for i, members in enumerate(knn(X, k)):
        w, _ = nnls(X[members].T, X[i])
        H[i, members] = w / w.sum() if w.sum() > 0 else 0
    start = F = uniform(Y)
    for _ in range(iterations):
        F = alpha * H @ F + (1 - alpha) * start
        F = F * Y
        F = F / F.sum(axis=1, keepdims=True)
    corrected = np.zeros_like(F)
    for j in range(n_labels):
        if F[:, j].sum() > 0:
            corrected[:, j] = F[:, j] * start[:, j].sum() / F[:, j].sum()
    labels = corrected.argmax(axis=1)
    residuals = np.empty((len(X_new), n_labels))
    for t, x in enumerate(X_new):
        members, _ = nearest(x, X, k)
        w, _ = nnls(X[members].T, x)
        for j in range(n_labels):
            part = sum((w[m] * X[a] for m, a in enumerate(members) if labels[a] == j), 0 * x)
            residuals[t, j] = np.linalg.norm(x - part)
    return SimpleNamespace(H=H, F=uniform(corrected), labels=labels, residuals=residuals)


# --- the graph of LALO and PLDA -----------------------------------------------------------------


def similarity_graph(X, k):
    """D^-1/2 (S + S') D^-1/2 and the width of the Gaussian."""
    n = len(X)
    neighbor_indices = knn(X, k)
    distances = cdist(X, X)
    sigma = np.mean([distances[i, neighbor_indices[i, -1]] for i in range(n)])
    S = np.zeros((n, n))
    for i in range(n):
        for a in neighbor_indices[i]:
            S[i, a] = np.exp(-(distances[i, a] ** 2) / sigma**2)
    S = S + S.T
    root = np.diag(1 / np.sqrt(S.sum(axis=1)))
    return root @ S @ root, sigma


def laplacian_step(L, Y, quadratic, linear):
    """argmin tr(F'LF) + quadratic ‖F‖² + <linear, F> on the candidate simplices, all at once."""
    n, n_labels = Y.shape
    H = sparse.block_diag([2 * L + 2 * quadratic * np.eye(n)] * n_labels)
    rows = sparse.hstack([sparse.identity(n)] * n_labels)
    vec = solve_qp(H, linear.ravel(order="F"), rows, Y.ravel(order="F").astype(float))
    return vec.reshape((n, n_labels), order="F")


# --- the kernel methods -------------------------------------------------------------------------


class KernelMethod:
    """Alternate f and P for a fixed number of iterations; regress once more at the end."""

    def fit(self, X, Y):
        self.X, self.sigma = X, pdist(X).mean()
        K = np.exp(-cdist(X, X, "sqeuclidean") / (2 * self.sigma**2))
        P = self.start(X, Y)
        self.objective = []
        A, b, H = kernel_classifier(K, P, 1 / (2 * self.reg))
        for _ in range(self.iterations):
            P = self.confidences(X, Y, P, H)
            A, b, H = kernel_classifier(K, P, 1 / (2 * self.reg))
            norm = np.sum(A * (K @ A)) / (2 * self.reg) ** 2
            value = ((H - P) ** 2).sum() + self.reg * norm + self.penalty(X, P)
            self.objective.append(value)
        self.A, self.b, self.P, self.H = A, b, P, H
        return self

    def start(self, X, Y):
        return uniform(Y)

    def scores(self, X):
        K = np.exp(-cdist(X, self.X, "sqeuclidean") / (2 * self.sigma**2))
        return K @ self.A / (2 * self.reg) + self.b


class LiteralLALO(KernelMethod):
    def __init__(self, k=10, reg=0.05, mu=0.005, iterations=10):
        self.k, self.reg, self.mu, self.iterations = k, reg, mu, iterations

    def start(self, X, Y):
        S, _ = similarity_graph(X, self.k)
        self.L = np.eye(len(X)) - S
        return uniform(Y)

    def confidences(self, X, Y, P, H):
        return laplacian_step(self.mu * self.L, Y, 1.0, -2 * H)

    def penalty(self, X, P):
        return self.mu * np.trace(P.T @ self.L @ P)


class LiteralSURE(KernelMethod):
    def __init__(self, lam=0.3, reg=0.05, iterations=10):
        self.lam, self.reg, self.iterations = lam, reg, iterations

    def confidences(self, X, Y, P, H):
        return np.array([sharpest(q, y, self.lam) for q, y in zip(H, Y, strict=True)])

    def penalty(self, X, P):
        return -self.lam * P.max(axis=1).sum()


def sharpest(q, y, lam):
    """argmin ‖p − q‖² − λ max p: one quadratic program per candidate j, the best of them."""
    n_labels = len(q)
    best, least = None, np.inf
    for j in np.flatnonzero(y):
        c = -2 * q - lam * np.eye(n_labels)[j]
        p = solve_qp(2 * np.eye(n_labels), c, np.ones((1, n_labels)), y.astype(float))
        value = ((p - q) ** 2).sum() - lam * p.max()
        if value < least - 1e-9:
            best, least = p, value
    return best


class LiteralAGGD(KernelMethod):
    """In the letters of its paper: λ for the features, γ for the ridge."""

    def __init__(self, k=10, lam=1.0, mu=1.0, gamma=0.05, iterations=10):
        self.k, self.lam, self.mu, self.reg, self.iterations = k, lam, mu, gamma, iterations

    def start(self, X, Y):
        self.unit = unit_rows(X)
        self.neighbor_indices = knn(self.unit, self.k)
        G = graph_step(self.unit, np.zeros((len(X), 1)), self.neighbor_indices, 1.0, 0.0)
        return confidence_step(np.zeros(Y.shape), G, Y, 0.0)

    def confidences(self, X, Y, P, H):
        self.G = graph_step(self.unit, P, self.neighbor_indices, self.lam, self.mu)
        return confidence_step(H, self.G, Y, 2 / self.mu)

    def penalty(self, X, P):
        W = self.G.T
        features = self.lam * ((self.unit - W @ self.unit) ** 2).sum()
        return features + self.mu * ((P - W @ P) ** 2).sum()


# --- PLDA ---------------------------------------------------------------------------------------


def prototypes(X, F):
    C = np.zeros((F.shape[1], X.shape[1]))
    for j in range(F.shape[1]):
        if F[:, j].sum() > 0:
            C[j] = F[:, j] @ X / F[:, j].sum()
    return C


def plda(X, Y, k=10, lam=0.01, iterations=10):
    """Confidences, prototypes, and the augmented training rows."""
    S, sigma = similarity_graph(X, k)
    L = np.eye(len(X)) - S
    F = uniform(Y)
    C = prototypes(X, F)
    objective = []
    for _ in range(iterations):
        F = laplacian_step(2 * L, Y, 0.0, lam * cdist(X, C, "sqeuclidean"))
        C = prototypes(X, F)
        value = 2 * np.trace(F.T @ L @ F) + lam * np.sum(F * cdist(X, C, "sqeuclidean"))
        objective.append(value)
    augmented = np.hstack([X, F @ C])
    return SimpleNamespace(X=X, F=F, C=C, sigma=sigma, augmented=augmented, objective=objective)


def plda_new_rows(fitted, X_new, k, hard=True):
    """Augmented new rows: the width of the Gaussian is the training rows'."""
    rows = []
    for x in X_new:
        members, distances = nearest(x, fitted.X, k)
        weights = np.exp(-(distances**2) / fitted.sigma**2)
        confidences = weights @ fitted.F[members] / weights.sum()
        extra = fitted.C[confidences.argmax()] if hard else confidences @ fitted.C
        rows.append(np.concatenate([x, extra]))
    return np.array(rows)


# --- PLCP ---------------------------------------------------------------------------------------


def blur(M, Y, kappa):
    return uniform(np.exp(kappa * M) * Y)


def complementary_step(G, B, Y):
    """Row by row argmin ‖q − g‖² + 2⟨b, q⟩ with Σq = l − 1 and 1 − y ≤ q ≤ 1."""
    Q = np.ones(Y.shape)
    for i, y in enumerate(Y):
        free = np.flatnonzero(y)  # the others are 1, so that these sum to one less than they are
        Q[i, free] = 0.0
        if len(free) > 1:
            total = np.ones((1, len(free))) / (len(free) - 1)
            c = 2 * B[i, free] - 2 * G[i, free]
            Q[i, free] = solve_qp(2 * np.eye(len(free)), c, total, np.ones(len(free)))
    return Q


def plcp(X, Y, X_new, k=10, reg=0.05, kappa=1 / np.e, stages=5, rounds=10, steps=30, old_H=False):
    """The authors' loop around PL-AGGD; ``old_H`` is how their base goes on after a stage."""
    sigma = pdist(X).mean()
    K, K_new = (np.exp(-cdist(A, X, "sqeuclidean") / (2 * sigma**2)) for A in (X, X_new))
    scale = 1 / (2 * reg)
    base = LiteralAGGD(k=k, gamma=reg)
    E = y = base.start(X, Y)
    F = 1 - Y
    H = kernel_classifier(K, y, scale)[2]
    for _ in range(stages):
        if not old_H:
            H = kernel_classifier(K, y, scale)[2]
        for _ in range(rounds):
            y = base.confidences(X, Y, y, H)
            A, b, H = kernel_classifier(K, y, scale)
        P = y
        E = np.clip(0.5 * E + 0.5 * H, 0, Y)
        B = blur(E, Y, kappa)
        Q = 1 - B
        for _ in range(steps):
            A_hat, b_hat, G = kernel_classifier(K, Q, scale)
            Q = complementary_step(G, B, Y)
        F = np.clip(0.5 * F + 0.5 * G, 1 - Y, 1)
        y = blur(1 - F, Y, kappa)
    return SimpleNamespace(
        P=P,
        H=H,
        Q=Q,
        G=G,
        base_scores=scale * K_new @ A + b,
        scores=1 - (scale * K_new @ A_hat + b_hat),
    )
