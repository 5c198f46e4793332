"""CandidateClassifier: held-out probabilities, any classifier, frames, and the shared contract."""

from functools import partial

import joblib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import ambiguous
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_info, threadpool_limits

from ambilearn import PLCL, PLKNN, CandidateClassifier, PLStacking, PLVoting
from ambilearn.crowd import CrowdClassifier, Votes
from ambilearn.selection import CandidateSearchCV
from ambilearn.tables import save_model

FOREST = ExtraTreesClassifier(20, random_state=0)
SMALL_FOREST = partial(CandidateClassifier, FOREST, random_state=0)
LEARNERS = {
    "extra trees, a forest": FOREST,
    "random forest": RandomForestClassifier(20, class_weight="balanced_subsample"),
    "boosting": HistGradientBoostingClassifier(max_iter=3, min_samples_leaf=5),
    "logistic": LogisticRegression(),
    "bayes": GaussianNB(),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "pipeline with a forest": make_pipeline(StandardScaler(), FOREST),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_every_classifier_learns_from_sets(name):
    X, Y, y = ambiguous(n=120)
    model = CandidateClassifier(LEARNERS[name], cv=3, max_iter=3, random_state=0).fit(X, Y)
    assert model.score(X, y) > 0.8
    assert np.mean(model.transduction_ == y) > 0.8
    assert_allclose(model.label_distributions_.sum(axis=1), 1)
    assert not model.label_distributions_[~Y.astype(bool)].any()
    assert_allclose(model.train_output_.sum(axis=1), 1)
    again = clone(model).set_params(n_jobs=2 if "forest" in name else None).fit(X, Y)
    assert_array_equal(again.label_distributions_, model.label_distributions_)
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("package", "name", "params"),
    [
        ("lightgbm", "LGBMClassifier", {"min_child_samples": 5, "verbose": -1}),
        ("xgboost", "XGBClassifier", {"enable_categorical": True}),
    ],
)
def test_boosting_of_other_packages(package, name, params):
    make = getattr(pytest.importorskip(package), name)
    learner = make(n_estimators=5, n_jobs=1, **params)
    model = CandidateClassifier(learner, cv=3, max_iter=3, random_state=0)
    for X, sets, y in (ambiguous(n=120), frame_and_sets()):
        assert model.fit(X, sets).score(X, y) > 0.8
        again = clone(model).fit(X, sets)
        assert_array_equal(again.label_distributions_, model.label_distributions_)
    encoder = ColumnTransformer(
        [("color", OneHotEncoder(), ["color"])], remainder="passthrough", sparse_threshold=0
    )
    model.set_params(estimator=make_pipeline(encoder, learner))
    assert model.fit(X, sets).score(X, y) > 0.8
    rare = [{3}, *sets[1:]]  # a label that most folds lack
    assert model.fit(X, rare).transduction_[0] == 3


@pytest.mark.parametrize("learner", [FOREST, RandomForestClassifier(20), LogisticRegression(C=1e6)])
def test_outputs_of_training_rows_are_held_out(learner):
    """Labels without any relation to the features: whoever learned from a row knows its label."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 60)), rng.integers(2, size=200)
    model = CandidateClassifier(learner, max_iter=1, random_state=0).fit(X, y)
    assert np.mean(model.predict(X) == y) > 0.75
    held_out = model.classes_[model.train_output_.argmax(axis=1)]
    assert np.mean(held_out == y) < 0.62


def test_a_row_with_many_candidates_is_held_out_with_all_of_them():
    """A forest of scikit-learn draws pairs: nearly no row with six candidates would be left out."""
    X, y = np.random.default_rng(0).normal(size=(60, 4)), np.arange(60) % 6
    sets = np.ones((60, 6), dtype=int)
    sets[::2] = np.eye(6)[y[::2]]
    model = SMALL_FOREST(max_iter=1).fit(X, sets)
    outputs = model.train_output_[1::2]
    assert len(np.unique(outputs.round(6), axis=0)) > 20
    assert np.mean(outputs.argmax(axis=1) == y[1::2]) < 0.45


def test_candidates_with_more_weight_are_preferred():
    X, y = np.zeros((40, 2)), np.arange(40) % 2
    weighted = [{0: 3, 1: 1} if label == 0 else {0: 1, 1: 3} for label in y]
    model = SMALL_FOREST().fit(X, weighted)
    assert_array_equal(model.transduction_, y)
    equal = [{0: 3, 1: 3} for _ in y]
    assert_array_equal(
        SMALL_FOREST().fit(X, equal).label_distributions_,
        SMALL_FOREST().fit(X, [{0, 1}] * 40).label_distributions_,
    )


def test_rows_with_a_small_weight_teach_nothing():
    X, Y, y = ambiguous(n=100)
    wrong = np.roll(Y, 1, axis=1)
    both, sets = np.vstack([X, X]), np.vstack([Y, wrong])
    model = CandidateClassifier(LogisticRegression(), random_state=0)
    alone = clone(model).fit(X, Y).score(X, y)
    assert model.fit(both, sets).score(X, y) < alone - 0.2
    weights = np.repeat([1.0, 0.0], 100)
    assert model.fit(both, sets, sample_weight=weights).score(X, y) > alone - 0.03


def test_the_rounds_end_when_labels_no_longer_change(capsys):
    X, Y, y = ambiguous(n=100)
    assert SMALL_FOREST().fit(X, y).n_iter_ == 1  # single candidates: nothing can change
    assert SMALL_FOREST(max_iter=3, tol=0).fit(X, Y).n_iter_ <= 3
    assert SMALL_FOREST(tol=1, verbose=1).fit(X, Y).n_iter_ == 1
    assert "[CandidateClassifier] round 1 " in capsys.readouterr().out


def test_few_rows_and_one_label():
    assert SMALL_FOREST().fit([[0.0], [1.0]], [{"a", "b"}, {"b"}]).predict([[1.0]]) == ["b"]
    model = CandidateClassifier(LogisticRegression()).fit([[0.0], [1.0]], [{"a"}, {"a"}])
    assert_array_equal(model.predict([[3.0]]), ["a"])


@pytest.mark.parametrize("learner", [FOREST, LogisticRegression(), GaussianNB()])
def test_a_label_that_a_fold_lacks(learner):
    X, Y, y = ambiguous(n=60)
    rare = np.column_stack([Y, np.zeros(60, dtype=int)])
    rare[0] = np.eye(Y.shape[1] + 1)[-1]  # in a single row
    model = CandidateClassifier(learner, random_state=0).fit(X, rare)
    assert model.predict_proba(X).shape == rare.shape
    assert model.transduction_[0] == Y.shape[1]
    assert model.score(X[1:], y[1:]) > 0.8


def frame_and_sets(n=120):
    """A category, a number with missing values, text that is no feature; and candidate sets."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=n)
    size = np.where(rng.random(n) < 0.3, np.nan, y + 0.3 * rng.normal(size=n))
    color = np.where(rng.random(n) < 0.8, y, rng.integers(3, size=n))
    frame = pd.DataFrame(
        {"size": size, "color": pd.Categorical.from_codes(color, ["blue", "green", "red"])}
    )
    return (
        frame,
        [
            {label, (label + each) % 3}
            for label, each in zip(y, rng.integers(3, size=n), strict=True)
        ],
        y,
    )


def test_missing_values_and_categories():
    frame, sets, y = frame_and_sets()
    boosting = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5)
    encoder = ColumnTransformer(
        [("color", OneHotEncoder(), ["color"])], remainder="passthrough", sparse_threshold=0
    )
    forest = make_pipeline(encoder, ExtraTreesClassifier(20))
    for learner in (boosting, forest):
        model = CandidateClassifier(learner, cv=2, max_iter=3, random_state=0).fit(frame, sets)
        assert model.score(frame, y) > 0.8
        assert model.feature_names_in_.tolist() == ["size", "color"]
        vote = PLVoting([("one", model), ("two", clone(model))])
        assert vote.fit(frame, sets).score(frame, y) > 0.8
    array = frame.assign(color=frame["color"].cat.codes).to_numpy()
    assert SMALL_FOREST().fit(array, sets).score(array, y) > 0.8
    with pytest.raises(ValueError, match="NaN"):
        CandidateClassifier(LogisticRegression()).fit(array, sets)


def test_sparse_rows_and_sparse_masks():
    X, Y, y = ambiguous(n=80)
    dense = SMALL_FOREST().fit(X, Y)
    model = SMALL_FOREST().fit(sparse.csr_array(X), sparse.csr_array(Y))
    assert sparse.issparse(model.label_distributions_)
    assert sparse.issparse(model.train_output_)
    assert model.score(sparse.csr_array(X), y) > 0.8
    assert dense.train_output_.shape == model.train_output_.shape


def test_search_stack_vote_and_crowd():
    X, Y, y = ambiguous(n=100)
    grid = {"estimator__max_depth": [1, None]}
    search = CandidateSearchCV(SMALL_FOREST(max_iter=2), grid, cv=2, random_state=0).fit(X, Y)
    assert search.score(X, y) > 0.8
    vote = PLVoting([("forest", SMALL_FOREST()), ("plcl", PLCL())]).fit(X, Y)
    assert vote.score(X, y) > 0.8
    stack = PLStacking([("forest", SMALL_FOREST())], final_estimator=PLKNN()).fit(X, Y)
    assert stack.score(X, y) > 0.8
    assert_array_equal(stack.output_mean_, stack.estimators_[0].train_output_.mean(axis=0))
    wide = np.column_stack([y, y, np.where(np.arange(100) % 3 == 0, (y + 1) % 3, y)])
    crowd = CrowdClassifier(SMALL_FOREST(max_iter=2), random_state=0, max_iter=3)
    crowd.fit(X, Votes.from_wide(wide))
    assert np.mean(crowd.transduction_ == y) > 0.9


def test_parameters_of_a_classifier_that_is_given_by_name():
    model = CandidateClassifier("boosting").set_params(estimator__max_depth=2, max_iter=1)
    assert isinstance(model.estimator, HistGradientBoostingClassifier)
    assert model.get_params()["estimator__max_depth"] == 2
    assert model.set_params(estimator="forest").estimator == "forest"
    assert "estimator__max_depth" in model._settable_params()
    assert "estimator__learning_rate" not in model._settable_params()


def test_the_estimator_is_not_changed():
    X, Y, _ = ambiguous(n=40)
    given = ExtraTreesClassifier(5)
    CandidateClassifier(given, random_state=0, n_jobs=1).fit(X, Y)
    assert (given.random_state, given.n_jobs) == (None, None)
    assert not hasattr(given, "estimators_")


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (KNeighborsClassifier(), "KNeighborsClassifier takes no sample_weight"),
        (make_pipeline(StandardScaler(), KNeighborsClassifier()), "takes no sample_weight"),
        (LinearSVC(), "LinearSVC has no predict_proba"),
        (StandardScaler(), "'estimator' parameter"),
        (PLCL(), "PLCL learns from candidate sets itself"),
        (GridSearchCV(LogisticRegression(), {"C": [1]}), "CandidateSearchCV"),
        ("tree", "'estimator' parameter"),
    ],
)
def test_classifiers_that_cannot_learn_here(learner, message):
    with pytest.raises(ValueError, match=message):
        CandidateClassifier(learner).fit([[0.0], [1.0]], [{"a", "b"}, {"b"}])


def test_a_model_file_names_joblib_and_its_risk(tmp_path):
    X, Y, _ = ambiguous(n=40)
    model = SMALL_FOREST().fit(X, Y)
    with pytest.raises(TypeError, match=r"ExtraTreesClassifier.*joblib.*can run any code"):
        save_model(model, tmp_path / "my.model")
    joblib.dump(model, tmp_path / "my.joblib")
    assert_array_equal(joblib.load(tmp_path / "my.joblib").predict(X), model.predict(X))


def test_wrapped_classifiers_are_fine():
    X, Y, y = ambiguous(n=100)
    calibrated = CalibratedClassifierCV(LinearSVC(), cv=2)
    assert CandidateClassifier(calibrated, random_state=0).fit(X, Y).score(X, y) > 0.8


class ThreadCounter(GaussianNB):
    """Notes the largest number of OpenMP threads in each of its fits."""

    counts = []

    def fit(self, X, y, sample_weight=None):
        found = threadpool_info()
        self.counts.append(max(i["num_threads"] for i in found if i["user_api"] == "openmp"))
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize(("n_features", "expected"), [(2, 1), (2**12, 3)])
def test_a_fit_to_few_numbers_uses_one_openmp_thread(n_features, expected):
    """Threads of boosting that wait in busy loops took a minute for 60 rows on a busy machine."""
    X = np.random.default_rng(0).normal(size=(100, n_features))
    ThreadCounter.counts.clear()
    with threadpool_limits(3, user_api="openmp"):
        CandidateClassifier(ThreadCounter(), max_iter=1).fit(X, np.arange(100) % 2)
    assert set(ThreadCounter.counts) == {expected}
