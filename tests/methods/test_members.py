"""Members of votes and stacks: who learns from what, and what they share."""

import weakref
from dataclasses import replace

import numpy as np
import pytest
from problems import ambiguous, support
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ambilearn import IPAL, PLCL, PLKNN, SURE, PLStacking, PLVoting
from ambilearn.backend import HOST
from ambilearn.bridges import to_sample_weights
from ambilearn.kernel.ridge import DualRidge
from ambilearn.learners import method_inside
from ambilearn.methods._members import (
    as_confidences,
    candidate_confidences,
    errors_name,
    fit_members,
    mean_confidences,
    member_scores,
    member_train_scores,
)
from ambilearn.rows import TrainingRows
from ambilearn.selection import CandidateSearchCV


@pytest.fixture
def data():
    X, mask, y = ambiguous(n=60, seed=1)
    return X, support(mask), y


def fit(members, X, sets, **options):
    return fit_members(members, TrainingRows(X), sets, **options)


# --- who learns from candidate sets -------------------------------------------------------------


def test_a_fitted_search_scores_with_its_best_estimator(data):
    X, sets, _ = data
    search = CandidateSearchCV(PLCL(), {"mu": [0.1, 1.0]}, cv=2, random_state=0).fit(X, sets.sets)
    assert method_inside(search) is search.best_estimator_
    np.testing.assert_array_equal(
        member_scores(search, X, sets.classes), search.decision_function(X)
    )


# --- fits ---------------------------------------------------------------------------------------


def test_clones_are_fitted_and_come_back_in_the_given_order(data):
    X, sets, _ = data
    members = [("b", PLCL()), ("a", IPAL()), ("c", SURE())]
    fitted = fit(members, X, sets)
    assert [type(each) for each in fitted] == [PLCL, IPAL, SURE]
    assert not any(hasattr(member, "classes_") for _, member in members)
    for (_, member), found in zip(members, fitted, strict=True):
        np.testing.assert_array_equal(
            found.decision_function(X), member.fit(X, sets.sets).decision_function(X)
        )


def test_members_on_the_same_rows_share_kernel_and_factorizations(data, count_work):
    X, sets, _ = data
    fit([("a", PLCL()), ("b", SURE()), ("c", PLCL(mu=0.1)), ("d", SURE(reg=0.06))], X, sets)
    # Of 0.03, 0.06 = 0.03 / 0.5 and 0.05.
    assert (count_work["kernel"], count_work["factorization"]) == (1, 3)


def test_an_ensemble_inside_shares_with_the_others(data, count_work):
    X, sets, _ = data
    inner = PLVoting(estimators=[("a", PLCL(mu=0.1)), ("b", SURE())])
    fit([("a", PLCL()), ("b", inner)], X, sets)
    assert (count_work["kernel"], count_work["factorization"]) == (1, 3)


@pytest.fixture
def watch_factorizations(monkeypatch):
    """Ridge of each factorization, whether it overwrote the kernel, and how many others lived."""
    made = []

    class Watched(DualRidge):
        alive = weakref.WeakSet()

        def __init__(self, kernel, ridge, overwrite, *others):
            made.append((ridge, overwrite, len(self.alive)))
            super().__init__(kernel, ridge, overwrite, *others)
            self.alive.add(self)

    monkeypatch.setattr("ambilearn.rows.DualRidge", Watched)
    return made


PLCL_ALONE = [(0.03, False, 0), (0.06, True, 1)]


def test_the_largest_member_takes_the_memory_of_the_kernel_matrix(data, watch_factorizations):
    X, sets, _ = data
    fit([("plcl", PLCL()), ("sure", SURE())], X, sets)
    assert watch_factorizations == [(0.05, False, 0), *PLCL_ALONE]


def test_a_stack_never_holds_more_factorizations_than_plcl(data, watch_factorizations):
    X, sets, _ = data
    PLStacking().fit(X, sets.sets)
    assert watch_factorizations == [(0.05, False, 0), *PLCL_ALONE, *PLCL_ALONE]


# --- foreign members ----------------------------------------------------------------------------


def test_a_foreign_member_learns_from_the_mean_confidences_of_ours(data):
    X, sets, _ = data
    ours = [("a", PLCL()), ("b", SURE())]
    *fitted, taught = fit([*ours, ("c", LogisticRegression())], X, sets)
    mean = np.mean([each.label_distributions_ for each in fitted], axis=0)
    rows, labels, weights = to_sample_weights(mean, X, classes=sets.classes)
    expected = LogisticRegression().fit(rows, labels, sample_weight=weights)
    np.testing.assert_allclose(taught.predict_proba(X), expected.predict_proba(X), atol=1e-9)


def test_without_methods_foreign_members_learn_from_the_sets(data):
    X, sets, _ = data
    (taught,) = fit([("c", GaussianNB())], X, sets)
    expected = GaussianNB().fit(
        X[sets.rows], sets.labels, sample_weight=1.0 / sets.sizes[sets.rows]
    )
    np.testing.assert_allclose(taught.predict_proba(X), expected.predict_proba(X))


def test_a_foreign_member_without_weights_learns_the_likeliest_candidates(data):
    X, sets, _ = data
    ours, taught = fit([("a", PLCL()), ("b", KNeighborsClassifier(3))], X, sets)
    expected = KNeighborsClassifier(3).fit(X, ours.transduction_)
    np.testing.assert_array_equal(taught.predict_proba(X), expected.predict_proba(X))


def test_a_foreign_member_learns_from_given_confidences_and_counts_rows_by_their_weight(data):
    X, sets, y = data
    confidences = sets.gather(np.eye(4)[y])
    (taught,) = fit([("c", GaussianNB())], X, sets, confidences=confidences)
    np.testing.assert_allclose(
        taught.predict_proba(X), GaussianNB().fit(X, y).predict_proba(X), atol=1e-12
    )
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    weighted = HOST.support(replace(sets.sets, row_weights=weights))
    (taught,) = fit([("c", GaussianNB())], X, weighted, confidences=confidences)
    expected = GaussianNB().fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(taught.predict_proba(X), expected.predict_proba(X), atol=1e-12)


def test_a_foreign_member_without_some_labels():
    X, mask, _ = ambiguous(n=40)
    wide = support(np.insert(mask, 2, 0, axis=1))  # nobody has the label 2
    (taught,) = fit([("c", GaussianNB())], X, wide)
    assert taught.classes_.tolist() == [0, 1, 3, 4]
    scores = member_scores(taught, X, wide.classes)
    assert (scores[:, 2] == 0).all()
    np.testing.assert_array_equal(np.delete(scores, 2, axis=1), taught.predict_proba(X))
    p = candidate_confidences(taught, X, wide)
    np.testing.assert_allclose(np.add.reduceat(p, wide.indptr[:-1]), 1)


def test_labels_in_any_order_find_their_columns(data):
    X, sets, _ = data
    names = np.array(["d", "a", "c", "b"])
    named = HOST.support(replace(sets.sets, classes=names))
    (taught,) = fit([("c", GaussianNB())], X, named)
    assert taught.classes_.tolist() == ["a", "b", "c", "d"]
    (plain,) = fit([("c", GaussianNB())], X, sets)
    np.testing.assert_allclose(
        member_scores(taught, X, names), member_scores(plain, X, sets.classes), atol=1e-12
    )


# --- what members say ---------------------------------------------------------------------------


@pytest.mark.parametrize("method", [PLCL(), PLKNN(), IPAL()], ids=repr)
@pytest.mark.parametrize("n_labels", [2, 4])
def test_a_pipeline_has_the_scores_of_its_method(method, n_labels):
    X, mask, _ = ambiguous(n=50, n_labels=n_labels)
    sets = support(mask)
    scaled = StandardScaler().fit_transform(X)
    (alone,) = fit([("a", method)], scaled, sets)
    for pipeline in (make_pipeline(StandardScaler(), method), make_pipeline(method)):
        rows = X if len(pipeline) == 2 else scaled
        (piped,) = fit([("a", pipeline)], rows, sets)
        scores = member_scores(piped, rows, sets.classes)
        assert scores.shape == (50, n_labels)
        np.testing.assert_array_equal(scores, member_scores(alone, scaled, sets.classes))
        np.testing.assert_array_equal(as_confidences(piped, scores), alone.predict_proba(scaled))
        np.testing.assert_array_equal(
            candidate_confidences(piped, rows, sets), sets.gather(alone.label_distributions_)
        )


def test_scores_of_training_rows(data):
    X, sets, _ = data
    plknn, ipal, foreign = fit([("a", PLKNN()), ("b", IPAL()), ("c", GaussianNB())], X, sets)
    np.testing.assert_array_equal(member_train_scores(plknn, X, sets.classes), plknn.train_output_)
    for member in (ipal, foreign):  # as for new rows
        np.testing.assert_array_equal(
            member_train_scores(member, X, sets.classes), member_scores(member, X, sets.classes)
        )
    scattered = PLCL().fit(X, sets.sets.to_sparse())  # has outputs for candidates only
    np.testing.assert_allclose(
        member_train_scores(scattered, X, sets.classes),
        PLCL().fit(X, sets.sets).train_output_,
        atol=1e-8,
    )


def test_mean_confidences(data):
    X, sets, _ = data
    fitted = fit([("a", PLCL()), ("b", IPAL())], X, sets)
    a, b = (sets.gather(each.label_distributions_) for each in fitted)
    np.testing.assert_allclose(mean_confidences(fitted, X, sets), (a + b) / 2)
    weights = np.array([0.75, 0.25])
    np.testing.assert_allclose(mean_confidences(fitted, X, sets, weights), 0.75 * a + 0.25 * b)
    np.testing.assert_array_equal(mean_confidences([], X, sets), sets.prior())


# --- failures -----------------------------------------------------------------------------------


class Broken(PLKNN):
    """Fails in a way of its own."""

    def __init__(self, *, error=None, n_neighbors=10, neighbors="auto"):
        super().__init__(n_neighbors=n_neighbors, neighbors=neighbors)
        self.error = error

    _parameter_constraints = {**PLKNN._parameter_constraints, "error": "no_validation"}

    def _fit(self, rows, candidates):
        raise self.error


@pytest.mark.parametrize("kind", [ValueError, TypeError, RuntimeError, np.linalg.LinAlgError])
def test_a_failing_member_is_named(data, kind):
    X, sets, _ = data
    with pytest.raises(kind.__base__ if kind is np.linalg.LinAlgError else kind) as caught:
        fit([("fine", PLKNN()), ("mine", Broken(error=kind("no luck")))], X, sets)
    assert str(caught.value) == "The member 'mine' could not be fitted: no luck"
    assert isinstance(caught.value.__cause__, kind)


def test_other_errors_keep_their_type(data):
    X, sets, _ = data
    with pytest.raises(MemoryError, match="too large") as caught:
        fit([("mine", Broken(error=MemoryError("too large")))], X, sets)
    assert caught.value.__notes__ == ["The member 'mine' could not be fitted."]
    with pytest.raises(KeyboardInterrupt), errors_name("mine"):
        raise KeyboardInterrupt


def test_a_failing_foreign_member_is_named(data):
    X, sets, _ = data
    with pytest.raises(ValueError, match=r"member 'forest' could not be fitted: .*n_estimators"):
        fit([("forest", RandomForestClassifier(n_estimators=-1))], X, sets)


def test_parameters_are_checked_before_anything_is_fitted(data, count_work):
    X, sets, _ = data
    with pytest.raises(ValueError, match="member 'b' could not be fitted: The 'alpha' parameter"):
        fit([("a", SURE()), ("b", PLCL(alpha=0))], X, sets)
    assert count_work["kernel"] == 0
