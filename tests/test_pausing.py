import numpy as np
import pytest
from problems import random_mask

from ambilearn import as_candidates
from ambilearn._utils import threads
from ambilearn.kernel import regression
from ambilearn.kernel.regression import DualRegressor, PrimalRegressor
from ambilearn.pausing import Regression, run_alone, solve_together
from ambilearn.solvers import KernelRidge, Moments, PrimalRidge


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    return X, X @ X.T + np.eye(40), as_candidates(random_mask(rng, 40, 5)), rng


def assert_equal_fits(found, expected):
    for name in ("coef", "intercept", "outputs", "squared_norm", "squared_outputs", "total_output"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


def test_a_fit_alone_is_sent_the_answers_to_its_questions(rows):
    _, K, sets, _ = rows
    regressor = DualRegressor(KernelRidge(K, 0.1), sets)
    heard = []

    def fit():
        first = yield Regression(regressor, sets.uniform())
        heard.append(first)
        heard.append((yield Regression(regressor, first.outputs, 1.0)))

    run_alone(fit())
    assert_equal_fits(heard[0], regressor.solve(sets.uniform()))
    assert_equal_fits(heard[1], regressor.solve(heard[0].outputs, 1.0))


def test_a_fit_without_questions_and_one_that_fails():
    def silent():
        return
        yield

    def failing():
        raise ZeroDivisionError
        yield

    run_alone(silent())
    with pytest.raises(ZeroDivisionError):
        run_alone(failing())


def questions(rows):
    """Of two kernel ridges and a primal one, in mixed order, with all kinds of filling."""
    X, K, sets, rng = rows
    first, second = KernelRidge(K, 0.1), KernelRidge(K, 0.7)
    primal = PrimalRidge(Moments.of(X), 0.1)
    regressors = [
        DualRegressor(first, sets),
        PrimalRegressor(X, primal, sets),
        DualRegressor(second, sets),
        DualRegressor(first, sets),
        DualRegressor(first, sets),
    ]
    fills = [0.0, 0.5, rng.random(40), 1.0, 0.0]
    return [
        Regression(regressor, rng.random(len(sets.labels)), fill)
        for regressor, fill in zip(regressors, fills, strict=True)
    ]


def test_answers_are_those_of_each_alone_bit_for_bit(rows):
    asked = questions(rows)
    for found, each in zip(solve_together(asked), asked, strict=True):
        assert_equal_fits(found, each.solve())


def test_the_same_ridge_is_asked_once(rows, monkeypatch):
    asked, sizes = questions(rows), []
    real = KernelRidge.solve_all

    def watched(self, targets):
        sizes.append(len(targets))
        return real(self, targets)

    monkeypatch.setattr(KernelRidge, "solve_all", watched)
    solve_together(asked)
    assert sorted(sizes) == [1, 3]


def test_large_regressions_are_left_alone(rows, monkeypatch):
    """They fill the machine by themselves; and with several threads columns need not be alike."""
    monkeypatch.setattr(threads, "_WORTH_THREADS", 0.0)
    monkeypatch.setattr(regression.DualRegressor, "solve_all", None)  # would fail
    asked = questions(rows)
    for found, each in zip(solve_together(asked), asked, strict=True):
        assert_equal_fits(found, each.solve())


def test_nothing_is_asked():
    assert solve_together([]) == []
