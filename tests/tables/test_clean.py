import io
import re
import signal
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits

from ambilearn import find_doubtful
from ambilearn.datasets import InvalidFileError
from ambilearn.registry import METHODS, installed_methods
from ambilearn.tables import clean_table, fit_table, judge_table, read_candidate_table
from ambilearn.tables.ranking import review_order

NEW_COLUMNS = ["label", "score", "confidence", "doubt", "suggestion", "review_rank"]


@pytest.mark.parametrize("method", installed_methods())
def test_labels_are_candidates_and_mostly_right(table, people, method):
    cleaned = clean_table(table, method)
    assert table.candidates.covers(cleaned.choices.labels).all()
    assert (cleaned.choices.labels == people["truth"].to_numpy()).mean() > 0.9
    assert list(cleaned.frame) == [*people, *NEW_COLUMNS]
    pd.testing.assert_frame_equal(
        cleaned.frame[list(people)], people, check_dtype=False, check_column_type=False
    )


def test_labels_are_what_the_method_says(table):
    cleaned = clean_table(table)
    method = fit_table(table).method
    np.testing.assert_array_equal(cleaned.choices.labels, method.transduction_)
    P = method.label_distributions_
    P = P.toarray() if hasattr(P, "toarray") else P
    np.testing.assert_array_equal(cleaned.choices.scores, P.max(axis=1))
    np.testing.assert_array_equal(cleaned.pair_scores, P[table.candidates.to_mask()])


def interrupt_at(stage):
    def progress(text):
        if text.startswith(stage):
            signal.raise_signal(signal.SIGINT)

    return progress


@pytest.mark.parametrize("method", ["plknn", "ipal", "plcl"])  # doubt by votes, folds, closed form
def test_control_c_during_the_search_for_doubt_leaves_the_labels(table, method):
    with pytest.warns(UserWarning, match=r"interrupted: doubt and suggestion stay empty\.$"):
        cleaned = clean_table(table, method, progress=interrupt_at("predicting every row"))
    whole = clean_table(table, method)
    assert list(cleaned.frame) == list(whole.frame)
    assert cleaned.doubt is None
    assert cleaned.frame[["doubt", "suggestion"]].isna().all(axis=None)
    same = ["label", "score", "confidence"]
    pd.testing.assert_frame_equal(cleaned.frame[same], whole.frame[same])


def test_control_c_during_the_calibration_leaves_the_labels(people):
    single = people.assign(names=people["names"].where(np.arange(60) >= 30, people["truth"]))
    file = io.StringIO(single.to_csv(index=False))
    table = read_candidate_table(file, candidates="names", exclude=["truth"], format="csv")
    said = []

    def progress(text):
        said.append(text)
        interrupt_at("predicting every row")(text)

    with pytest.warns(UserWarning, match="interrupted") as caught:
        cleaned = clean_table(table, "ipal", progress=progress)
    assert [str(each.message).partition("interrupted")[2] for each in caught] == [
        ", and the scores are not calibrated.",
        ": doubt and suggestion stay empty.",
    ]
    assert said[-1].startswith("predicting every row")  # no further fits
    assert cleaned.model.about["interrupted"]
    whole = clean_table(table, "ipal", fast=True)
    assert not whole.model.about["interrupted"]
    same_reason = replace(whole.model, calibration=cleaned.model.calibration)
    assert not same_reason.about["interrupted"]
    np.testing.assert_array_equal(cleaned.choices.labels, whole.choices.labels)
    assert cleaned.frame[["confidence", "doubt"]].isna().all(axis=None)


def test_trusted_candidates_have_no_doubt_but_are_calibrated(table):
    cleaned = clean_table(table, "plcl", trust_candidates=True)
    assert list(cleaned.frame)[-4:] == ["label", "score", "confidence", "review_rank"]
    assert cleaned.doubt is None
    whole = clean_table(table, "plcl")
    assert cleaned.model.calibration.reason == whole.model.calibration.reason
    certain = review_order(whole.choices, whole.doubt.settled(range(60)))
    assert cleaned.order.tolist() == certain.tolist() != review_order(cleaned.choices).tolist()


def test_without_doubt_the_rank_orders_by_margin(table):
    cleaned = clean_table(table, fast=True)
    assert cleaned.doubt is None
    assert list(cleaned.frame)[-4:] == [n for n in NEW_COLUMNS if n not in ("doubt", "suggestion")]
    ranked = cleaned.frame.sort_values("review_rank")
    assert ranked["review_rank"].tolist() == list(range(1, 61))
    assert (np.diff(cleaned.choices.margins[cleaned.order]) >= 0).all()
    assert ranked.index.tolist() == cleaned.order.tolist()


@pytest.mark.parametrize("method", ["plcl", "plknn"])
def test_corrected_rows_keep_the_label_of_the_person(people_csv, people, method):
    ambiguous = [i for i, text in enumerate(people["names"]) if "|" in text][:2]
    wrong = {"anna": "bob", "bob": "cleo", "cleo": "anna"}[people["truth"][ambiguous[0]]]
    chosen = {ambiguous[0]: wrong, ambiguous[1]: "zoe"}
    lines = [f"{row},{people['names'][row]},{label}" for row, label in chosen.items()]
    corrections = io.StringIO("\n".join(["row,candidates,label", *lines]))
    table = read_candidate_table(
        people_csv, candidates="names", exclude=["truth"], checked=corrections
    )
    cleaned = clean_table(table, method)
    assert cleaned.frame["label"][ambiguous].to_list() == [wrong, "zoe"]
    assert cleaned.frame["doubt"][ambiguous].to_list() == [0, 0]
    assert cleaned.frame["suggestion"][ambiguous].isna().all()
    assert set(cleaned.frame["review_rank"][ambiguous]) == {59, 60}
    assert cleaned.choices.margins[ambiguous].tolist() == [1, 1]
    assert cleaned.frame["names"].to_list() == people["names"].to_list()
    assert "zoe" in cleaned.model.classes
    assert cleaned.model.about["corrected rows"] == 2


@pytest.mark.parametrize("name", NEW_COLUMNS)
def test_names_that_are_taken(people, name, monkeypatch):
    table = read_candidate_table(people.assign(**{name: "1"}), candidates="names")

    def too_late(*arguments, **options):
        raise AssertionError("the method was fitted before the names were looked at")

    with monkeypatch.context() as patch:
        patch.setattr("ambilearn.tables.clean.fit_and_judge", too_late)
        with pytest.raises(InvalidFileError, match=f"has a column '{name}' already"):
            clean_table(table)
    cleaned = clean_table(table, "plknn", prefix="new_")
    assert list(cleaned.frame)[-6:] == [f"new_{name}" for name in NEW_COLUMNS]


@pytest.mark.parametrize("method", installed_methods())
@pytest.mark.filterwarnings("ignore:n_neighbors")
def test_a_table_with_one_label(method):
    file = io.StringIO("x,names\n1,a\n2,a\n3,a\n4,a\n")
    cleaned = clean_table(read_candidate_table(file, candidates="names", format="csv"), method)
    assert cleaned.frame["label"].to_list() == ["a"] * 4
    assert cleaned.model.predict(cleaned.table.frame)["label"].to_list() == ["a"] * 4


@pytest.mark.parametrize("method", ["plcl", "plknn", "ipal"])
def test_a_wrong_only_candidate_is_doubted_first_and_the_right_one_suggested(people, method):
    """The score alone never selects such a row: it has one candidate."""
    row = people["names"].eq(people["truth"]).idxmax()
    wrong = {"anna": "bob", "bob": "cleo", "cleo": "anna"}[people["truth"][row]]
    people.loc[row, "names"] = wrong
    table = read_candidate_table(people, candidates="names", exclude=["truth"])
    cleaned = clean_table(table, method)
    assert cleaned.frame["review_rank"][row] <= 3
    assert cleaned.doubt.order[0] == row
    assert cleaned.doubt.other[row] == people["truth"][row]
    assert clean_table(table, method, fast=True).frame["review_rank"][row] > 20


def swap_truths(people, n):
    """The first rows with a single candidate get another one; these rows."""
    rows = np.flatnonzero(people["names"].eq(people["truth"]))[:n]
    other = {"anna": "bob", "bob": "cleo", "cleo": "anna"}
    people.loc[rows, "names"] = people["truth"][rows].map(other)
    return rows


def test_a_label_is_suggested_where_doubt_is_above_one_half(people):
    rows = swap_truths(people, 4)
    cleaned = clean_table(read_candidate_table(people, candidates="names", exclude=["truth"]))
    doubt, suggestion = cleaned.frame["doubt"], cleaned.frame["suggestion"]
    assert doubt.between(0, 1).all()
    assert suggestion.notna().to_list() == (doubt > 0.5).to_list()
    assert 0 < suggestion.notna().sum() < 10
    assert set(rows) & set(np.flatnonzero(suggestion.notna()))
    found = suggestion.notna()
    assert (suggestion[found] == people["truth"][found]).mean() > 0.6


def test_two_rows_leave_nothing_to_hold_out():
    file = io.StringIO("x,names\n1,a\n2,a|b\n")
    table = read_candidate_table(file, candidates="names", format="csv")
    with pytest.warns(UserWarning, match="two rows are too few to compute doubt"):
        cleaned = clean_table(table, params={"n_neighbors": 1})
    assert cleaned.doubt is None
    assert list(cleaned.frame)[-6:] == NEW_COLUMNS
    assert cleaned.frame[["doubt", "suggestion"]].isna().all(axis=None)


def test_doubt_in_answers_comes_from_the_judged_annotators():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 90)
    right = np.array(list("pqr"))[truth]
    frame = pd.DataFrame({"x": truth * 3 + rng.normal(size=90) / 2, "a": right, "b": right})
    frame["c"] = np.where(rng.random(90) < 0.3, "p", right)
    row = int(np.flatnonzero(truth == 2)[0])
    frame.loc[row, ["a", "b", "c"]] = ["p", "p", "p"]
    table = read_candidate_table(frame, candidates=["a", "b", "c"])
    judged = judge_table(table)
    cleaned = clean_table(judged.table)
    posterior, answers = judged.table.judged, table.candidates.to_mask()
    answers[np.arange(90), posterior.argmax(axis=1)] = 1
    np.testing.assert_allclose(cleaned.doubt.score, (posterior * (1 - answers)).sum(axis=1))
    assert cleaned.frame["label"][row] == "r" or cleaned.frame["review_rank"][row] < 5
    assert (cleaned.frame["doubt"] + cleaned.frame["confidence"] <= 1 + 1e-6).all()
    assert np.argmin(cleaned.frame["confidence"]) == cleaned.order[0]


@pytest.fixture(scope="module")
def digits():
    """A table with 40 rows of a single candidate, on which PL-KNN's scores are too low."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(y))[:200]
    frame = pd.DataFrame(X[rows][:, 5:60:3]).add_prefix("x")
    sets = [{str(y[i]), *map(str, rng.integers(10, size=3))} for i in rows]
    sets[:40] = [{str(y[i])} for i in rows[:40]]
    frame["names"] = ["|".join(sorted(each)) for each in sets]
    frame["truth"] = y[rows].astype(str)
    return frame


def read_digits(frame, checked=None):
    return read_candidate_table(frame, candidates="names", exclude=["truth"], checked=checked)


@pytest.fixture(scope="module")
def calibrated(digits):
    return clean_table(read_digits(digits), "plknn")


def test_confidence_is_filled_where_it_is_calibrated(digits, calibrated):
    frame, calibration = calibrated.frame, calibrated.model.calibration
    assert "too low on the 40 rows with a single candidate" in calibration.reason
    assert frame["confidence"].between(0, 1).all()
    several = digits["names"].str.contains(r"\|")
    np.testing.assert_allclose(frame["confidence"][~several], 1 - frame["doubt"][~several])
    assert (frame["confidence"] + frame["doubt"] <= 1 + 1e-6).all()
    right = (frame["label"] == digits["truth"])[several].mean()
    errors = (abs(frame[name][several].mean() - right) for name in ("confidence", "score"))
    assert next(errors) < next(errors)
    new = calibrated.model.predict(digits)
    assert new["confidence"].between(0, 1).all()
    assert (new["confidence"] > new["score"]).mean() > 0.9


def test_calibration_changes_neither_labels_nor_scores(digits, calibrated):
    plain = clean_table(read_digits(digits), "plknn", fast=True)
    assert plain.model.calibration.reason == "not computed with fast (--fast)"
    assert plain.frame["confidence"].isna().all()
    assert plain.model.predict(digits)["confidence"].isna().all()
    # Without doubt, rows come in the order of their margin alone.
    columns = ["names", "label", "score"]
    pd.testing.assert_frame_equal(plain.frame[columns], calibrated.frame[columns])


def test_confidence_is_empty_if_it_cannot_be_calibrated(table):
    cleaned = clean_table(table, "plknn")
    assert cleaned.frame["confidence"].isna().all()
    assert cleaned.frame["score"].notna().all()
    assert cleaned.model.calibration.reason.startswith("only 16 rows with a single candidate")


def test_corrected_rows_are_no_check_of_the_scores(digits, tmp_path):
    """A person chose which rows to correct, so they are not like the others."""
    path = tmp_path / "corrections.csv"
    lines = [f"{i},{digits['names'][i]},{digits['truth'][i]}" for i in range(25, 60)]
    path.write_text("\n".join(["row,candidates,label", *lines]), encoding="utf-8")
    model = fit_table(read_digits(digits, path), "plknn")
    assert "on the 25 rows" in model.calibration.reason


def test_a_notebook_shows_the_rows_to_look_at_first(table):
    cleaned = clean_table(table, "plknn")

    def rows(shown):
        lines = re.findall(r"<tr>(.*?)</tr>", shown._repr_html_())
        return [re.findall(r"<t[hd]>(.*?)</t[hd]>", line) for line in lines]

    heading, *first = rows(cleaned)
    assert heading[:3] == ["row", "names", "label"]
    assert [int(row[0]) for row in first] == cleaned.order[:10].tolist()
    assert [row[2] for row in first] == cleaned.choices.labels[cleaned.order[:10]].tolist()
    assert cleaned._repr_html_().startswith(f"<p>{repr(cleaned).strip('<>')}</p>")
    assert repr(cleaned).startswith("<CleanedTable ")
    assert repr(cleaned).endswith("people.csv: 60 rows, 5 features, 3 labels>")
    assert [int(row[0]) for row in rows(cleaned.doubt)[1:]] == cleaned.doubt.order[:10].tolist()
    sets = cleaned.table.candidates
    assert rows(sets)[1] == ["0", ", ".join(map(str, sets[0]))]
    assert len(rows(sets)) == 11


@pytest.mark.parametrize(("method", "params"), [("forest", {"max_iter": 2}), ("plknn", {})])
def test_outputs_that_are_held_out_already_need_no_other_fit(people, monkeypatch, method, params):
    table = read_candidate_table(people, candidates="names", exclude=["truth"])
    cls = METHODS[method].load()
    fits, fit = [], cls._fit
    monkeypatch.setattr(cls, "_fit", lambda self, *rows: fits.append(1) or fit(self, *rows))
    cleaned = clean_table(table, method, params)
    assert len(fits) == 1
    assert cleaned.doubt is not None
    given = find_doubtful(
        cleaned.model.pipeline[:-1].transform(table.X),
        table.candidates,
        estimator=cleaned.model.method,
    )
    np.testing.assert_allclose(cleaned.doubt.score, given.score, atol=1e-9)
