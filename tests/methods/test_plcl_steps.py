import numpy as np
import pytest
from problems import support

from ambilearn import PLCL
from ambilearn.graph.adaptive import LocalGeometry, Neighborhoods
from ambilearn.kernel.ridge import RidgeFit
from ambilearn.methods.plcl import PLCLSteps, PLCLWeights

SETS = support([{0, 1}, {1}, {0, 2}, {1, 2}, {0}, {0, 1, 2}], classes=[0, 1, 2, 3])
X = np.random.default_rng(0).normal(size=(6, 3))
WEIGHTS = PLCLWeights(alpha=0.4, beta=0.7, gamma=1.5, mu=0.3, rho=2.0, reg=0.05)


def classifier(seed):
    """Outputs on all labels, and the fit that knows them on the support only."""
    outputs = np.random.default_rng(seed).normal(size=(6, 4))
    sums = np.sum(outputs**2), np.sum(outputs), outputs.size
    return outputs, RidgeFit(None, None, 2.5, *sums, outputs=SETS.gather(outputs))


def graph():
    return Neighborhoods(LocalGeometry(X, 3), SETS).fit_graph(feature_weight=1.0)


@pytest.mark.parametrize("complementary", [True, False])
def test_beta_is_zero_without_complementary_classifier(complementary):
    weights = PLCLWeights.of(PLCL(beta=0.3, mu=2.0, complementary=complementary))
    assert weights == (0.5, 0.3 if complementary else 0.0, 1.0, 2.0, 2.0, 0.03)


def test_q_starts_uniform_off_the_candidates():
    state = PLCLSteps(SETS, WEIGHTS).start(SETS.uniform(), None)
    np.testing.assert_array_equal(state.q, 0)
    np.testing.assert_allclose(state.q_off_support, [1 / 2, 1 / 3, 1 / 2, 1 / 2, 1 / 3, 1])
    every = support([{0, 1}, {0}])
    assert PLCLSteps(every, WEIGHTS).start(every.uniform(), None).q_off_support[0] == 1


def test_q_is_the_minimizer():
    """No other Q between 0 and 1 has a smaller objective, entry by entry."""
    _, f = classifier(1)
    _, f_hat = classifier(2)
    p = SETS.uniform()
    steps = PLCLSteps(SETS, WEIGHTS)
    state = steps.advance(steps.start(p, None), f, f_hat)
    grid = np.linspace(0, 1, 2001)[:, None]
    cost = WEIGHTS.alpha * (f_hat.outputs - grid) ** 2 + WEIGHTS.beta * (1 - p - grid) ** 2
    np.testing.assert_allclose(state.q, grid[np.argmin(cost, axis=0), 0], atol=1e-3)
    assert state.q_off_support == 1.0


@pytest.mark.parametrize("with_graph", [True, False])
@pytest.mark.parametrize("complementary", [True, False])
def test_objective_is_equation_7(with_graph, complementary):
    weights = WEIGHTS if complementary else WEIGHTS._replace(beta=0.0)
    F, f = classifier(1)
    F_hat, f_hat = classifier(2)
    steps, fits = PLCLSteps(SETS, weights), (f, f_hat if complementary else None)
    state = steps.advance(steps.start(SETS.uniform(), graph() if with_graph else None), *fits)

    P, Q = SETS.scatter(state.p), SETS.scatter(state.q, 1.0)
    expected = np.sum((F - P) ** 2) + weights.reg * 2.5
    if complementary:
        expected += weights.alpha * np.sum((F_hat - Q) ** 2) + weights.reg * 2.5
        expected += weights.beta * np.sum((1 - P - Q) ** 2)
    if with_graph:
        unit = X / np.linalg.norm(X, axis=1, keepdims=True)
        smoothed = state.graph.output()
        expected += weights.mu * np.sum((P - smoothed @ P) ** 2)
        expected += weights.gamma * np.sum((unit - smoothed @ unit) ** 2)
    assert steps.objective(state, *fits) == pytest.approx(expected)


@pytest.mark.parametrize("with_graph", [True, False])
def test_advancing_does_not_raise_the_objective(with_graph):
    _, f = classifier(1)
    _, f_hat = classifier(2)
    steps = PLCLSteps(SETS, WEIGHTS)
    state = steps.start(SETS.uniform(), graph() if with_graph else None)
    values = []
    for _ in range(6):
        state = steps.advance(state, f, f_hat)
        values.append(steps.objective(state, f, f_hat))
        np.testing.assert_allclose(np.add.reduceat(state.p, SETS.indptr[:-1]), 1)
        assert state.p.min() >= 0
    assert np.all(np.diff(values) <= 1e-9)


def test_rows_that_are_no_neighbors_add_up():
    """Without a graph the objective is the sum over any partition of the rows."""
    F, _ = classifier(1)
    F_hat, _ = classifier(2)
    total = []
    for members in (np.arange(6), np.arange(2), np.arange(2, 6)):
        sets = support(SETS.sets[members])
        fits = [
            RidgeFit(None, None, 0.0, 0.0, 0.0, 0, outputs=sets.gather(each[members]))
            for each in (F, F_hat)
        ]
        steps = PLCLSteps(sets, WEIGHTS)
        state = steps.advance(steps.start(sets.uniform(), None), *fits)
        total.append(steps.objective(state, *fits))
    assert total[0] == pytest.approx(total[1] + total[2])
