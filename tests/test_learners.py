"""Find the method inside an estimator, and how it takes weights."""

import numpy as np
import pytest
from problems import ambiguous
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, TunedThresholdClassifierCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ambilearn import (
    IPAL,
    PLCL,
    PLDA,
    SURE,
    CandidateSearchCV,
    PLDATransformer,
    PLStacking,
    PLVoting,
    as_candidates,
)
from ambilearn.learners import (
    align_columns,
    find_ridge_method,
    fit_folds,
    is_search,
    method_inside,
    split_rows,
    takes_row_weights,
    weight_argument,
    without_preprocessing,
)


def test_what_learns_from_candidate_sets():
    method = PLCL()
    assert method_inside(method) is method
    assert method_inside(make_pipeline(StandardScaler(), method)) is method
    assert method_inside(CandidateSearchCV(method, {"mu": [1, 2]})) is method
    assert method_inside(GridSearchCV(make_pipeline(method), {"plcl__mu": [1, 2]})) is method


@pytest.mark.parametrize(
    "foreign",
    [
        GaussianNB(),
        make_pipeline(StandardScaler(), GaussianNB()),
        GridSearchCV(GaussianNB(), {}),
        CalibratedClassifierCV(PLCL()),  # cannot pass sets on to what it wraps
        AdaBoostClassifier(PLCL()),
    ],
    ids=lambda each: type(each).__name__,
)
def test_what_does_not(foreign):
    assert method_inside(foreign) is None


def test_only_searches_are_searches():
    assert not is_search(LogisticRegressionCV())
    # It has `refit` and `estimator`, but no `best_estimator_`.
    assert method_inside(TunedThresholdClassifierCV(PLCL())) is None
    assert is_search(GridSearchCV(PLCL(), {}))
    assert is_search(CandidateSearchCV(PLCL(), {}))


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (LogisticRegression(), "sample_weight"),
        (KNeighborsClassifier(), None),
        (
            make_pipeline(StandardScaler(), LogisticRegression()),
            "logisticregression__sample_weight",
        ),
        (make_pipeline(StandardScaler(), KNeighborsClassifier()), None),
        (GridSearchCV(make_pipeline(GaussianNB()), {}), "gaussiannb__sample_weight"),
        (GridSearchCV(KNeighborsClassifier(), {}), None),
    ],
)
def test_the_argument_for_weights_of_rows(estimator, name):
    assert weight_argument(estimator) == name
    if name is not None:
        estimator.fit([[0.0], [1.0]] * 5, [0, 1] * 5, **{name: np.ones(10)})


@pytest.mark.parametrize(
    ("estimator", "takes"),
    [
        (PLCL(), True),
        (IPAL(), False),
        (PLDA(), True),
        (PLVoting(), False),
        (PLVoting(weights=(1, 1, 0)), True),
        (make_pipeline(StandardScaler(), PLCL()), True),
        (GridSearchCV(make_pipeline(IPAL()), {}), False),
        (make_pipeline(GaussianNB()), True),
        (KNeighborsClassifier(), False),
    ],
)
def test_who_can_weight_rows(estimator, takes):
    assert takes_row_weights(estimator) == takes


def test_columns_are_aligned_and_missing_ones_are_zero():
    found = align_columns(np.array([[0.25, 0.75]]), np.array(["c", "a"]), np.array(list("abc")))
    np.testing.assert_array_equal(found, [[0.75, 0, 0.25]])


def test_the_method_with_a_closed_form():
    method = PLCL(reg=0.5)
    found = find_ridge_method(method)
    assert found is not method
    assert found.reg == 0.5
    assert isinstance(find_ridge_method(PLStacking(n_landmarks=7)), PLCL)
    members = [("a", make_pipeline(PLCL())), ("b", IPAL()), ("c", SURE())]
    found = find_ridge_method(PLVoting(estimators=members, n_landmarks=7))
    assert (type(found), found.n_landmarks) == (SURE, 7)
    for other in (IPAL(), make_pipeline(PLCL()), GaussianNB()):
        assert find_ridge_method(other) is None


def test_preprocessing_is_applied_unless_it_uses_labels():
    X, _, _ = ambiguous(n=20)
    rows, last = without_preprocessing(X, make_pipeline(StandardScaler(), method := PLCL()))
    np.testing.assert_array_equal(rows, StandardScaler().fit_transform(X))
    assert last is method
    supervised = make_pipeline(PLDATransformer(), method)
    assert without_preprocessing(X, supervised) == (X, supervised)
    assert without_preprocessing(X, method) == (X, method)


def test_folds_have_each_row_once_and_kernels_without_its_columns():
    X = np.random.default_rng(0).normal(size=(12, 2))
    sets, messages = as_candidates(np.arange(12) % 2), []
    folds = list(
        fit_folds(
            PLCL(kernel="precomputed", n_neighbors=3),
            X @ X.T,
            sets,
            20,
            0,
            messages.append,
            stage="s",
        )
    )
    assert sorted(row for fold in folds for row in fold.rows.tolist()) == list(range(12))
    assert all(fold.X.shape == (1, 11) for fold in folds)
    assert messages[0] == "s: fit 1 of 12"
    assert len(messages) == 12


def test_a_number_is_a_number_of_shuffled_folds():
    X = np.zeros((7, 1))
    expected = KFold(3, shuffle=True, random_state=5).split(X)
    for found, fold in zip(split_rows(3, X, 7, 5), expected, strict=True):
        np.testing.assert_array_equal(found[0], fold[0])
        np.testing.assert_array_equal(found[1], fold[1])


@pytest.mark.parametrize(
    ("cv", "message"),
    [(8, "Too few rows for the 8 folds"), (StratifiedKFold(2), "neither labels nor groups")],
)
def test_splits_that_are_not_possible(cv, message):
    with pytest.raises(ValueError, match=message):
        split_rows(cv, np.zeros((7, 1)), 7, None)
