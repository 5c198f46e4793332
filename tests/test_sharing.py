import gc
import os
import pickle
import subprocess
import sys
import weakref

import numpy as np
import pytest
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsTransformer

from ambilearn import PLCL, sharing
from ambilearn.datasets import load_dataset, make_candidates
from ambilearn.methods import _kernel_classifier as kernel_classifier
from ambilearn.methods.lalo import LALO
from ambilearn.methods.plaggd import PLAGGD
from ambilearn.methods.plknn import PLKNN
from ambilearn.methods.sure import SURE
from ambilearn.selection import draw_points
from ambilearn.sharing import SharedFits
from ambilearn.solvers import ridge

PAPER_GRID = {
    "alpha": [0.001, 0.01, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 4.0],
    "beta": [0.001, 0.01, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 4.0],
    "gamma": [0.001, 0.01, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 4.0],
    "mu": [0.001, 0.01, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 4.0],
}


@pytest.fixture(scope="module")
def rows():
    data = load_dataset("iris")
    sets, _ = make_candidates(data.y, p=0.8, random_state=0)
    return data.X[::2], sets.take(np.arange(0, 150, 2))


@pytest.fixture
def calls(monkeypatch):
    """What was really computed, counted where it is computed."""
    made = []
    for name in ("AdaptiveGraph", "train_kernel", "KernelRidge", "LandmarkFeatures", "PrimalRidge"):
        real = getattr(kernel_classifier, name)

        def watched(*arguments, real=real, name=name, **options):
            made.append(name)
            return real(*arguments, **options)

        monkeypatch.setattr(kernel_classifier, name, watched)
    return made


def assert_same(found, expected, X):
    assert np.array_equal(found.decision_function(X), expected.decision_function(X))
    assert np.array_equal(found.label_distributions_, expected.label_distributions_)


@pytest.mark.parametrize("method", [PLCL, SURE, LALO, PLAGGD, PLKNN])
def test_results_are_the_same_to_the_last_bit(method, rows):
    X, sets = rows
    fits = SharedFits(X, sets)
    for _ in range(2):
        assert_same(fits.fit(method()), method().fit(X, sets), X)


@pytest.mark.parametrize("low_rank", [{}, {"n_landmarks": 20, "random_state": 0}])
@pytest.mark.parametrize("together", [True, False])
def test_fifty_points_of_the_papers_grid(rows, calls, low_rank, together):
    """One graph, one kernel, one factorisation a ridge weight; answers equal to the last bit."""
    X, sets = rows
    points = draw_points(PAPER_GRID, 50, random_state=1)
    base = {"max_iter": 3, "tol": 0, **low_rank}
    fits = SharedFits(X, sets)
    if together:
        models = list(fits.fit_all(PLCL(**base, **point) for point in points))
    else:
        models = [fits.fit(PLCL(**base, **point)) for point in points]
    weights = {0.03} | {0.03 / point["alpha"] for point in points}
    assert calls.count("AdaptiveGraph") == fits.made["graph"] == 1
    if low_rank:
        assert calls.count("LandmarkFeatures") == fits.made["features"] == 1
        assert calls.count("PrimalRidge") == fits.made["factorisation"] == len(weights)
        assert "train_kernel" not in calls
    else:
        assert calls.count("train_kernel") == fits.made["kernel"] == 1
        assert calls.count("KernelRidge") == fits.made["factorisation"] == len(weights)
    for model, point in zip(models, points, strict=True):
        alone = PLCL(**base, **point).fit(X, sets)
        assert_same(model, alone, X)
        assert np.array_equal(model.graph_.toarray(), alone.graph_.toarray())
        assert np.array_equal(model.objective_, alone.objective_)


@pytest.fixture
def substitutions(monkeypatch):
    """How many columns each substitution had."""
    real, widths = ridge.KernelRidge.inverse_times, []

    def watched(self, columns):
        widths.append(columns.shape[1])
        return real(self, columns)

    monkeypatch.setattr(ridge.KernelRidge, "inverse_times", watched)
    return widths


def test_many_fits_need_as_few_substitutions_as_one(rows, substitutions):
    X, sets = rows
    points = draw_points({"mu": [0.1, 1.0, 4.0], "gamma": [0.1, 1.0, 4.0]})
    models = list(SharedFits(X, sets).fit_all(PLCL(max_iter=4, tol=0, **point) for point in points))
    assert len(models) == 9
    # For each of two factors: one for the bias, some to see if columns are alike, and one a round.
    assert sorted(width for width in substitutions if width not in (12, 36)) == [1, 1] + [9 * 3] * 8


@pytest.mark.parametrize("columns", [1, 7, 512])
def test_fits_to_convergence_end_in_their_own_time_and_come_in_order(rows, monkeypatch, columns):
    """However many run at once; all of them are what each is alone."""
    X, sets = rows
    monkeypatch.setattr(sharing, "_COLUMNS", columns)
    points = draw_points(PAPER_GRID, 12, random_state=2)
    models = list(SharedFits(X, sets).fit_all(PLCL(**point) for point in points))
    assert len({model.n_iter_ for model in models}) > 1
    for model, point in zip(models, points, strict=True):
        assert model.get_params() == PLCL(**point).get_params()
        alone = PLCL(**point).fit(X, sets)
        assert_same(model, alone, X)
        assert np.array_equal(model.objective_, alone.objective_)
        assert not hasattr(model, "_shared")


def test_different_methods_run_side_by_side(rows):
    X, sets = rows
    methods = [PLCL, PLKNN, SURE, LALO, PLAGGD, PLKNN, PLCL]
    models = SharedFits(X, sets).fit_all([method() for method in methods])
    for model, method in zip(models, methods, strict=True):
        assert type(model) is method
        assert_same(model, method().fit(X, sets), X)


def test_estimators_are_taken_as_they_are_needed(rows, monkeypatch):
    X, sets = rows
    monkeypatch.setattr(sharing, "_COLUMNS", 2 * sets.n_labels)
    taken = []

    def estimators():
        for mu in (0.1, 1.0, 4.0, 1.5):
            taken.append(mu)
            yield PLCL(mu=mu, max_iter=2, tol=0)

    models = SharedFits(X, sets).fit_all(estimators())
    assert taken == []
    assert next(models).mu == 0.1
    assert len(taken) == 2
    assert [model.mu for model in models] == [1.0, 4.0, 1.5]


def test_no_estimators_no_models(rows):
    assert list(SharedFits(*rows).fit_all([])) == []


@pytest.mark.parametrize("core", ["Nehalem", "Haswell", ""])
def test_equal_to_the_last_bit_on_other_processors(core):
    """OpenBLAS has code for each kind of processor; on other machines the variable does nothing."""
    script = """
import numpy as np
from ambilearn import PLCL
from ambilearn.sharing import SharedFits
rng = np.random.default_rng(0)
for n, n_labels in ((60, 3), (300, 13)):
    X = rng.normal(size=(n, 5))
    y = [set(rng.integers(n_labels, size=3).tolist()) for _ in range(n)]
    models = [PLCL(mu=mu, max_iter=3, tol=0) for mu in (0.1, 1, 2, 4)]
    for found in SharedFits(X, y).fit_all(models):
        alone = PLCL(mu=found.mu, max_iter=3, tol=0).fit(X, y)
        assert np.array_equal(found.label_distributions_, alone.label_distributions_)
        assert np.array_equal(found.dual_coef_, alone.dual_coef_)
"""
    environment = {**os.environ, "OPENBLAS_CORETYPE": core}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize("method", [PLCL, PLAGGD])
def test_other_weights_take_the_first_graph_as_it_was(method, rows):
    """A later fit must not start from the graph that an earlier one has changed."""
    X, sets = rows
    fits = SharedFits(X, sets)
    for mu in (4.0, 0.1, 4.0):
        model = fits.fit(method(mu=mu, max_iter=3, tol=0))
        assert_same(model, method(mu=mu, max_iter=3, tol=0).fit(X, sets), X)


def test_another_kernel_is_another_factorisation(rows):
    X, sets = rows
    fits = SharedFits(X, sets)
    for params in ({}, {"sigma": 0.7}, {"sigma": 0.7}, {"reg": 0.5}):
        found = fits.fit(SURE(max_iter=2, tol=0, **params))
        alone = SURE(max_iter=2, tol=0, **params).fit(X, sets)
        assert_same(found, alone, X)
        assert found.sigma_ == alone.sigma_
    assert fits.made == {"kernel": 2, "factorisation": 3}


def test_other_landmarks_are_other_features(rows):
    X, sets = rows
    fits = SharedFits(X, sets)
    different = ({"n_landmarks": 10}, {"n_landmarks": 11}, {"n_landmarks": 10, "random_state": 1})
    for params in (*different, *different):
        params = {"random_state": 0, "max_iter": 2, "tol": 0, **params}
        assert_same(fits.fit(SURE(**params)), SURE(**params).fit(X, sets), X)
    assert fits.made == {"features": 3, "moments": 3, "factorisation": 3}


def test_the_linear_kernel_shares_its_moments(rows):
    X, sets = rows
    fits = SharedFits(X, sets)
    for reg in (0.1, 1.0, 0.1):
        model = fits.fit(SURE(kernel="linear", reg=reg))
        assert_same(model, SURE(kernel="linear", reg=reg).fit(X, sets), X)
    assert fits.made == {"moments": 1, "factorisation": 2}


def metric(p):
    return lambda a, b: (abs(a - b) ** p).sum()


@pytest.mark.parametrize(
    "searches",
    [
        [KNeighborsTransformer(metric=metric(p), algorithm="brute") for p in (1, 4)],
        [
            KNeighborsTransformer(
                metric="mahalanobis", metric_params={"VI": np.diag(v)}, algorithm="brute"
            )
            for v in ([1.0, 1.0, 1.0, 1.0], [1e4, 1.0, 1.0, 1.0 + 1e-12])
        ],
    ],
    ids=["function", "array"],
)
def test_a_graph_is_shared_only_if_its_neighbors_are_the_same(rows, searches):
    X, sets = rows
    fits = SharedFits(X, sets)
    for search in searches * 2:
        params = {"neighbors": search, "max_iter": 2, "tol": 0}
        found, alone = fits.fit(PLCL(**params)), PLCL(**params).fit(X, sets)
        assert (found.graph_ != alone.graph_).nnz == 0
        assert_same(found, alone, X)
    # A function cannot be compared with another, so these are searched each time.
    assert fits.made["graph"] == (2 if isinstance(searches[0].metric, str) else 4)


def test_a_kernel_without_a_hash_is_not_shared(rows):
    X, sets = rows
    fits = SharedFits(X, sets)
    for _ in range(2):
        assert_same(fits.fit(SURE(kernel=RBF(0.8))), SURE(kernel=RBF(0.8)).fit(X, sets), X)
    assert fits.made == {"kernel": 2, "factorisation": 2}


def test_what_a_user_does_to_one_model_does_not_reach_the_next(rows):
    X, sets = rows
    mask, low_rank = sparse.csr_array(sets.to_mask()), {"n_landmarks": 9, "random_state": 0}
    fits = SharedFits(X, mask)
    expected = [SURE().fit(X, mask), SURE(**low_rank).fit(X, mask)]
    for _ in range(2):
        exact, landmarks = fits.fit_all([SURE(), SURE(**low_rank)])
        np.testing.assert_array_equal(exact.decision_function(X), expected[0].decision_function(X))
        found, wanted = (model.decision_function(X) for model in (landmarks, expected[1]))
        np.testing.assert_array_equal(found, wanted)
        exact.label_distributions_.eliminate_zeros()
        assert exact.train_output_.nnz == mask.nnz
        landmarks.X_fit_[:] = 0


def test_nothing_is_shared_between_two_objects(rows):
    X, sets = rows
    for part in (slice(0, 40), slice(35, 75)):
        fits = SharedFits(X[part], sets.take(np.arange(75)[part]))
        fits.fit(SURE(max_iter=2, tol=0))
        assert fits.made == {"kernel": 1, "factorisation": 1}


def test_the_estimator_given_is_not_fitted_and_the_fitted_one_is_an_ordinary_one(rows):
    X, sets = rows
    given = PLCL(alpha=0.25)
    model = SharedFits(X, sets).fit(given)
    assert not hasattr(given, "classes_")
    assert type(model) is PLCL
    assert model.get_params() == given.get_params()
    assert_same(pickle.loads(pickle.dumps(model)), model, X)


def test_what_is_shared_goes_with_the_object(rows):
    X, sets = rows
    fits = SharedFits(X, sets)
    model = fits.fit(SURE(max_iter=2, tol=0))
    alive = weakref.ref(fits)
    del fits
    gc.collect()
    assert alive() is None
    assert model.predict(X).shape == (75,)


def test_a_fit_that_fails_leaves_the_object_usable(rows):
    X, sets = rows
    fits = SharedFits(X, sets)
    with pytest.raises(ValueError, match="alpha"):
        fits.fit(PLCL(alpha=-1))
    assert_same(fits.fit(PLCL()), PLCL().fit(X, sets), X)


def test_one_failure_among_many_is_raised_and_the_others_let_go(rows):
    X, sets = rows
    fits = SharedFits(X, sets)
    with pytest.raises(ValueError, match="alpha"):
        list(fits.fit_all([PLCL(), PLCL(alpha=-1), PLCL(mu=2.0)]))
    assert_same(fits.fit(PLCL(mu=2.0)), PLCL(mu=2.0).fit(X, sets), X)


def test_an_estimator_of_another_library_is_simply_fitted(rows):
    X, sets = rows
    labels = sets.classes[sets.labels[sets.indptr[:-1]]]
    model = SharedFits(X, labels).fit(ClassifierOfSets())
    assert model.fitted_with == (75, 75)


def test_a_subclass_with_a_fit_of_its_own_is_fitted_by_it_and_shares(rows):
    X, sets = rows
    fits = SharedFits(X, sets)
    given = [PLCL(), SevenNeighbors(), SevenNeighbors(mu=2.0), PLCL(mu=2.0)]
    for model, estimator in zip(fits.fit_all(given), given, strict=True):
        assert_same(model, estimator.fit(X, sets), X)
        assert not hasattr(model, "_shared")
    assert fits.made == {"graph": 2, "kernel": 1, "factorisation": 2}


class SevenNeighbors(PLCL):
    def fit(self, X, y):
        self.n_neighbors = 7
        return super().fit(X, y)


class ClassifierOfSets(LogisticRegression):
    def fit(self, X, sets):
        self.fitted_with = len(X), sets.n_rows
        return self
