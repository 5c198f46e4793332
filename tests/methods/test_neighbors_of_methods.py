"""What the methods with neighbors have in common: how they search, and sparse masks."""

import pickle

import numpy as np
import pytest
from problems import ambiguous
from scipy import sparse
from sklearn.neighbors import KNeighborsTransformer, RadiusNeighborsTransformer

from ambilearn import IPAL, LALO, PLAGGD, PLCL, PLDA, PLKNN, PLDATransformer

METHODS = [PLCL, PLAGGD, LALO, IPAL, PLDA, PLKNN]

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "transformer", [KNeighborsTransformer(), RadiusNeighborsTransformer(radius=1e3)]
)
def test_an_exact_transformer_gives_the_exact_answer(method, transformer):
    X, Y, _ = ambiguous(n=80, d=6)
    model = method(neighbors=transformer).fit(X[:60], Y[:60])
    exact = method(neighbors="exact").fit(X[:60], Y[:60])
    np.testing.assert_allclose(model.label_distributions_, exact.label_distributions_, atol=1e-6)
    shares = model.predict_proba(X[60:])
    np.testing.assert_allclose(shares, exact.predict_proba(X[60:]), atol=1e-6)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X[60:]), shares)
    assert model.neighbors is transformer
    assert not hasattr(transformer, "n_features_in_")


@pytest.mark.parametrize("method", METHODS)
def test_other_neighbors_give_another_answer(method):
    X, Y, _ = ambiguous(n=80, d=6, extra=0.5)
    exact = method().fit(X, Y)
    other = method(neighbors=KNeighborsTransformer(metric="cosine")).fit(X, Y)
    if method in (PLCL, PLAGGD, IPAL):  # on unit-length rows both metrics have the same order
        np.testing.assert_allclose(
            other.label_distributions_, exact.label_distributions_, atol=1e-6
        )
    else:
        assert np.abs(other.label_distributions_ - exact.label_distributions_).max() > 1e-3


# --- sparse masks -------------------------------------------------------------------------------


@pytest.mark.parametrize("assignment", ["hard", "soft"])
def test_augmented_rows_are_the_same_for_a_sparse_mask(assignment):
    X, Y, _ = ambiguous(n=80, n_labels=6)
    dense, thin = (PLDATransformer(assignment=assignment) for _ in range(2))
    expected = dense.fit_transform(X[:60], Y[:60])
    found = thin.fit_transform(X[:60], sparse.csr_matrix(Y[:60]))
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert isinstance(thin.label_distributions_, sparse.csr_array)
    np.testing.assert_allclose(thin.transform(X[60:]), dense.transform(X[60:]), atol=1e-9)


def test_graph_does_not_depend_on_row_blocks(monkeypatch):
    X, Y, _ = ambiguous(n=80)
    expected = IPAL().fit(X[:60], Y[:60])
    monkeypatch.setattr("ambilearn._utils.limits.LIMIT", 7 * 11**2)
    model = IPAL().fit(X[:60], Y[:60])
    np.testing.assert_allclose(
        model.label_distributions_, expected.label_distributions_, atol=1e-12
    )
    np.testing.assert_allclose(
        model.decision_function(X[60:]), expected.decision_function(X[60:]), atol=1e-7
    )
