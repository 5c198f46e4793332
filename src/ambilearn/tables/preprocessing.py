"""Convert the columns of a table to a matrix for the methods, with a scikit-learn transformer."""

from collections.abc import Sequence
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ambilearn.tables.columns import Column
from ambilearn.tables.image_files import ImageColumn
from ambilearn.tables.text_encoder import TextEncoder

MISSING_CATEGORY = "(missing)"
# A text of unit length would weigh as much as one number. Sentences with three columns of noise
# (1,500 of the sentiment set, PL-CL): accuracy .612 with length 1, .624 with 2, .626 without noise;
# with one informative number .720, .722, and .711 with 5.
TEXT_LENGTH = 2.0


def make_preprocessing(columns: Sequence[Column]) -> Any:
    """Transformer from feature columns to a matrix, not yet fitted.

    ================================ =============================================================
    numbers, truth values, dates     missing cells get the median; then zero mean, unit variance
    vectors                          the same, each number on its own
    categories                       missing is a category of its own; then one column of 0 and 1
                                     per category. Categories of a single row share one column,
                                     which also takes categories that were never seen before;
                                     without such a column those are all zeros.
    texts                            the words and pairs of words, by TF-IDF, with the length 2: a
                                     text weighs as much as four numbers
    images                           the files as they are, for a network
    ================================ =============================================================

    Parameters
    ----------
    columns : sequence of Column
        Feature columns and their kinds.

    Returns
    -------
    sklearn.compose.ColumnTransformer or ImageColumn
        Takes the output of :func:`ambilearn.tables.columns.parse_features`.

    Examples
    --------
    >>> from ambilearn.tables.columns import Column
    >>> from ambilearn.tables.preprocessing import make_preprocessing
    >>> parts = make_preprocessing([Column("age", "number"), Column("town", "category")])
    >>> [(name, columns) for name, _, columns in parts.transformers]
    [('numbers', ['age']), ('categories', ['town'])]
    """
    if any(column.kind == "image" for column in columns):  # which is the only one
        return ImageColumn()
    categories = [column.name for column in columns if column.kind == "category"]
    texts = [column.name for column in columns if column.kind == "text"]
    others = [column for column in columns if column.kind not in ("category", "text")]
    numbers = [name for column in others for name in column.feature_names]
    for_numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    for_categories = make_pipeline(
        SimpleImputer(strategy="constant", fill_value=MISSING_CATEGORY),
        OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=2, max_categories=200),
    )
    parts: list[tuple[str, Any, Any]] = []
    if numbers:
        parts.append(("numbers", for_numbers, numbers))
    if categories:
        parts.append(("categories", for_categories, categories))
    # By name, not by a list of one name: what reads texts takes a single column.
    parts += [(f"text {i}", TextEncoder(), name) for i, name in enumerate(texts)]
    weights = {f"text {i}": TEXT_LENGTH for i in range(len(texts))}
    return ColumnTransformer(parts, transformer_weights=weights or None)
