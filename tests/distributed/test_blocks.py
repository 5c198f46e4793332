from dataclasses import replace

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask import delayed
from dask.sizeof import sizeof
from scipy import sparse

from ambilearn.candidates import as_candidates
from ambilearn.distributed.blocks import (
    BlockSummary,
    RowBlocks,
    as_mask,
    persist_now,
    raise_problem,
    stack,
    summarize_rows,
    summarize_sets,
)
from ambilearn.distributed.partitions import PartitionRows

pytestmark = pytest.mark.usefixtures("here")

NAMES = [{"ant", "bee"}, {"bee"}, {"cow"}, {"ant", "cow"}, {"bee", "cow"}, {"ant"}]
MASK = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 0, 0]])
X = np.arange(12.0).reshape(6, 2)
TEXT = pd.DataFrame(
    {"a": X[:, 0], "b": X[:, 1], "names": ["|".join(sorted(each)) for each in NAMES]}
)


def in_blocks(array, *sizes):
    return da.from_array(array, chunks=(sizes, *((k,) for k in array.shape[1:])))


def unknown(array, *sizes):
    """The same with blocks whose sizes Dask does not know."""
    blocks = in_blocks(array, *sizes)
    return blocks.map_blocks(lambda b: b, chunks=((np.nan,) * len(sizes), *blocks.chunks[1:]))


def masks(data):
    return stack(dask.compute(*data.masks)).toarray()


ROWS = {
    "array": in_blocks(X, 4, 2),
    "columns in blocks": da.from_array(X, chunks=(3, 1)),
    "unknown sizes": unknown(X, 1, 5),
    "empty blocks": in_blocks(X, 0, 3, 0, 3, 0),
    "frame": dd.from_pandas(TEXT[["a", "b"]], npartitions=3),
    "delayed": [delayed(X[:2]), delayed(X[2:])],
    "one delayed": delayed(X),
    "local": X,
}
SETS = {
    "mask": in_blocks(MASK, 2, 4),
    "mask in blocks of labels": da.from_array(MASK, chunks=(3, 2)),
    "unknown sizes": unknown(MASK.astype(bool), 3, 3),
    "frame": dd.from_pandas(pd.DataFrame(MASK, columns=["ant", "bee", "cow"]), npartitions=2),
    "texts": dd.from_pandas(TEXT, npartitions=2)["names"].str.split("|"),
    "bag": db.from_sequence(NAMES, npartitions=3),
    "delayed sets": [delayed(NAMES[:1]), delayed(NAMES[1:])],
    "delayed sparse masks": [
        delayed(sparse.csr_array(MASK[:3])),
        delayed(sparse.csc_array(MASK[3:])),
    ],
    "local": NAMES,
}


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("sets", ["mask", "bag", "local"])
def test_every_form_of_rows(rows, sets):
    data = RowBlocks(ROWS[rows], SETS[sets])
    assert data.shape == (6, 2)
    np.testing.assert_array_equal(stack(dask.compute(*data.rows)), X)
    np.testing.assert_array_equal(masks(data), MASK)
    lengths = [len(block) for block in dask.compute(*data.rows)]
    assert np.diff(data.starts).tolist() == lengths
    assert [mask.shape[0] for mask in dask.compute(*data.masks)] == lengths


@pytest.mark.parametrize("sets", SETS)
def test_every_form_of_sets(sets):
    data = RowBlocks(ROWS["array"], SETS[sets])
    np.testing.assert_array_equal(masks(data), MASK)
    named = sets not in (
        "mask",
        "mask in blocks of labels",
        "unknown sizes",
        "delayed sparse masks",
    )
    assert data.classes.tolist() == (["ant", "bee", "cow"] if named else [0, 1, 2])
    assert data.sparse_mask == (sets == "delayed sparse masks")


@pytest.mark.parametrize(
    "labels", [np.array([3, 1, 2, 1, 3, 1], dtype=np.int16), np.array(list("cabacb"))]
)
def test_plain_labels_have_the_classes_of_a_local_fit(labels):
    data = RowBlocks(X, in_blocks(labels, 2, 4))
    expected, columns = np.unique(labels, return_inverse=True)
    assert data.classes.dtype == expected.dtype
    np.testing.assert_array_equal(data.classes, expected)
    np.testing.assert_array_equal(masks(data).argmax(axis=1), columns)


def test_labels_that_are_objects():
    labels = [{(0, 1)}, {(1, 0), (0, 1)}, {(2, 2)}, {(0, 1)}, {(1, 0)}, {(2, 2)}]
    data = RowBlocks(X, db.from_sequence(labels, npartitions=2))
    assert data.classes.tolist() == [(0, 1), (1, 0), (2, 2)]


def test_rows_are_fetched_by_number():
    data = RowBlocks(in_blocks(X, 0, 3, 0, 1, 2, 0), MASK)
    np.testing.assert_array_equal(data[np.array([0, 2, 3, 5])], X[[0, 2, 3, 5]])
    np.testing.assert_array_equal(data[np.array([4])], X[[4]])


def test_only_the_blocks_of_wanted_rows_are_read():
    def unreadable():
        raise OSError("not to be read")

    data = RowBlocks(X, MASK)
    data.rows, data.starts = [delayed(unreadable)(), *data.rows], np.array([0, 9, 15])
    np.testing.assert_array_equal(data[np.array([10, 14])], X[[1, 5]])


def test_sparse_blocks_stay_sparse():
    data = RowBlocks(in_blocks(X, 3, 3).map_blocks(sparse.csr_matrix), MASK)
    picked = data[np.array([1, 4])]
    assert sparse.issparse(picked)
    np.testing.assert_array_equal(picked.toarray(), X[[1, 4]])


def changed(array, place, value):
    array = np.array(array, dtype=float)
    array[place] = value
    return array


@pytest.mark.parametrize("form", [in_blocks, unknown])
@pytest.mark.parametrize(
    ("rows", "mask", "message"),
    [
        (changed(X, (5, 1), np.nan), MASK, "X contains NaN: row 5, column 1"),
        (changed(X, (4, 0), np.inf), MASK, "X contains infinity: row 4, column 0"),
        (changed(X, (3, 0), 1e99), MASK, r"The largest entry of X .*row 3, column 0"),
        (sparse.csr_array(changed(X, (4, 1), np.inf)), MASK, "infinity: row 4, column 1"),
        (X, changed(MASK, 4, 0), "The candidate set of row 4 is empty"),
        (X, changed(MASK, (3, 2), -7), "row 3 has the value -7"),
    ],
)
def test_errors_name_the_row_among_all_rows(form, rows, mask, message):
    with pytest.raises(ValueError, match=message):
        RowBlocks(form(rows, 3, 3), form(mask, 2, 4))


@pytest.mark.parametrize(
    ("rows", "sets", "message"),
    [
        (X, MASK[:5], "X has 6 rows but y has candidate sets for 5"),
        (X, None, "requires y to be passed"),
        (X[:1], MASK[:1], "1 sample"),
        (
            [delayed(X[:3]), delayed(X[3:, :1])],
            MASK,
            "Block 1 of X has 1 columns but block 0 has 2",
        ),
        ([delayed(X[:3]), delayed(sparse.csr_array(X[3:]))], MASK, "sparse and some are dense"),
        (X, [delayed(MASK[:3]), delayed(MASK[3:, :2])], "Block 1 of the mask y has 2 columns"),
        (X, [delayed(MASK[:3]), delayed(NAMES[3:])], "some are masks|masks and some are not"),
        (X, [delayed([{1}] * 3), delayed([{"a"}] * 3)], "labels cannot be sorted"),
        (dd.from_pandas(TEXT, npartitions=2)[["a", "names"]], MASK, "could not convert string"),
    ],
)
def test_inconsistent_blocks_raise(rows, sets, message):
    with pytest.raises(ValueError, match=message):
        RowBlocks(rows, sets)


def test_unsplit_text_causes_a_warning():
    with pytest.warns(UserWarning, match="split"):
        RowBlocks(X, dd.from_pandas(TEXT, npartitions=2)["names"])


def test_persist_now_computes_once():
    runs = []
    (kept,) = persist_now([delayed(runs.append)(1)])
    dask.compute(kept, kept)
    assert runs == [1]


def test_candidate_sets_keep_all_classes_and_the_weights_of_rows():
    weights = np.arange(1.0, 7.0)
    sets = replace(as_candidates(NAMES, classes=["dog", "cow", "bee", "ant"]), row_weights=weights)
    data = RowBlocks(in_blocks(X, 4, 2), sets, sample_weight=np.full(6, 2.0))
    assert data.classes.tolist() == ["dog", "cow", "bee", "ant"]
    np.testing.assert_array_equal(masks(data), sets.to_mask())
    np.testing.assert_array_equal(np.concatenate(dask.compute(*data.weights)), 2 * weights)
    assert not data.sparse_mask
    assert RowBlocks(in_blocks(X, 4, 2), as_candidates(sparse.csr_array(MASK))).sparse_mask


def test_delayed_blocks_of_candidate_sets_with_weights_of_rows_are_rejected():
    sets = replace(as_candidates(MASK), row_weights=np.arange(1.0, 7.0))
    with pytest.raises(ValueError, match="have row_weights: pass them as sample_weight"):
        RowBlocks([delayed(X)], [delayed(sets)])


def test_rows_count_with_their_candidates():
    X, mask = np.ones((100, 30)), sparse.csr_array(np.ones((100, 20), dtype=bool))
    rows = PartitionRows(X, mask, np.arange(100))
    assert sizeof(rows) >= X.nbytes + sizeof(mask) + 800
    assert sizeof([rows, rows]) >= 2 * sizeof(rows)  # as in the pieces of a block


def test_empty_blocks():
    assert summarize_rows(X[:0]) == BlockSummary(0, 2)
    assert summarize_sets(MASK[:0]) == BlockSummary(0, 3, mask=True)
    assert as_mask([], np.arange(3)).shape == (0, 3)


def test_a_type_error_stays_a_type_error():
    blocks = [BlockSummary(3), BlockSummary(3, problem=TypeError("row 2 is odd"))]
    with pytest.raises(TypeError, match="row 5 is odd"):
        raise_problem(blocks, np.array([0, 3, 6]))
