"""Fitted methods and pipelines in model files."""

import json
import zipfile
from datetime import date

import array_api_strict as strict
import numpy as np
import pandas as pd
import pytest
from core_methods import CORE_METHODS
from problems import ambiguous
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ambilearn import PLCL, PLKNN, SURE, PLDATransformer, PLVoting
from ambilearn.selection import CandidateSearchCV
from ambilearn.tables import InvalidModelError, load_model, save_model
from ambilearn.tables.model_file import load_table_model
from ambilearn.tables.saved_estimators import check_estimator, describe_estimator

X, MASK, Y = ambiguous(n=30, seed=0)
FORMS = {
    "array": X,
    "sparse": sparse.csr_array(X),
    "frame": pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]),
}
MODELS = [
    *(method.load()() for method in CORE_METHODS.values()),
    PLCL(kernel="linear"),
    make_pipeline(StandardScaler(with_mean=False), PLCL()),
    make_pipeline(PLDATransformer(), SURE()),
    PLVoting(estimators=[("one", make_pipeline(StandardScaler(with_mean=False), SURE()))]),
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "my.model"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model)[:30])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:n_neighbors")
def test_a_fitted_estimator_comes_back_and_predicts_the_same(model, form, path):
    rows = FORMS[form]
    fitted = clone(model).fit(rows, MASK)
    save_model(fitted, path)
    back = load_model(path)
    assert type(back) is type(fitted)
    assert repr(back) == repr(fitted)
    np.testing.assert_array_equal(back.predict_proba(rows), fitted.predict_proba(rows))
    np.testing.assert_array_equal(back.predict(rows), fitted.predict(rows))


def test_the_file_says_what_it_is(path):
    save_model(PLKNN().fit(X, [["a", "b", "c"][label] for label in np.minimum(Y, 2)]), path)
    with zipfile.ZipFile(path) as archive:
        about = json.loads(archive.read("about.json"))
    assert about["format"] == "ambilearn model"
    assert (about["kind"], about["method"]) == ("estimator", "PLKNN")
    assert about["labels"] == ["a", "b", "c"]
    assert {"ambilearn", "scikit-learn", "python", "created"} <= set(about)


@pytest.mark.parametrize(
    "labels", [[True, False] * 15, [1.5, -2.0] * 15, [3, 2**40] * 15, ["é", "b|c"] * 15]
)
def test_labels_come_back(labels, path):
    fitted = PLKNN().fit(X, [{label} for label in labels])
    save_model(fitted, path)
    back = load_model(path)
    assert back.classes_.tolist() == fitted.classes_.tolist()
    assert back.classes_.dtype == fitted.classes_.dtype


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (PLCL, NotFittedError, "not fitted"),
        (lambda: make_pipeline(StandardScaler(), PLCL()), NotFittedError, "not fitted"),
        (
            lambda: LogisticRegression().fit(X, Y),
            TypeError,
            "got LogisticRegression. Use skops",
        ),
        (lambda: make_pipeline(LogisticRegression()).fit(X, Y), TypeError, "got Pipeline"),
        (
            lambda: CandidateSearchCV(PLKNN(), {"n_neighbors": [3]}, cv=2).fit(X, MASK),
            TypeError,
            "got CandidateSearchCV. Save its best_estimator_",
        ),
        (lambda: 3, TypeError, "got int"),
        (
            lambda: make_pipeline(PCA(2), PLKNN()).fit(X, MASK),
            InvalidModelError,
            r"cannot be saved: sklearn.decomposition._pca.PCA .* Use skops or joblib",
        ),
        (
            lambda: PLVoting(estimators=[("a", PLKNN()), ("b", LogisticRegression())]).fit(X, MASK),
            InvalidModelError,
            "LogisticRegression .* is not part of a model",
        ),
        (
            lambda: PLKNN(n_neighbors=1).fit(X[:2], [{date(2020, 1, 1)}, {date(2020, 1, 2)}]),
            TypeError,
            r"The label datetime.date\(2020, 1, 1\) cannot be saved",
        ),
    ],
)
def test_a_model_that_cannot_be_saved_leaves_no_file(make, error, message, path):
    model = make()
    with pytest.raises(error, match=message):
        save_model(model, path)
    assert not path.exists()


def test_a_model_on_a_device_is_rejected(dispatch, path):
    fitted = PLKNN().fit(strict.asarray(X), MASK)
    with pytest.raises(TypeError, match="PLKNN was fitted on a device: fit it to NumPy arrays"):
        save_model(fitted, path)


def test_an_estimator_with_endless_features_takes_no_memory(path):
    fitted = PLKNN().fit(X, MASK)
    fitted.n_features_in_ = 10**15
    save_model(fitted, path)
    with pytest.raises(InvalidModelError, match=r"of shape \(1000000000000000,\), more than"):
        load_model(path)


@pytest.mark.parametrize("part", ["X_fit_", "classes_", "n_features_in_"])
def test_an_estimator_that_lacks_a_part_is_rejected_when_it_is_loaded(path, part, monkeypatch):
    fitted = PLKNN().fit(X, MASK)
    about = describe_estimator(fitted)
    delattr(fitted, part)
    monkeypatch.setattr("ambilearn.tables.model_file.describe_estimator", lambda model: about)
    save_model(fitted, path)
    with pytest.raises(InvalidModelError, match="is damaged, or not a model"):
        load_model(path)


def test_the_description_of_another_estimator_is_rejected():
    fitted = PLKNN().fit(X, MASK)
    about = describe_estimator(fitted)
    check_estimator(fitted, about, 2**20)
    for model, said in (
        (fitted, about | {"labels": ["other"]}),
        (LogisticRegression().fit(X, Y), about),
        ([], about),
    ):
        with pytest.raises(InvalidModelError, match=r"is not the one that about\.json describes"):
            check_estimator(model, said, 2**20)


def test_the_command_line_wants_the_model_of_a_table(path):
    save_model(PLKNN().fit(X, MASK), path)
    with pytest.raises(InvalidModelError, match="holds a PLKNN that was not fitted to a table"):
        load_table_model(path)
