import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from ambilearn.bridges import (
    candidates_from_prediction_sets,
    candidates_from_similarity,
    candidates_from_top_k,
)
from ambilearn.bridges.classifiers import score_table

SCORES = np.array([[0.1, 0.6, 0.3], [0.5, 0.25, 0.25]])
X, Y = load_iris(return_X_y=True)


def first_k_by_sorting(scores, k):
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    if (scores >= 0).all() and (scores.sum(axis=1) == 1).all():  # probabilities
        return [{j for j in row if s[j] > 0} for row, s in zip(order.tolist(), scores, strict=True)]
    return [set(row) for row in order.tolist()]


@given(
    arrays(
        np.float64, st.tuples(st.integers(1, 8), st.integers(1, 6)), elements=st.integers(-2, 2)
    ),
    st.data(),
)
def test_the_k_largest_and_of_equal_ones_the_first(scores, data):
    k = data.draw(st.integers(1, scores.shape[1]))
    assert candidates_from_top_k(scores, k).to_sets() == first_k_by_sorting(scores, k)


@given(
    arrays(
        np.float64,
        st.tuples(st.integers(1, 8), st.integers(1, 6)),
        elements=st.sampled_from([0.0, 0.0, 1.0, 3.0]),
    ),
    st.data(),
)
def test_a_label_with_probability_zero_is_not_a_candidate(counts, data):
    counts[counts.sum(axis=1) == 0, 0] = 1.0
    k = data.draw(st.integers(1, counts.shape[1]))
    sets = candidates_from_top_k(counts / counts.sum(axis=1, keepdims=True), k)
    np.testing.assert_array_equal(sets.sizes, np.minimum(k, (counts > 0).sum(axis=1)))
    assert (counts[sets.to_mask()] > 0).all()
    if (counts.sum(axis=1) > 1).all():  # the same order of scores that are no probabilities
        assert (candidates_from_top_k(counts, k).sizes == k).all()


def test_infinite_scores_are_ordered_too():
    log_probabilities = np.array([[-np.inf, -1.0, -2.0], [-np.inf, -np.inf, 0.0]])
    assert candidates_from_top_k(log_probabilities, 2).to_sets() == [{1, 2}, {0, 2}]


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame(SCORES, columns=list("abc")),
        pl.DataFrame(SCORES, schema=list("abc")),
        pa.table(dict(zip("abc", SCORES.T, strict=True))),
    ],
)
def test_the_columns_of_a_frame_are_the_labels(table):
    assert candidates_from_top_k(table, 1).to_sets() == [{"b"}, {"a"}]
    assert candidates_from_top_k(table, 1, classes=list("abc")).to_sets() == [{"b"}, {"a"}]
    with pytest.raises(ValueError, match=r"\['a', 'b', 'c'\] but the classes are \['c'.*reorder"):
        candidates_from_top_k(table, 1, classes=list("cba"))


def test_classes_keep_their_order_and_type():
    sets = candidates_from_top_k(SCORES, 2, classes=["z", "m", "a"])
    assert sets.classes.tolist() == ["z", "m", "a"]
    assert sets.to_sets() == [{"m", "a"}, {"z", "m"}]
    assert candidates_from_top_k(SCORES, 1, classes=[30, 10, 20]).to_sets() == [{10}, {30}]


def test_a_classifier_with_probabilities():
    names = np.array(["setosa", "versicolor", "virginica"])[Y]
    model = GaussianNB().fit(X, names)
    expected = candidates_from_top_k(model.predict_proba(X), 2, classes=model.classes_)
    assert candidates_from_top_k(model, 2, X=X).to_sets() == expected.to_sets()
    top = candidates_from_top_k(make_pipeline(StandardScaler(), model).fit(X, names), 1, X=X)
    assert top.covers(make_pipeline(StandardScaler(), model).fit(X, names).predict(X)).all()


def test_a_classifier_with_decision_scores_only():
    model = LinearSVC(random_state=0).fit(X, Y)
    expected = candidates_from_top_k(model.decision_function(X), 2)
    assert candidates_from_top_k(model, 2, X=X).to_sets() == expected.to_sets()


@pytest.mark.parametrize("model", [LinearSVC(random_state=0), LogisticRegression()])
def test_two_labels(model):
    model.fit(X[:100], Y[:100])
    assert candidates_from_top_k(model, 1, X=X).covers(model.predict(X)).all()


@pytest.mark.parametrize("k", [0, 4, -1, 1.0, "2", None])
def test_k_must_be_a_number_of_labels(k):
    with pytest.raises(ValueError, match=r"k must be a whole number from 1 .* labels, 3; got"):
        candidates_from_top_k(SCORES, k)


def test_invalid_arguments_are_rejected():
    with pytest.raises(ValueError, match="contains NaN in row 1, column 2"):
        candidates_from_top_k([[1, 2, 3], [1, 2, np.nan]], 1)
    with pytest.raises(ValueError, match=r"two dimensions, rows and labels.*shape \(3,\)"):
        candidates_from_top_k([0.1, 0.2, 0.3], 1)
    with pytest.raises(ValueError, match=r"scores must be numbers \(could not"):
        candidates_from_top_k([["cat", "dog"]], 1)
    with pytest.raises(ValueError, match="3 columns but there are 2 classes"):
        candidates_from_top_k(SCORES, 1, classes=["a", "b"])
    with pytest.raises(ValueError, match="listed more than once"):
        candidates_from_top_k(SCORES, 1, classes=["a", "b", "a"])


def test_invalid_classifier_arguments_are_rejected():
    model = GaussianNB().fit(X, Y)
    with pytest.raises(ValueError, match=r"\(GaussianNB\), pass the rows .* X="):
        candidates_from_top_k(model, 1)
    with pytest.raises(ValueError, match="has its own classes_"):
        candidates_from_top_k(model, 1, X=X, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="remove X"):
        candidates_from_top_k(SCORES, 1, X=X)
    with pytest.raises(NotFittedError, match="not fitted"):
        candidates_from_top_k(GaussianNB(), 1, X=X)
    with pytest.raises(ValueError, match="KMeans has neither predict_proba nor decision_function"):
        candidates_from_top_k(KMeans(2), 1, X=X)


SETS = np.array([[True, True, False], [False, False, True]])


@pytest.mark.parametrize("sets", [SETS, SETS[:, :, None], SETS.astype(int), SETS.tolist()])
def test_prediction_sets(sets):
    assert candidates_from_prediction_sets(sets).to_sets() == [{0, 1}, {2}]
    named = candidates_from_prediction_sets(sets, classes=["a", "b", "c"])
    assert named.to_sets() == [{"a", "b"}, {"c"}]


def test_empty_prediction_sets():
    sets = SETS.copy()
    sets[1] = False
    with pytest.raises(ValueError, match=r"set of row 1 is empty \(1 such row\)\. Pass the prob"):
        candidates_from_prediction_sets(sets)
    probabilities = [[0.2, 0.3, 0.5], [0.4, 0.4, 0.2]]
    filled = candidates_from_prediction_sets(sets[:, :, None], probabilities)
    assert filled.to_sets() == [{0, 1}, {0}]
    assert not sets[1].any()
    with pytest.raises(ValueError, match=r"shape \(2, 3\) but probabilities \(1, 3\)"):
        candidates_from_prediction_sets(sets, probabilities[:1])


def test_rejected_prediction_sets():
    with pytest.raises(ValueError, match=r"2 confidence levels, shape \(2, 3, 2\): choose one"):
        candidates_from_prediction_sets(np.dstack([SETS, SETS]))
    with pytest.raises(ValueError, match="pass only the array of the sets"):
        candidates_from_prediction_sets((np.array([0, 2]), SETS))
    with pytest.raises(
        ValueError,
        match=r"^prediction_sets is not 0/1: row 0, column 0 has the value 0\.5\. Pass True or 1",
    ):
        candidates_from_prediction_sets([[0.5, 0.5]])


P = [[0.2, 0.8], [0.5, 0.5]]


def test_messages_use_the_argument_name():
    with pytest.raises(ValueError, match=r"^probabilities contains NaN in row 0, column 1"):
        score_table([[0.1, np.nan]], None, "probabilities")
    with pytest.raises(ValueError, match=r"^probabilities has 2 columns but there are 3 classes"):
        score_table(P, [1, 2, 3], "probabilities")


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_rounded_probabilities_are_probabilities(dtype):
    rows = np.random.default_rng(0).dirichlet(np.ones(5), size=50).astype(dtype)
    rows[:, 0] = 0
    rows = (rows / rows.sum(axis=1, keepdims=True, dtype=np.float64)).astype(dtype)
    assert (candidates_from_top_k(rows, 5).sizes == 4).all()


@pytest.mark.parametrize("row", [[1.2, -0.2, 0], [0.4, 0.4, 0], [3.0, 1.0, 0], [np.inf, 0, 0]])
def test_one_row_without_probabilities_makes_a_table_of_scores(row):
    assert (candidates_from_top_k([[0.5, 0.5, 0.0], row], 3).sizes == 3).all()


@pytest.mark.parametrize("dtype", [bool, int, float])
def test_sets_of_a_single_label(dtype):
    single = candidates_from_prediction_sets(np.ones((3, 1), dtype=dtype), classes=["only"])
    assert single.to_sets() == [{"only"}] * 3
    assert not single.sparse_mask


@pytest.mark.parametrize("mass", [0.1, 0.6, 0.9, 1.0])
def test_the_smallest_set_of_similar_names_with_the_mass(mass):
    generator = np.random.default_rng(0)
    rows, names = generator.normal(size=(50, 4)), generator.normal(size=(6, 4))
    cosines = rows @ names.T / np.linalg.norm(rows, axis=1)[:, None] / np.linalg.norm(names, axis=1)
    weights = np.exp(cosines / 0.3)
    weights /= weights.sum(axis=1, keepdims=True)
    sets = candidates_from_similarity(
        7 * rows, names, classes=list("abcdef"), mass=mass, temperature=0.3
    )
    assert sets.classes.tolist() == list("abcdef")
    for i, row in enumerate(sets.to_mask()):
        chosen = np.sort(weights[i][row])
        assert chosen.sum() >= mass - 1e-12
        assert chosen[1:].sum() < mass or mass == 1
        assert chosen[0] >= weights[i][~row].max(initial=0)
    if mass == 1:
        assert (sets.sizes == 6).all()
    if sets.sizes.max() > 1:  # single candidates need no weights
        first = weights[0][sets.to_mask()[0]]
        np.testing.assert_allclose(sets.weights[: sets.sizes[0]], first)


def test_a_mass_of_one_keeps_names_of_hardly_any_weight():
    sets = candidates_from_similarity([[1, 0]], np.eye(2), mass=1, temperature=0.001)
    assert sets.sizes.tolist() == [2]  # exp(-1000) is zero, but a candidate has a weight


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([[1.0, 2.0, 3.0]], {}, "embeddings has 3 columns but label_embeddings has 2"),
        ([[1.0, 2.0], [0.0, 0.0]], {}, "Row 1 of embeddings has no direction"),
        ([[1.0, np.inf]], {}, "Row 0 of embeddings has no direction"),
        ([[1.0, 2.0]], {"mass": 0}, "mass must be above 0"),
        ([[1.0, 2.0]], {"mass": 1.5}, "mass must be above 0"),
        ([[1.0, 2.0]], {"temperature": 0}, "temperature must be above 0"),
        ([[1.0, 2.0]], {"classes": ["a"]}, "there are 1 classes"),
    ],
)
def test_invalid_similarities(rows, options, message):
    with pytest.raises(ValueError, match=message):
        candidates_from_similarity(rows, np.eye(2), **options)
