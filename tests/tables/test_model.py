import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ambilearn.datasets import InvalidFileError
from ambilearn.registry import METHODS, installed_methods
from ambilearn.tables import fit_table, read_candidate_table


@pytest.fixture
def table(people_csv):
    return read_candidate_table(people_csv, candidates="names", exclude=["truth"])


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
    assert list(labeled) == [*new.columns, "label", "score", "confidence", "margin"]
    pd.testing.assert_frame_equal(labeled[list(new.columns)], new)
    assert labeled["score"].between(1 / 3, 1).all()
    assert labeled["margin"].between(0, 1).all()
    assert list(fit_table(table, "plknn").predict(new, prefix="my "))[-4:] == [
        "my label",
        "my score",
        "my confidence",
        "my margin",
    ]


def test_the_table_is_not_changed(table, people):
    before = table.frame.copy(deep=True)
    fit_table(table, "plknn").predict(table.frame)
    pd.testing.assert_frame_equal(table.frame, before)


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
    monkeypatch.setattr("ambilearn._utils.blocks.LIMIT", 21)  # seven rows at a time
    parts = fitted.choices(table.frame)
    np.testing.assert_array_equal(parts.labels, whole.labels)
    np.testing.assert_allclose(parts.scores, whole.scores, atol=1e-12)
    np.testing.assert_allclose(parts.margins, whole.margins, atol=1e-12)


def test_missing_and_unknown_cells_of_new_rows(table, people):
    new = people.head(4).assign(town=["Paris", "", "Rome", "Oslo"], height=["", "NA", "?", "170"])
    assert len(fit_table(table).predict(new)) == 4


def test_a_table_that_does_not_fit_says_which_column(table, people):
    fitted = fit_table(table, "plknn")
    with pytest.raises(InvalidFileError, match=r"new.csv has no column 'height'.*mean 'heigth'"):
        fitted.predict(people.rename(columns={"height": "heigth"}), "new.csv")
    wrong = people.assign(height=["tall", *people["height"][1:]])
    with pytest.raises(InvalidFileError, match=r"new.csv, column 'height', row 0: 'tall' is not a"):
        fitted.predict(wrong, "new.csv")
    with pytest.raises(InvalidFileError, match=r"new.csv has a column 'margin' already"):
        fitted.predict(people.assign(margin="1"), "new.csv")


def test_the_seed_decides(table):
    options = {"method": "plcl", "params": {"n_landmarks": 10, "landmarks": "uniform"}}
    first, second, other = (
        fit_table(table, **options, random_state=seed).choices(table.frame).scores
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


def test_selection_tries_the_defaults_too_and_reports(table):
    told = []
    fitted = fit_table(table, "plknn", select=True, progress=told.append)
    assert set(fitted.about["chosen"]) == {"n_neighbors"}
    assert fitted.method.n_neighbors == fitted.about["chosen"]["n_neighbors"]
    assert 0 < fitted.about["selection score"] <= 1
    assert told[0].startswith("choosing parameters: 1 of 15 fits")
    assert told[-2] == "choosing parameters: 15 of 15 fits"
    assert told[-1].startswith("fitting PLKNN to 60 rows and ")


def test_selection_leaves_given_parameters_alone(table):
    fitted = fit_table(table, "sure", {"reg": 0.123}, select=True)
    assert set(fitted.about["chosen"]) == {"lam"}
    assert fitted.method.reg == 0.123
    with pytest.raises(ValueError, match="nothing left to choose"):
        fit_table(table, "plknn", {"n_neighbors": 3}, select=True)


@pytest.fixture
def votes(tmp_path):
    """Three of four annotators are usually right, the last one draws lots."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 90)
    frame = pd.DataFrame({"x": truth * 2 + rng.normal(size=90) / 4, "y": rng.normal(size=90) / 4})
    for i in range(3):
        wrong = rng.random(90) < 0.15
        frame[f"a{i}"] = np.array(list("pqr"))[np.where(wrong, (truth + i) % 3, truth)]
    frame["a3"] = rng.choice(list("pqr"), 90)
    frame.to_csv(tmp_path / "votes.csv", index=False)
    return tmp_path / "votes.csv"


ANNOTATORS = ["a0", "a1", "a2", "a3"]


def _without_weights(table):
    """The table as it is to whoever does not count: with counts, a second vote needs no choice."""
    sets, fewer = (
        None if sets is None else replace(sets, weights=None)
        for sets in (table.candidates, table.two_votes)
    )
    return replace(table, candidates=sets, two_votes=fewer)


def test_selection_also_chooses_how_many_votes_make_a_candidate(votes):
    table = _without_weights(read_candidate_table(votes, candidates=ANNOTATORS))
    told = []
    fitted = fit_table(table, "plknn", select=True, progress=told.append)
    assert fitted.about["chosen"]["min_votes"] == 2
    assert "easier than the others" in fitted.calibration.reason
    assert told[-2] == "choosing parameters: 30 of 30 fits"
    stricter = read_candidate_table(votes, candidates=ANNOTATORS, min_votes=2, fallback="union")
    again = fit_table(
        _without_weights(stricter), "plknn", {"n_neighbors": fitted.method.n_neighbors}
    )
    np.testing.assert_array_equal(
        fitted.choices(table.frame).scores, again.choices(table.frame).scores
    )


def test_selection_holds_both_against_the_same_votes(votes, monkeypatch):
    table = read_candidate_table(votes, candidates=ANNOTATORS)
    seen = []

    def scorer(fitted, rows, held_out):
        seen.append(held_out.sizes.sum())
        return 1.0

    monkeypatch.setattr("ambilearn.tables.model.covering_rate_scorer", scorer)
    fitted = fit_table(table, "plknn", select=True)
    assert fitted.about["chosen"]["min_votes"] == 1  # among equals, what would be done without
    assert seen[:15] == seen[15:]
    # Nothing else is to be chosen, and still something.
    chosen = fit_table(table, "plknn", {"n_neighbors": 3}, select=True).about["chosen"]
    assert chosen == {"min_votes": 1}


@pytest.mark.parametrize("given", [1, 2])
def test_selection_leaves_given_votes_alone(votes, given):
    options = {"min_votes": given, "fallback": "union"}
    table = read_candidate_table(votes, candidates=ANNOTATORS, **options)
    assert table.two_votes is None
    assert "min_votes" not in fit_table(table, "plknn", select=True).about["chosen"]


@pytest.mark.parametrize("method", ["plcl", "plaggd", "lalo", "sure"])
def test_selection_tries_the_ridge_of_every_kernel_method(method):
    assert len(METHODS[method].tuning_grid["reg"]) > 4


def test_without_selection_nothing_is_chosen(table):
    about = fit_table(table, "plknn").about
    assert about["chosen"] == {}
    assert about["selection score"] is None


@pytest.mark.parametrize("rows", [2, 3])
def test_very_small_tables(rows):
    text = "x,names\n1,a|b\n2,b\n3,a\n".splitlines()[: rows + 1]
    small = read_candidate_table(io.StringIO("\n".join(text)), candidates="names", format="csv")
    with pytest.warns(UserWarning, match="n_neighbors"):
        assert len(fit_table(small).predict(small.frame)) == rows


def test_one_row_is_too_few():
    text = "x,y,names\n1,u,a|b\n"
    with pytest.raises(ValueError, match="no column is left as a feature"):
        read_candidate_table(io.StringIO(text), candidates="names", format="csv")


def test_numbers_as_labels_stay_numbers():
    lines = [f'{{"x": {i % 2 * 5 + i / 9}, "c": [{i % 2}, 7]}}' for i in range(12)]
    table = read_candidate_table(io.StringIO("\n".join(lines)), candidates="c", format="jsonl")
    labels = fit_table(table, "plknn").predict(table.frame)["label"]
    assert labels.dtype.kind == "i"


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
