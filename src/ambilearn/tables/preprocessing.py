"""Convert the columns of a table to a matrix for the methods, with a scikit-learn transformer."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler

from ambilearn._utils.rounds import listen_to_rounds
from ambilearn._utils.text import RoundProgress
from ambilearn.tables.columns import EMBEDDED, Column

if TYPE_CHECKING:
    from ambilearn.features.pretrained import PretrainedFeatures
    from ambilearn.tables.candidate_table import CandidateTable

MISSING_CATEGORY = "(missing)"
# A text of unit length would weigh as much as one number. Sentences with three columns of noise
# (1,500 of the sentiment set, PL-CL): accuracy .612 with length 1, .624 with 2, .626 without noise;
# with one informative number .720, .722, and .711 with 5.
TEXT_LENGTH = 2.0
# Divided by its length and multiplied by this number, an embedding weighs as much as 36 numbers.
# Embeddings of pictures and sentences, and pixels, with three columns of noise or with one
# informative number (PL-CL, new rows of 500 pictures): with noise .60 as z-scores, .45 with length
# 2, .62 with 6 and 8; with the informative number .62, .68, .74 and .73.
EMBEDDING_LENGTH = 6.0


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
    embeddings                       missing cells get the median; then the length 6
    embedded texts and images        the vectors of a pretrained network, with the length 6
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
        from ambilearn.tables.image_files import ImageColumn

        return ImageColumn()
    categories = [column.name for column in columns if column.kind == "category"]
    texts = [column.name for column in columns if column.kind == "text"]
    embedded = [column for column in columns if column.kind in EMBEDDED]
    lists = [column for column in columns if column.kind == "embedding"]
    not_numbers = ("category", "text", "embedding", *EMBEDDED)
    others = [column for column in columns if column.kind not in not_numbers]
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
    if texts:
        from ambilearn.tables.text_encoder import TextEncoder
    # By name, not by a list of one name: what reads texts takes a single column.
    parts += [(f"text {i}", TextEncoder(), name) for i, name in enumerate(texts)]
    weights = {f"text {i}": TEXT_LENGTH for i in range(len(texts))}
    parts += [(_step_name(column), _embed(column), column.name) for column in embedded]
    for column in lists:
        for_list = make_pipeline(SimpleImputer(strategy="median"), Normalizer())
        parts.append((_step_name(column), for_list, column.feature_names))
    weights |= {_step_name(column): EMBEDDING_LENGTH for column in (*embedded, *lists)}
    return ColumnTransformer(parts, transformer_weights=weights or None)


def _step_name(column: Column) -> str:
    return f"embedding of {column.name}".replace("__", "_ _")  # "__" separates parts of names


def _embed(column: Column) -> "PretrainedFeatures":
    from ambilearn.features.pretrained import PretrainedFeatures

    # The names of images are absolute paths, which were looked for in the allowed folders.
    folder = Path(Path.cwd().anchor) if column.kind == "embedded image" else None
    return PretrainedFeatures(column.model, folder=None if folder is None else str(folder))


def find_embeddings(
    preprocessing: Any, columns: Sequence[Column]
) -> "dict[str, PretrainedFeatures]":
    """The fitted transformer of each column with a pretrained network."""
    return {
        column.name: preprocessing.named_transformers_[_step_name(column)]
        for column in columns
        if column.kind in EMBEDDED
    }


def fit_preprocessing(
    table: "CandidateTable", progress: Callable[[str], None] = lambda text: None
) -> tuple[Any, Any]:
    """The fitted transformer of a table's features, and the matrix that it returns."""
    preprocessing = make_preprocessing(table.features.columns)
    if not any(column.kind in EMBEDDED for column in table.features.columns):
        return preprocessing, preprocessing.fit_transform(table.X)
    with listen_to_rounds(RoundProgress("encoding the features", progress)):
        return preprocessing, preprocessing.fit_transform(table.X)
