"""The method of the page "Adding a method" is a full member of the family."""

import doctest

import numpy as np
import pytest
from examples_folder import load
from scipy.optimize import approx_fprime, minimize
from sklearn.model_selection import train_test_split

from ambilearn.datasets import load_dataset, make_candidates

clpl = load("clpl")
CLPL, mean_loss = clpl.CLPL, clpl.mean_loss


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    mask = rng.random((30, 3)) < 0.5
    mask[np.arange(30), rng.integers(3, size=30)] = True
    return X, mask


def shares_of(mask):
    return mask / mask.sum(axis=1, keepdims=True)


def test_gradient_is_that_of_finite_differences(problem):
    X, mask = problem
    theta = np.random.default_rng(1).normal(size=15)
    shares = shares_of(mask * np.random.default_rng(2).uniform(1, 3, mask.shape))
    value, gradient = mean_loss(theta, X, shares, 0.7)
    expected = approx_fprime(theta, lambda t: mean_loss(t, X, shares, 0.7)[0], 1e-7)
    assert value > 0
    np.testing.assert_allclose(gradient, expected, atol=1e-5)


def test_the_loss_is_the_formula_of_the_paper(problem):
    X, mask = problem
    W, b = np.random.default_rng(2).normal(size=(4, 3)), np.array([0.3, -0.2, 0.1])
    total = 0.7 * np.sum(W**2)
    for x, row in zip(X, mask, strict=True):
        scores = W.T @ x + b
        total += max(0, 1 - scores[row].mean()) ** 2
        total += sum(max(0, 1 + score) ** 2 for score in scores[~row])
    value, _ = mean_loss(np.vstack([W, b]).ravel(), X, shares_of(mask), 0.7)
    assert value == pytest.approx(total / len(X))


def test_fit_finds_the_minimum_of_another_solver(problem):
    X, mask = problem
    model = CLPL(reg=0.7, tol=1e-8).fit(X, mask)
    other = minimize(
        lambda t: mean_loss(t, X, shares_of(mask), 0.7)[0], np.ones(15), method="SLSQP", tol=1e-12
    )
    np.testing.assert_allclose(model.coef_.ravel(), other.x[:12], atol=1e-3)
    np.testing.assert_allclose(model.intercept_, other.x[12:], atol=1e-3)


def test_it_learns_digits_from_candidate_sets():
    data = load_dataset("digits")
    X, X_new, y, y_new = train_test_split(data.X / 16, data.y, train_size=500, random_state=0)
    candidates, _ = make_candidates(y, r=3, random_state=0)
    model = CLPL().fit(X, candidates)
    assert model.score(X_new, y_new) > 0.8
    assert (model.transduction_ == y).mean() > 0.85


def test_its_docstring_runs():
    result = doctest.testmod(clpl, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted
    assert not result.failed
