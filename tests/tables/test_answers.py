import numpy as np
import pandas as pd
import pytest
from annotators import item_names, make_crowd

from ambilearn.datasets import InvalidFileError
from ambilearn.tables import fit_table, read_candidate_table


@pytest.fixture
def files(tmp_path):
    """The answers, and the features of the items with a known truth."""
    X, truth, answers = make_crowd()
    answers.to_csv(tmp_path / "answers.csv", index=False)
    items = pd.DataFrame(X, columns=["x", "y", "z"]).assign(item=item_names(), truth=truth)
    items.to_csv(tmp_path / "items.csv", index=False)
    return tmp_path / "answers.csv", tmp_path / "items.csv"


def test_the_rows_are_those_of_the_features(files):
    answers, items = files
    table = read_candidate_table(answers, features_from=items, truth="truth")
    assert table.frame["item"].to_list() == item_names()
    assert [column.name for column in table.features.columns] == ["x", "y", "z"]
    assert table.name.endswith("items.csv")
    assert len(table.votes.annotators) == 6
    counts = pd.read_csv(answers).value_counts(["item", "label"])
    assert table.candidates[7] == counts["i007"].to_dict()
    assert table.truth == pd.read_csv(items)["truth"].to_list()


def test_it_is_the_same_as_the_wide_form(files):
    answers, items = files
    long = read_candidate_table(answers, features_from=items, exclude=["truth"])
    wide = pd.read_csv(answers, dtype=str).pivot(index="item", columns="annotator", values="label")
    frame = pd.read_csv(items, dtype=str).join(wide.fillna("-1"), on="item")
    table = read_candidate_table(
        frame, candidates=["a*", "r*"], no_answer=["-1"], exclude=["truth", "item"]
    )
    assert table.votes.counts().toarray().tolist() == long.votes.counts().toarray().tolist()
    np.testing.assert_array_equal(table.candidates.weights, long.candidates.weights)
    one, other = (fit_table(each, "plknn").choices(frame) for each in (long, table))
    np.testing.assert_array_equal(one.scores, other.scores)


def test_answers_without_features_are_left_out_with_a_warning(files):
    answers, items = files
    frame = pd.read_csv(items, dtype=str).iloc[1:]
    with pytest.warns(UserWarning, match="to 1 item without features left out: 'i000'"):
        table = read_candidate_table(answers, features_from=frame, exclude=["truth"])
    assert len(table.frame) == 89


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"item": "clip"}, "'clip'"),
        ({"annotator": "who"}, "'who'"),
        ({"min_votes": 99}, "no label has 99 votes"),
    ],
)
def test_rejected(files, options, message):
    answers, items = files
    with pytest.raises(InvalidFileError, match=message):
        read_candidate_table(answers, features_from=items, **options)


def test_a_column_answers_of_the_items_is_rejected(files):
    """Such as that of an earlier result. The error advised a prefix, which has no effect here."""
    answers, items = files
    frame = pd.read_csv(items).assign(answers="gnu")
    with pytest.raises(InvalidFileError, match=r"a column 'answers' already.*Rename the column"):
        read_candidate_table(pd.read_csv(answers), features_from=frame)


def test_other_names_of_items_are_rejected(files):
    answers, items = files
    frame = pd.read_csv(items, dtype=str)
    frame["item"] = frame["item"].str.upper()
    with pytest.raises(InvalidFileError, match=r"No answer is to one of the 90 items.*'I000'"):
        read_candidate_table(answers, features_from=frame)
    twice = pd.concat([frame, frame.head(1)])
    with pytest.raises(InvalidFileError, match="'I000' is in rows 0 and 90"):
        read_candidate_table(answers, features_from=twice)


def test_columns_that_were_mixed_up(files):
    answers, items = files
    frame = pd.read_csv(answers, dtype=str)
    frame["row"] = [f"r{i}" for i in range(len(frame))]
    with pytest.warns(UserWarning, match="every answer has a different 'row'"):
        read_candidate_table(frame, features_from=items, annotator="row", exclude=["truth"])


def small(labels, **options):
    """Two answers to each of three items, by ann and ben."""
    answers = pd.DataFrame(
        {"item": list("pqrpqr"), "annotator": ["ann"] * 3 + ["ben"] * 3, "label": labels}
    )
    items = pd.DataFrame({"item": list("pqr"), "x": [1.0, 2.0, 4.0]})
    return read_candidate_table(answers, features_from=items, **options)


@pytest.mark.parametrize("word", ["NA", "NaN", " None", "null", "?"])
def test_words_for_missing_are_no_answer_as_in_the_wide_form(word):
    labels = ["cat", "dog", "cat", word, "dog", "dog"]
    with pytest.warns(UserWarning, match=r"column 'label': A cell .* is read as .*in 1 row: 3"):
        table = small(labels)
    assert table.votes.classes.tolist() == ["cat", "dog"]
    assert table.votes.n_answers == 5
    kept = small(labels, na_is_label=True)
    assert set(kept.votes.classes.tolist()) == {"cat", "dog", word.strip()}


def test_items_without_answers():
    answers = pd.DataFrame({"item": list("prpr"), "annotator": list("aabb"), "label": list("xyxx")})
    items = pd.DataFrame({"item": list("pqr"), "x": [1.0, 2.0, 4.0]})

    def read(missing):
        return read_candidate_table(answers, features_from=items, missing=missing)

    with pytest.warns(UserWarning, match=r"1 item without answers \(q\): every label"):
        assert read("any").candidates.to_sets() == [{"x"}, {"x", "y"}, {"x", "y"}]
    with pytest.warns(UserWarning, match=r"1 item without answers \(q\): left out"):
        fewer = read("skip")
    assert fewer.frame["item"].to_list() == fewer.votes.items.tolist() == ["p", "r"]
    assert fewer.candidates.to_sets() == [{"x"}, {"x", "y"}]
    assert fewer.votes.counts().toarray().tolist() == [[2, 0], [1, 1]]
    with pytest.raises(InvalidFileError, match=r"1 item without answers \(q\).*--missing"):
        read("error")


ITEMS = pd.DataFrame({"file": ["p", "q", "r"], "x": [1.0, 2.0, 4.0], "y": [1.0, 3.0, 2.0]})
SAID = pd.DataFrame({"file": ["r", "p", "s"], "ann": ["gnu", "emu", "emu"], "ben": ["gnu"] * 3})


def test_candidates_are_joined_with_features():
    with pytest.warns(UserWarning, match="without") as caught:
        table = read_candidate_table(SAID, candidates=["ann", "ben"], features_from=ITEMS)
    said = [str(each.message) for each in caught]
    assert said[0] == "table: 1 row without features left out: 's'"
    assert "1 row without labels (1): every label is a candidate" in said[1]
    assert table.frame["file"].to_list() == ["p", "q", "r"]
    assert table.candidates.to_sets() == [{"emu", "gnu"}, {"emu", "gnu"}, {"gnu"}]
    assert [column.name for column in table.features.columns] == ["x", "y"]
    assert table.description.item == "file"


@pytest.mark.parametrize(
    ("said", "items", "options", "message"),
    [
        (SAID, ITEMS.rename(columns={"file": "item"}), {}, "have no column in common.*--item"),
        (SAID.assign(x=1), ITEMS, {}, "have 'file', 'x' in common.*--item"),
        (SAID, ITEMS, {"item": "x"}, "'x'"),
        (SAID.assign(file="p"), ITEMS, {}, "'p' twice"),
        (SAID, ITEMS.assign(file=["p", "q", None]), {}, "'file': an empty cell"),
        (SAID.assign(file=[*"tuv"]), ITEMS, {}, "No 'file' of table is in table"),
        (SAID, ITEMS.assign(ann=1), {"item": "file"}, "has a column 'ann' already"),
    ],
)
def test_tables_that_cannot_be_joined(said, items, options, message):
    with pytest.raises(InvalidFileError, match=message):
        read_candidate_table(said, candidates=["ann", "ben"], features_from=items, **options)
