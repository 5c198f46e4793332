import warnings

import numpy as np
import pandas as pd
import pytest
from annotators import LABELS, item_names, make_crowd
from scipy import sparse
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from ambilearn import PLCL, PLKNN
from ambilearn.crowd import CrowdClassifier, Votes, dawid_skene
from ambilearn.selection import CandidateSearchCV


@pytest.fixture(scope="module")
def crowd():
    X, truth, answers = make_crowd(n=150, lots=4, answered=0.5)
    return X, truth, Votes.from_long(answers, items=item_names(150))


@pytest.fixture(scope="module")
def fitted(crowd):
    X, _, votes = crowd
    return CrowdClassifier(LogisticRegression(), random_state=0).fit(X, votes)


def test_features_help_to_judge_the_rows(crowd, fitted):
    _, truth, votes = crowd
    alone = votes.classes[dawid_skene(votes).argmax(axis=1)]
    assert (fitted.transduction_ == truth).mean() > (alone == truth).mean() + 0.05
    X_new, truth_new, _ = make_crowd(n=200, seed=1)
    assert fitted.score(X_new, truth_new) > 0.8


def test_results_fit_together(crowd, fitted):
    _, _, votes = crowd
    assert fitted.classes_.tolist() == LABELS.tolist()
    np.testing.assert_allclose(fitted.label_distributions_.sum(axis=1), 1)
    best = fitted.label_distributions_.argmax(axis=1)
    np.testing.assert_array_equal(fitted.transduction_, LABELS[best])
    assert fitted.candidates_.covers(fitted.transduction_).all()
    assert 0 < fitted.feature_trust_ <= 1
    assert fitted.evidence_ < 0
    assert fitted.best_params_ == {}
    assert fitted.skills_.confusion.shape == (8, 3, 3)
    assert 0.25 <= fitted.skills_.smoothing <= 2000
    assert 0 <= fitted.sharing_ < 1
    assert fitted.inverse_temperature_ > 0
    assert fitted.annotators_.answers.sum() == votes.n_answers


def test_votes_are_no_truth_to_be_scored_by(crowd, fitted):
    X, truth, votes = crowd
    table = [["a", "b"]] * len(X)
    for y in (votes, table, np.array(table), pd.DataFrame(table)):
        with pytest.raises(ValueError, match=r"one true label for each row.*evidence_"):
            fitted.score(X, y)
    weights = np.arange(len(X))
    expected = np.average(fitted.predict(X) == truth, weights=weights)
    assert fitted.score(X, list(truth), weights) == pytest.approx(expected)


@pytest.mark.slow
def test_a_label_in_no_answer_may_be_chosen():
    X, truth, answers = make_crowd(n=120, noise=0.2, errors=(0.1, 0.1, 0.1), lots=0)
    lost = answers["item"] == "i000"
    wrong = next(label for label in LABELS if label != truth[0])
    answers.loc[lost, "label"] = wrong  # all who were asked are wrong about one item
    answers = answers[~lost | (answers["annotator"] == "a0")]  # and that was one of them
    votes = Votes.from_long(answers, items=item_names(120))
    model = CrowdClassifier(LogisticRegression(), random_state=0).fit(X, votes)
    assert model.label_distributions_[0, truth[0] == LABELS] > 0.1


@pytest.mark.slow
def test_useless_features_leave_dawid_and_skene(crowd):
    _, truth, votes = crowd
    noise = np.random.default_rng(0).normal(size=(150, 5))
    model = CrowdClassifier(LogisticRegression(), random_state=0).fit(noise, votes)
    told = CrowdClassifier(LogisticRegression(), random_state=0).fit(crowd[0], votes)
    assert model.evidence_ < told.evidence_
    alone = votes.classes[dawid_skene(votes).argmax(axis=1)]
    assert (model.transduction_ == truth).mean() > (alone == truth).mean() - 0.05


@pytest.mark.slow
def test_items_without_answers_are_labeled_by_their_features(crowd):
    X, truth, votes = crowd
    frame = votes.to_frame()
    fewer = Votes.from_long(frame[frame["item"] >= "i040"], items=item_names(150))
    assert len(fewer.unanswered) == 40
    model = CrowdClassifier(LogisticRegression(), random_state=0).fit(X, fewer)
    assert (model.transduction_ == truth)[:40].mean() > 0.75


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [
        PLKNN(),
        PLCL(),
        make_pipeline(StandardScaler(), PLKNN()),
        make_pipeline(StandardScaler(), LogisticRegression()),
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}),
        CandidateSearchCV(PLKNN(), {"n_neighbors": [10, 15]}, random_state=0),
    ],
    ids=["PLKNN", "PLCL", "pipeline", "foreign pipeline", "search", "search with sets"],
)
def test_any_classifier(crowd, estimator):
    X, truth, votes = crowd
    model = CrowdClassifier(estimator, random_state=0).fit(X, votes)
    assert (model.transduction_ == truth).mean() > 0.85
    assert model.predict_proba(X[:4]).shape == (4, 3)
    assert model.predict(X[:4]).tolist() == model.estimator_.predict(X[:4]).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("make", [pd.DataFrame, sparse.csr_array, np.ndarray.tolist])
def test_forms_of_the_features(crowd, fitted, make):
    X, _, votes = crowd
    model = CrowdClassifier(LogisticRegression(), random_state=0).fit(make(X), votes)
    np.testing.assert_allclose(model.label_distributions_, fitted.label_distributions_, atol=1e-6)


@pytest.mark.slow
def test_a_table_of_answers_will_do(crowd, fitted):
    X, _, votes = crowd
    wide = votes.to_frame().pivot(index="item", columns="annotator", values="label")
    wide = wide.reindex(item_names(150))
    model = CrowdClassifier(LogisticRegression(), random_state=0).fit(X, wide)
    np.testing.assert_array_equal(model.label_distributions_, fitted.label_distributions_)


@pytest.mark.slow
def test_the_grid_is_chosen_by_evidence(crowd):
    X, _, votes = crowd
    grid = {"C": [1e-6, 1.0, 1e-5]}
    model = CrowdClassifier(
        LogisticRegression(), param_grid=grid, max_iter=1, tol=10, random_state=0
    )
    model.fit(X, votes)
    assert model.best_params_ == {"C": 1.0}
    assert model.estimator_.C == 1.0
    each = [clone(model).set_params(param_grid={"C": [C]}).fit(X, votes) for C in grid["C"]]
    assert np.argmax([one.evidence_ for one in each]) == 1
    assert each[1].evidence_ == model.evidence_
    assert not hasattr(model.estimator, "coef_")  # the user's own is left alone


@pytest.mark.slow
def test_too_few_rounds_are_reported(crowd):
    X, _, votes = crowd
    with pytest.warns(ConvergenceWarning, match="CrowdClassifier stopped after max_iter=1 "):
        model = CrowdClassifier(PLKNN(), max_iter=1, tol=1e-9, random_state=0).fit(X, votes)
    assert model.n_iter_ == 1


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"smoothing": 0}, "smoothing"),
        ({"smoothing": "much"}, "smoothing"),
        ({"min_share": 0}, "min_share"),
        ({"cv": 1}, "cv"),
        ({"estimator": 3}, "estimator"),
        ({"cv": 200}, "200 folds need at least 200 items, but the votes have 150"),
    ],
)
def test_wrong_parameters(crowd, params, message):
    X, _, votes = crowd
    with pytest.raises(ValueError, match=message):
        CrowdClassifier(LogisticRegression()).set_params(**params).fit(X, votes)


@pytest.mark.parametrize(
    "estimator", [KNeighborsClassifier(), make_pipeline(StandardScaler(), KNeighborsClassifier())]
)
def test_a_classifier_without_weights_of_rows_is_rejected(crowd, estimator):
    X, _, votes = crowd
    message = "KNeighborsClassifier cannot learn from confidences: .*PLCL.* takes sample_weight"
    with pytest.raises(TypeError, match=message):
        CrowdClassifier(estimator).fit(X, votes)


def test_other_rows_are_rejected(crowd):
    X, _, votes = crowd
    with pytest.raises(ValueError, match="X has 10 rows but the votes have 150 items"):
        CrowdClassifier(LogisticRegression()).fit(X[:10], votes)
    with pytest.raises(NotFittedError):
        CrowdClassifier(LogisticRegression()).predict(X)


def test_confidence_in_labels_without_answers(crowd):
    X, _, votes = crowd
    model = CrowdClassifier(PLCL(), random_state=0).fit(X, votes)
    counts = votes.counts().toarray()
    for i in (0, 7, 149):
        expected = model.label_distributions_[i][counts[i] == 0].sum()
        assert model.unvoted_[i] == pytest.approx(expected)
    silent = Votes.from_long(
        {"item": [0, 1, 2, 0], "annotator": ["a", "a", "a", "b"], "label": ["x", "y", "x", "y"]},
        items=range(6),
    )
    few = CrowdClassifier(PLCL(n_neighbors=2), cv=2, random_state=0).fit(X[:6], silent)
    np.testing.assert_array_equal(few.unvoted_[3:], 0.0)  # there is no answer to be wrong


def test_annotators_who_all_agree(crowd):
    X, _, _ = crowd
    votes = Votes.from_wide([["x", "x"]] * 20, annotators=["ann", "ben"])
    model = CrowdClassifier(PLCL(n_neighbors=3), random_state=0).fit(X[:20], votes)
    assert set(model.transduction_) == {"x"}
    assert set(model.predict(X[20:30])) == {"x"}


@pytest.mark.heavy
def test_the_music_set(real_data_dir):
    """Cleaned labels and a classifier, nothing tuned by truth (docs/measurements/votes.md)."""
    folder = real_data_dir / "crowd"
    if not folder.exists():
        pytest.skip("needs the answers of two crowds: folder crowd beside the paper's data files")
    train, test, answers = (
        pd.read_csv(folder / f"music-{part}.csv") for part in ("train", "test", "answers")
    )
    features = [column for column in train if column.startswith("feature")]
    scaler = StandardScaler().fit(train[features])
    votes = Votes.from_long(answers, items=train["item"])
    X, X_new = scaler.transform(train[features]), scaler.transform(test[features])
    model = CrowdClassifier(PLCL(), random_state=0).fit(X, votes)
    assert (model.transduction_ == train["truth"].to_numpy()).mean() >= 0.80
    assert model.score(X_new, test["truth"]) >= 0.70
    assert model.annotators_.agreement.min() < 0.2  # some draw lots
    truth = np.searchsorted(votes.classes, train["truth"].to_numpy())
    unheard = votes.counts().toarray()[np.arange(len(train)), truth] == 0
    assert roc_auc_score(unheard, model.unvoted_) > 0.8  # of a label that nobody gave


@pytest.fixture(scope="module")
def losing():
    """Votes with a label that is given once, and loses."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=60)
    X = truth[:, None] * 4.0 + rng.normal(size=(60, 2))
    table = np.tile(np.array(["a", "c"])[truth][:, None], (1, 4)).astype(object)
    table[7, 0] = "b"
    return X, table


def test_every_label_has_a_column_in_the_order_of_the_classes(losing):
    X, table = losing
    model = CrowdClassifier(LogisticRegression(), random_state=0).fit(X, table)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.estimator_.classes_.tolist() == ["a", "c"]
    confidences = model.predict_proba(X)
    assert confidences.shape == (60, 3)
    assert not confidences[:, 1].any()
    np.testing.assert_array_equal(model.classes_[confidences.argmax(axis=1)], model.predict(X))
    powers = model.estimator_.predict_proba(X) ** model.inverse_temperature_
    expected = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(confidences[:, [0, 2]], expected)


class FailsInTheEnd(LogisticRegression):
    """Fits to the rows of a fold, and not to all."""

    def fit(self, X, y, sample_weight=None):
        if len(np.unique(X, axis=0)) == 60:
            raise RuntimeError("too many rows")
        return super().fit(X, y, sample_weight)


def test_a_fit_that_fails_leaves_the_model_unfitted(losing):
    X, table = losing
    model = CrowdClassifier(LogisticRegression(), random_state=0).fit(X, table)
    model.set_params(estimator=FailsInTheEnd())
    with pytest.raises(RuntimeError, match="too many rows"):
        model.fit(X, table)
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert not hasattr(model, "classes_")


@pytest.mark.filterwarnings("ignore::FutureWarning")  # of defaults of LogisticRegressionCV
@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegressionCV(Cs=[1.0], cv=2),
        make_pipeline(StandardScaler(), LogisticRegressionCV(Cs=[1.0], cv=2)),
        GridSearchCV(make_pipeline(LogisticRegression()), {"logisticregression__C": [1.0]}, cv=2),
    ],
    ids=["alone", "pipeline", "pipeline in a search"],
)
def test_classifiers_that_choose_parameters_by_themselves_take_part(losing, estimator):
    X, table = losing
    model = CrowdClassifier(estimator, random_state=0).fit(X, table)
    assert (model.predict(X) == table[:, 1]).mean() > 0.9


def test_number_and_names_of_the_features():
    votes = Votes.from_wide([["a", "a"], ["b", "b"], ["a", "a"], ["b", "a"]])
    X = pd.DataFrame({"u": [0.0, 1.0, 0.1, 1.1], "v": [1.0, 1.0, 2.0, 2.0]})
    model = CrowdClassifier(PLKNN(n_neighbors=2)).fit(X, votes)
    assert model.n_features_in_ == 2
    assert model.feature_names_in_.tolist() == ["u", "v"]


def test_a_kernel_matrix_is_split_into_folds_by_rows_and_columns():
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(20, 2)), 4 + rng.normal(size=(20, 2))]
    table = np.array([["a", "a"]] * 20 + [["b", "b"]] * 20)
    model = CrowdClassifier(PLCL(kernel="precomputed", n_neighbors=3), random_state=0)
    folds = KFold(2, shuffle=True, random_state=0)
    assert (cross_val_predict(model, X @ X.T, table, cv=folds) == table[:, 0]).mean() > 0.9
    assert get_tags(CrowdClassifier(PLCL())).input_tags.sparse


def test_a_classifier_that_may_be_worse_than_no_features_is_reported(crowd):
    X, _, votes = crowd

    class Opposite(LogisticRegression):
        """Probabilities of labels that are wrong."""

        def predict_proba(self, X):
            found = 1 - super().predict_proba(X)
            return found**8 / (found**8).sum(axis=1, keepdims=True)

    class Certain(LogisticRegression):
        """Probabilities near 0 and 1, as of an SVC that is not calibrated."""

        def predict_proba(self, X):
            return softmax(20 * self.decision_function(X), axis=1)

    with pytest.warns(UserWarning, match="Opposite do not predict the answers better"):
        found = CrowdClassifier(Opposite(), random_state=0).fit(X, votes)
    assert found.feature_trust_ < 0.05
    with pytest.warns(UserWarning, match="Certain are far too certain.*CalibratedClassifierCV"):
        CrowdClassifier(Certain(), random_state=0).fit(X, votes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CrowdClassifier(LogisticRegression(), random_state=0).fit(X, votes)
