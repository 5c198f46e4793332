"""Candidate sets in every form, and every method fitted to few and unusual rows."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from ambilearn import PLStacking, PLVoting
from ambilearn.candidates import ANYTHING, AllBut, as_candidates
from ambilearn.registry import METHODS, installed_methods
from ambilearn.selection import CandidateSearchCV
from ambilearn.tables.model_file import load_model, save_model
from torture.hostile import numbers, tame_numbers, texts, words
from torture.oracle import REJECTED, Defect, attempt, check_canary, check_confidences
from torture.target import Target

FORMS = (
    "sets", "lists", "tuples", "arrays", "object array", "series", "dictionaries", "labels",
    "all but", "mask", "boolean mask", "frame", "csr", "csc", "coo", "broken csr", "masked array",
    "generator", "memoryview", "matrix",
)  # fmt: skip

labels = st.one_of(words, texts, st.integers(-2, 4), numbers, st.none(), st.booleans())
tame_labels = st.sampled_from("abc")


def _sets(label: Any, rows: st.SearchStrategy[int], least: int = 0) -> st.SearchStrategy[Any]:
    row = st.lists(label, min_size=1, max_size=3) | st.lists(label, min_size=least, max_size=3)
    return rows.flatmap(lambda n: st.lists(row, min_size=n, max_size=n))


def make_candidate_sets(form: str, sets: list[list[Any]]) -> Any:
    """Candidate sets in one of the forms."""
    if form == "sets":
        return [set(row) for row in sets]
    if form == "tuples":
        return tuple(map(tuple, sets))
    if form == "arrays":
        return [np.array(row) for row in sets]
    if form in ("object array", "series"):
        array = np.empty(len(sets), dtype=object)
        array[:] = sets
        return array if form == "object array" else pd.Series(array)
    if form == "dictionaries":
        return [{label: i + 0.5 for i, label in enumerate(row)} for row in sets]
    if form == "labels":
        return np.array([row[0] if row else None for row in sets], dtype=object)
    if form == "all but":
        return [AllBut(*row[1:]) if len(row) > 1 else (row[0] if row else ANYTHING) for row in sets]
    if form == "generator":
        return (row for row in sets)
    if form in ("lists", "memoryview"):
        return sets if form == "lists" else memoryview(np.arange(len(sets)))
    known = sorted({str(label) for row in sets for label in row})
    mask = np.array([[label in map(str, row) for label in known] for row in sets], dtype=float)
    mask = mask.reshape(len(sets), len(known))
    if form in ("csr", "csc", "coo"):
        return sparse.csr_array(mask).asformat(form)
    if form == "broken csr":
        broken = sparse.csr_array(mask)
        broken.indices = broken.indices + (len(sets) % 3) * 1000 - (len(sets) % 2)
        return broken
    if form == "masked array":
        return np.ma.array(mask, mask=mask > 0)
    if form == "frame":
        return pd.DataFrame(mask, columns=known)
    return mask > 0 if form == "boolean mask" else np.asmatrix(mask) if form == "matrix" else mask


def check_candidate_sets(case: dict[str, Any], folder: Path) -> bool:
    """Candidate sets are rejected, or are unchanged when converted again."""
    sets = attempt(_as_candidates, case)
    check_canary()
    if sets is REJECTED:
        return False
    if not len(sets):  # an empty mask is valid, an empty list is not
        return True
    again = attempt(as_candidates, list(sets), classes=sets.classes)
    if again is REJECTED or again.to_sets() != sets.to_sets() or (sets.sizes < 1).any():
        raise Defect("wrong", f"{sets.to_sets()} change when converted again", "converted again")
    for classes in (sets.classes[::-1], sets.classes[:-1]):
        found, plain = (attempt(_reordered, y, classes) for y in (sets, list(sets)))
        if found != plain:
            raise Defect("wrong", f"the columns of {sets.to_sets()} differ as a list", "columns")
    return True


def _reordered(y: Any, classes: Any) -> str:
    sets = as_candidates(y, classes=classes)
    parts = sets.classes, sets.indptr, sets.labels, sets.weights, sets.row_weights
    return repr([None if each is None else each.tolist() for each in parts])


def _as_candidates(case: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            y = make_candidate_sets(case["form"], case["sets"])
        except (TypeError, ValueError, OverflowError):  # NumPy cannot create it: not a case
            return REJECTED
        return as_candidates(y)


candidate_set_cases = st.fixed_dictionaries(
    {"form": st.sampled_from(FORMS), "sets": _sets(labels, st.integers(0, 5))}
)


row_weights = st.sampled_from([0, 0.5, 1, 1, 2, 7, 1e-300, 1e80, -1, "nan"])
WRAPPERS = ("pipeline", "vote", "stack", "search")


def wrap(method: Any, kind: str) -> Any:
    """A method inside another estimator."""
    foreign = LogisticRegressionCV(Cs=[1.0], cv=2)
    if kind == "pipeline":
        return make_pipeline(StandardScaler(with_mean=False), method)
    if kind == "vote":
        return PLVoting(estimators=[("one", method), ("two", foreign)])
    if kind == "stack":
        return PLStacking(estimators=[("one", method)], final_estimator=foreign)
    if kind == "search":
        return CandidateSearchCV(make_pipeline(method), {}, cv=2, random_state=0)
    return method


@st.composite
def estimator_cases(draw: Any) -> dict[str, Any]:
    """A method with few parameters and few rows; mostly valid, so that most are fitted."""
    n, d = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    number = draw(st.sampled_from([tame_numbers, tame_numbers, numbers]))
    row = st.lists(number, min_size=d, max_size=d)
    label = draw(st.sampled_from([tame_labels, tame_labels, labels]))
    return {
        "method": draw(st.sampled_from(sorted(installed_methods()))),
        "params": draw(
            st.dictionaries(
                st.sampled_from(["n_neighbors", "kernel", "reg", "max_iter", "n_landmarks"]),
                st.sampled_from([1, 2, 3, 0, -1, 0.5, "linear", "rbf", "nan", "cosine", 1e-12]),
                max_size=2,
            )
        ),
        "rows": draw(st.lists(row, min_size=n, max_size=n)),
        "form": draw(st.sampled_from(FORMS[:6] + FORMS)),
        "sets": draw(_sets(label, st.just(n), least=draw(st.sampled_from([1, 1, 0])))),
        "new": draw(st.lists(row, min_size=1, max_size=3)),
        "fitted to": draw(st.sampled_from(["dense", "dense", "sparse", "frame", "float32"])),
        "predicted on": draw(st.sampled_from(["dense", "dense", "sparse", "list"])),
        "inside": draw(st.sampled_from(["nothing", "nothing", *WRAPPERS])),
        "row weights": draw(st.none() | st.lists(row_weights, min_size=n, max_size=n)),
        "saved": draw(st.sampled_from([False, False, True])),
    }


def check_estimator(case: dict[str, Any], folder: Path) -> bool:
    """A method fits and predicts with valid confidences, or rejects the data."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            y = make_candidate_sets(case["form"], case["sets"])
        except (TypeError, ValueError, OverflowError):
            return False
        X = _as_rows(case["rows"], case["fitted to"])
        known = {key: value for key, value in case["params"].items() if value != "nan"}
        model = METHODS[case["method"]].make()
        known = {key: value for key, value in known.items() if key in model.get_params()}
        model = wrap(model.set_params(**known), case.get("inside", "nothing"))
        y = _with_row_weights(y, case.get("row weights"))
        if y is REJECTED or attempt(model.fit, X, y) is REJECTED:
            return False
        n_labels = len(model.classes_)
        if case.get("inside", "nothing") in ("nothing", "vote", "stack"):
            check_confidences(model.label_distributions_, (len(case["rows"]), n_labels))
            if case["form"] not in ("generator", "memoryview"):
                sets = as_candidates(y)
                if not sets.covers(model.transduction_).all():
                    raise Defect("wrong", "a training row has a label outside its candidates")
        new = _as_rows(case["new"], case["predicted on"])
        confidences = attempt(model.predict_proba, new)
        if confidences is REJECTED:
            return False
        check_confidences(confidences, (len(case["new"]), n_labels))
        if not np.isin(model.predict(new), model.classes_).all():
            raise Defect("wrong", "a predicted label is not a class")
        _check_column_of_labels(model, new)
        if case.get("saved"):
            _check_saved(model, new, folder / "my.model")
        _check_rejected_fit(model, X, new)
    return True


def _with_row_weights(y: Any, weights: list[Any] | None) -> Any:
    """Candidate sets with row weights."""
    if weights is None:
        return y
    sets = attempt(as_candidates, y)
    if sets is REJECTED:
        return REJECTED
    return attempt(replace, sets, row_weights=np.array([float(weight) for weight in weights]))


def _check_column_of_labels(model: Any, X: Any) -> None:
    """Labels in a column are scored as labels in a vector."""
    labels = model.predict(X)
    scores = [attempt(model.score, X, y) for y in (labels, labels[:, None])]
    if scores[0] is not REJECTED and scores != [1.0, 1.0]:
        raise Defect("wrong", f"the predicted labels have the scores {scores}", "scores")


def _check_saved(model: Any, X: Any, path: Path) -> None:
    """A saved and loaded model has the same predictions."""
    if attempt(save_model, model, path) is REJECTED:
        return
    back = attempt(load_model, path)
    if back is REJECTED or not np.array_equal(back.predict_proba(X), model.predict_proba(X)):
        raise Defect("wrong", "a saved model has other predictions when it is loaded", "saved")


def _check_rejected_fit(model: Any, X: Any, new: Any) -> None:
    """Rejected data do not change an earlier fit."""
    if isinstance(model, Pipeline):  # the first steps are already fitted again
        return
    before = model.predict_proba(new)
    wider = sparse.hstack([X, X]) if sparse.issparse(X) else np.hstack([X, X])
    if attempt(model.fit, wider, []) is not REJECTED:
        raise Defect("wrong", "a fit without candidate sets")
    if not np.array_equal(attempt(model.predict_proba, new), before):
        raise Defect("wrong", "a rejected fit changes the model", "rejected fit")


def _as_rows(rows: list[list[Any]], form: str) -> Any:
    array = np.array([[float(cell) for cell in row] for row in rows])
    if form == "sparse":
        return sparse.csr_array(array)
    if form == "frame":
        return pd.DataFrame(array, columns=[f"x{j}" for j in range(array.shape[1])])
    return array.tolist() if form == "list" else array.astype("f4") if form == "float32" else array


TARGETS = [
    Target("candidate-sets", "inputs", candidate_set_cases, check_candidate_sets, share=9),
    Target("estimators", "inputs", estimator_cases(), check_estimator, share=15),
]
