"""Confidences of labels as sample weights and tables, for training any other model."""

from collections.abc import Collection
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from ambilearn._utils.array_checks import check_structure
from ambilearn._utils.labels import label_array
from ambilearn._utils.sklearn_compat import _num_samples
from ambilearn._utils.text import pluralize, requires_extra
from ambilearn._utils.types import Array, DataFrame, Matrix
from ambilearn.backend import index_rows
from ambilearn.bridges.classifiers import score_table


def to_sample_weights(
    confidences: Any,
    X: Matrix = None,
    *,
    classes: Collection[object] | None = None,
    min_weight: float = 0.0,
) -> tuple[Any, Array, NDArray[np.float64]]:
    r"""Rows, labels and weights for any classifier that takes ``sample_weight``.

    Row *i* is repeated for every label *j* with a positive confidence :math:`P_{ij}`, which becomes
    its weight. A classifier with the loss :math:`\ell` then minimizes

    .. math:: \sum_i \sum_j P_{ij} \, \ell(x_i, j)

    the expected loss under the confidences; the total weight of a row does not change.

    Parameters
    ----------
    confidences : fitted estimator, array, sparse matrix or data frame of shape (n, l)
        Non-negative confidences of every label, or an estimator with ``label_distributions_``.
    X : array-like, data frame or sparse matrix of shape (n, d), optional
        The rows. If omitted, the indices of the rows are returned instead.
    classes : array-like of shape (l,), optional
        The labels, in the order of the columns. By default ``classes_`` of the estimator, the
        columns of the data frame, or ``0 … l - 1``.
    min_weight : float, default=0.0
        Smaller confidences are set to zero, and the others of the row are scaled to the same sum.
        A row with only smaller confidences keeps its largest.

    Returns
    -------
    X_repeated : same type as X, or ndarray of shape (n_weights,)
        The rows of X, repeated; or their indices, counted from 0.
    y : ndarray of shape (n_weights,)
        The label of each repeated row.
    sample_weight : ndarray of shape (n_weights,)
        The confidence of that label.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ambilearn import PLKNN
    >>> from ambilearn.bridges import to_sample_weights
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> sets = [{"a", "b"}, {"a"}, {"a", "c"}, {"b", "c"}, {"b"}, {"a", "b"}]
    >>> model = PLKNN(n_neighbors=2).fit(X, sets)
    >>> X_repeated, y, sample_weight = to_sample_weights(model, X)
    >>> forest = RandomForestClassifier(random_state=0)
    >>> forest.fit(X_repeated, y, sample_weight=sample_weight).predict([[0.05], [1.15]])
    array(['a', 'b'], dtype='<U1')
    """
    weights, classes = _weights(confidences, classes, min_weight)
    rows = np.repeat(np.arange(weights.shape[0]), np.diff(weights.indptr))
    y = label_array(classes)[weights.indices]
    if X is None:
        return rows, y, weights.data
    check_structure(X, "X")
    if _num_samples(X) != weights.shape[0]:
        raise ValueError(
            f"X has {_num_samples(X)} rows but there are confidences for {weights.shape[0]}: pass "
            "the rows that the confidences belong to."
        )
    return index_rows(X.tocsr() if sparse.issparse(X) else X, rows), y, weights.data


def soft_labels(
    confidences: Any,
    *,
    classes: Collection[object] | None = None,
    min_weight: float = 0.0,
    wide: bool = False,
    rows: ArrayLike | None = None,
) -> DataFrame:
    """Table of soft labels.

    Parameters
    ----------
    confidences : fitted estimator, array, sparse matrix or data frame of shape (n, l)
        Non-negative confidences of every label, or an estimator with ``label_distributions_``.
    classes : array-like of shape (l,), optional
        The labels, in the order of the columns. By default ``classes_`` of the estimator, the
        columns of the data frame, or ``0 … l - 1``.
    min_weight : float, default=0.0
        Smaller confidences are set to zero, and the others of the row are scaled to the same sum.
        A row with only smaller confidences keeps its largest.
    wide : bool, default=False
        One row per data row and one column per label, instead of one row per positive weight.
    rows : array-like of shape (n,), optional
        Names of the rows, such as file names. By default the index of a data frame, or
        ``0 … n - 1``.

    Returns
    -------
    table : pandas.DataFrame
        With the columns ``row``, ``label`` and ``weight``; if ``wide``, with one column per label,
        sparse if the confidences are sparse.

    Examples
    --------
    >>> from ambilearn.bridges import soft_labels
    >>> confidences = [[0.75, 0.25, 0.0], [0.0, 0.01, 0.99]]
    >>> soft_labels(confidences, classes=["cat", "dog", "fox"], min_weight=0.05)
       row label  weight
    0    0   cat    0.75
    1    0   dog    0.25
    2    1   fox    1.00
    >>> soft_labels(confidences, classes=["cat", "dog", "fox"], wide=True)
          cat   dog   fox
    row
    0    0.75  0.25  0.00
    1    0.00  0.01  0.99
    """
    with requires_extra("data", purpose="A table of soft labels"):
        import pandas as pd
    weights, labels = _weights(confidences, classes, min_weight)
    if rows is None:
        framed = isinstance(confidences, pd.DataFrame)
        rows = confidences.index if framed else np.arange(weights.shape[0])
    names = pd.Index(rows, name="row")
    if len(names) != weights.shape[0]:
        raise ValueError(
            f"rows has {len(names)} names but there are confidences for {weights.shape[0]} rows: "
            "pass one name per row."
        )
    if not wide:
        repeated = names.repeat(np.diff(weights.indptr))
        label = label_array(labels)[weights.indices]
        return pd.DataFrame({"row": repeated, "label": label, "weight": weights.data})
    if sparse.issparse(getattr(confidences, "label_distributions_", confidences)):
        return pd.DataFrame.sparse.from_spmatrix(weights, index=names, columns=labels)
    return pd.DataFrame(weights.toarray(), index=names, columns=labels)


def _weights(
    confidences: Any, classes: Collection[object] | None, min_weight: float
) -> tuple[sparse.csr_array, list[object]]:
    """Positive confidences of at least ``min_weight``, and the labels of the columns."""
    if not isinstance(min_weight, Real) or not 0 <= min_weight <= 1:
        raise ValueError(f"min_weight must be a number between 0 and 1, got {min_weight!r}.")
    table, classes = _confidence_table(confidences, classes)
    wrong = np.flatnonzero(~(np.isfinite(table.data) & (table.data >= 0)))
    if len(wrong):
        i = int(np.searchsorted(table.indptr, wrong[0], side="right")) - 1
        raise ValueError(
            f"Row {i} of the confidences has the value {table.data[wrong[0]]:.3g}: confidences "
            "must be finite and not negative. Pass label_distributions_ or the output of "
            "predict_proba, not decision scores."
        )
    empty = np.flatnonzero(np.diff(table.indptr) == 0)
    if len(empty):
        raise ValueError(
            f"Row {empty[0]} has no positive confidence ({pluralize(len(empty), 'such row')}). "
            "Drop such rows, or give every label the same confidence."
        )
    starts, sizes = table.indptr[:-1], np.diff(table.indptr)
    largest = np.maximum.reduceat(table.data, starts)  # requires that no row is empty
    kept = table.data >= np.repeat(np.minimum(min_weight, largest), sizes)
    before = np.add.reduceat(table.data, starts)
    table.data[~kept] = 0
    table.data *= np.repeat(before / np.add.reduceat(table.data, starts), sizes)
    table.eliminate_zeros()
    return table, classes


def _confidence_table(
    confidences: Any, classes: Collection[object] | None
) -> tuple[sparse.csr_array, list[object]]:
    """A copy of the confidences as a CSR matrix, and the labels of its columns."""
    if hasattr(confidences, "label_distributions_"):
        classes = confidences.classes_ if classes is None else classes
        confidences = confidences.label_distributions_
    elif isinstance(confidences, BaseEstimator):
        raise ValueError(
            f"{type(confidences).__name__} has no label_distributions_: pass a fitted estimator of "
            "this library (the last step of a pipeline is pipeline[-1]), or the confidences."
        )
    check_structure(confidences, "confidences")
    if sparse.issparse(confidences):
        table = sparse.csr_array(confidences, dtype=np.float64, copy=True)
        table.sum_duplicates()
        table.eliminate_zeros()
        # An empty table with the same columns checks the labels.
        empty = np.empty((0, table.shape[1]))
        return table, score_table(empty, classes, "confidences")[1]
    values, classes = score_table(confidences, classes, "confidences")
    return sparse.csr_array(values), classes
