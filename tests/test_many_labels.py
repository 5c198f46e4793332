"""With a sparse mask and many labels nothing of shape (n, l) may be made, in any method."""

import tracemalloc

import numpy as np
import pytest
from problems import ambiguous
from scipy import sparse

from ambilearn import IPAL, LALO, PLAGGD, PLCL, PLDA, PLKNN, SURE
from ambilearn.metrics import transductive_accuracy

N, N_LABELS = 2000, 30_000
LOW_RANK = {"n_landmarks": 20, "random_state": 0}
MODELS = [
    PLCL(**LOW_RANK, max_iter=2, tol=0),
    PLCL(kernel="linear", max_iter=2, tol=0),
    PLCL(**LOW_RANK, graph=False, max_iter=2, tol=0),
    PLAGGD(**LOW_RANK, max_iter=2, tol=0),
    LALO(**LOW_RANK, max_iter=2, tol=0),
    SURE(**LOW_RANK, max_iter=2, tol=0),
    IPAL(max_iter=2, tol=0),
    PLKNN(),
    PLDA(max_iter=3, tol=0),
]


def many_labels(seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(50, size=N) * (N_LABELS // 50)
    X = rng.normal(size=(50, 6))[y // (N_LABELS // 50)] + 0.3 * rng.normal(size=(N, 6))
    false = rng.integers(N_LABELS, size=2 * N)
    rows = np.concatenate([np.arange(N), np.repeat(np.arange(N), 2)])
    entries = np.ones(3 * N, dtype=bool), (rows, np.concatenate([y, false]))
    return X, sparse.csr_array(entries, shape=(N, N_LABELS)), y


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_no_dense_matrix_of_rows_and_labels(model):
    X, mask, y = many_labels()
    tracemalloc.start()
    try:
        model.fit(X, mask)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < N * N_LABELS  # not even one byte for each entry
    P = model.label_distributions_
    assert sparse.issparse(P)
    assert P.shape == mask.shape
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert (P.tocsr() - P.multiply(mask)).count_nonzero() == 0
    assert np.mean(model.transduction_ == y) > 0.6


@pytest.mark.parametrize(
    "model",
    [
        PLCL(max_iter=3, tol=0),
        PLCL(n_landmarks=10, random_state=0),
        PLAGGD(),
        LALO(),
        SURE(),
        IPAL(),
        PLKNN(),
        PLDA(max_iter=3, tol=0),
    ],
    ids=str,
)
def test_sparse_results_are_the_dense_ones(model):
    X, mask, _ = ambiguous(n=60, n_labels=5, seed=1)
    dense = {
        name: value
        for name, value in vars(model.fit(X, mask)).items()
        if np.shape(value) == mask.shape and name.endswith("_")
    }
    model.fit(X, sparse.csr_array(mask))
    assert "label_distributions_" in dense
    for name, expected in dense.items():
        found = getattr(model, name)
        if sparse.issparse(found):
            found, expected = found.toarray()[mask == 1], expected[mask == 1]
        np.testing.assert_allclose(found, expected, atol=1e-12, err_msg=name)
    assert model.label_distributions_.nnz == mask.sum()


def test_accuracy_on_training_rows_takes_sparse_confidences_but_needs_all_outputs():
    X, mask, y = ambiguous(n=60, n_labels=5, seed=1)
    model = PLCL().fit(X, sparse.csr_array(mask))
    found = transductive_accuracy(y, mask, model.label_distributions_, model.decision_function(X))
    assert found.confidences == np.mean(model.transduction_ == y)
    with pytest.raises(ValueError, match=r"outputs is sparse.*decision_function"):
        transductive_accuracy(y, mask, model.label_distributions_, model.train_output_)
