"""Every method × inputs that are damaged, odd or extreme: the right answer, or a clear error.

Odd forms of candidate sets are in ``tests/candidates``, odd problems in ``test_matrix.py``.
"""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from core_methods import CORE_CLASSES
from optimality import assert_on_candidate_simplices
from problems import ambiguous
from scipy import sparse

from ambilearn import PLAGGD, PLCL

every_method = pytest.mark.parametrize("method", CORE_CLASSES)
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:n_neighbors:UserWarning"),
]


@pytest.fixture(scope="module")
def problem():
    """Rows with zeros and quarters, which every type of numbers can hold; a mask; new rows."""
    X, mask, _ = ambiguous(n=20, d=4, n_labels=3)
    X = np.where(np.abs(X) < 1, 0.0, np.round(4 * X) / 4)
    return X[:14], mask[:14], X[14:]


def make(method):
    """The method with few neighbors and iterations."""
    model = method()
    few = {name: 3 for name in model.get_params() if name.endswith(("n_neighbors", "_iter"))}
    return model.set_params(**few)


def assert_sound(model, mask, X):
    assert_on_candidate_simplices(model.label_distributions_, mask)
    confidences = model.predict_proba(X)
    assert_on_candidate_simplices(confidences, np.ones_like(confidences))
    assert np.isfinite(model.decision_function(X)).all()
    assert model.predict(X).shape == (X.shape[0],)


# Sparse and dense


@every_method
def test_sparse_and_dense_rows_can_be_mixed_in_fit_and_predict(method, problem):
    X, mask, X_new = problem
    dense, thin = make(method).fit(X, mask), make(method).fit(sparse.csr_array(X), mask)
    expected = dense.predict_proba(X_new)
    for model, rows in [
        (dense, sparse.csr_array(X_new)),
        (dense, sparse.csr_matrix(X_new)),
        (thin, X_new),
        (thin, X_new.tolist()),
        (thin, sparse.coo_array(X_new)),
    ]:
        np.testing.assert_allclose(model.predict_proba(rows), expected, atol=1e-7)
        np.testing.assert_array_equal(model.predict(rows), dense.predict(X_new))


# Masks and types

SAME = {
    "Fortran order": np.asfortranarray,
    "byte-swapped": lambda X: X.astype(">f8"),
    "half precision": lambda X: X.astype(np.float16),
    "objects": lambda X: X.astype(object),
    "text": lambda X: X.astype(str),
    "lists": lambda X: X.tolist(),
    "masked array without a mask": np.ma.array,
    "frame, odd index": lambda X: pd.DataFrame(X, columns=list("abcd"), index=[7] * len(X)),
    "frame, sparse": lambda X: pd.DataFrame.sparse.from_spmatrix(sparse.csr_array(X)),
    "frame of polars": pl.DataFrame,
    "table of pyarrow": lambda X: pa.table(dict(zip("abcd", X.T, strict=True))),
}


@pytest.mark.parametrize("form", SAME)
def test_rows_in_odd_forms_give_the_same(form, problem):
    X, mask, X_new = problem
    expected = PLCL(n_neighbors=3).fit(X, mask).predict_proba(X_new)
    model = PLCL(n_neighbors=3).fit(SAME[form](X), mask)
    np.testing.assert_allclose(model.predict_proba(SAME[form](X_new)), expected, atol=1e-12)


def test_read_only_rows_are_fine(problem):
    X, mask, X_new = (array.copy() for array in problem)
    for array in (X, mask, X_new):
        array.flags.writeable = False
    for method in CORE_CLASSES:
        assert_sound(make(method).fit(X, mask), mask, X_new)


REJECTED = {
    "masked": (lambda X: np.ma.array(X, mask=X > 2), r"^X is a masked array with .*SimpleImputer"),
    "times": (lambda X: X.astype(int).astype("M8[D]"), "^X contains times"),
    "ragged": (lambda X: [*X.tolist()[:-1], [1.0]], "^Row .* of X has 1 features but row 0 has 4"),
    "complex": (lambda X: X * 1j, "Complex data not supported"),
    "missing, sparse": (lambda X: sparse.csr_array(np.where(X > 2, np.nan, X)), "contains NaN"),
    "1e308": (lambda X: X * 1e307, "^The largest entry of X is"),
}


@pytest.mark.parametrize("form", REJECTED)
def test_rows_that_are_rejected(form, problem):
    X, mask, X_new = problem
    distort, said = REJECTED[form]
    with pytest.raises((ValueError, TypeError), match=said):
        PLCL(n_neighbors=3).fit(distort(X), mask)
    model = PLCL(n_neighbors=3).fit(X, mask)
    with pytest.raises((ValueError, TypeError), match=said):
        model.predict(distort(np.vstack([X_new, X])))


# Extremes


@every_method
@pytest.mark.parametrize("size", [1e9, 1e20, 1e74])
def test_an_outlier_has_confidences_too(method, size):
    X, mask, _ = ambiguous()
    X[3] *= size
    assert_sound(make(method).fit(X, mask), mask, X)


@every_method
@pytest.mark.parametrize("scales", [[1e-70, 1.0, 1e30, 1e70], [1e-74] * 4, [1e74] * 4])
def test_features_of_extreme_scales(method, scales, problem):
    X, mask, X_new = problem
    scales = np.array(scales) / np.abs(X).max()
    assert_sound(make(method).fit(X * scales, mask), mask, X_new * scales)


@pytest.mark.parametrize(
    "model", [PLCL(kernel="linear", n_neighbors=3), PLAGGD(kernel="linear", n_neighbors=3)]
)
def test_a_new_row_that_is_far_away_has_confidences_too(model, problem):
    X, mask, X_new = problem
    model.fit(X, mask)
    confidences = model.predict_proba(1e30 * X_new)
    np.testing.assert_allclose(confidences.sum(axis=1), 1)
    np.testing.assert_array_equal(
        confidences.argmax(axis=1), model.decision_function(1e30 * X_new).argmax(axis=1)
    )
