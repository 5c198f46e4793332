from dataclasses import replace
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from problems import ambiguous
from scipy import sparse
from scipy.special import logit, softmax
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from ambilearn import (
    IPAL,
    LALO,
    PLAGGD,
    PLCL,
    PLDA,
    PLKNN,
    SURE,
    PLDATransformer,
    PLStacking,
    PLVoting,
    as_candidates,
    find_doubtful,
)
from ambilearn.backend import HOST
from ambilearn.confidence import LabelDoubt
from ambilearn.confidence.missing_truth import fit_missing_truth
from ambilearn.selection import CandidateSearchCV

MODULE = import_module("ambilearn.confidence.find_doubtful")
METHODS = [PLCL(), PLAGGD(), LALO(), SURE(), PLKNN(), IPAL(), PLDA(), PLStacking(), PLVoting()]


def swapped(n=160, share=0.15, seed=0, **options):
    """X, mask, y, and the rows whose true label is replaced by another."""
    X, mask, y = ambiguous(n=n, seed=seed, **{"d": 8, "n_labels": 6, "extra": 0.15} | options)
    rng = np.random.default_rng(seed)
    absent = (rng.random(n) < share) & (mask.sum(axis=1) < mask.shape[1])
    for i in np.flatnonzero(absent):
        new = rng.choice(np.flatnonzero(mask[i] == 0))
        mask[i, y[i]], mask[i, new] = 0, 1
    return X, mask, y, absent


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_rows_without_their_truth_are_found_and_their_truth_is_suggested(method):
    X, mask, y, absent = swapped()
    doubt = find_doubtful(X, mask, estimator=method)
    assert roc_auc_score(absent, doubt.score) > 0.9
    assert np.mean(doubt.other[absent] == y[absent]) > 0.7
    assert not mask[np.arange(len(y)), doubt.other.astype(int)].any()
    assert absent[doubt.order[:10]].mean() > 0.7


@pytest.mark.parametrize("weighted", [False, True])
def test_outputs_are_those_of_regressions_that_leave_out_each_row_in_turn(weighted):
    X, mask, _, _ = swapped(n=30)
    table = mask * np.random.default_rng(0).integers(1, 4, mask.shape) if weighted else mask
    sets = as_candidates(table.astype(float) if weighted else mask)

    def leave_out(targets):
        rows = np.arange(len(X))
        fits = [Ridge(alpha=0.5).fit(X[rows != i], targets[rows != i]) for i in rows]
        return np.array([fit.predict(X[[i]])[0] for i, fit in enumerate(fits)])

    pairs = HOST.support(sets)
    outputs = leave_out(pairs.scatter(pairs.prior()))
    for _ in range(3):
        p = pairs.simplex.project(pairs.gather(outputs) + pairs.preference())
        outputs = leave_out(pairs.scatter(p))
    doubt = find_doubtful(X, sets, estimator=SURE(reg=0.5, kernel="linear"))
    model = fit_missing_truth(outputs, mask == 1)
    proba = softmax(model.factor * outputs + model.bias, axis=1)
    expected = model.probability(logit((proba * mask).sum(axis=1)), mask.sum(axis=1))
    np.testing.assert_allclose(doubt.score, expected, atol=1e-5)
    other = np.where(mask == 1, -1, proba).argmax(axis=1)
    np.testing.assert_array_equal(doubt.other.astype(int), other)
    within = np.where(mask == 1, proba, 0)
    within /= within.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(doubt.within.toarray(), within, atol=1e-5)


def test_votes_of_neighbors_are_held_out_without_a_fold():
    X, mask, _, _ = swapped(n=60)
    votes = PLKNN().fit(X, mask).train_output_
    model = fit_missing_truth(votes, mask == 1)
    proba = softmax(model.factor * votes + model.bias, axis=1)
    expected = model.probability(logit((proba * mask).sum(axis=1)), mask.sum(axis=1))
    for sets in (mask, sparse.csr_array(mask)):
        np.testing.assert_allclose(find_doubtful(X, sets, estimator=PLKNN()).score, expected)


def test_folds_never_see_the_row_they_judge():
    """A row whose set is changed has other candidates, but the same outputs."""
    X, mask, _, _ = swapped(n=40)
    before = find_doubtful(X, mask, estimator=IPAL())
    row = before.order[0]
    other = mask.copy()
    other[row] = 0
    other[row, before.other[row]] = 1
    after = find_doubtful(X, other, estimator=IPAL())
    assert after.score[row] < 0.1 < before.score[row]


@pytest.mark.slow
def test_every_way_leaves_the_estimator_as_it_was():
    X, mask, _, _ = swapped(n=40)
    for method in METHODS:
        fitted = type(method)().fit(X, mask)
        before = dict(vars(fitted))
        find_doubtful(X, mask, estimator=fitted)
        assert vars(fitted).keys() == before.keys()
        assert all(vars(fitted)[name] is value for name, value in before.items())


@pytest.mark.parametrize("ensemble", [PLStacking, PLVoting])
def test_an_ensemble_is_judged_by_its_first_member_that_has_a_closed_form(ensemble):
    X, mask, _, _ = swapped(n=60)
    told = []
    default = find_doubtful(X, mask, estimator=ensemble(), progress=told.append)
    np.testing.assert_array_equal(default.score, find_doubtful(X, mask, estimator=PLCL()).score)
    assert told == ["predicting every row from the others"]  # nothing is fitted
    members = [("z", SURE(reg=0.7)), ("b", PLKNN()), ("y", PLVoting(estimators=[("a", LALO())]))]
    found = find_doubtful(X, mask, estimator=ensemble(estimators=members))
    np.testing.assert_array_equal(found.score, find_doubtful(X, mask, estimator=LALO()).score)


def test_members_of_an_ensemble_get_its_landmarks_and_seed():
    X, mask, _, _ = swapped(n=60)
    options = {"n_landmarks": 9, "random_state": 3}
    found = find_doubtful(X, mask, estimator=PLStacking(**options))
    np.testing.assert_array_equal(
        found.score, find_doubtful(X, mask, estimator=PLCL(**options)).score
    )
    state = np.random.RandomState(0)
    find_doubtful(X, mask, estimator=PLStacking(random_state=state))
    assert state.randint(100) == np.random.RandomState(0).randint(100)  # it is not drawn from


@pytest.mark.slow
def test_an_ensemble_without_a_closed_form_is_judged_by_folds():
    X, mask, _, absent = swapped()
    scaled = make_pipeline(StandardScaler(), PLCL())  # sees other rows
    doubt = find_doubtful(X, mask, estimator=PLVoting(estimators=[("a", scaled), ("b", IPAL())]))
    assert roc_auc_score(absent, doubt.score) > 0.9


@pytest.mark.parametrize(
    "method",
    [
        PLCL(),
        PLKNN(),
        PLStacking(),
        CandidateSearchCV(PLKNN(), {"n_neighbors": [5, 10]}, cv=3, random_state=0),
    ],
    ids=["PLCL", "PLKNN", "PLStacking", "search"],
)
def test_folds_are_used_on_request(method):
    X, mask, _, absent = swapped()
    told = []
    doubt = find_doubtful(X, mask, estimator=method, n_folds=3, progress=told.append)
    steps = [text.partition(",")[0] for text in told]  # without the time left
    assert steps == [f"predicting every row from the others: fit {i} of 3" for i in (1, 2, 3)]
    assert roc_auc_score(absent, doubt.score) > 0.85
    assert (doubt.score != find_doubtful(X, mask, estimator=method).score).any()


def test_a_pipeline_is_judged_by_its_last_step():
    X, mask, _, _ = swapped(n=60)
    scaled = StandardScaler().fit_transform(X)
    expected = find_doubtful(scaled, mask, estimator=PLCL()).score
    np.testing.assert_allclose(
        find_doubtful(X, mask, estimator=make_pipeline(StandardScaler(), PLCL())).score, expected
    )
    for last in (make_pipeline(PLCL()), make_pipeline("passthrough", PLCL())):
        np.testing.assert_allclose(find_doubtful(scaled, mask, estimator=last).score, expected)


def test_steps_that_look_at_the_labels_are_held_out_too():
    X, mask, _, absent = swapped()
    told = []
    model = make_pipeline(PLDATransformer(), PLCL())
    doubt = find_doubtful(X, mask, estimator=model, progress=told.append)
    assert told[-1].startswith("predicting every row from the others: fit 2 of 2")
    assert roc_auc_score(absent, doubt.score) > 0.9


def test_two_labels_and_data_frames():
    pandas = pytest.importorskip("pandas")
    X, mask, y = ambiguous(n=60, n_labels=2, extra=0.0)
    mask[5] = mask[5, ::-1]
    frame = pandas.DataFrame(X + 4 * y[:, None], columns=list("abcd"))
    names = as_candidates(pandas.DataFrame(mask, columns=["no", "yes"]))
    for method in (PLCL(), IPAL(), make_pipeline(FunctionTransformer(), IPAL())):
        doubt = find_doubtful(frame, names, estimator=method)
        assert doubt.order[0] == 5
        assert doubt.other[5] == ["no", "yes"][y[5]]


def test_too_few_rows_for_folds_are_rejected_but_not_by_the_closed_form():
    X, sets = [[0.0], [1.0]], [{"a"}, {"a", "b"}]
    with pytest.raises(ValueError, match="2 rows, but folds need at least three"):
        find_doubtful(X, sets, estimator=IPAL())
    assert find_doubtful(X, sets, estimator=PLCL()).score.shape == (2,)


def test_input_that_a_method_rejects_is_rejected():
    X, mask, _, _ = swapped(n=20)
    with pytest.raises(ValueError, match="reg"):
        find_doubtful(X, mask, estimator=PLCL(reg=-1))
    with pytest.raises(ValueError, match="X has 20 rows"):
        find_doubtful(X, mask[:-1], estimator=PLCL())


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(
    "classifier",
    [KNeighborsClassifier(), LogisticRegression(), LogisticRegressionCV(Cs=[1.0], cv=2)],
)
def test_a_classifier_of_ordinary_labels_is_rejected_and_may_take_part_in_a_vote(classifier):
    X, mask, _, _ = swapped(n=40)
    name = type(classifier).__name__
    for each in (classifier, make_pipeline(StandardScaler(), classifier)):
        with pytest.raises(TypeError, match=r"does not learn from candidate sets.* PLCL"):
            find_doubtful(X, mask, estimator=each)
    with pytest.raises(TypeError, match=name):
        find_doubtful(X, mask, estimator=classifier)
    vote = PLVoting(estimators=[("plcl", PLCL()), ("other", classifier)])
    assert np.isfinite(find_doubtful(X, mask, estimator=vote, n_folds=5).score).all()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "expected"), [("lost", 0.82), ("msrcv2", 0.74)])
def test_on_real_data_one_row_in_ten_without_its_truth(real_split, name, expected):
    X, mask, y, _, _ = real_split(name)
    rng = np.random.default_rng(0)
    absent = rng.random(len(y)) < 0.1
    mask = mask.copy()
    for i in np.flatnonzero(absent):
        new = rng.choice(np.flatnonzero(mask[i] == 0))
        mask[i, y[i]], mask[i, new] = 0, 1
    assert roc_auc_score(absent, find_doubtful(X, mask).score) > expected


def test_pl_cl_is_the_default():
    X, mask, _, _ = swapped(n=60)
    expected = find_doubtful(X, mask, estimator=PLCL())
    np.testing.assert_array_equal(find_doubtful(X, mask).score, expected.score)
    with pytest.raises(TypeError, match="positional"):
        find_doubtful(PLCL(), X, mask)


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, np.ndarray.tolist])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda method: method,
        lambda method: PLVoting(estimators=[("one", method)]),
        lambda method: CandidateSearchCV(method, {"reg": [0.1]}, cv=2, random_state=0),
    ],
    ids=["alone", "vote", "search"],
)
def test_folds_cut_the_columns_of_a_kernel_matrix_too(form, wrap):
    X, mask, _, _ = swapped(n=40)
    found = find_doubtful(
        form(X @ X.T), mask, estimator=wrap(SURE(kernel="precomputed")), n_folds=3
    )
    expected = find_doubtful(X, mask, estimator=wrap(SURE(kernel="linear")), n_folds=3)
    np.testing.assert_allclose(found.score, expected.score, atol=1e-6)


def test_rows_of_weight_zero_are_scored_and_negative_weights_are_rejected():
    X, mask, _, _ = swapped(n=40)
    sets = replace(as_candidates(mask), row_weights=np.arange(40) % 3.0)
    assert np.isfinite(find_doubtful(X, sets).score).all()
    with pytest.raises(ValueError, match="egative"):
        find_doubtful(X, replace(sets, row_weights=-np.ones(40)))


def noisy_labels(n=200, seed=0):
    X, _, y = ambiguous(n=n, d=8, n_labels=5, seed=seed)
    X = X + 1.5 * np.eye(8)[y]
    rng = np.random.default_rng(seed)
    given = np.where(rng.random(n) < 0.15, (y + rng.integers(1, 5, size=n)) % 5, y)
    return X, y, given


@pytest.mark.parametrize(
    "options",
    [{}, *({"estimator": each} for each in METHODS[:5]), {"estimator": IPAL()}, {"n_folds": 3}],
    ids=str,
)
def test_ordinary_labels_are_corrected(options):
    X, y, given = noisy_labels()
    names = np.array(["ant", "bee", "cat", "dog", "emu"])
    doubt = find_doubtful(X, names[given], **options)
    assert isinstance(doubt, LabelDoubt)
    assert roc_auc_score(given != y, doubt.score) > 0.9
    assert np.mean(doubt.label == names[y]) > np.mean(given == y) + 0.05
    assert (doubt.classes == names).all()


def test_sets_of_one_label_are_ordinary_labels_in_every_form_but_a_sparse_mask():
    X, _, given = noisy_labels(n=60)
    mask = np.eye(5, dtype=int)[given]
    expected = find_doubtful(X, given)
    for form in (mask, [{label} for label in given.tolist()], as_candidates(given)):
        np.testing.assert_array_equal(find_doubtful(X, form).label, expected.label)
    assert not isinstance(find_doubtful(X, sparse.csr_array(mask)), LabelDoubt)


def test_ordinary_labels_take_one_round_of_the_closed_form():
    X, _, given = noisy_labels(n=60)
    outputs = find_doubtful(X, as_candidates(given), estimator=SURE())
    sets = find_doubtful(X, sparse.csr_array(np.eye(5, dtype=bool)[given]), estimator=SURE())
    ahead = sets.score > 0.2
    assert ahead.any()
    assert (outputs.score[ahead] > 0).all()


@pytest.mark.parametrize("n", [2, 4])
def test_one_row_per_label(n):
    with pytest.warns(UserWarning, match="better than chance"):
        doubt = find_doubtful(np.eye(n), np.arange(n))
    assert not doubt.change.any()
    assert np.isfinite(doubt.score).all()


def test_wrong_rows_are_named_as_in_the_input(monkeypatch):
    monkeypatch.setattr(MODULE, "_MAX_TUNING_ROWS", 10)
    X, _, given = noisy_labels(n=60)
    X[50, 3] = 1e200
    with pytest.raises(ValueError, match="row 50, column 3"):
        find_doubtful(X, given)


def blobs(n=40):
    X, y = make_blobs(n, n_features=3, centers=3, cluster_std=4.0, random_state=0)
    return X, y


def literal(X, y, kernel, ridge, weights=None):
    """Outputs at each row of a kernel ridge classifier that is fitted to all other rows."""
    weights = np.ones(len(X)) if weights is None else weights
    K, T = kernel(X, X), np.eye(y.max() + 1)[y]
    outputs = np.empty_like(T)
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        n = rest.sum()
        M = np.block(
            [
                [K[np.ix_(rest, rest)] + ridge * np.diag(1 / weights[rest]), np.ones((n, 1))],
                [np.ones((1, n)), np.zeros((1, 1))],
            ]
        )
        solved = np.linalg.solve(M, np.vstack([T[rest], np.zeros((1, T.shape[1]))]))
        outputs[i] = K[i, rest] @ solved[:-1] + solved[-1]
    return outputs


@pytest.mark.parametrize("weighted", [False, True])
def test_outputs_are_those_of_the_best_fits_without_each_row(weighted):
    X, y = blobs()
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(y)) if weighted else None
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    v = np.ones(len(y)) if weights is None else weights
    mean = np.sqrt(squared).sum() / (len(y) * (len(y) - 1))
    if weighted:
        pairs = np.outer(v, v)
        repeated = pairs.sum() - np.sum(v**2) + np.sum(v * np.maximum(v - 1, 0))
        mean = np.sum(pairs * np.sqrt(squared)) / repeated

    def best(fits):
        errors = [v @ ((H - np.eye(3)[y]) ** 2).sum(axis=1) for H in fits]
        return fits[int(np.argmin(errors))]

    ridges = (0.03, 0.3, 1.0, 3.0)
    gaussian = [
        literal(X, y, lambda a, b, w=w: np.exp(-squared / (2 * (w * mean) ** 2)), ridge, weights)
        for w in (0.35, 0.5, 0.7, 1.0)
        for ridge in ridges
    ]
    linear = [literal(X, y, lambda a, b: a @ b.T, r * mean**2 / 2, weights) for r in ridges]
    expected = (2 * best(gaussian) + best(linear)) / 3
    sets = replace(as_candidates(y), row_weights=weights)
    np.testing.assert_allclose(MODULE.tuned_outputs(X, sets), expected, atol=1e-7)


def test_the_unit_of_the_features_does_not_matter():
    X, y = blobs()
    sets = as_candidates(y)
    np.testing.assert_allclose(
        MODULE.tuned_outputs(X, sets), MODULE.tuned_outputs(1000 * X + 3, sets), atol=1e-6
    )


def test_sparse_rows_give_the_same_outputs():
    X, y = blobs()
    X = np.where(X > 0, X, 0)
    sets = as_candidates(y)
    np.testing.assert_allclose(
        MODULE.tuned_outputs(X, sets), MODULE.tuned_outputs(sparse.csr_array(X), sets), atol=1e-8
    )


def test_large_data_are_tuned_on_some_rows_and_use_landmarks(monkeypatch):
    X, y = blobs(120)
    sets = as_candidates(y)
    exact = MODULE.tuned_outputs(X, sets)
    monkeypatch.setattr(MODULE, "_MAX_TUNING_ROWS", 50)
    some = MODULE.tuned_outputs(X, sets, random_state=1)
    np.testing.assert_array_equal(some, MODULE.tuned_outputs(X, sets, random_state=1))
    monkeypatch.setattr(MODULE, "MAX_EXACT_ROWS", 100)
    monkeypatch.setattr(MODULE, "DEFAULT_N_LANDMARKS", 60)
    low_rank = MODULE.tuned_outputs(X, sets)
    assert (low_rank != exact).any()
    for outputs in (some, low_rank):
        assert np.mean(outputs.argmax(axis=1) == exact.argmax(axis=1)) > 0.9


def test_equal_rows():
    outputs = MODULE.tuned_outputs(np.ones((6, 2)), as_candidates([0, 1, 0, 1, 0, 1]))
    assert np.isfinite(outputs).all()


def test_one_row_is_too_few():
    with pytest.raises(ValueError, match=r"^X has one row: at least two are needed to find wrong"):
        find_doubtful([[1.0, 2.0]], ["a"])
