"""Optimality conditions that several tests check."""

import numpy as np


def assert_no_better_confidences(gradient, P, Y, positive=1e-6, atol=1e-6):
    """KKT on the candidate simplices.

    On the positive entries of a row the gradient is constant, on its other candidates not smaller.
    """
    for g, p, y in zip(gradient, P, Y, strict=True):
        level = g[p > positive].max()
        np.testing.assert_allclose(g[p > positive], level, atol=atol)
        assert (g[y == 1] >= level - atol).all()


def assert_graph(W, k):
    """Nonnegative weights of at most k other rows, which sum to one."""
    assert (W >= 0).all()
    assert (np.diag(W) == 0).all()
    assert ((W > 0).sum(axis=1) <= k).all()
    np.testing.assert_allclose(W.sum(axis=1), 1, atol=1e-12)


def assert_on_candidate_simplices(P, Y):
    assert P.shape == Y.shape
    assert (P >= 0).all()
    assert (P[Y == 0] == 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)
