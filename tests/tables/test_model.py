import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ambilearn.confidence.calibration import Calibration
from ambilearn.datasets import InvalidFileError
from ambilearn.registry import installed_methods
from ambilearn.tables import Judgment, clean_table, fit_table, read_candidate_table


@pytest.mark.parametrize("method", installed_methods())
def test_every_method_learns_the_people(table, people, method):
    fitted = fit_table(table, method)
    assert list(fitted.pipeline.named_steps) == ["preprocessing", "method"]
    choices = fitted.choices(people.sample(frac=1, random_state=0))
    truth = people.sample(frac=1, random_state=0)["truth"].to_numpy()
    assert (choices.labels == truth).mean() > 0.9
    assert fitted.classes.tolist() == ["anna", "bob", "cleo"]
    assert fitted.about["method"] == method
    assert fitted.about["rows"] == 60


def test_new_columns_at_the_end_and_everything_else_passed_through(table, people):
    new = people.head(5).drop(columns=["names", "truth"]).assign(extra=list("vwxyz"))
    labeled = fit_table(table, "plknn").predict(new)
    assert list(labeled) == [*new.columns, "label", "score", "confidence"]
    pd.testing.assert_frame_equal(labeled[list(new.columns)], new)
    assert labeled["score"].between(1 / 3, 1).all()
    assert list(fit_table(table, "plknn").predict(new, prefix="my "))[-3:] == [
        "my label",
        "my score",
        "my confidence",
    ]


def test_confidences_are_those_of_the_pipeline(table):
    fitted = fit_table(table, "plcl")
    from ambilearn.tables.columns import parse_features

    proba = fitted.pipeline.predict_proba(parse_features("t", table.frame, fitted.columns))
    choices = fitted.choices(table.frame)
    np.testing.assert_array_equal(choices.scores, proba.max(axis=1))
    ranked = np.sort(proba, axis=1)
    np.testing.assert_array_equal(choices.margins, ranked[:, -1] - ranked[:, -2])


def test_large_tables_are_labeled_in_parts(table, monkeypatch):
    fitted = fit_table(table, "plknn")
    whole = fitted.choices(table.frame)
    monkeypatch.setattr("ambilearn._utils.limits.LIMIT", 21)  # seven rows at a time
    parts = fitted.choices(table.frame)
    np.testing.assert_array_equal(parts.labels, whole.labels)
    np.testing.assert_allclose(parts.scores, whole.scores, atol=1e-12)
    np.testing.assert_allclose(parts.margins, whole.margins, atol=1e-12)


def test_missing_and_unknown_cells_of_new_rows(table, people):
    new = people.head(4).assign(town=["Paris", "", "Rome", "Oslo"], height=["", "NA", "?", "170"])
    model = fit_table(table)
    with pytest.warns(UserWarning, match=r"^table: .* unknown: 1 in column 'town' \('Paris'\)\.$"):
        assert len(model.predict(new)) == 4


def test_a_table_that_does_not_fit_says_which_column(table, people):
    fitted = fit_table(table, "plknn")
    with pytest.raises(InvalidFileError, match=r"new.csv has no column 'height'.*mean 'heigth'"):
        fitted.predict(people.rename(columns={"height": "heigth"}), "new.csv")
    wrong = people.assign(height=["tall", *people["height"][1:]])
    with pytest.raises(InvalidFileError, match=r"new.csv, column 'height', row 0: 'tall' is not a"):
        fitted.predict(wrong, "new.csv")
    with pytest.raises(InvalidFileError, match=r"new.csv has a column 'score' already"):
        fitted.predict(people.assign(score="1"), "new.csv")


@pytest.mark.parametrize("rows", [2, 3])
def test_very_small_tables(rows):
    text = "x,names\n1,a|b\n2,b\n3,a\n".splitlines()[: rows + 1]
    small = read_candidate_table(io.StringIO("\n".join(text)), candidates="names", format="csv")
    with pytest.warns(UserWarning, match="n_neighbors"):
        assert len(fit_table(small).predict(small.frame)) == rows


def test_the_name_of_the_table_has_no_folder(table):
    fitted = fit_table(table, "plknn")
    assert fitted.about["table"] == "people.csv"
    assert repr(fitted) == "<TableModel plknn: height, weight, town, member, born → 3 labels>"


def test_a_table_without_rows_gets_columns_without_rows(table, people):
    fitted = fit_table(table, "plknn")
    nothing = fitted.predict(people.iloc[:0])
    assert list(nothing.columns) == list(fitted.predict(people).columns)
    assert len(nothing) == 0
    choices = fitted.choices(people.iloc[:0])
    assert [len(each) for each in choices] == [0, 0, 0, 0]
    assert choices.labels.dtype == fitted.classes.dtype
    with pytest.raises(InvalidFileError, match="no columns"):
        fitted.predict(pd.DataFrame())


def _table(lines):
    file = io.StringIO("\n".join(["x,names", *lines]))
    return read_candidate_table(file, candidates="names", format="csv")


def test_labels_that_are_chosen_in_no_row_are_named(recwarn):
    lines = [f"{i},{'a' if i < 10 else 'b'}" for i in range(20)]
    fit_table(_table(lines), "plknn", {"n_neighbors": 3})
    assert not [each for each in recwarn if "chosen in no row" in str(each.message)]
    lines[3] += "|aa"
    table = _table(lines)
    with pytest.warns(UserWarning, match=r"1 label of 3 chosen in no row: 'aa'\. If a label is a"):
        fit_table(table, "plknn", {"n_neighbors": 3})


def test_labels_that_judged_annotators_choose_are_not_named(recwarn):
    """They are written even if the method, fitted to the judged answers, chooses others."""
    table = _table([f"{i},{'a' if i < 10 else 'b'}{'|aa' * (i == 3)}" for i in range(20)])
    confidences = np.ones(21)
    confidences[3:5] = 0.1, 0.9  # of a and aa
    calibration = Calibration("by the answers", cleaned=confidences)
    judged = replace(table, judgment=Judgment(table.candidates, np.ones((20, 3)), calibration))
    cleaned = clean_table(judged, "plknn", {"n_neighbors": 3}, fast=True)
    assert cleaned.model.method.transduction_[3] == "a"
    assert cleaned.frame["label"][3] == "aa"
    assert not [each for each in recwarn if "chosen in no row" in str(each.message)]


def test_only_data_frames_are_labeled(table, people):
    fitted = fit_table(table, "plknn")
    with pytest.raises(TypeError, match=r"people is of type builtins\.str: pass a pandas"):
        fitted.predict("people.csv", "people")
    twice = pd.concat([people, people[["height"]]], axis=1)
    with pytest.raises(InvalidFileError, match="the column 'height' occurs more than once"):
        fitted.predict(twice)
