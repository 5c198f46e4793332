"""Rows far from the origin, fits in several threads, and arrays that change after a fit."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from scipy import sparse
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_info, threadpool_limits

from ambilearn._utils.limits import release_control
from ambilearn.candidates import as_candidates
from ambilearn.registry import METHODS
from torture.layouts import TOLERANCES
from torture.oracle import Defect
from torture.target import Target

NAMES = ("ipal", "lalo", "plaggd", "plcl", "plcp", "plda", "plknn", "plvoting", "sure")
# The others scale rows to unit length, or reconstruct rows from their neighbors.
INVARIANT = ("lalo", "plknn", "sure")
N_THREADS = 3


def make_rows(case: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Rows whose digits an offset does not change, new rows, and a mask of candidates."""
    rng = np.random.default_rng(case["seed"])
    n, d = case["n rows"], case["n features"]
    y = rng.integers(3, size=n)
    X = 2 * np.eye(3, d)[y] + rng.normal(size=(n, d))
    mask = (rng.random((n, 3)) < 0.4) | (np.eye(3)[y] > 0)
    X = np.round(X * 2**16) / 2**16
    return X[5:], X[:5], mask[5:]


def make_model(name: str, case: dict[str, Any]) -> Any:
    """A method with few iterations, so that rounding does not change their number."""
    model = METHODS[name].load()()
    wanted = {"max_iter": 3, "tol": 0, "random_state": 0, "kernel": case.get("kernel")}
    known = model.get_params()
    return model.set_params(**{key: wanted[key] for key in wanted if key in known and wanted[key]})


def fit(model: Any, X: Any, y: Any, new: Any, **options: Any) -> list[Any]:
    """Confidences of training rows and of new rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, **options)
    return results(model, new)


def results(model: Any, new: Any) -> list[Any]:
    """Confidences of training rows and of new rows, and the labels of both."""
    labels = model.classes_.tolist()
    numbers = [[labels.index(label) for label in each.tolist()] for each in _labels(model, new)]
    confidences = model.label_distributions_, model.predict_proba(new)
    dense = [each.toarray() if sparse.issparse(each) else each.copy() for each in confidences]
    return [*dense, *map(np.array, numbers)]


def _labels(model: Any, new: Any) -> tuple[Any, Any]:
    return model.transduction_, model.predict(new)


def check_equal(found: list[Any], expected: list[Any], tolerance: float, what: str) -> None:
    """Raise if confidences differ by more than the tolerance."""
    for ours, theirs in zip(found[:2], expected[:2], strict=True):
        difference = np.abs(ours - theirs).max()
        if not difference <= tolerance:
            raise Defect("wrong", f"{what}: confidences differ by {difference:.1e}", what)


shapes = {
    "seed": st.integers(0, 10**6),
    "n rows": st.integers(15, 60),
    "n features": st.sampled_from([3, 8, 20, 80]),
}
offset_cases = st.fixed_dictionaries(
    {
        **shapes,
        "method": st.sampled_from(NAMES),
        "kernel": st.sampled_from(["rbf", "linear"]),
        "offset": st.sampled_from([1e3, 1e5, 1e6, 1e7, 1e8]),
        "form": st.sampled_from(["dense", "sparse"]),
    }
)


def check_offset(case: dict[str, Any], folder: Path) -> bool:
    """An offset of the features changes nothing, or dense and sparse rows give the same result."""
    X, new, mask = make_rows(case)
    form = sparse.csr_array if case["form"] == "sparse" else np.asarray
    offset, name = case["offset"], case["method"]
    if name in INVARIANT:
        expected = fit(make_model(name, case), X, mask, new)
    elif offset <= 1e5:  # farther away, rows of unit length are equal up to rounding
        expected = fit(make_model(name, case), X + offset, mask, new + offset)
        form = sparse.csr_array
    else:
        return False
    found = fit(make_model(name, case), form(X + offset), mask, form(new + offset))
    # Rows of unit length that are far away differ by little more than the rounding error.
    tolerance = TOLERANCES.get(name, 1e-6) + (1e-10 if name in INVARIANT else 1e-8) * offset
    check_equal(found, expected, tolerance, "an offset changes the result")
    return True


thread_cases = st.fixed_dictionaries(
    {**shapes, "methods": st.lists(st.sampled_from(NAMES), min_size=2, max_size=6)}
)


def check_threads(case: dict[str, Any], folder: Path) -> bool:
    """Fits at the same time give the results of fits one by one, and keep the BLAS threads."""
    X, new, mask = make_rows(case)
    expected = [fit(make_model(name, case), X, mask, new) for name in case["methods"]]
    limit = threadpool_limits(N_THREADS, user_api="blas")
    release_control()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # once: threads share the filters
        with ThreadPoolExecutor(len(expected)) as pool:
            models = [make_model(name, case) for name in case["methods"]]
            fits = [pool.submit(model.fit, X, mask) for model in models]
            found = [results(each.result(), new) for each in fits]
    numbers = {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}
    limit.restore_original_limits()
    for ours, theirs in zip(found, expected, strict=True):
        check_equal(ours, theirs, 1e-7, "fits in threads change the result")
    if numbers - {N_THREADS}:
        raise Defect("wrong", f"BLAS has {numbers} threads after fits in threads", "BLAS threads")
    return True


FORMS = ("array", "float32", "fortran", "csr", "csr_matrix", "frame")
SETS = ("mask", "csr mask", "labels", "candidate sets", "object array")
alias_cases = st.fixed_dictionaries(
    {
        **shapes,
        "method": st.sampled_from(sorted(set(METHODS) & {*NAMES, "plstacking"})),
        "kernel": st.sampled_from(["rbf", "linear"]),
        "X": st.sampled_from(FORMS),
        "y": st.sampled_from(SETS),
        "weights": st.booleans(),
    }
)


def _sets_in_form(mask: Any, form: str) -> tuple[Any, list[Any]]:
    """Candidate sets, and the arrays that they consist of."""
    if form == "csr mask":
        table = sparse.csr_array(mask)
        return table, [table.data, table.indices]
    if form == "labels":
        labels = mask.argmax(axis=1)
        return labels, [labels]
    if form == "candidate sets":
        sets = as_candidates(mask)
        return sets, [sets.classes]
    if form == "object array":
        rows = np.empty(len(mask), dtype=object)
        rows[:] = [list(np.flatnonzero(row)) for row in mask]
        return rows, [rows]
    return mask, [mask]


def check_aliases(case: dict[str, Any], folder: Path) -> bool:
    """A fit does not change its input, and changes of the input do not change a fitted model."""
    X, new, mask = make_rows(case)
    make = {
        "float32": lambda: X.astype("f4"),
        "fortran": lambda: np.asfortranarray(X),
        "csr": lambda: sparse.csr_array(X),
        "csr_matrix": lambda: sparse.csr_matrix(X),
        "frame": lambda: pd.DataFrame(X),
    }
    rows = make.get(case["X"], X.copy)()
    y, arrays = _sets_in_form(mask, case["y"])
    model = make_model(case["method"], case)
    options = {}
    if case["weights"] and has_fit_parameter(model, "sample_weight"):
        options["sample_weight"] = np.linspace(1, 2, len(X))
        arrays.append(options["sample_weight"])
    before = [each.copy() for each in arrays]
    expected = fit(model, rows, y, new, **options)
    values = rows.data if sparse.issparse(rows) else rows
    original = X[X != 0] if sparse.issparse(rows) else X.astype(getattr(rows, "dtype", float))
    unchanged = zip([*arrays, np.asarray(values)], [*before, original], strict=True)
    if not all(np.array_equal(one, other) for one, other in unchanged):
        raise Defect("wrong", "a fit changes its input")
    if isinstance(values, pd.DataFrame):
        values.loc[:, :] = 7.0
    else:
        values[...] = 7.0
    for each in arrays:
        each[...] = each[::-1].copy()
    found = results(model, new)
    if not all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True)):
        raise Defect("wrong", "a model changes with the arrays that it was fitted to", "aliasing")
    return True


TARGETS = [
    Target("offsets", "inputs", offset_cases, check_offset, share=3),
    Target("threads", "inputs", thread_cases, check_threads, share=3),
    Target("aliasing", "inputs", alias_cases, check_aliases, share=3),
]
