import numpy as np
import pandas as pd
import pytest

from ambilearn.tables.columns import Column
from ambilearn.tables.preprocessing import make_preprocessing

COLUMNS = [Column("age", "number"), Column("town", "category"), Column("born", "date")]


def frame(ages, towns):
    towns = np.array([np.nan if town is None else town for town in towns], dtype=object)
    return pd.DataFrame({"age": ages, "town": towns, "born": np.arange(len(ages), dtype=float)})


TRAIN = frame([10.0, np.nan, 30.0, 20.0, 40.0, 20.0], ["Rome", "Rome", "Oslo", "Oslo", None, None])


def matrix(transformer, table):
    X = transformer.transform(table)
    return X.toarray() if hasattr(X, "toarray") else X


def test_texts_have_length_two_among_other_columns():
    columns = [Column("age", "number"), Column("note", "text"), Column("more", "text")]
    notes = ["good and new", "good and old", ""]
    table = pd.DataFrame({"age": [1.0, 2.0, 3.0], "note": notes, "more": ["x y"] * 3})
    transformer = make_preprocessing(columns).fit(table.assign(more=notes[::-1]))
    names = transformer.get_feature_names_out().tolist()
    assert names[0] == "numbers__age"
    assert names[1:4] == ["text 0__and", "text 0__good", "text 0__good and"]
    assert len(names) == 7
    X = matrix(transformer, table)
    np.testing.assert_allclose(np.linalg.norm(X[:, 1:4], axis=1), [2, 2, 0])


def test_numbers_of_vectors_are_numbers():
    columns = [Column("v", "vector", 2), Column("age", "number")]
    table = pd.DataFrame({"v[0]": [1.0, np.nan, 3.0], "v[1]": [4.0, 4, 7], "age": [1.0, 2, 4]})
    X = matrix(make_preprocessing(columns).fit(table), table)
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1)
    assert X[1, 0] == 0  # the median of 1 and 3


def test_embeddings_have_one_length():
    columns = [Column("v", "embedding", 2), Column("age", "number")]
    table = pd.DataFrame({"v[0]": [3.0, np.nan, 6.0, 0], "v[1]": [4.0, 4, 8, 0], "age": range(4)})
    X = matrix(make_preprocessing(columns).fit(table), table)
    expected = [[3.6, 4.8], [3.6, 4.8], [3.6, 4.8], [0, 0]]
    np.testing.assert_allclose(X[:, 1:], expected)  # the median of 3, 6 and 0 is 3


@pytest.fixture
def fitted():
    return make_preprocessing(COLUMNS).fit(TRAIN)


def test_numbers_and_dates_get_the_median_and_unit_variance(fitted):
    X = matrix(fitted, TRAIN)[:, :2]
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(X.std(axis=0), 1)
    filled = TRAIN["age"].fillna(TRAIN["age"].median()).to_numpy()
    np.testing.assert_allclose(X[:, 0], (filled - filled.mean()) / filled.std())


def test_categories_become_columns_and_missing_is_one_of_them(fitted):
    names = fitted.get_feature_names_out().tolist()[2:]
    assert names == [f"categories__town_{town}" for town in ("(missing)", "Oslo", "Rome")]
    assert matrix(fitted, TRAIN)[:, 2:].tolist() == [
        [0, 0, 1], [0, 0, 1], [0, 1, 0], [0, 1, 0], [1, 0, 0], [1, 0, 0],
    ]  # fmt: skip


def test_unknown_categories_are_no_category(fitted):
    X = matrix(fitted, frame([20.0], ["Paris"]))
    assert X[0, 2:].tolist() == [0, 0, 0]


def test_or_count_as_rare_ones():
    table = frame([1.0] * 5, ["Rome", "Rome", "Oslo", "Bern", "Rome"])
    fitted = make_preprocessing(COLUMNS).fit(table)
    assert fitted.get_feature_names_out()[-1] == "categories__town_infrequent_sklearn"
    X = matrix(fitted, frame([1.0] * 3, ["Paris", "Oslo", "Rome"]))
    assert X[:, 2:].tolist() == [[0, 1], [0, 1], [1, 0]]


def test_many_categories_are_limited():
    towns = [f"town {i // 2}" for i in range(1000)]
    table = pd.DataFrame({"town": np.array(towns, dtype=object)})
    X = make_preprocessing([Column("town", "category")]).fit_transform(table)
    assert X.shape == (1000, 200)
