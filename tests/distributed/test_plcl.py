import pickle

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from scikit_learn_checks import every_check
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

from ambilearn import PLCL
from ambilearn.datasets import make_candidates
from ambilearn.distributed import DistributedPLCL
from ambilearn.kernel.landmarks import sample_limit

pytestmark = pytest.mark.usefixtures("here")

SMALL = {"n_landmarks": 30, "random_state": 0}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:n_neighbors:UserWarning")  # its data sets are small
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@every_check([DistributedPLCL(n_landmarks=20)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def assert_same_fit(model, local, atol=1e-6):
    """All that both fits have; row by row in the order of the rows."""
    assert model.n_iter_ == local.n_iter_
    np.testing.assert_allclose(model.objective_, local.objective_, rtol=1e-9)
    np.testing.assert_array_equal(model.classes_, local.classes_)
    for name in ("intercept_", "dual_coef_", "coef_", "X_fit_", "sigma_"):
        assert hasattr(model, name) == hasattr(local, name)
        if hasattr(local, name) and getattr(local, name) is not None:
            np.testing.assert_allclose(
                dense(getattr(model, name)), dense(getattr(local, name)), atol=atol
            )
    for name in ("label_distributions_", "complementary_distributions_"):
        assert hasattr(model, name) == hasattr(local, name)
        if hasattr(local, name):
            np.testing.assert_allclose(
                dense(getattr(model, name).compute()), dense(getattr(local, name)), atol=atol
            )
    np.testing.assert_array_equal(model.transduction_.compute(), local.transduction_)


def dense(values):
    return values.toarray() if sparse.issparse(values) else values


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"landmarks": "uniform"},
        {"n_landmarks": 500},  # more than there are rows
        {"complementary": False},
        {"graph": False},
        {"graph": False, "complementary": False},
        {"alpha": 1.0, "beta": 0.0, "sigma": 2.0},
        {"kernel": "linear"},
        {"kernel": laplacian_kernel},
    ],
    ids=lambda params: ",".join(params) or "defaults",
)
def test_one_partition_is_the_local_low_rank_fit(groups, blocks, params):
    X, Y, _ = groups()
    params = SMALL | params
    model = DistributedPLCL(**params, n_partitions=1).fit(blocks(X, 70), blocks(Y, 50))
    assert_same_fit(model, PLCL(**params).fit(X, Y))


def test_weights_of_candidates_are_passed_to_the_workers(groups, blocks):
    """Also where only some blocks have weights."""
    X, Y, _ = groups()
    table = Y * np.random.default_rng(0).uniform(0.1, 1.0, Y.shape)
    table[:60] = Y[:60]
    model = DistributedPLCL(**SMALL, n_partitions=1).fit(blocks(X, 70), blocks(table, 50))
    local = PLCL(**SMALL).fit(X, table)
    assert_same_fit(model, local)
    blind = PLCL(**SMALL).fit(X, Y)
    assert np.abs(local.label_distributions_ - blind.label_distributions_).max() > 0.1


def test_weights_of_rows_are_passed_to_the_workers(groups, blocks):
    X, Y, _ = groups()
    weights = np.random.default_rng(0).uniform(0.0, 3.0, len(X))
    local = PLCL(**SMALL).fit(X, Y, weights)
    for given in (weights, da.from_array(weights, chunks=40)):
        model = DistributedPLCL(**SMALL, n_partitions=1).fit(blocks(X, 70), blocks(Y, 50), given)
        assert_same_fit(model, local)
    several = DistributedPLCL(**SMALL, n_partitions=3, graph=False)
    several.fit(blocks(X, 70), blocks(Y, 50), weights)
    assert_same_fit(several, PLCL(**SMALL, graph=False).fit(X, Y, weights), atol=1e-5)
    with pytest.raises(ValueError, match="sample_weight"):
        several.fit(blocks(X, 70), blocks(Y, 50), weights[:-1])


def test_one_partition_with_samples_of_the_rows(groups, blocks):
    """So many rows that bandwidth and landmarks come from samples: the same ones."""
    X, Y, _ = groups(sample_limit(5) + 100)
    params = {"n_landmarks": 5, "random_state": 0, "graph": False, "max_iter": 2, "tol": 0}
    model = DistributedPLCL(**params, n_partitions=1).fit(blocks(X, 999), blocks(Y, 999))
    assert_same_fit(model, PLCL(**params).fit(X, Y))


def test_one_partition_of_sparse_rows_and_masks(groups, blocks):
    X, Y, _ = groups()
    X = np.where(np.abs(X) > 0.5, X, 0)
    sparse_blocks = (blocks(each, 70).map_blocks(sparse.csr_matrix) for each in (X, Y))
    model = DistributedPLCL(**SMALL, n_partitions=1).fit(*sparse_blocks)
    local = PLCL(**SMALL).fit(sparse.csr_array(X), sparse.csr_array(Y))
    assert_same_fit(model, local)
    assert sparse.issparse(model.label_distributions_.compute())
    assert model.label_distributions_.compute().nnz == Y.sum()


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(scale(X), y, random_state=0)
    sets, _ = make_candidates(y_train, p=0.9, r=2, random_state=0)
    return X_train, sets.to_mask(), X_test, y_train, y_test


@pytest.mark.slow
def test_several_partitions_are_as_accurate(digits, blocks):
    X, Y, X_test, y, y_test = digits
    params = {"n_landmarks": 150, "random_state": 0}
    local = PLCL(**params).fit(X, Y)
    model = DistributedPLCL(**params, n_partitions=5).fit(blocks(X, 300), blocks(Y, 300))
    assert len(model.partition_sizes_) >= 5
    assert model.partition_sizes_.sum() == len(X)
    assert abs(model.score(X_test, y_test) - local.score(X_test, y_test)) <= 0.01
    told = np.mean(model.transduction_.compute() == y)
    assert abs(told - np.mean(local.transduction_ == y)) <= 0.01
    assert np.all(np.diff(model.objective_) <= 1e-9 * model.objective_[0])


def test_results_are_in_the_order_of_the_rows(groups, blocks):
    """Rows with one candidate show their place."""
    X, Y, y = groups()
    Y[::3] = np.eye(4, dtype=bool)[y[::3]]
    model = DistributedPLCL(**SMALL, n_partitions=4).fit(blocks(X, 50), blocks(Y, 50))
    P, Q = model.label_distributions_, model.complementary_distributions_
    assert P.chunks == Q.chunks == ((50, 50, 50, 50, 40), (4,))
    P, Q = dask.compute(P, Q)
    assert np.all(P[~Y] == 0)
    assert np.all(Q[~Y] == 1)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_array_equal(model.transduction_.compute()[::3], y[::3])


def test_as_many_partitions_as_blocks(groups, blocks):
    X, Y, _ = groups()
    assert len(DistributedPLCL(**SMALL).fit(blocks(X, 80), Y).partition_sizes_) >= 3
    assert DistributedPLCL(**SMALL).fit(blocks(X, 240), Y).partition_sizes_.tolist() == [240]


def test_the_fit_does_not_depend_on_the_scheduler(groups, blocks):
    X, Y, _ = groups()
    fits = []
    for scheduler in ("synchronous", "threads"):
        with dask.config.set(scheduler=scheduler):
            model = DistributedPLCL(**SMALL).fit(blocks(X, 80), blocks(Y, 80))
            fits.append(dask.compute(model.label_distributions_)[0])
    np.testing.assert_allclose(*fits, atol=1e-9)


@pytest.fixture
def table(groups, tmp_path):
    """A Parquet file of four row groups, with a column such as "a|c"."""
    X, Y, _ = groups()
    names = np.array(list("abcd"))
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(5)])
    frame["names"] = ["|".join(names[row]) for row in Y]
    frame.to_parquet(tmp_path / "people.parquet", row_group_size=60)
    return tmp_path / "people.parquet", frame


def test_parquet(table, groups):
    path, frame = table
    X, Y, y = groups()
    rows = dd.read_parquet(path, split_row_groups=True)
    features = rows[[f"x{j}" for j in range(5)]]
    model = DistributedPLCL(**SMALL, n_partitions=2).fit(features, rows["names"].str.split("|"))
    assert model.classes_.tolist() == list("abcd")
    assert model.feature_names_in_.tolist() == [f"x{j}" for j in range(5)]
    predicted = model.predict(features).compute()
    np.testing.assert_array_equal(predicted, model.to_local().predict(frame.drop(columns="names")))
    assert np.mean(predicted == np.array(list("abcd"))[y]) > 0.9

    of_arrays = DistributedPLCL(**SMALL, n_partitions=2).fit(da.from_array(X, chunks=(60, 5)), Y)
    np.testing.assert_allclose(
        model.label_distributions_.compute(), of_arrays.label_distributions_.compute(), atol=1e-9
    )


@pytest.fixture
def fitted(groups, blocks):
    X, Y, _ = groups()
    return DistributedPLCL(**SMALL, n_partitions=2).fit(blocks(X, 80), blocks(Y, 80))


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_prediction_is_lazy_for_dask_and_local_for_numpy(fitted, groups, blocks, method):
    X, _, _ = groups(50, seed=1)
    here, there = getattr(fitted, method)(X), getattr(fitted, method)(blocks(X, 20))
    assert isinstance(here, np.ndarray)
    assert isinstance(there, da.Array)
    assert there.shape == here.shape
    np.testing.assert_allclose(there.compute(), here)


def test_two_labels_give_one_column_of_scores(blocks):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    model = DistributedPLCL(**SMALL).fit(blocks(X + y[:, None], 30), blocks(y, 30))
    scores = model.decision_function(blocks(X, 30))
    assert scores.shape == (60,)
    np.testing.assert_allclose(scores.compute(), model.decision_function(X))


def test_local_model_predicts_the_same(fitted, groups):
    X, _, _ = groups(50, seed=1)
    local = fitted.to_local()
    assert type(local) is PLCL
    assert local.get_params() == {
        k: v for k, v in fitted.get_params().items() if k != "n_partitions"
    }
    np.testing.assert_array_equal(local.predict_proba(X), fitted.predict_proba(X))
    np.testing.assert_array_equal(local.objective_, fitted.objective_)
    assert not hasattr(local, "label_distributions_")


def test_pickle_keeps_what_predicts(fitted, groups):
    X, _, _ = groups(50, seed=1)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert not hasattr(again, "label_distributions_")
    assert hasattr(fitted, "label_distributions_")


def test_second_fit_replaces_the_first(fitted, groups, blocks):
    X, Y, _ = groups()
    fitted.set_params(complementary=False, kernel="linear").fit(blocks(X, 80), blocks(Y, 80))
    assert not hasattr(fitted, "complementary_distributions_")
    assert not hasattr(fitted, "dual_coef_")
    assert fitted.coef_.shape == (4, 5)


def test_rejected_data_do_not_change_an_earlier_fit(fitted, groups, blocks):
    X, Y, _ = groups()
    expected = fitted.predict(X)
    with pytest.raises(ValueError, match="candidate sets for 5"):
        fitted.fit(blocks(X, 80), Y[:5])
    np.testing.assert_array_equal(fitted.predict(X), expected)


def test_warns_without_convergence_and_prints_progress(groups, blocks, capsys):
    X, Y, _ = groups()
    with pytest.warns(ConvergenceWarning, match="DistributedPLCL stopped after max_iter=2"):
        DistributedPLCL(**SMALL, max_iter=2, verbose=1).fit(blocks(X, 120), Y)
    assert capsys.readouterr().out.count("[DistributedPLCL] iteration") == 2


def test_fewer_rows_than_neighbors():
    X, y = np.random.default_rng(0).normal(size=(6, 2)), [{0}, {1}, {0, 1}] * 2
    with pytest.warns(UserWarning, match="n_neighbors=10 but there are only 6 rows"):
        model = DistributedPLCL(n_partitions=3).fit(da.from_array(X, chunks=(2, 2)), y)
    assert model.partition_sizes_.tolist() == [6]
    assert model.transduction_.compute()[[0, 1]].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kernel": "precomputed"}, "is not supported by DistributedPLCL"),
        ({"n_landmarks": None}, "'n_landmarks' parameter"),
        ({"n_landmarks": True}, "'n_landmarks' parameter"),
        ({"n_partitions": 0}, "'n_partitions' parameter"),
    ],
)
def test_invalid_parameters_raise(params, message):
    with pytest.raises(ValueError, match=message):
        DistributedPLCL(**params).fit(np.eye(4), [0, 1, 0, 1])
