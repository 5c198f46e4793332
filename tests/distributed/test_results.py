import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed
from scipy import sparse

from ambilearn import PLCL
from ambilearn.distributed.blocks import RowBlocks
from ambilearn.distributed.results import RowResults, predict_blocks, score_blocks

pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def model(groups):
    X, Y, _ = groups(120)
    return PLCL(n_landmarks=20, random_state=0).fit(X, Y)


@pytest.mark.parametrize(
    "cut",
    [
        lambda X: da.from_array(X, chunks=(20, 2)),
        lambda X: da.from_array(X, chunks=((0, 30, 0, 20), 5)),
        lambda X: da.from_array(X, chunks=(20, 5)).map_blocks(sparse.csr_matrix),
        lambda X: dd.from_pandas(pd.DataFrame(X), npartitions=3),
        lambda X: dd.from_pandas(pd.DataFrame(X), npartitions=3).to_dask_array(),
    ],
    ids=["columns", "empty blocks", "sparse", "frame", "unknown sizes"],
)
def test_every_form_of_rows(model, groups, cut):
    X, _, _ = groups(50, seed=1)
    labels = predict_blocks(model, "predict", cut(X), model.classes_[:0])
    np.testing.assert_array_equal(labels.compute(), model.predict(X))
    scores = predict_blocks(model, "decision_function", cut(X), np.empty((0, 0)))
    np.testing.assert_allclose(scores.compute(), model.decision_function(X))


def test_wrong_number_of_features_is_rejected_immediately(model, blocks):
    with pytest.raises(ValueError, match="X has 3 features, but the model was fitted with 5"):
        predict_blocks(model, "predict", blocks(np.ones((10, 3)), 5), model.classes_[:0])


def test_names_of_features_are_compared(groups):
    X, Y, _ = groups(60)
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = PLCL(n_landmarks=20, random_state=0).fit(frame, Y)
    expected = model.predict(frame)
    with pytest.raises(ValueError, match="feature names"):
        predict_blocks(model, "predict", dd.from_pandas(frame[list("edcba")], npartitions=2), Y[:0])
    got = predict_blocks(model, "predict", dd.from_pandas(frame, npartitions=2), model.classes_[:0])
    np.testing.assert_array_equal(got.compute(), expected)


def test_score_is_the_models(model, groups, blocks):
    X, Y, y = groups(50, seed=1)
    assert score_blocks(model, blocks(X, 15), blocks(y, 15)) == pytest.approx(model.score(X, y))
    assert score_blocks(model, blocks(X, 15), blocks(Y, 15)) == pytest.approx(model.score(X, Y))
    weights = np.arange(50.0)
    weighted = score_blocks(model, blocks(X, 15), blocks(y, 15), blocks(weights, 15))
    assert weighted == pytest.approx(model.score(X, y, weights))
    assert weighted != model.score(X, y)


def test_empty_blocks_do_not_change_the_score(model, groups):
    X, _, y = groups(50, seed=1)
    sizes = (0, 30, 0, 20)
    rows, labels = da.from_array(X, chunks=(sizes, 5)), da.from_array(y, chunks=(sizes,))
    assert score_blocks(model, rows, labels) == pytest.approx(model.score(X, y))


def test_score_needs_equal_blocks(model, groups, blocks):
    X, _, y = groups(50, seed=1)
    with pytest.raises(ValueError, match="must have the same blocks; they have 4, 3 blocks"):
        score_blocks(model, blocks(X, 15), blocks(y, 20))


def test_blocks_with_zero_weights_are_ignored(model, groups, blocks):
    X, _, y = groups(50, seed=1)
    weights = np.where(np.arange(50) < 15, 0.0, 1.5)
    found = score_blocks(model, blocks(X, 15), blocks(y, 15), blocks(weights, 15))
    assert found == pytest.approx(model.score(X, y, weights))
    with pytest.raises(ValueError, match="All entries of sample_weight are zero"):
        score_blocks(model, blocks(X, 15), blocks(y, 15), blocks(weights * 0, 15))
    with pytest.raises(ValueError, match="X has no rows"):
        score_blocks(model, blocks(X[:0], 15), blocks(y[:0], 15))


# ---- confidences of the training rows

P = np.array([[0.2, 0.8, 0], [1, 0, 0], [0, 0.5, 0.5], [0, 0, 1], [0.1, 0, 0.9]])
MASK = np.array([[1, 1, 0], [1, 0, 1], [0, 1, 1], [0, 0, 1], [1, 0, 1]])  # row 1: 0 at candidate 2
NAMES = np.array(["ant", "bee", "cow"])


def stored(values, mask):
    """CSR matrix that stores every candidate, also the zeros."""
    matrix = sparse.csr_array(mask.astype(float))
    matrix.data = values[mask.astype(bool)]
    return matrix


def results(mask):
    X = [delayed(np.ones((2, 1))), delayed(np.ones((0, 1))), delayed(np.ones((3, 1)))]
    parts = [slice(2), slice(2, 2), slice(2, 5)]
    blocks = [delayed((stored(P[s], MASK[s]), stored(1 - P[s], MASK[s]))) for s in parts]
    return RowResults(blocks, RowBlocks(X, mask))


def test_dense_mask_gives_dense_distributions():
    made = results([set(NAMES[row.astype(bool)]) for row in MASK])
    got = made.distributions(0)
    assert got.shape == (5, 3)
    assert got.chunks == ((2, 3), (3,))  # Dask leaves out empty blocks
    np.testing.assert_array_equal(got.compute(), P)
    Q = np.where(MASK, 1 - P, 1.0)
    np.testing.assert_array_equal(made.distributions(1, off_support=1.0).compute(), Q)


def test_sparse_mask_gives_sparse_distributions():
    got = results(sparse.csr_array(MASK)).distributions(0).compute()
    assert sparse.issparse(got)
    assert got.nnz == MASK.sum()
    np.testing.assert_array_equal(got.toarray(), P)


def test_best_candidate_of_every_row():
    made = results([set(NAMES[row.astype(bool)]) for row in MASK])
    got = made.transduction()
    assert got.shape == (5,)
    assert got.dtype == NAMES.dtype
    assert got.compute().tolist() == ["bee", "ant", "bee", "cow", "cow"]
