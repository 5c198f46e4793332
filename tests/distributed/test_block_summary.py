"""What is learned of single blocks, and made of them together; test_blocks.py has whole fits."""

import numpy as np
import pytest
from scipy import sparse

from ambilearn.distributed.block_summary import (
    BlockSummary,
    as_mask,
    raise_problem,
    summarize_rows,
    summarize_sets,
)

X = np.arange(6.0).reshape(3, 2)
MASK = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]])
STARTS = np.array([0, 3, 6])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (sparse.csr_array([[0, 2], [0, np.inf]]), "contains infinity: row 1, column 1"),
        ([["a", "b"]], "could not convert string"),
        ([1.0, 2.0], "Expected 2D array"),
    ],
)
def test_a_problem_is_part_of_the_summary(rows, message):
    rows = rows if sparse.issparse(rows) else np.array(rows)
    summary = summarize_rows(rows)
    assert summary.n_rows == rows.shape[0]
    assert message in str(summary.problem)


def test_empty_blocks():
    assert summarize_rows(X[:0]) == BlockSummary(0, 2)
    assert summarize_sets(MASK[:0]) == BlockSummary(0, 3, mask=True)
    assert as_mask([], np.arange(3)).shape == (0, 3)


def test_a_type_error_stays_a_type_error():
    with pytest.raises(TypeError, match="row 5 is odd"):
        raise_problem([BlockSummary(3), BlockSummary(3, problem=TypeError("row 2 is odd"))], STARTS)
