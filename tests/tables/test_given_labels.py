from io import StringIO

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import StandardScaler

from ambilearn import SURE, find_doubtful
from ambilearn.datasets.errors import InvalidFileError
from ambilearn.tables import correct_table, fit_table, read_candidate_table

NAMES = np.array(["ant", "bee", "cat"])


def noisy_frame(n=120, seed=0):
    """A table with the columns x, z, name (one in eight is wrong) and truth."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    X = rng.normal(size=(n, 2)) + 3 * np.array([[0, 0], [1, 0], [0, 1]])[y]
    wrong = rng.random(n) < 1 / 8
    given = np.where(wrong, (y + rng.integers(1, 3, size=n)) % 3, y)
    return pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "name": NAMES[given], "truth": NAMES[y]})


@pytest.fixture(scope="module")
def frame():
    return noisy_frame()


@pytest.fixture(scope="module")
def table(frame):
    return read_candidate_table(frame, given_label="name", truth="truth")


@pytest.fixture(scope="module")
def corrected(table):
    return correct_table(table)


def test_labels_are_corrected_and_every_cell_is_kept(frame, corrected):
    new = ["label", "score", "confidence", "doubt", "suggestion", "review_rank"]
    assert list(corrected.frame) == [*frame, *new]
    pd.testing.assert_frame_equal(corrected.frame[list(frame)], frame)
    before, after = (np.mean(corrected.frame[c] == frame["truth"]) for c in ("name", "label"))
    assert after > before + 0.03
    assert (corrected.frame["label"] != frame["name"]).sum() == corrected.doubt.change.sum() > 0


def test_the_columns_are_those_of_find_doubtful_on_the_encoded_features(frame, corrected):
    X = StandardScaler().fit_transform(frame[["x", "z"]])
    found = find_doubtful(X, frame["name"])
    result = corrected.frame
    np.testing.assert_array_equal(result["label"], found.label)
    np.testing.assert_allclose(result["confidence"], found.confidence, atol=1e-6)
    np.testing.assert_allclose(result["score"], found.confidence, atol=1e-6)
    np.testing.assert_allclose(result["doubt"], found.score, atol=1e-6)
    shown = found.score > 0.5
    assert result["suggestion"].notna().to_list() == shown.tolist()
    assert (result["suggestion"][shown] == found.other[shown]).all()
    kept = ~found.change
    np.testing.assert_allclose((result["doubt"] + result["confidence"])[kept], 1, atol=2e-6)


def test_a_model_is_fitted_to_the_corrected_labels(frame, corrected):
    model = fit_table(corrected.table, "plknn")
    assert model.method.transduction_.tolist() == corrected.doubt.label.tolist()
    assert np.mean(model.predict(frame[["x", "z"]])["label"] == frame["truth"]) > 0.85


def test_another_method_judges_if_it_is_named(frame, table):
    X = StandardScaler().fit_transform(frame[["x", "z"]])
    found = find_doubtful(X, frame["name"], estimator=SURE(reg=0.5))
    corrected = correct_table(table, "sure", {"reg": 0.5})
    np.testing.assert_allclose(corrected.doubt.score, found.score, atol=1e-8)
    with pytest.raises(ValueError, match="Parameters need a method: reg"):
        correct_table(table, params={"reg": 0.5})


def test_labels_chosen_by_a_person_are_kept(frame, corrected):
    row = int(np.flatnonzero(corrected.doubt.change)[0])
    given = frame["name"][row]
    file = StringIO(f"row,candidates,label\n{row},{given},{given}\n0,{frame['name'][0]},dog\n")
    table = read_candidate_table(frame, given_label="name", exclude=["truth"], checked=file)
    result = correct_table(table)
    assert result.frame["label"][row] == given
    assert result.frame["label"][0] == "dog"
    for i in (0, row):
        assert result.frame.loc[i, ["confidence", "doubt"]].to_list() == [1, 0]
        assert pd.isna(result.frame["suggestion"][i])
        assert i in result.order[-2:]
    assert result.doubt.probabilities[row].tolist() == (result.doubt.classes == given).tolist()
    assert result.given.tolist() == frame["name"].to_list()


@pytest.mark.parametrize(
    ("codes", "given", "chosen"),
    [
        (["ant", "bee", "cat"], "dog", "bee"),
        (["ant", "bee", "cat"], "ant|bee", "bee"),
        ([1, 2, 3], 7, 2),
    ],
)
def test_the_given_label_of_a_corrected_row_is_that_of_the_table(codes, given, chosen):
    frame = noisy_frame(30)
    frame["name"] = frame["name"].map(dict(zip(NAMES, codes, strict=True)))
    frame.loc[1, "name"] = given
    file = StringIO(f"row,candidates,label\n1,{given},{chosen}\n")
    table = read_candidate_table(frame, given_label="name", exclude=["truth"], checked=file)
    result = correct_table(table)
    assert result.given.tolist() == frame["name"].to_list()
    assert result.doubt.label[1] == chosen
    assert len(result.to_review()[0].candidates) == 30


def test_the_page_shows_the_given_label_and_the_suggestion(corrected):
    table, probabilities = corrected.to_review()
    doubtful = corrected.doubt.doubtful
    assert (table.candidates.sizes == 1 + doubtful).all()
    sets = table.candidates.to_sets()
    for i in np.flatnonzero(doubtful):
        assert sets[i] == {corrected.given[i], corrected.doubt.suggestion[i]}
    row = int(corrected.order[0])
    classes = corrected.doubt.classes.tolist()
    pairs = slice(*table.candidates.indptr[[row, row + 1]])
    expected = [corrected.doubt.probabilities[row, classes.index(c)] for c in sorted(sets[row])]
    np.testing.assert_allclose(probabilities[pairs], expected)


def test_candidates_or_given_label():
    with pytest.raises(ValueError, match="candidates or given_label"):
        read_candidate_table(noisy_frame(5))
    with pytest.raises(ValueError, match="candidates or given_label"):
        read_candidate_table(noisy_frame(5), candidates="name", given_label="name")


def test_rows_without_a_given_label():
    """The error was that empty text is more than one label."""
    text = "x,name\n1,a\n2,\n3,b\n"
    with pytest.raises(ValueError, match="missing='any' is for candidates"):
        read_candidate_table(StringIO(text), given_label="name", format="csv", missing="any")
    with pytest.raises(InvalidFileError, match=r"Row 1 has no label\..*\(--missing skip\)\.$"):
        read_candidate_table(StringIO(text), given_label="name", format="csv")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,name\n1,a\n2,a|b\n3,b\n4,b|a\n", r"row 1: 'a\|b' is more than one label \(2 such rows"),
        ("x,name\n1,a\n2,b\n", "2 rows: labels are compared with those of other rows"),
        ("x,name,label\n1,a,a\n2,b,b\n3,a,a\n", "'label' already"),
    ],
)
def test_tables_that_cannot_be_corrected_are_rejected(text, message):
    table = read_candidate_table(StringIO(text), given_label="name", format="csv")
    with pytest.raises(InvalidFileError, match=message):
        correct_table(table)


def test_without_useful_features_the_table_keeps_its_labels():
    frame = pd.DataFrame({"x": np.arange(40) % 5, "name": np.repeat(["ant", "bee"], [35, 5])})
    with pytest.warns(UserWarning, match="better than chance"):
        corrected = correct_table(read_candidate_table(frame, given_label="name"))
    assert corrected.frame["label"].to_list() == frame["name"].to_list()
    assert corrected.frame["confidence"].isna().all()
    assert (corrected.frame[["score", "doubt"]] == 0).all(axis=None)
    assert corrected.frame["suggestion"].isna().all()
    table, probabilities = corrected.to_review()
    assert np.isfinite(probabilities).all()
    assert len(probabilities) == len(table.frame)


def test_a_column_of_given_labels_may_have_the_name_of_a_new_column():
    """fit and review write no columns, and failed."""
    frame = pd.DataFrame({"x": range(20), "label": ["low"] * 10 + ["high"] * 10})
    table = read_candidate_table(frame, given_label="label")
    assert correct_table(table, prefix=None).frame is frame
    with pytest.raises(InvalidFileError, match="has a column 'label' already"):
        correct_table(table)
