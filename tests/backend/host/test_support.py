import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import support, support_problem
from scipy import sparse

from ambilearn.backend.host import products

MASK = np.array([[1, 1, 0], [0, 1, 0], [1, 0, 1]])
SETS = [{"anna", "bob"}, {"bob"}, {"anna", "cleo"}]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("off_support", [0.0, 1.0])
def test_target_sums_add_up_over_parts(form, off_support):
    features, sets, values, _ = support_problem(3)
    dense = sets.scatter(values, off_support)
    whole = sets.target_sums(form(features), values, off_support)
    np.testing.assert_allclose(whole[0], features.T @ dense, atol=1e-12)
    np.testing.assert_allclose(whole[1], dense.sum(axis=0))
    cut = sets.indptr[11]
    parts = [
        support(sets.sets[:11]).target_sums(form(features[:11]), values[:cut], off_support),
        support(sets.sets[11:]).target_sums(form(features[11:]), values[cut:], off_support),
    ]
    for i in range(2):
        np.testing.assert_allclose(whole[i], parts[0][i] + parts[1][i], atol=1e-12)


@pytest.mark.parametrize("block", [1, 50, 2**22])
@pytest.mark.parametrize("few", [0, 10**9])
def test_outputs_of_pairs_do_not_depend_on_how_they_are_computed(monkeypatch, block, few):
    """By products of single pairs or of whole blocks, in blocks of any length."""
    features, sets, _, rng = support_problem(4)
    coef, intercept = rng.normal(size=(5, 4)), rng.normal(size=4)
    monkeypatch.setattr("ambilearn._utils.limits.LIMIT", block)
    monkeypatch.setattr(products, "_MAX_LABELS_PER_PAIR", few)
    expected = sets.gather(features @ coef + intercept)
    for form in (np.asarray, sparse.csr_array):
        found = sets.pair_outputs(form(features), coef, intercept)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_views_agree_with_the_mask():
    sets = support(MASK)
    assert (sets.n_rows, sets.n_labels) == (3, 3)
    np.testing.assert_array_equal(sets.sizes, MASK.sum(axis=1))
    rows, columns = np.nonzero(MASK)
    np.testing.assert_array_equal(sets.rows, rows)
    np.testing.assert_array_equal(sets.labels, columns)
    np.testing.assert_array_equal(sets.sets.to_sparse().toarray(), MASK)
    matrix = np.arange(9.0).reshape(3, 3)
    np.testing.assert_array_equal(sets.gather(matrix), matrix[rows, columns])
    np.testing.assert_array_equal(
        sets.scatter(sets.gather(matrix), off_support=-1), np.where(MASK, matrix, -1)
    )
    np.testing.assert_allclose(sets.scatter(sets.uniform()), MASK / MASK.sum(axis=1, keepdims=True))


def test_best_looks_at_candidates_only():
    sets = support(SETS)
    scores = np.array([[0.1, 0.2, 9.0], [5.0, -3.0, 5.0], [-2.0, 7.0, -1.0]])
    assert sets.best(scores).tolist() == ["bob", "bob", "cleo"]


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_a_sparse_mask_is_remembered_and_gives_sparse_results(form):
    mask = np.array([[1, 1, 0], [0, 1, 0], [1, 0, 1]])
    sets = support(form(mask))
    assert sets.sets.sparse_mask
    assert sets.sets[[2, 0]].sparse_mask
    values = np.array([0.0, 1.0, 1.0, 0.25, 0.75])
    found = sets.as_output(values)
    assert sparse.issparse(found)
    assert found.nnz == 5  # zeros of candidates are stored
    np.testing.assert_array_equal(found.toarray(), sets.scatter(values))


def test_other_forms_give_dense_results():
    sets = support(np.array([[1, 1, 0], [0, 1, 0]]))
    assert not sets.sets.sparse_mask
    values = np.array([0.5, 0.5, 1.0])
    np.testing.assert_array_equal(
        sets.as_output(values, off_support=1.0), [[0.5, 0.5, 1.0], [1.0, 1.0, 1.0]]
    )


def test_gather_takes_dense_and_sparse_matrices():
    sets = support([{0, 2}, {1}])
    matrix = np.arange(6.0).reshape(2, 3)
    for form in (np.asarray, sparse.csr_array, sparse.csr_matrix):
        np.testing.assert_array_equal(sets.gather(form(matrix)), [0, 2, 4])


def test_what_is_off_the_support_may_differ_from_row_to_row():
    sets = support([{0}, {1}])
    filled = sets.scatter([7.0, 8.0], off_support=np.array([[1.0], [2.0]]))
    np.testing.assert_array_equal(filled, [[7, 1], [2, 8]])


def test_best_pair_is_one_per_row_and_the_first_of_equals():
    sets = support([{0, 2}, {1}, {0, 1, 2}, {1, 2}])
    values = np.array([0.2, 0.7, -3.0, 0.5, 0.5, 0.1, -2.0, -1.0])
    assert sets.best_pairs(values).tolist() == [1, 2, 3, 7]
    assert sets.best(sets.scatter(values)).tolist() == [2, 1, 0, 2]


@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=8),
    unit=st.floats(1e-100, 1e100),
)
def test_equal_weights_are_no_weights(sizes, unit):
    rows = [dict.fromkeys(range(size), unit * 2.0**i) for i, size in enumerate(sizes)]
    sets = support(rows)
    assert sets.sets.weights is None
    assert np.array_equal(sets.prior(), sets.uniform())


@given(
    sizes=st.lists(st.integers(1, 60), min_size=1, max_size=8),
    unit=st.floats(1e-100, 1e100),
)
def test_rows_of_equal_weights_are_uniform_to_the_last_bit(sizes, unit):
    rows = [dict.fromkeys(range(size), unit) for size in sizes] + [{0: 1.0, 1: 3.0}]
    sets = support(rows)
    assert np.array_equal(sets.prior()[:-2], sets.uniform()[:-2])
    assert sets.prior()[-2:].tolist() == [0.25, 0.75]
    assert np.array_equal(sets.relative_weights[:-2], np.ones(sum(sizes)))


def test_tiny_and_huge_weights_do_not_overflow():
    sets = support([{0: 1e-300, 1: 3e-300}, {0: 1e300, 1: 3e300}])
    np.testing.assert_allclose(sets.prior(), [0.25, 0.75, 0.25, 0.75])
