"""From columns of a table to what the methods need: one visible scikit-learn transformer."""

from collections.abc import Sequence

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from ambilearn.own_data.columns import Column

MISSING_CATEGORY = "(missing)"


def make_preprocessing(columns: Sequence[Column]) -> ColumnTransformer:
    """Transformer from feature columns to a matrix, not yet fitted.

    ================================ =============================================================
    numbers, truth values, dates     missing cells get the median; then zero mean, unit variance
    categories                       missing is a category of its own; then one column of 0 and 1
                                     per category. Categories of a single row share one column,
                                     which also takes categories that were never seen before;
                                     without such a column those are all zeros.
    ================================ =============================================================

    Parameters
    ----------
    columns : sequence of Column
        Feature columns and their kinds.

    Returns
    -------
    sklearn.compose.ColumnTransformer
        Takes what :func:`ambilearn.own_data.columns.parse_features` makes.

    Examples
    --------
    >>> from ambilearn.own_data.columns import Column
    >>> from ambilearn.own_data.preprocessing import make_preprocessing
    >>> parts = make_preprocessing([Column("age", "number"), Column("town", "category")])
    >>> [(name, columns) for name, _, columns in parts.transformers]
    [('numbers', ['age']), ('categories', ['town'])]
    """
    categories = [column.name for column in columns if column.kind == "category"]
    numbers = [column.name for column in columns if column.kind != "category"]
    for_numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    for_categories = make_pipeline(
        SimpleImputer(strategy="constant", fill_value=MISSING_CATEGORY),
        OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=2, max_categories=200),
    )
    parts = [("numbers", for_numbers, numbers), ("categories", for_categories, categories)]
    return ColumnTransformer([part for part in parts if part[2]])
