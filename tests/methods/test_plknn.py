import numpy as np
import pytest
from literal_methods import plknn_votes
from problems import ambiguous
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier

from ambilearn import PLKNN


def test_a_vote_counted_by_hand():
    """Asked at 2, rows 1, 2 and 0 are at distances 1, 1, 2: their weights are 3/4, 3/4, 1/2."""
    X = [[0.0], [1.0], [3.0], [7.0]]
    y = [{"a", "b"}, {"b", "c"}, {"c"}, {"a"}]
    model = PLKNN(n_neighbors=3).fit(X, y)
    np.testing.assert_allclose(model.decision_function([[2.0]]), [[0.5, 1.25, 1.5]])
    assert model.predict([[2.0]]).tolist() == ["c"]
    np.testing.assert_allclose(model.predict_proba([[2.0]]), np.array([[2, 5, 6]]) / 13)


def test_training_rows_do_not_vote_for_themselves():
    """Row 0 asks rows 1, 2 and 3 at distances 1, 3, 7: weights 10/11, 8/11, 4/11."""
    X = [[0.0], [1.0], [3.0], [7.0]]
    y = [{"a", "b"}, {"b", "c"}, {"c"}, {"a"}]
    model = PLKNN(n_neighbors=3).fit(X, y)
    np.testing.assert_allclose(model.train_output_[0], [4 / 11, 10 / 11, 18 / 11])
    # c has the most votes but is no candidate
    np.testing.assert_allclose(model.label_distributions_[0], [4 / 14, 10 / 14, 0])
    assert model.transduction_[0] == "b"


@pytest.mark.parametrize("k", [1, 2, 6, 30])
@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_the_published_vote(seed, k):
    X, Y, _ = ambiguous(n=60, d=6, n_labels=5, seed=seed)
    A, B = X[:45], Y[:45]
    model = PLKNN(n_neighbors=k).fit(A, B)
    expected = np.array([plknn_votes(x, A, B, k) for x in X[45:]])
    np.testing.assert_allclose(model.decision_function(X[45:]), expected, atol=1e-12)
    expected = np.array([plknn_votes(x, A, B, k, leave_out=i) for i, x in enumerate(A)])
    np.testing.assert_allclose(model.train_output_, expected, atol=1e-12)
    votes = expected * B
    shares = np.where(votes.sum(axis=1, keepdims=True) > 0, votes, B)
    np.testing.assert_allclose(
        model.label_distributions_, shares / shares.sum(axis=1, keepdims=True), atol=1e-12
    )


def test_equals_an_ordinary_vote_with_ordinary_labels():
    X, _, y = ambiguous(n=80)

    def weigh(distances):
        return 1 - distances / distances.sum(axis=1, keepdims=True)

    other = KNeighborsClassifier(7, weights=weigh).fit(X[:60], y[:60])
    model = PLKNN(n_neighbors=7).fit(X[:60], y[:60])
    np.testing.assert_allclose(model.predict_proba(X[60:]), other.predict_proba(X[60:]))
    np.testing.assert_array_equal(model.predict(X[60:]), other.predict(X[60:]))


def test_the_nearest_neighbor_of_a_new_row_has_a_vote():
    """Published code drops it, as if it were the row itself."""
    X = [[0.0], [10.0], [11.0], [12.0]]
    model = PLKNN(n_neighbors=2).fit(X, ["near", "far", "far", "far"])
    assert model.predict([[1.0]]).tolist() == ["near"]


def test_neighbors_that_coincide_with_the_row_vote_equally():
    X = np.repeat([[1.0, 2.0], [5.0, 5.0]], 4, axis=0)
    y = [{0, 1}, {0}, {0, 2}, {1}, {2}, {2}, {2}, {2}]
    model = PLKNN(n_neighbors=4).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X[:1]), [[3, 2, 1]])
    # among its own kind, row 3 has no supporter of its only candidate but row 0
    np.testing.assert_allclose(PLKNN(n_neighbors=3).fit(X, y).train_output_[3], [3, 1, 1])


def test_one_neighbor_votes_in_full():
    model = PLKNN(n_neighbors=1).fit([[0.0], [1.0], [5.0]], [{0}, {1}, {2}])
    np.testing.assert_allclose(model.decision_function([[0.9], [4.0]]), [[0, 1, 0], [0, 0, 1]])


def test_rows_whose_neighbors_share_no_candidate_stay_undecided():
    X = [[0.0], [0.1], [0.2], [9.0]]
    model = PLKNN(n_neighbors=2).fit(X, [{0, 1}, {2}, {2}, {2}])
    np.testing.assert_allclose(model.label_distributions_[0], [0.5, 0.5, 0])
    assert model.transduction_[0] == 0


@pytest.mark.filterwarnings("ignore:n_neighbors:UserWarning")
def test_new_rows_may_have_all_training_rows_as_neighbors():
    X, y = [[0.0], [1.0], [3.0]], [{0}, {0, 1}, {1}]
    model = PLKNN(n_neighbors=10).fit(X, y)
    expected = plknn_votes(np.array([2.0]), np.array(X), np.array([[1, 0], [1, 1], [0, 1]]), 3)
    assert model.decision_function([[2.0]]) == pytest.approx(expected[1] - expected[0])


def test_a_sparse_mask_gives_sparse_votes():
    X, Y, _ = ambiguous(n=60, n_labels=6)
    found, expected = (PLKNN().fit(X, y).train_output_ for y in (sparse.csr_array(Y), Y))
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-9)


def test_default_is_the_papers():
    assert PLKNN().get_params() == {"n_neighbors": 10, "neighbors": "auto"}


def test_the_unit_of_the_distances_does_not_matter():
    X, Y, _ = ambiguous(n=30)
    votes = PLKNN(n_neighbors=4).fit(X, Y).decision_function(X + 0.1)
    small = PLKNN(n_neighbors=4).fit(X / 1024, Y).decision_function((X + 0.1) / 1024)
    np.testing.assert_allclose(small, votes)
