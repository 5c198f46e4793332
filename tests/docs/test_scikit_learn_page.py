"""Every line of the page on scikit-learn, with every form of candidate sets that it names."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from markdown_pages import ROOT
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import (
    RFE,
    RFECV,
    SelectFromModel,
    SelectKBest,
    SequentialFeatureSelector,
    VarianceThreshold,
    f_classif,
)
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    train_test_split,
    validation_curve,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import resample

from ambilearn import PLCL, PLKNN, PLDATransformer, PLStacking, PLVoting, as_candidates
from ambilearn.crowd import CrowdClassifier, Votes
from ambilearn.datasets import make_candidates
from ambilearn.metrics import covering_rate_scorer

PAGE = (ROOT / "docs" / "guide" / "scikit-learn.md").read_text(encoding="utf-8")
X, CODES = load_iris(return_X_y=True)
Y = np.array(["setosa", "versicolor", "virginica"])[CODES]
SETS, _ = make_candidates(Y, p=0.7, random_state=0)
MASK = SETS.to_mask()
OBJECTS = np.array(SETS.to_sets(), dtype=object)
FOLDS = KFold(3, shuffle=True, random_state=0)

FORMS = {
    "list of sets": SETS.to_sets(),
    "object array": OBJECTS,
    "Series": pd.Series(SETS.to_sets()),
    "boolean mask": MASK,
    "0/1 mask": MASK.astype(int),
    "data frame": pd.DataFrame(MASK, columns=SETS.classes),
    "CandidateSets": SETS,
}
CHECKED = {"error_score": "raise"}


def truth_for(y):
    """The truth in the labels that a form has: a mask without names has numbers."""
    return CODES if isinstance(y, np.ndarray) and y.ndim == 2 else Y


def clone_and_parameters(y):
    model = clone(PLKNN(n_neighbors=3)).set_params(n_neighbors=4)
    assert model.get_params()["n_neighbors"] == 4
    return model.fit(X, y).score(X, y)


def pipelines(y):
    columns = ColumnTransformer([("scaled", StandardScaler(), [0, 1]), ("pca", PCA(1), [2, 3])])
    model = make_pipeline(columns, VarianceThreshold(), PLKNN()).fit(X, y)
    assert model.score(X, truth_for(y)) > 0.9
    return model.score(X, y)


def splits(y):
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    resampled = PLKNN().fit(*resample(X, y, random_state=0)).score(X, y)
    return min(resampled, PLKNN().fit(X_train, y_train).score(X_test, y_test))


def folds(y):
    by_group = list(GroupKFold(3).split(X, y, groups=np.arange(len(X)) % 7))
    return min(
        cross_val_score(PLKNN(), X, y, cv=cv, **CHECKED).mean()
        for cv in (5, FOLDS, ShuffleSplit(3, random_state=0), by_group)
    )


def cross_validation(y):
    score = cross_val_score(PLKNN(), X, y, cv=FOLDS, **CHECKED).mean()
    assert cross_validate(PLKNN(), X, y, cv=FOLDS, **CHECKED)["test_score"].mean() == score
    by_hand = [
        as_candidates(SETS[test]).covers(PLKNN().fit(X[train], SETS[train]).predict(X[test])).mean()
        for train, test in FOLDS.split(X)
    ]
    assert score == pytest.approx(np.mean(by_hand))  # the covering rate
    return score


def out_of_fold(y):
    predicted = cross_val_predict(PLKNN(), X, y, cv=FOLDS)
    if not isinstance(y, (list, pd.Series)) and y is not OBJECTS:
        P = cross_val_predict(PLKNN(), X, y, cv=FOLDS, method="predict_proba")
        np.testing.assert_array_equal(P.argmax(axis=1), as_codes(predicted))
    return np.mean(predicted == truth_for(y))


def as_codes(labels):
    return labels if labels.dtype.kind == "i" else np.searchsorted(SETS.classes, labels)


def searches(y):
    grid = {"n_neighbors": [3, 5]}
    exact = GridSearchCV(PLKNN(), grid, cv=FOLDS, **CHECKED).fit(X, y)
    random = RandomizedSearchCV(PLKNN(), grid, n_iter=2, cv=FOLDS, **CHECKED).fit(X, y)
    assert random.best_score_ == exact.best_score_
    return exact.best_estimator_.score(X, y)


def curves(y):
    options = {"cv": FOLDS, **CHECKED}
    model = PLKNN(n_neighbors=5)
    _, _, learned = learning_curve(model, X, y, shuffle=True, random_state=0, **options)
    _, validated = validation_curve(
        model, X, y, param_name="n_neighbors", param_range=[3, 5], **options
    )
    return min(learned[-1].mean(), validated.mean())


def inspection(y):
    model = PLKNN().fit(X, y)
    for labels in (y, truth_for(y)):
        importances = permutation_importance(model, X, labels, random_state=0).importances_mean
        assert importances.argmax() == 2
    shown = partial_dependence(model, X, [0], response_method="predict_proba")
    assert shown["average"].shape[0] == 3
    return 1.0


def permutation_test(y):
    score, permuted, _ = permutation_test_score(
        PLKNN(), X, y, cv=FOLDS, n_permutations=3, random_state=0
    )
    assert permuted.max() < score
    return score


def linear_selection(y):
    model = PLCL(kernel="linear", graph=False, max_iter=3, tol=0)
    importance = (clone(model).fit(X, y).coef_ ** 2).sum(axis=0)
    chosen = RFE(model, n_features_to_select=3).fit(X, y)
    assert chosen.ranking_.argmax() == importance.argmin()
    by_model = SelectFromModel(model, max_features=2, threshold=-np.inf).fit(X, y)
    assert set(np.flatnonzero(by_model.get_support())) == set(np.argsort(importance)[2:])
    RFECV(model, step=2, cv=FOLDS, scoring=covering_rate_scorer).fit(X, y)
    return make_pipeline(by_model, PLKNN()).fit(X, y).score(X, y)


def sequential_selection(y):
    chosen = SequentialFeatureSelector(PLKNN(), n_features_to_select=1, cv=FOLDS).fit(X, y)
    assert chosen.get_support()[2:].any()  # the petals tell the species
    return make_pipeline(chosen, PLKNN()).fit(X, y).score(X, y)


def frozen(y):
    model = PLKNN().fit(X, y)
    kept = FrozenEstimator(model).fit(X[:10], None)
    np.testing.assert_array_equal(kept.predict(X), model.predict(X))
    return kept.score(X, y)


def named_features(y):
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    for table in (pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names)):
        model = make_pipeline(StandardScaler(), PLKNN()).set_output(transform="pandas")
        model.fit(table, y)
        assert model[-1].feature_names_in_.tolist() == names
    frame = pd.DataFrame(X, columns=names)
    augmented = PLDATransformer().set_output(transform="pandas").fit(frame, y).transform(frame)
    assert augmented.columns[4] == "prototype_sepal length"
    return model.score(table, y)


def score_by_truth(candidates, predicted, truth):
    return accuracy_score(truth, predicted)


def routing(y):
    truth, weights = truth_for(y), np.r_[np.full(50, 0.1), np.ones(100)]
    with config_context(enable_metadata_routing=True):
        scorer = make_scorer(score_by_truth).set_score_request(truth=True)
        options = {"cv": FOLDS, "scoring": scorer, **CHECKED}
        scores = cross_validate(PLKNN(), X, y, params={"truth": truth}, **options)["test_score"]
        search = GridSearchCV(PLKNN(), {"n_neighbors": [3, 5]}, **options).fit(X, y, truth=truth)
        model = PLKNN().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        weighted = cross_validate(
            model, X, y, cv=FOLDS, params={"sample_weight": weights}, **CHECKED
        )["test_score"]
    by_hand = [
        np.mean(PLKNN().fit(X[train], SETS[train]).predict(X[test]) == Y[test])
        for train, test in FOLDS.split(X)
    ]
    np.testing.assert_allclose(scores, by_hand)
    by_hand = [
        PLKNN()
        .fit(X[train], SETS[train], sample_weight=weights[train])
        .score(X[test], SETS[test], sample_weight=weights[test])
        for train, test in FOLDS.split(X)
    ]
    np.testing.assert_allclose(weighted, by_hand)
    return search.best_score_


def other_processes(y):
    alone = cross_val_score(PLKNN(), X, y, cv=FOLDS)
    np.testing.assert_array_equal(cross_val_score(PLKNN(), X, y, cv=FOLDS, n_jobs=2), alone)
    return alone.mean()


WORKS = {
    "`clone`, `get_params`, `set_params`": clone_and_parameters,
    "`Pipeline`, `ColumnTransformer`": pipelines,
    "`train_test_split`, `resample`": splits,
    "`KFold`, `ShuffleSplit`, `GroupKFold`": folds,
    "`cross_val_score`, `cross_validate`": cross_validation,
    "`cross_val_predict`": out_of_fold,
    "`GridSearchCV`, `RandomizedSearchCV`": searches,
    "`learning_curve`, `validation_curve`": curves,
    "`permutation_importance`, `partial_dependence`": inspection,
    "`permutation_test_score`": permutation_test,
    "`RFE`, `RFECV`, `SelectFromModel`": linear_selection,
    "`SequentialFeatureSelector`": sequential_selection,
    "`FrozenEstimator`": frozen,
    "`set_output`, `feature_names_in_`": named_features,
    "metadata routing": routing,
    "`n_jobs`": other_processes,
}
SLOW = {other_processes, linear_selection}


def table_under(title):
    """First cells of the table under a heading of the page."""
    section = re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^#|\Z)", PAGE, re.M | re.S)[1]
    return [
        line.split(" | ")[0].removeprefix("| ")
        for line in section.splitlines()[1:]
        if line.startswith("| ")
    ][1:]


def test_every_line_of_the_page_is_tried():
    assert table_under("Supported tools") == list(WORKS)
    assert table_under("Others") == OTHERS
    headings = re.findall(r"^### (.+)$", PAGE, re.M)
    assert headings == [*WORKAROUNDS, "Others"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "tool",
    [
        pytest.param(tool, marks=pytest.mark.slow) if tool in SLOW else tool
        for tool in WORKS.values()
    ],
)
def test_what_works(tool, form):
    assert tool(FORMS[form]) > 0.8


def test_a_sparse_mask_and_where_it_is_rejected():
    mask = SETS.to_sparse()
    assert splits(mask) > 0.9
    assert searches(mask) > 0.9
    for rejects in (cross_validation, curves):
        with pytest.raises(ValueError, match=r"parameter of .* must be an array-like"):
            rejects(mask)
    dense = cross_val_score(PLKNN(), X, SETS, cv=FOLDS)
    np.testing.assert_array_equal(cross_val_score(PLKNN(), X, as_candidates(mask), cv=FOLDS), dense)


def test_the_default_folds_neither_shuffle_nor_stratify():
    default = cross_val_score(PLKNN(), X, SETS)
    np.testing.assert_array_equal(cross_val_score(PLKNN(), X, SETS, cv=KFold(5)), default)
    assert (cross_val_score(PLKNN(), X, Y) != default).any()  # stratified for plain labels


def test_the_recursive_selection_needs_a_scorer():
    with pytest.raises(ValueError, match="can't handle a mix"):
        RFECV(PLCL(kernel="linear", max_iter=2, tol=0), cv=FOLDS).fit(X, SETS)


# Runs, but means something else


def test_univariate_selection_takes_every_set_for_a_class():
    names = ["+".join(sorted(labels)) for labels in SETS.to_sets()]
    by_list = SelectKBest(k=2).fit(X, SETS.to_sets()).scores_
    assert by_list.max() < 50 < f_classif(X, Y)[0].max()  # says nothing of the species
    assert len(set(names)) > 3
    with pytest.raises(ValueError, match="1d array"):
        SelectKBest(k=2).fit(X, MASK)
    cleaned = PLKNN().fit(X, SETS).transduction_
    chosen = SelectKBest(k=2).fit(X, cleaned).get_support()
    np.testing.assert_array_equal(chosen, SelectKBest(k=2).fit(X, Y).get_support())


@pytest.mark.parametrize("scoring", ["neg_log_loss", "roc_auc_ovr"])
def test_scores_of_probabilities_read_a_mask_as_many_right_labels(scoring):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PLCL().fit(X, Y)
        by_mask = cross_val_score(model, X, MASK.astype(int), cv=FOLDS, scoring=scoring)
        by_truth = cross_val_score(model, X, Y, cv=FOLDS, scoring=scoring)
    assert np.isfinite(by_mask).all()
    assert by_mask.mean() < by_truth.mean() - 0.1


def test_confidences_out_of_fold_lose_the_weights():
    weighted = as_candidates(
        [{label: 0.5 + 3 * j for j, label in enumerate(sorted(row))} for row in SETS.to_sets()]
    )
    seen = []

    class Records(PLKNN):
        def fit(self, X, y, **options):
            seen.append(np.unique(as_candidates(y).weights).tolist())
            return super().fit(X, y, **options)

    cross_val_predict(Records(), X, weighted, cv=FOLDS, method="predict_proba")
    assert seen == [[1.0, 2.0]] * 3
    cross_val_predict(Records(), X, weighted, cv=FOLDS)
    assert seen[3:] == [[0.5, 3.5]] * 3


# Unsupported tools, and workarounds

ERRORS = "Unknown label type|1d array|only supports binary or multiclass|can't handle a mix|Suppor"


def assert_rejects(attempt):
    """The tool raises an error for every form of sets."""
    for y in (SETS.to_sets(), OBJECTS, MASK, SETS):
        with pytest.raises((ValueError, TypeError, AttributeError, NotImplementedError)) as error:
            attempt(y)
        if not isinstance(error.value, AttributeError):
            assert re.search(ERRORS, str(error.value)), error.value


def accuracy_of(confidences):
    return np.mean(SETS.classes[np.asarray(confidences).argmax(axis=1)] == Y)


def plain_scoring():
    for scoring in ("accuracy", "f1_macro"):
        assert_rejects(
            lambda y, scoring=scoring: cross_val_score(
                PLKNN(), X, y, cv=FOLDS, scoring=scoring, **CHECKED
            )
        )
    assert routing(SETS) > 0.9


def stratified_folds():
    assert_rejects(lambda y: cross_val_score(PLKNN(), X, y, cv=StratifiedKFold(3)))
    stratified = list(StratifiedKFold(3).split(X, PLKNN().fit(X, SETS).transduction_))
    assert cross_val_score(PLKNN(), X, SETS, cv=stratified, **CHECKED).min() > 0.9


def calibration():
    assert_rejects(lambda y: CalibratedClassifierCV(PLKNN(), cv=FOLDS).fit(X, y))
    X_train, X_known, sets_train, _, _, y_known = train_test_split(X, SETS, Y, random_state=0)
    model = PLCL().fit(X_train, sets_train)
    calibrated = CalibratedClassifierCV(FrozenEstimator(model)).fit(X_known, y_known)
    assert accuracy_of(calibrated.predict_proba(X)) > 0.9
    assert np.abs(calibrated.predict_proba(X) - model.predict_proba(X)).max() > 0.05


def bagging():
    assert_rejects(lambda y: BaggingClassifier(PLKNN()).fit(X, y))
    bag = [PLKNN().fit(*resample(X, SETS, random_state=i)) for i in range(10)]
    assert accuracy_of(np.mean([model.predict_proba(X) for model in bag], axis=0)) > 0.9


def voting():
    assert_rejects(lambda y: VotingClassifier([("a", PLKNN()), ("b", PLCL())]).fit(X, y))
    vote = PLVoting(estimators=[("a", PLKNN()), ("b", PLCL())]).fit(X, SETS)
    voters = [model.fit(X, SETS) for model in (PLCL(), PLKNN())]
    mean = np.mean([model.predict_proba(X) for model in voters], axis=0)
    np.testing.assert_allclose(vote.predict_proba(X), mean)
    assert accuracy_of(mean) > 0.9


def stacking():
    assert_rejects(lambda y: StackingClassifier([("a", PLKNN()), ("b", PLCL())]).fit(X, y))
    members = [("a", PLCL()), ("b", PLKNN())]
    stack = PLStacking(estimators=members, final_estimator=PLCL(), cv=FOLDS).fit(X, SETS)
    assert stack.score(X, Y) > 0.9


def lists_of_lists():
    lists = [sorted(row) for row in SETS.to_sets()]
    expected = cross_val_score(PLKNN(), X, SETS)
    grid = {"n_neighbors": [3, 5]}
    for y in (lists, [tuple(row) for row in lists], pd.Series(lists)):
        with pytest.raises(ValueError, match="using a legacy multi-label data representation"):
            cross_val_score(PLKNN(), X, y)
        with pytest.raises(ValueError, match="using a legacy multi-label data representation"):
            GridSearchCV(PLKNN(), grid).fit(X, y)
        np.testing.assert_array_equal(cross_val_score(PLKNN(), X, as_candidates(y)), expected)
        assert GridSearchCV(PLKNN(), grid).fit(X, as_candidates(y)).best_score_ > 0.9
        assert cross_val_score(PLKNN(), X, y, cv=FOLDS).mean() > 0.9
        assert GridSearchCV(PLKNN(), grid, cv=FOLDS).fit(X, y).best_score_ > 0.9


WORKAROUNDS = {
    "Lists of lists": lists_of_lists,
    '`scoring="accuracy"`': plain_scoring,
    "Stratified folds": stratified_folds,
    "Calibration": calibration,
    "Bagging": bagging,
    "Voting": voting,
    "Stacking": stacking,
}


@pytest.mark.slow
@pytest.mark.parametrize("workaround", WORKAROUNDS.values())
def test_workarounds(workaround):
    workaround()


OTHERS = [
    "`HalvingGridSearchCV`",
    "`AdaBoostClassifier`, `OneVsRestClassifier`, `SelfTrainingClassifier`",
    "`SelectKBest`, `LinearDiscriminantAnalysis` as a step",
    "`CalibrationDisplay`, `ConfusionMatrixDisplay`",
]


def test_halving_is_rejected():
    assert_rejects(lambda y: HalvingGridSearchCV(PLKNN(), {"n_neighbors": [3, 5]}).fit(X, y))


def test_the_cleaned_labels_are_for_every_other_classifier():
    cleaned = PLKNN().fit(X, SETS).transduction_
    tree = DecisionTreeClassifier(max_depth=2)
    partly = np.where(np.arange(len(X)) % 2, as_codes(cleaned), -1)  # half of them unlabeled
    for model, labels in (
        (AdaBoostClassifier(tree, random_state=0), cleaned),
        (OneVsRestClassifier(tree), cleaned),
        (SelfTrainingClassifier(tree), partly),
        (make_pipeline(LinearDiscriminantAnalysis(), PLKNN()), cleaned),
    ):
        truth = CODES if labels is partly else Y
        assert model.fit(X, labels).score(X, truth) > 0.9
    for rejects in (
        lambda y: AdaBoostClassifier(tree).fit(X, y),
        lambda y: SelfTrainingClassifier(tree).fit(X, y),
        lambda y: make_pipeline(LinearDiscriminantAnalysis(), PLKNN()).fit(X, y),
    ):
        with pytest.raises(ValueError, match="1d array"):
            rejects(MASK)


@pytest.mark.slow
def test_votes_of_annotators():
    rng = np.random.default_rng(0)
    table = np.where(rng.random((150, 3)) < 0.7, Y[:, None], rng.choice(Y, (150, 3)))
    votes = Votes.from_wide(table)
    crowd = CrowdClassifier(PLKNN(), cv=2, max_iter=1, tol=1.0, random_state=0)
    assert make_pipeline(StandardScaler(), clone(crowd)).fit(X, votes).score(X, Y) > 0.85
    with pytest.raises(TypeError):
        cross_val_score(crowd, X, votes, cv=FOLDS)
    with pytest.raises(ValueError, match="one true label for each row"):
        cross_val_score(crowd, X, table, cv=FOLDS, **CHECKED)
