"""What is learnt of single blocks, and made of them together; test_blocks.py has whole fits."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from ambilearn.distributed.block_facts import (
    BlockFacts,
    all_classes,
    as_mask,
    as_rows,
    common_width,
    raise_problem,
    row_facts,
    set_facts,
)

X = np.arange(6.0).reshape(3, 2)
MASK = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]])
STARTS = np.array([0, 3, 6])


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, sparse.csr_array, np.float32])
def test_good_rows(form):
    assert row_facts(form(X)) == BlockFacts(3, 2, sparse=form is sparse.csr_array)
    rows = as_rows(form(X))
    assert rows.dtype == np.float64
    np.testing.assert_array_equal(rows.toarray() if sparse.issparse(rows) else rows, X)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1, 2], [np.nan, 3]], "contains NaN: row 1, column 0"),
        (sparse.csr_array([[0, 2], [0, np.inf]]), "contains infinity: row 1, column 1"),
        ([[1e99, 2], [0, 3]], "row 0, column 0"),
        ([["a", "b"]], "could not convert string"),
        ([1.0, 2.0], "Expected 2D array"),
    ],
)
def test_a_problem_is_told_not_raised(rows, message):
    rows = rows if sparse.issparse(rows) else np.array(rows)
    facts = row_facts(rows)
    assert facts.n_rows == rows.shape[0]
    assert message in str(facts.problem)


def test_good_sets():
    facts = set_facts(MASK)
    assert (facts.n_rows, facts.width, facts.mask, facts.sparse) == (3, 3, True, False)
    assert not facts.single
    assert set_facts(sparse.csr_array(MASK)).sparse
    facts = set_facts([{"b"}, {"a"}])
    assert facts.classes.tolist() == ["a", "b"]
    assert facts.single
    assert not facts.mask


def test_empty_blocks():
    assert row_facts(X[:0]) == BlockFacts(0, 2)
    assert set_facts(MASK[:0]) == BlockFacts(0, 3, mask=True)
    assert as_mask([], np.arange(3)).shape == (0, 3)


def test_a_block_need_not_have_all_labels():
    mask = as_mask([{"a"}, {"a", "c"}], np.array(["a", "b", "c"]))
    assert mask.dtype == bool
    np.testing.assert_array_equal(mask.toarray(), [[1, 0, 0], [1, 0, 1]])


def test_the_first_problem_is_raised_with_the_number_among_all_rows():
    good, bad, worse = row_facts(X), row_facts(np.full((3, 2), np.nan)), set_facts([set()])
    raise_problem([good, good], STARTS)
    with pytest.raises(ValueError, match="NaN: row 3, column 0"):
        raise_problem([good, bad], STARTS)
    with pytest.raises(ValueError, match="row 0 is empty"):
        raise_problem([worse, bad], STARTS)


def test_a_type_error_stays_one():
    with pytest.raises(TypeError, match="row 5 is odd"):
        raise_problem([BlockFacts(3), BlockFacts(3, problem=TypeError("row 2 is odd"))], STARTS)


def test_blocks_must_have_the_same_features():
    assert common_width([row_facts(X), row_facts(X[:0])]) == 2
    with pytest.raises(ValueError, match="Block 1 of X has 1 columns but block 0 has 2"):
        common_width([row_facts(X), row_facts(X[:, :1])])
    with pytest.raises(ValueError, match="some are dense"):
        common_width([row_facts(X), row_facts(sparse.csr_array(X))])


def test_classes_of_all_blocks():
    facts = [set_facts(block) for block in ([{"b"}, {"c", "b"}], [], [{"a"}])]
    assert all_classes(facts).tolist() == ["a", "b", "c"]
    assert all_classes([set_facts(MASK), set_facts(MASK[:1])]).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([MASK, MASK[:2, :2]], "Block 1 of the mask y has 2 columns, block 0 has 3"),
        ([MASK, [{0}]], "some are not"),
        ([[{1}], [{"a"}]], "cannot be sorted"),
    ],
)
def test_classes_that_contradict_each_other(blocks, message):
    with pytest.raises(ValueError, match=message):
        all_classes([set_facts(block) for block in blocks])


def test_joined_labels_are_warned_of():
    with pytest.warns(UserWarning, match="split"):
        all_classes([set_facts(np.array(["a|b", "b|c"])), set_facts(np.array(["a|c"]))])
