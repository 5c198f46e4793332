from types import SimpleNamespace

import array_api_strict as strict
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from ambilearn import PLKNN
from ambilearn.backend.arrays import to_numpy
from ambilearn.bridges import soft_labels, to_sample_weights

P = np.array([[0.7, 0.25, 0.05], [0.0, 0.0, 1.0], [0.3, 0.3, 0.4]])
NAMES = ["cat", "dog", "fox"]
FORMS = [
    pytest.param(P, id="array"),
    pytest.param(P.tolist(), id="lists"),
    pytest.param(sparse.csr_array(P), id="csr_array"),
    pytest.param(sparse.csc_matrix(P), id="csc_matrix"),
    pytest.param(sparse.coo_array(P), id="coo_array"),
    pytest.param(SimpleNamespace(label_distributions_=P, classes_=NAMES), id="fitted"),
    pytest.param(
        SimpleNamespace(label_distributions_=sparse.csr_array(P), classes_=NAMES), id="fitted, csr"
    ),
]


@pytest.mark.parametrize("confidences", FORMS)
def test_every_positive_confidence_becomes_a_weighted_row(confidences):
    rows, y, weight = to_sample_weights(confidences, classes=NAMES)
    assert rows.tolist() == [0, 0, 0, 1, 2, 2, 2]
    assert y.tolist() == ["cat", "dog", "fox", "fox", "cat", "dog", "fox"]
    assert weight.tolist() == [0.7, 0.25, 0.05, 1.0, 0.3, 0.3, 0.4]


@pytest.mark.parametrize("confidences", FORMS)
def test_small_weights_are_removed_and_the_others_scaled(confidences):
    rows, y, weight = to_sample_weights(confidences, min_weight=0.1, classes=[0, 1, 2])
    assert rows.tolist() == [0, 0, 1, 2, 2, 2]
    assert y.tolist() == [0, 1, 2, 0, 1, 2]
    np.testing.assert_allclose(np.bincount(rows, weight), 1, rtol=1e-15)
    assert weight[0] / weight[1] == pytest.approx(0.7 / 0.25)


def test_a_row_below_min_weight_keeps_its_largest_confidence():
    rows, y, weight = to_sample_weights(P, min_weight=0.6)
    assert (rows.tolist(), y.tolist(), weight.tolist()) == ([0, 1, 2], [0, 2, 2], [1, 1, 1])
    undecided = to_sample_weights([[0.5, 0.5, 0.0]], min_weight=1)
    assert undecided[1].tolist() == [0, 1]


@pytest.mark.parametrize("confidences", [P, sparse.csr_array(P), sparse.csr_matrix(P)])
def test_the_confidences_do_not_change(confidences):
    before = confidences.copy()
    to_sample_weights(confidences, min_weight=0.3)
    soft_labels(confidences, min_weight=0.3, wide=True)
    assert abs(confidences - before).max() == 0


X = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])


@pytest.mark.parametrize(
    "make", [np.asarray, sparse.csr_array, sparse.csc_matrix, sparse.coo_array, pd.DataFrame, list]
)
def test_rows_of_every_kind_are_repeated(make):
    repeated, y, _ = to_sample_weights(P, make(X))
    dense = repeated.toarray() if sparse.issparse(repeated) else np.asarray(repeated)
    np.testing.assert_array_equal(dense, X[[0, 0, 0, 1, 2, 2, 2]])
    assert len(y) == 7
    if sparse.issparse(make(X)):
        assert sparse.issparse(repeated)


def test_rows_of_a_frame_are_a_frame():
    frame = pd.DataFrame({"size": [1, 2, 3], "color": ["r", "g", "b"]}, index=["x", "y", "z"])
    repeated = to_sample_weights(P, frame)[0]
    assert repeated["color"].tolist() == list("rrrgbbb")
    assert repeated.index.tolist() == list("xxxyzzz")
    assert to_sample_weights(P, pl.from_pandas(frame))[0]["color"].to_list() == list("rrrgbbb")


def test_weights_are_equivalent_to_repeated_rows():
    rng = np.random.default_rng(0)
    rows, votes = rng.normal(size=(12, 2)), rng.integers(0, 3, size=(12, 4))
    shares = np.stack([(votes == j).mean(axis=1) for j in range(3)], axis=1)
    repeated, y, weight = to_sample_weights(shares, rows)
    weighted = GaussianNB().fit(repeated, y, sample_weight=weight)
    every_vote = GaussianNB().fit(np.repeat(rows, 4, axis=0), votes.ravel())
    np.testing.assert_allclose(weighted.theta_, every_vote.theta_)
    np.testing.assert_allclose(weighted.var_, every_vote.var_)


@pytest.mark.parametrize("confidences", FORMS)
def test_wide_table(confidences):
    table = soft_labels(confidences, classes=NAMES, wide=True)
    assert table.columns.tolist() == NAMES
    assert table.index.name == "row"
    np.testing.assert_array_equal(table.to_numpy(), P)
    given = getattr(confidences, "label_distributions_", confidences)
    assert all(
        isinstance(dtype, pd.SparseDtype) == sparse.issparse(given) for dtype in table.dtypes
    )


@pytest.mark.parametrize("confidences", [P, sparse.csr_array(P)])
def test_wide_and_long_tables_agree(confidences):
    wide = soft_labels(confidences, classes=NAMES, wide=True, min_weight=0.2)
    long = soft_labels(confidences, classes=NAMES, min_weight=0.2)
    again = long.pivot_table(index="row", columns="label", values="weight", fill_value=0.0)
    np.testing.assert_array_equal(again.to_numpy(), wide.to_numpy())


def test_labels_and_row_names_of_a_frame_are_used():
    frame = pd.DataFrame(P, index=["x", "y", "z"], columns=NAMES)
    table = soft_labels(frame, min_weight=0.35)
    assert table["row"].tolist() == ["x", "y", "z"]
    assert table["label"].tolist() == ["cat", "fox", "fox"]
    pd.testing.assert_frame_equal(
        soft_labels(frame, wide=True), frame.rename_axis(index="row"), check_names=False
    )


def test_a_fitted_method_and_its_candidates():
    rows = np.arange(8.0)[:, None]
    sets = [{"a", "b"}, {"a"}] * 2 + [{"b", "c"}, {"b"}] * 2
    model = PLKNN(n_neighbors=3).fit(rows, sets)
    table = soft_labels(model)
    assert all(label in sets[row] for row, label in zip(table["row"], table["label"], strict=True))
    np.testing.assert_allclose(table.groupby("row")["weight"].sum(), 1)


def test_a_sparse_mask_gives_sparse_confidences_and_the_same_weights():
    rows = np.arange(8.0)[:, None]
    mask = sparse.csr_array(np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 1, 0]] * 2))
    model = PLKNN(n_neighbors=3).fit(rows, mask)
    assert sparse.issparse(model.label_distributions_)
    dense = model.label_distributions_.toarray()
    for found, expected in zip(
        to_sample_weights(model, min_weight=0.3),
        to_sample_weights(dense, min_weight=0.3),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)
    pd.testing.assert_frame_equal(soft_labels(model), soft_labels(dense))


@pytest.mark.parametrize("use", [to_sample_weights, soft_labels])
@pytest.mark.parametrize(
    ("confidences", "options", "message"),
    [
        ([[0.5, -0.5]], {}, "Row 0 of the confidences has the value -0.5.*not decision scores"),
        (sparse.csr_array([[1.0, 0], [np.nan, 1]]), {}, "Row 1 of the confidences has .* nan"),
        ([[0.5, np.nan]], {}, "confidences contains NaN in row 0, column 1"),
        ([[1.0, 0.0], [0.0, 0.0]], {}, r"Row 1 has no positive confidence \(1 such row\)\. Drop"),
        (sparse.csr_array((2, 2)), {}, r"Row 0 has no positive confidence \(2 such rows\)"),
        (P, {"min_weight": 1.5}, "min_weight must be a number between 0 and 1, got 1.5"),
        (P, {"min_weight": "x"}, "min_weight must be a number between 0 and 1, got 'x'"),
        (P, {"min_weight": -0.1}, "min_weight must be a number between 0 and 1"),
        (P, {"classes": ["a"]}, "3 columns but there are 1 classes"),
        (sparse.csr_array(P), {"classes": ["a"]}, "3 columns but there are 1 classes"),
        (PLKNN(), {}, "PLKNN has no label_distributions_: pass a fitted estimator"),
        (make_pipeline(PLKNN()), {}, r"Pipeline has no .* pipeline\[-1\]"),
    ],
)
def test_invalid_arguments_are_rejected(use, confidences, options, message):
    with pytest.raises(ValueError, match=message):
        use(confidences, **options)


def test_a_wrong_number_of_rows_is_rejected():
    with pytest.raises(ValueError, match="X has 2 rows but there are confidences for 3: pass"):
        to_sample_weights(P, X[:2])
    with pytest.raises(ValueError, match="2 names but there are confidences for 3 rows"):
        soft_labels(P, rows=["a", "b"])


@pytest.mark.array_library
@pytest.mark.usefixtures("dispatch")
def test_models_on_a_device_without_implicit_conversion():
    X = np.array([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]])
    mask = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 1], [0, 1, 1], [0, 1, 0], [1, 1, 0]])
    rows = strict.asarray(X, device=strict.Device("device1"))
    there, here = (PLKNN(n_neighbors=2).fit(each, mask) for each in (rows, X))
    repeated, *others = to_sample_weights(there, rows)
    expected, *rest = to_sample_weights(here, X)
    assert repeated.device == rows.device
    np.testing.assert_array_equal(to_numpy(repeated), expected)
    for one, other in zip(others, rest, strict=True):
        np.testing.assert_array_equal(one, other)
    for wide in (False, True):
        pd.testing.assert_frame_equal(soft_labels(there, wide=wide), soft_labels(here, wide=wide))
    given = soft_labels(there.label_distributions_, classes=there.classes_)
    pd.testing.assert_frame_equal(given, soft_labels(here))
