"""The private names of scikit-learn that we use; a release that changes them fails here."""

import ast
from numbers import Integral, Real
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.svm import SVC

import ambilearn
from ambilearn._utils import sklearn_compat
from ambilearn._utils.sklearn_compat import (
    HasMethods,
    Interval,
    StrOptions,
    _check_feature_names_in,
    _num_samples,
    _safe_indexing,
    _safe_split,
    validate_parameter_constraints,
)

SOURCE = Path(ambilearn.__file__).parent
ROWS = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
FORMS = [list, np.array, sparse.csr_array, pd.DataFrame]


def _private_imports(path):
    """The private names that a module imports from scikit-learn."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            root, *parts = name.split(".")
            if root == "sklearn" and any(part.startswith("_") for part in parts):
                yield name


def test_no_other_module_imports_private_names():
    found = {path: list(_private_imports(path)) for path in SOURCE.rglob("*.py")}
    homes = [path.relative_to(SOURCE).as_posix() for path, names in found.items() if names]
    assert homes == ["_utils/sklearn_compat.py"]


def test_every_name_is_used():
    """Names that are not used any more must be removed."""
    others = [path for path in SOURCE.rglob("*.py") if path.name != "sklearn_compat.py"]
    used = {
        alias.name
        for path in others
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == sklearn_compat.__name__
        for alias in node.names
    }
    assert used == set(sklearn_compat.__all__)


@pytest.mark.parametrize("form", FORMS)
def test_rows_are_counted_in_every_form(form):
    assert _num_samples(form(ROWS)) == 3


def test_input_without_rows_raises():
    with pytest.raises(TypeError, match="got <class 'int'>"):
        _num_samples(3)


@pytest.mark.parametrize("form", FORMS)
def test_rows_can_be_repeated_in_every_form(form):
    taken = _safe_indexing(form(ROWS), np.array([2, 0, 2]))
    taken = taken.toarray() if sparse.issparse(taken) else np.asarray(taken)
    np.testing.assert_array_equal(taken, np.array(ROWS)[[2, 0, 2]])


def test_a_split_selects_rows_and_columns_of_a_kernel_matrix():
    K = np.arange(16.0).reshape(4, 4)
    train, test = np.array([0, 2]), np.array([1, 3])
    X_train, y_train = _safe_split(SVC(), K, None, train)
    np.testing.assert_array_equal(X_train, K[train])
    assert y_train is None
    np.testing.assert_array_equal(
        _safe_split(SVC(kernel="precomputed"), K, None, test, train)[0], K[np.ix_(test, train)]
    )


def test_feature_names_are_generated_kept_or_rejected():
    model = BaseEstimator()
    model.n_features_in_ = 2
    assert list(_check_feature_names_in(model, None)) == ["x0", "x1"]
    assert list(_check_feature_names_in(model, ["a", "b"])) == ["a", "b"]
    with pytest.raises(ValueError, match="number of features"):
        _check_feature_names_in(model, ["a"])


@pytest.mark.parametrize(
    ("constraint", "good", "bad", "words"),
    [
        (Interval(Real, 0, None, closed="neither"), 0.5, 0, r"a float in the range \(0.0, inf\)"),
        (Interval(Integral, 1, 3, closed="both"), 3, 3.5, r"an int in the range \[1, 3\]"),
        (StrOptions({"rbf"}), "rbf", "rfb", "a str among {'rbf'}. Got 'rfb' instead"),
        (HasMethods(["fit", "predict"]), SVC(), 1, "an object implementing 'fit' and 'predict'"),
    ],
)
def test_constraints_accept_valid_and_describe_expected_values(constraint, good, bad, words):
    validate_parameter_constraints({"a": [constraint]}, {"a": good}, caller_name="PLCL")
    with pytest.raises(ValueError, match=f"The 'a' parameter of PLCL must be {words}"):
        validate_parameter_constraints({"a": [constraint]}, {"a": bad}, caller_name="PLCL")
