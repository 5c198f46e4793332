"""A served review from a user's table."""

from dataclasses import replace
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from annotators import item_names, make_crowd

from ambilearn.review import ReviewSession
from ambilearn.review.from_table import JudgedTable, Layout, review_from_table
from ambilearn.review.images import ServedImages
from ambilearn.review.journal import replay
from ambilearn.review.learner import make_learner
from ambilearn.review.service import _pairs_of_page, label_parser
from ambilearn.tables import Corrections, clean_table, judge_table, read_candidate_table
from ambilearn.tables.ranking import choose_candidates


@pytest.fixture(scope="module")
def table():
    lines = ["x,names,photo"]
    for i in range(12):
        own, other = ("anna", "bob") if i % 2 else ("bob", "anna")
        lines.append(f"{i % 2 * 5 + i / 20},{own}|{other},https://evil.example/{i}.png")
    return read_candidate_table(
        StringIO("\n".join(lines)), candidates="names", exclude=["photo"], format="csv"
    )


def make_page(table, *layout):
    """What a served page shows before the fit."""
    return review_from_table(JudgedTable.of_sets(table, "PL-KNN"), *layout)


def test_labels_are_read_as_corrections_are():
    parse = label_parser(np.array([1, 2, 10]))
    assert parse("10") == 10
    assert parse("7") == 7
    with pytest.raises(ValueError, match="cannot be a label, because the labels"):
        parse("seven")
    parse = label_parser(np.array(["a", "b|c"]))
    assert parse(" seven\u200b") == "seven"
    assert parse("b|c") == "b|c"
    for text in ("b|a", " ", "half \ud800"):
        with pytest.raises(ValueError, match="label"):
            parse(text)


def test_parameters_are_chosen_once(table):
    learner = make_learner(table, "plknn", {}, tune=True)
    assert learner.n_rows == 12
    assert ReviewSession(learner, labels={0: "zoe"}).transduction_[0] == "zoe"


def test_trusted_candidates_are_not_doubted_and_have_the_order_of_clean(table):
    session = ReviewSession(make_learner(table, "plcl", {}, trust_candidates=True))
    assert not session.results_.doubt.score.any()
    cleaned = clean_table(table, "plcl", trust_candidates=True)
    np.testing.assert_array_equal(session.results_.order, cleaned.order)
    session.settle(0, "bob")
    assert not session.results_.doubt.score.any()


def test_random_rows_that_the_order_had_reached_are_reviewed():
    entry = {"kind": "answer", "random": True, "found": {}}
    entries = [
        entry | {"id": "a", "labels": {"0": "bob"}},
        entry | {"id": "b", "labels": {"1": "bob"}, "released": [0]},
    ]
    assert [step["random"] for step in replay(entries).steps] == [False, True]


def test_images_of_other_hosts_are_not_shown(table, tmp_path):
    images = ServedImages(tmp_path, tmp_path)
    page = make_page(table, Layout("photo", images))
    assert {row.image for row in page.rows} == {None}
    assert {row.image_problem for row in page.rows} == {"on another host"}
    assert images.paths == []


def test_images_outside_of_the_folder_are_not_shown(tmp_path):
    (tmp_path / "secret.png").write_bytes(b"x")
    folder = tmp_path / "table"
    folder.mkdir()
    (folder / "a.png").write_bytes(b"x")
    images = ServedImages(folder, folder)
    cells = ["a.png", "../secret.png", str(tmp_path / "secret.png"), "data:image/png;base64,AA=="]
    shown = [images.find(cell) for cell in cells]
    assert [each.address for each in shown] == ["image/0", None, None, cells[3]]
    assert images.paths == [folder / "a.png"]


@pytest.fixture(scope="module")
def judged():
    X, _, answers = make_crowd(n=40)
    items = pd.DataFrame({"item": item_names(40), "x0": X[:, 0], "x1": X[:, 1], "x2": X[:, 2]})
    read = read_candidate_table(answers, features_from=items)
    return judge_table(read, "plknn").table


def test_a_review_of_answers_begins_with_the_result_of_clean(judged):
    cleaned = clean_table(judged, "plknn")
    page = make_page(judged)
    assert page.calibrated
    session = ReviewSession(make_learner(judged, "plknn", {}))
    choices = session.results_.choices
    assert choices.labels.tolist() == cleaned.choices.labels.tolist()
    np.testing.assert_allclose(choices.scores, cleaned.choices.scores)
    pairs = np.append(session.results_.confidences, 0.0)[_pairs_of_page(page, session.sets)]
    shown = [confidence for row in page.rows for _, confidence in row.ranked()]
    np.testing.assert_allclose(pairs, shown)
    session.settle(0, "zoe")
    session.update()
    sums = np.add.reduceat(session.results_.confidences, session.sets.indptr[:-1])
    assert (sums[1:] < 1 - 1e-9).any()  # labels that nobody chose keep their share
    session.learn()
    corrected = replace(judged, candidates=judged.given, corrections=Corrections({0: "zoe"}))
    again = judge_table(corrected, "plknn").table
    kept = again.score_candidates(None)
    np.testing.assert_allclose(
        session.results_.choices.scores[1:],
        choose_candidates(again.candidates, kept).scores[1:],
    )


def test_annotators_are_judged_anew_in_every_fit(judged):
    learner = make_learner(judged, "plknn", {})
    given = judged.given.to_sets()
    assert all(a <= b for a, b in zip(given, learner.shown.to_sets(), strict=True))
    session = ReviewSession(learner)
    before = session.score_.copy()
    session.settle(0, "zoe")
    session.learn()
    assert session.transduction_[0] == "zoe"
    assert len(before) == len(session.score_)
    assert len(make_page(judged).rows) == 40


def test_answers_are_for_the_rows_that_were_read(table):
    answered = table.with_checked({0: "anna", 3: "zoe"})
    assert answered.candidates.to_sets()[0] == {"anna"}
    assert answered.corrections == Corrections({0: "anna", 3: "zoe"}, ["zoe"])
    assert table.candidates.to_sets()[0] == {"anna", "bob"}
