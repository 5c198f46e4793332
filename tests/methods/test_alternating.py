import numpy as np
import pytest
from literal import kernel_classifier
from problems import ambiguous, support
from scipy.spatial.distance import cdist, pdist

from ambilearn.methods._alternating import AlternatingClassifier
from ambilearn.solvers import CandidateSimplex


class Projecting(AlternatingClassifier):
    """The barest alternation: Ω = 0, so the confidences are the projected outputs."""

    def __init__(
        self, rho=2.0, reg=0.1, kernel="rbf", sigma="mean", max_iter=5, tol=0, verbose=0, offset=0.0
    ):
        self.rho = rho
        self.reg = reg
        self.kernel = kernel
        self.sigma = sigma
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.offset = offset

    def _fit(self, rows, candidates):
        self.seen = []

        def improve(p, output):
            self.seen.append((p, output))
            return CandidateSimplex(candidates.indptr).project(output)

        start = candidates.uniform()
        self._alternate(
            self._space(rows, candidates), candidates, start, improve, lambda p: self.offset
        )


@pytest.fixture
def data():
    X, Y, _ = ambiguous(n=30)
    return X, Y, support(Y)


def test_each_round_improves_on_the_last_with_the_outputs_of_its_regressor(data):
    X, Y, sets = data
    model = Projecting().fit(X, Y)
    K = np.exp(-(cdist(X, X) ** 2) / (2 * pdist(X).mean() ** 2))
    assert len(model.seen) == model.n_iter_ == 5
    p = sets.uniform()
    for before, output in model.seen:
        np.testing.assert_allclose(before, p, atol=1e-9)
        H = kernel_classifier(K, sets.scatter(p), 1 / 0.2)[2]
        np.testing.assert_allclose(output, sets.gather(H), atol=1e-9)
        p = sets.simplex.project(output)
    np.testing.assert_allclose(model.label_distributions_, sets.scatter(p), atol=1e-9)


def test_the_classifier_belongs_to_the_last_confidences(data):
    X, Y, _ = data
    model = Projecting(max_iter=1).fit(X, Y)
    K = np.exp(-(cdist(X, X) ** 2) / (2 * pdist(X).mean() ** 2))
    H = kernel_classifier(K, model.label_distributions_, 1 / 0.2)[2]
    np.testing.assert_allclose(model.train_output_, H, atol=1e-9)
    np.testing.assert_allclose(model.decision_function(X), H, atol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 7.5])
def test_objective(data, offset):
    X, Y, _ = data
    model = Projecting(kernel="linear", offset=offset).fit(X, Y)
    fit = np.sum((model.train_output_ - model.label_distributions_) ** 2)
    expected = fit + 0.1 * np.sum(model.coef_**2) + offset
    assert model.objective_[-1] == pytest.approx(expected)
    assert (np.diff(model.objective_) < 0).all()
