"""Audits of tables with labels: only drawn rows count, and all rows get a confidence."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

from ambilearn.confidence import draw_audit
from ambilearn.datasets import InvalidFileError
from ambilearn.tables import audit_table, compare_tables


@pytest.fixture(scope="module")
def frame():
    """600 rows; the scores are too high."""
    rng = np.random.default_rng(0)
    score = rng.random(600) * 0.5 + 0.5
    truth = np.where(rng.random(600) < score - 0.2, "cat", "dog")
    return pd.DataFrame({"label": "cat", "score": score, "truth": truth})


def test_share_and_confidences(frame):
    audited = audit_table(frame, "truth", n_rows=150)
    share = (frame["truth"] == "cat").mean()
    assert audited.share.low < share < audited.share.high
    assert audited.share.n_checked == 150
    rest = np.delete(np.arange(600), audited.rows)
    assert abs(audited.frame["confidence"][rest].mean() - share) < 0.08
    assert abs(audited.frame["score"][rest].mean() - share) > 0.12
    right = (frame["truth"] == "cat")[audited.rows].to_numpy()
    np.testing.assert_array_equal(audited.right, right)
    np.testing.assert_array_equal(audited.frame["confidence"][audited.rows], right)


def test_a_mapping_of_the_drawn_rows_is_the_same_as_a_column(frame):
    rows = draw_audit(frame["score"], 50, 3).rows.tolist()
    truth = {row: frame["truth"][row] for row in rows}
    by_rows = audit_table(frame, truth, n_rows=50, random_state=3)
    by_column = audit_table(frame, "truth", n_rows=50, random_state=3)
    pd.testing.assert_frame_equal(by_rows.frame, by_column.frame)
    assert by_rows.share == by_column.share


def test_rows_that_were_not_drawn_do_not_count(frame):
    drawn = draw_audit(frame["score"], 50).rows.tolist()
    others = [row for row in range(600) if row not in drawn]
    truth = {row: frame["truth"][row] for row in drawn}
    wrong = truth | dict.fromkeys(others, "dog")
    audited, plain = (audit_table(frame, labels, n_rows=50) for labels in (wrong, truth))
    assert audited.share == plain.share
    assert (audited.n_ignored, plain.n_ignored) == (550, 0)
    with pytest.raises(InvalidFileError, match="known for none of the 50 drawn rows"):
        audit_table(frame, dict.fromkeys(others, "dog"), n_rows=50)


@pytest.mark.parametrize("n_unknown", [0, 1, 4, 5])
def test_strata_without_a_true_label(frame, n_unknown):
    """A warning if they are less than half of the ten strata, otherwise an error."""
    drawn = draw_audit(frame["score"], 50)
    known = [row for row in drawn.rows.tolist() if drawn.strata[row] >= n_unknown]
    truth = {row: frame["truth"][row] for row in known}
    if n_unknown == 5:
        message = r"known for 25 of the 50 drawn rows, too few .*others, too\.$"
        with pytest.raises(InvalidFileError, match=message):
            audit_table(frame, truth, n_rows=50)
        return
    expected = f"in {n_unknown} of 10 ranges of the score, no drawn row has .* other ranges\\.$"
    with pytest.warns(UserWarning, match=expected) if n_unknown else nullcontext():
        audited = audit_table(frame, truth, n_rows=50)
    full = audit_table(frame, "truth", n_rows=50)
    assert audited.share.n_checked == 50 - 5 * n_unknown
    widths = [share.high - share.low for share in (full.share, audited.share)]
    assert (widths[0] < widths[1]) == (n_unknown > 0)
    assert audited.share.low < np.mean(frame["truth"] == frame["label"]) < audited.share.high


def test_true_labels_of_another_draw_are_not_used(frame):
    truth = {row: frame["truth"][row] for row in draw_audit(frame["score"], 50).rows.tolist()}
    with pytest.raises(
        InvalidFileError, match=r"true labels are not used.*--rows and --seed those"
    ):
        audit_table(frame, truth, n_rows=50, random_state=1)


def test_a_column_that_holds_no_true_labels_gives_a_warning(frame):
    numbered = frame.assign(number=[f"row {i}" for i in range(600)])
    with pytest.warns(UserWarning, match="no true label, such as 'row 0', occurs in the column"):
        audited = audit_table(numbered, "number")
    assert audited.share.high < 0.05


def test_an_existing_confidence_is_replaced_and_the_table_stays(frame):
    before = frame.assign(confidence=0.1, other="x")
    audited = audit_table(before, "truth").frame
    assert list(audited) == list(before)
    assert (before["confidence"] == 0.1).all()
    assert audited["confidence"].nunique() > 50


@pytest.mark.parametrize(
    ("labels", "truth"),
    [([1, 2] * 20, ["1.0", "2.0"] * 20), ([1.0, 2.0] * 20, [1, 2] * 20), (["é "] * 40, ["é"] * 40)],
)
def test_labels_are_compared_as_text(labels, truth):
    frame = pd.DataFrame({"label": labels, "score": 0.5, "truth": truth})
    assert audit_table(frame, "truth", n_rows=20).share.share == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"score": "high"},
            "column 'score', row 0: expected a score between 0 and 1, found 'high'",
        ),
        ({"score": 1.5}, "found 1.5. Name another column with --score"),
        ({"score": None}, "expected a score between 0 and 1, found None"),
        ({"label": ""}, "column 'label', row 0: the label is missing"),
    ],
)
def test_rejects(frame, changes, message):
    with pytest.raises(InvalidFileError, match=message):
        audit_table(frame.assign(**changes), "truth")
    with pytest.raises(InvalidFileError, match="'names'"):
        audit_table(frame, "names")


def test_decimal_comma(frame):
    text = frame.assign(score=frame["score"].map(lambda score: f"{score:.17g}".replace(".", ",")))
    assert audit_table(text, "truth", decimal=",").share == audit_table(frame, "truth").share


@pytest.mark.parametrize("word", ["", "NA", "nan", "?"])
def test_words_for_missing_are_not_true_labels(frame, word):
    """They were counted as wrong labels: 48.3 % correct where empty cells gave 96.0 %."""
    half = frame.assign(truth=frame["truth"].where(np.arange(600) % 2 == 0, word))
    audited, empty = (
        audit_table(each, "truth", n_rows=100) for each in (half, half.replace(word, None))
    )
    assert audited.share == empty.share
    assert audited.share.n_checked < 100


def test_a_word_for_missing_that_is_a_label_is_a_true_label(frame):
    countries = frame.replace({"cat": "NA", "dog": "ZA"})
    assert audit_table(countries, "truth").share == audit_table(frame, "truth").share


def test_the_score_has_the_prefix_of_the_label(frame):
    both = frame.rename(columns={"label": "n_label", "score": "n_score"}).assign(score=0.5)
    audited = audit_table(both, "truth", label="n_label")
    np.testing.assert_array_equal(audited.scores, frame["score"])


@pytest.mark.parametrize("rows", [slice(None, None, -1), slice(300)], ids=["order", "rows"])
def test_compared_tables_have_the_same_rows(frame, rows):
    with pytest.raises(InvalidFileError, match="rows of the audited table in the same order"):
        compare_tables(audit_table(frame, "truth"), frame[rows])
