import numpy as np
import pytest
from problems import ambiguous
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.kernel_ridge import KernelRidge

from ambilearn import LALO, PLAGGD, PLCL, SURE
from ambilearn.kernel.ridge import DualRidge
from ambilearn.methods._kernel_classifier import KernelPartialLabelClassifier


class Regression(KernelPartialLabelClassifier):
    """Ridge regression of the candidates' equal shares."""

    def __init__(
        self, kernel="rbf", sigma="mean", n_landmarks=None, landmarks="kmeans", random_state=0
    ):
        self.kernel = kernel
        self.sigma = sigma
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.random_state = random_state

    def _fit(self, rows, candidates):
        self.label_distributions_ = candidates.as_output(candidates.uniform())
        space = self._space(rows, candidates)
        (ridge,) = space.ridges(0.1)
        fit = ridge.fit(candidates, candidates.uniform())
        self._keep(fit, space)
        self.outputs_ = ridge.train_output(candidates, fit)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(20, 3)), rng.integers(3, size=20), rng.normal(size=(6, 3))


def gaussian(X, Z, sigma):
    return np.exp(-(cdist(X, Z) ** 2) / (2 * sigma**2))


@pytest.mark.parametrize("kernel", ["rbf", "linear", lambda a, b: (1 + a @ b.T) ** 2])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_landmarks", [None, 7])
def test_scores_on_training_rows_equal_the_fit(data, kernel, form, n_landmarks):
    X, y, _ = data
    if callable(kernel) and form is sparse.csr_array:

        def kernel(a, b):
            product = a @ b.T
            return product.toarray() if sparse.issparse(product) else product

    model = Regression(kernel, n_landmarks=n_landmarks).fit(form(X), y)
    np.testing.assert_allclose(model.decision_function(form(X)), model.outputs_, atol=1e-9)


def test_agrees_with_scikit_learn_when_the_bias_is_known(data):
    """Given the bias, what is left is scikit-learn's kernel ridge of the centered targets."""
    X, y, Z = data
    model = Regression(sigma=1.3).fit(X, y)
    targets = model.label_distributions_ - model.intercept_
    other = KernelRidge(alpha=0.1, kernel="rbf", gamma=1 / (2 * 1.3**2)).fit(X, targets)
    np.testing.assert_allclose(
        model.decision_function(Z), other.predict(Z) + model.intercept_, atol=1e-9
    )


def test_linear_version_is_the_same_with_more_features_than_rows(data):
    """The dual is solved then; padding with zero features changes nothing."""
    X, y, Z = data
    pad = lambda A: np.hstack([A, np.zeros((len(A), 30))])  # noqa: E731
    narrow, wide = Regression("linear").fit(X, y), Regression("linear").fit(pad(X), y)
    np.testing.assert_allclose(wide.coef_[:, :3], narrow.coef_, atol=1e-9)
    np.testing.assert_allclose(wide.predict_proba(pad(Z)), narrow.predict_proba(Z), atol=1e-9)
    assert not hasattr(wide, "dual_coef_")


def test_precomputed_equals_the_kernel_it_was_computed_with(data):
    X, y, Z = data
    direct = Regression(sigma=0.9).fit(X, y)
    K = gaussian(X, X, 0.9)
    kept = K.copy()
    given = Regression("precomputed").fit(K, y)
    np.testing.assert_array_equal(K, kept)
    np.testing.assert_allclose(
        given.decision_function(gaussian(Z, X, 0.9)), direct.decision_function(Z), atol=1e-10
    )
    assert given.X_fit_ is None


def test_refitting_with_another_kernel_leaves_nothing_behind(data):
    X, y, _Z = data
    model = Regression("linear").fit(X, y).set_params(kernel="rbf").fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), model.outputs_, atol=1e-9)


@pytest.mark.parametrize(
    ("kernel", "X", "error", "message"),
    [
        ("precomputed", np.ones((20, 3)), ValueError, "square kernel matrix"),
        ("precomputed", np.triu(np.ones((20, 20))), ValueError, "not symmetric"),
        ("precomputed", -np.eye(20), np.linalg.LinAlgError, "not positive definite"),
        ("precomputed", sparse.csr_array(np.eye(20)), TypeError, "[Ss]parse"),
        ("rbf", np.full((20, 3), np.inf), ValueError, "infinity"),
        ("cosine", np.ones((20, 3)), ValueError, "'kernel' parameter"),
    ],
)
def test_bad_kernels(data, kernel, X, error, message):
    with pytest.raises(error, match=message):
        Regression(kernel).fit(X, data[1])


@pytest.mark.parametrize("sigma", [0, -1.0, "median", 1e-300, 1e-160, 1e160])
def test_bad_bandwidth(data, sigma):
    with pytest.raises(ValueError, match="'sigma' parameter"):
        Regression(sigma=sigma).fit(data[0], data[1])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("weights", [None, "different"])
@pytest.mark.parametrize("method", [PLCL, PLAGGD, LALO, SURE])
def test_the_array_that_a_kernel_function_stores_is_not_overwritten(method, weights, order):
    X, mask, _ = ambiguous(n=30)
    stored = np.array(gaussian(X, X, 2.0), order=order)
    stored.flags.writeable = False
    before = stored.copy()
    weights = None if weights is None else np.arange(30) % 3 + 1.0
    fits = [
        method(kernel=lambda a, b: stored, max_iter=2, tol=0).fit(X, mask, weights)
        for _ in range(2)
    ]
    np.testing.assert_array_equal(stored, before)
    np.testing.assert_array_equal(fits[0].label_distributions_, fits[1].label_distributions_)
    own = method(sigma=2.0, max_iter=2, tol=0).fit(X, mask, weights)
    np.testing.assert_allclose(fits[0].label_distributions_, own.label_distributions_, atol=1e-8)


def test_a_writable_array_that_a_kernel_function_stores_is_not_overwritten(library, dispatch):
    X, mask, _ = ambiguous(n=30)
    stored = gaussian(X, X, 2.0)
    before = stored.copy()
    for _ in range(2):
        SURE(kernel=lambda a, b: stored, max_iter=1, tol=0).fit(X, mask)
    np.testing.assert_array_equal(stored, before)
    on_device = library.to_device(before)
    SURE(kernel=lambda a, b: on_device, max_iter=1, tol=0).fit(
        library.to_device(X), mask, np.arange(30) % 3 + 1.0
    )
    np.testing.assert_array_equal(library.to_host(on_device), before)


def test_our_own_kernel_matrix_is_overwritten_by_its_factor(monkeypatch):
    """So that an ordinary fit needs no second matrix of its size."""
    X, mask, _ = ambiguous(n=30)
    seen = []
    monkeypatch.setattr(
        "ambilearn.rows.DualRidge",
        lambda *arguments: (seen.append(arguments[2]), DualRidge(*arguments))[1],
    )
    for kernel in ("rbf", "linear"):
        wide = np.concatenate([X] * 40, axis=1)  # a linear kernel of more features than rows
        SURE(kernel=kernel, max_iter=1, tol=0).fit(wide, mask)
    assert seen == [True, True]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("d", [8, 40])  # primal and dual
def test_linear_model_far_from_the_origin(form, d):
    X, mask, _ = ambiguous(n=30, extra=0.4, seed=2)
    X = np.hstack([X, np.random.default_rng(0).normal(size=(30, d - X.shape[1]))])
    model = SURE(kernel="linear").fit(X, mask)
    for offset, tolerance in ((1e6, 1e-5), (1e8, 1e-3)):
        far = SURE(kernel="linear").fit(form(X + offset), mask)
        np.testing.assert_allclose(
            far.label_distributions_, model.label_distributions_, atol=tolerance
        )
        np.testing.assert_allclose(
            far.decision_function(form(X + offset)), model.decision_function(X), atol=tolerance
        )
