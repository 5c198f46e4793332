import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from ambilearn import PLCL
from ambilearn.distributed.prediction import predict_blocks, score_blocks

pytestmark = pytest.mark.usefixtures("here")


@pytest.fixture
def model(groups):
    X, Y, _ = groups(120)
    return PLCL(n_landmarks=20, random_state=0).fit(X, Y)


def test_predictions_are_the_models(model, groups, blocks):
    X, _, _ = groups(50, seed=1)
    labels = predict_blocks(model, "predict", blocks(X, 20), model.classes_[:0])
    assert labels.chunks == ((20, 20, 10),)
    assert labels.dtype == model.classes_.dtype
    np.testing.assert_array_equal(labels.compute(), model.predict(X))
    shares = predict_blocks(model, "predict_proba", blocks(X, 20), np.empty((0, 0)))
    assert shares.shape == (50, 4)
    np.testing.assert_allclose(shares.compute(), model.predict_proba(X))


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
