"""Rows in every memory layout, sparse format and array library must give the same results."""

import os
import warnings
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from scipy import sparse
from sklearn import config_context
from sklearn.utils import get_tags

from ambilearn.backend.arrays import to_numpy
from ambilearn.registry import METHODS
from torture.oracle import Defect
from torture.target import Target

LIBRARIES = tuple(name for name in ("array_api_strict", "torch") if find_spec(name))
FORMS = ("fortran", "spaced", "frame", "csr", "csc", *LIBRARIES)
WITH_NEIGHBORS = ("ipal", "lalo", "plaggd", "plcl", "plda", "plknn")
# The least squares of IPAL are singular with more neighbors than features.
TOLERANCES = {"ipal": 1e-4}


@st.composite
def layout_cases(draw: Any) -> dict[str, Any]:
    """A method, a form, and rows with many zeros, duplicates and multiples."""
    n = draw(st.integers(8, 40))
    numbers = st.lists(st.integers(0, n - 1), max_size=n, unique=True)
    return {
        "method": draw(st.sampled_from(WITH_NEIGHBORS)),
        "n_neighbors": draw(st.integers(1, 10)),
        "seed": draw(st.integers(0, 10**6)),
        "n rows": n,
        "n features": draw(st.integers(2, 20)),
        "copies": draw(numbers),
        "multiples": draw(numbers),
        "zero rows": draw(numbers),
        "form": draw(st.sampled_from(FORMS)),
    }


def make_rows(case: dict[str, Any]) -> tuple[Any, Any]:
    """Rows and a mask of candidates."""
    rng = np.random.default_rng(case["seed"])
    n, d = case["n rows"], case["n features"]
    y = rng.integers(3, size=n)
    X = (rng.normal(size=(3, d)) * 2)[y] + rng.normal(size=(n, d))
    mask = rng.random((n, 3)) < 0.4
    mask[np.arange(n), y] = True
    original = X[0].copy()
    X[case["copies"]] = original
    X[case["multiples"]] = original * rng.integers(1, 9, size=(len(case["multiples"]), 1))
    X[case["zero rows"]] = 0
    return X, mask


def in_form(X: Any, form: str) -> Any:
    """The rows in one of the forms."""
    if form in LIBRARIES:
        return import_module(form).asarray(X)
    if form == "spaced":
        spaced = np.zeros((2 * len(X), X.shape[1] + 3))
        spaced[::2, 1:-2] = X
        return spaced[::2, 1:-2]
    make = {"fortran": np.asfortranarray, "frame": pd.DataFrame, "csr": sparse.csr_array}
    return make.get(form, sparse.csc_array)(X)


def check_layout(case: dict[str, Any], folder: Path) -> bool:
    """A method gives the same confidences and labels for an array and for another form of it."""
    X, mask = make_rows(case)
    with (
        warnings.catch_warnings(),
        mock.patch.dict(os.environ, SCIPY_ARRAY_API="1"),
        config_context(array_api_dispatch=True),
    ):
        warnings.simplefilter("ignore")
        model = METHODS[case["method"]].load()(n_neighbors=case["n_neighbors"])
        if "max_iter" in model.get_params():
            model.set_params(max_iter=3, tol=0)
        if case["form"] in LIBRARIES and not get_tags(model).array_api_support:
            return False
        expected = _confidences(model, X, mask)
        found = _confidences(model, in_form(X, case["form"]), mask)
    tolerance = TOLERANCES.get(case["method"], 1e-6)
    for ours, theirs in zip(expected, found, strict=True):
        difference = np.abs(ours - theirs).max()
        if not difference <= tolerance:
            raise Defect("wrong", f"confidences differ by {difference:.1e}", "confidences differ")
        best, other = np.sort(ours, axis=1)[:, :-3:-1].T
        clear = best > other + 2 * tolerance  # for equal confidences, rounding decides
        if (ours.argmax(axis=1) != theirs.argmax(axis=1))[clear].any():
            raise Defect("wrong", "labels differ")
    return True


def _confidences(model: Any, X: Any, mask: Any) -> list[Any]:
    model.fit(X, mask)
    new = X[:5, :] if hasattr(X, "__array_namespace__") else X[:5]
    if sparse.issparse(X):
        new = X.tocsr()[:5]
    return [to_numpy(model.label_distributions_), to_numpy(model.predict_proba(new))]


TARGETS = [Target("layouts", "inputs", layout_cases(), check_layout, share=5)]
