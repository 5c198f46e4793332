"""With a sparse mask and many labels nothing of shape (n, l) may be made, in any method."""

import tracemalloc

import numpy as np
import pytest
from problems import ambiguous
from scipy import sparse

from ambilearn import IPAL, LALO, PLAGGD, PLCL, PLDA, PLKNN, SURE, PLVoting, find_doubtful
from ambilearn.metrics import transductive_accuracy

N, N_LABELS = 600, 60_000
LOW_RANK = {"n_landmarks": 12, "random_state": 0}
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
    PLVoting(estimators=[("plknn", PLKNN()), ("sure", SURE(**LOW_RANK, max_iter=2, tol=0))]),
]


def many_labels(seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(50, size=N) * (N_LABELS // 50)
    X = rng.normal(size=(50, 6))[y // (N_LABELS // 50)] + 0.3 * rng.normal(size=(N, 6))
    false = rng.integers(N_LABELS, size=2 * N)
    rows = np.concatenate([np.arange(N), np.repeat(np.arange(N), 2)])
    entries = np.ones(3 * N, dtype=bool), (rows, np.concatenate([y, false]))
    return X, sparse.csr_array(entries, shape=(N, N_LABELS)), y


def peak_memory(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.heavy
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_no_dense_matrix_of_rows_and_labels(model):
    X, mask, y = many_labels()
    peak = peak_memory(lambda: model.fit(X, mask))
    assert peak < N * N_LABELS  # not even one byte for each entry
    P = model.label_distributions_
    assert sparse.issparse(P)
    assert P.shape == mask.shape
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert (P.tocsr() - P.multiply(mask)).count_nonzero() == 0
    assert np.mean(model.transduction_ == y) > 0.6


@pytest.mark.heavy
def test_new_rows_are_predicted_without_one_either(monkeypatch):
    X, mask, y = (each[:300] for each in many_labels())
    model = SURE(n_landmarks=300, max_iter=2, tol=0).fit(X, mask)
    monkeypatch.setattr("ambilearn._utils.limits.LIMIT", 2**18)
    peak = peak_memory(lambda: model.predict(X))
    assert peak < 300 * N_LABELS
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize("method", [PLCL, PLAGGD, LALO, SURE])
def test_the_exact_kernel_needs_a_dense_mask_or_landmarks(method):
    """As many landmarks as rows are the exact kernel, without a dense matrix of rows and labels."""
    X, few, _ = ambiguous(n=60, n_labels=5, seed=1)
    mask = np.zeros((60, 1001), dtype=bool)
    mask[:, np.random.default_rng(0).choice(1001, 5, replace=False)] = few
    wide, options = np.hstack([X] * 20), {"sigma": 2.0, "max_iter": 4, "tol": 0}
    for kernel, rows in (("rbf", X), ("linear", wide), ("precomputed", X @ X.T)):
        with pytest.raises(ValueError, match=r"1001 labels in a sparse mask: set n_landmarks"):
            method(kernel=kernel).fit(rows, sparse.csr_array(mask))
    dense = method(**options).fit(X, mask)
    model = method(n_landmarks=60, **options).fit(X, sparse.csr_array(mask))
    np.testing.assert_allclose(
        model.label_distributions_.toarray(), dense.label_distributions_, atol=1e-4
    )


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


@pytest.mark.heavy
@pytest.mark.parametrize("model", [MODELS[0], MODELS[1], PLKNN(), IPAL(max_iter=2)], ids=str)
def test_doubt_needs_no_dense_matrix_of_rows_and_labels(model):
    X, mask, _ = many_labels()
    found = []
    peak = peak_memory(lambda: found.append(find_doubtful(X, mask, estimator=model)))
    assert peak < 2 * N * N_LABELS  # two bytes for each entry, not eight
    assert found[0].score.shape == (N,)
    assert not mask[np.arange(N), found[0].other.astype(int)].any()
