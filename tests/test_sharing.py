import gc
import weakref

import numpy as np
import pytest
from sklearn.base import clone

from ambilearn import PLCL
from ambilearn.datasets import load_dataset, make_candidates
from ambilearn.methods import kernel_classifier
from ambilearn.methods.lalo import LALO
from ambilearn.methods.plaggd import PLAGGD
from ambilearn.methods.plknn import PLKNN
from ambilearn.methods.sure import SURE
from ambilearn.sharing import sharing


@pytest.fixture(scope="module")
def rows():
    data = load_dataset("iris")
    sets, _ = make_candidates(data.y, p=0.8, random_state=0)
    return data.X[::2], sets.take(np.arange(0, 150, 2))


@pytest.fixture
def factorisations(monkeypatch):
    """Ridges that were really factored."""
    made = []

    class Counted(kernel_classifier.KernelRidge):
        def __init__(self, K, ridge, **options):
            made.append(ridge)
            super().__init__(K, ridge, **options)

    monkeypatch.setattr(kernel_classifier, "KernelRidge", Counted)
    return made


@pytest.mark.parametrize("method", [PLCL, SURE, LALO, PLAGGD, PLKNN])
def test_results_are_the_same_to_the_last_bit(method, rows):
    X, sets = rows
    plain = method().fit(X, sets)
    shared = sharing(method())
    for model in (clone(shared), clone(shared)):
        model.fit(X, sets)
        assert np.array_equal(model.decision_function(X), plain.decision_function(X))
        assert np.array_equal(model.label_distributions_, plain.label_distributions_)


def test_each_ridge_is_factored_once(rows, factorisations):
    X, sets = rows
    model = sharing(PLCL(max_iter=2, tol=0))
    for alpha in (0.5, 2.0):
        for mu in (0.1, 1.0, 4.0):
            clone(model).set_params(alpha=alpha, mu=mu).fit(X, sets)
    assert sorted(factorisations) == [0.03 / 2.0, 0.03, 0.03 / 0.5]


def test_another_kernel_is_another_factorisation(rows, factorisations):
    X, sets = rows
    model = sharing(SURE(max_iter=2, tol=0))
    for params in ({}, {"sigma": 0.7}, {"sigma": 0.7}, {"reg": 0.5}):
        found = clone(model).set_params(**params).fit(X, sets)
        assert np.array_equal(
            found.train_output_, SURE(max_iter=2, tol=0, **params).fit(X, sets).train_output_
        )
        assert found.sigma_ == SURE(max_iter=2, tol=0, **params).fit(X, sets).sigma_
    assert len(factorisations) == 3 + 8  # three shared, and the eight plain fits


def test_nothing_is_shared_between_two_sets_of_rows(rows, factorisations):
    X, sets = rows
    for part in (slice(0, 40), slice(35, 75)):
        sharing(SURE(max_iter=2, tol=0)).fit(X[part], sets.take(np.arange(75)[part]))
    assert len(factorisations) == 2


def test_it_looks_like_the_method(rows):
    model = sharing(PLCL(alpha=0.25))
    assert isinstance(model, PLCL)
    assert model.get_params() == PLCL(alpha=0.25).get_params()
    assert type(model).__name__ == "PLCL"


def test_the_matrices_go_with_the_estimator(rows):
    X, sets = rows
    model = sharing(SURE(max_iter=2, tol=0)).fit(X, sets)
    regressor = next(v[0] for k, v in type(model)._shared.items() if k[0] == "factor")
    alive = weakref.ref(regressor)
    del model, regressor
    gc.collect()
    assert alive() is None


def test_the_first_graph_and_the_kernel_are_made_once(rows, monkeypatch):
    X, sets = rows
    made = []
    for name in ("AdaptiveGraph", "train_kernel"):
        real = getattr(kernel_classifier, name)

        def watched(*arguments, real=real, name=name, **options):
            made.append(name)
            return real(*arguments, **options)

        monkeypatch.setattr(kernel_classifier, name, watched)
    for method in (PLCL, PLAGGD):
        made.clear()
        model = sharing(method(max_iter=3, tol=0))
        for mu in (0.1, 1.0, 4.0):
            shared = clone(model).set_params(mu=mu).fit(X, sets)
            assert sorted(made) == ["AdaptiveGraph", "train_kernel"]
            alone = method(max_iter=3, tol=0, mu=mu).fit(X, sets)
            assert np.array_equal(shared.label_distributions_, alone.label_distributions_)
            assert np.array_equal(shared.graph_.toarray(), alone.graph_.toarray())
            del made[2:]
