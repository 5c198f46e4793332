"""Journal, session and page stay in step."""

import base64
import json
import threading
import time

import numpy as np
import pytest

from ambilearn.review import ReviewSession
from ambilearn.review.service import (
    Answer,
    InvalidActionError,
    MissingPartsError,
    OtherTabError,
    Part,
    Skip,
    Undo,
    parse_action,
)


def numbers(text, kind):
    return np.frombuffer(base64.b64decode(text), dtype=kind)


@pytest.fixture
def served(make_served):
    return make_served(random_share=0.2)


def test_an_answer_is_in_the_journal_before_it_is_confirmed(served):
    reply = served.service.act("a", Answer("x1", {3: "anna"}))
    assert reply == {"n": 1}
    last = json.loads(served.journal.path.read_bytes().splitlines()[-1])
    assert (last["n"], last["id"], last["labels"]) == (1, "x1", {"3": "anna"})
    assert served.service.answers.labels == {3: "anna"}


def test_an_answer_that_is_sent_twice_counts_once(served):
    for _ in range(3):
        assert served.service.act("a", Answer("x1", {3: "anna"})) == {"n": 1}
    served.service.act("a", Undo("x2", "x1"))
    served.service.act("a", Undo("x2", "x1"))
    served.service.act("a", Answer("x1", {3: "anna"}))  # a late copy
    assert served.service.answers.labels == {}
    assert len(served.journal.entries) == 2


def test_only_the_last_answer_is_undone(served):
    served.service.act("a", Answer("x1", {3: "anna"}))
    served.service.act("a", Answer("x2", {4: "bob", 5: "bob"}))
    with pytest.raises(InvalidActionError, match="last answer"):
        served.service.act("a", Undo("x3", "x1"))
    served.service.act("a", Undo("x3", "x2"))
    assert served.service.answers.labels == {3: "anna"}


def test_wrong_answers_change_nothing(served):
    for action in (
        Answer("x", {99: "anna"}),
        Answer("x", {3: "anna", -1: "bob"}),
        Answer("x", {3: "  "}),
        Answer("x", {3: "new|label"}),
        Answer("x", {3: "half \ud800 character"}),
        Skip("x", 30),
        Undo("x", "y"),
    ):
        with pytest.raises(InvalidActionError):
            served.service.act("a", action)
    assert served.journal.entries == []
    assert served.service.answers.labels == {}
    with pytest.raises(InvalidActionError, match="a character that cannot be written to a file"):
        served.service.act("a", Answer("x", {3: "half \ud800 character"}))


def test_a_full_disk_changes_nothing(served, monkeypatch):
    def fail(entry):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(served.journal, "append", fail)
        with pytest.raises(OSError, match="No space"):
            served.service.act("a", Answer("x1", {3: "anna"}))
    assert served.service.answers.labels == {}
    served.service.act("a", Answer("x1", {3: "anna"}))
    assert served.service.answers.labels == {3: "anna"}


def test_the_state_has_the_order_and_the_confidences_of_the_session(served):
    served.wait()
    state = served.service.state("a")
    order = numbers(state["order"], "<i4")
    assert sorted(order) == list(range(30))
    same = ReviewSession(served.learner, random_share=0.2)
    rows, drawn = same.next_and_random(30)
    assert order.tolist() == rows
    assert set(drawn) <= set(state["drawn"])
    confidences = numbers(state["confidences"], "<u2") / 65535
    sets = served.learner.sets.to_sets()
    sums = np.add.reduceat(confidences, np.r_[0, np.cumsum([len(s) for s in sets])[:-1]])
    np.testing.assert_allclose(sums, 1, atol=1e-4)
    doubtful, classes, percent = (numbers(part, "<i4") for part in state["suggestions"])
    assert (percent > 50).all()
    names = {row: served.review.classes[j] for row, j in zip(doubtful, classes, strict=True)}
    suggestion = same.suggestion_
    assert names == {row: suggestion[row] for row in range(30) if suggestion[row] is not None}
    assert state["labels"] == [] == state["steps"]
    assert state["has_update"]


def test_a_state_comes_when_something_has_changed(served):
    token = served.service.state("a")["token"]
    served.service.act("a", Answer("x1", {3: "cleo"}))
    state = served.service.state("a", since=token, full=True)
    assert state["token"] != token
    assert state["n_settled"] == 1
    (settled,) = state["labels"]
    assert settled[:2] == [3, "cleo"]
    assert state["steps"] == [["x1", [[3, None]]]]


def test_a_state_names_the_rows_whose_answers_it_has(served):
    def settled():
        served.wait()
        return numbers(served.service.state("a")["settled"], "<i4").tolist()

    (drawn, *_) = served.service.state("a")["drawn"]
    used = next(row for row in range(30) if row not in served.session.view.drawn)
    assert settled() == []
    served.service.act("a", Answer("x1", {used: "anna"}))
    served.service.act("a", Answer("x2", {drawn: "anna"}))
    assert settled() == [used]  # the other one is held back
    served.service.act("a", Undo("x3", "x2"))
    served.service.act("a", Undo("x4", "x1"))
    assert settled() == []


def test_a_row_drawn_at_random_is_noted_in_the_journal(served):
    drawn = served.service.state("a")["drawn"]
    served.service.act("a", Answer("x1", {drawn[0]: "anna"}))
    others = [row for row in range(30) if row not in drawn]
    served.service.act("a", Answer("x2", {others[0]: "anna"}))
    served.service.act("a", Answer("x3", {drawn[1]: "anna", others[1]: "anna"}))
    assert [entry["random"] for entry in served.journal.entries] == [True, False, False]


def test_only_rows_that_the_page_marks_are_random_in_the_journal(served):
    before = served.service.state("a")["drawn"]
    assert len(before) == 6  # every fifth of 30 rows
    others = [row for row in range(30) if row not in before][:5]
    for row in others:
        served.service.act("a", Answer(f"x{row}", {row: "anna"}))
    served.wait()
    now = served.service.state("a")["drawn"]
    assert len(now) == 5  # every fifth of 25 rows
    for row in before:
        served.service.act("a", Answer(f"y{row}", {row: "anna"}))
        assert served.journal.entries[-1]["random"] == (row in now)


def test_a_random_row_stays_random_when_it_is_skipped(served):
    drawn = served.service.state("a")["drawn"][0]
    served.service.act("a", Skip("x1", drawn))
    served.wait()
    assert drawn in served.service.state("a")["drawn"]
    served.service.act("a", Answer("x2", {drawn: "anna"}))
    assert served.journal.entries[-1]["random"]


def test_a_random_row_that_the_order_has_reached_stays_reviewed_after_a_restart(make_served):
    first = make_served(random_share=0.2)
    drawn = first.service.state("a")["drawn"][-2:]
    for i, row in enumerate(drawn):
        first.service.act("a", Answer(f"x{i}", {row: "anna"}))
    first.wait(lambda now: now.n_random == 2)
    others = [row for row in range(30) if row not in drawn]
    first.service.act("a", Answer("x2", dict.fromkeys(others, "anna")))  # the order reaches them
    first.wait(lambda now: now.released == set(drawn))
    first.service.act("a", Answer("x3", {drawn[0]: "bob"}))
    assert first.journal.entries[-1]["released"] == sorted(drawn)
    first.service.act("a", Undo("x4", "x3"))
    assert "released" not in first.journal.entries[-1]
    first.close()
    again = make_served(random_share=0.2)
    again.wait()
    assert again.session.progress.n_random == 0


def test_a_second_tab_is_rejected_until_it_takes_over_or_the_first_is_closed(served):
    assert served.service.state("a")["writer"]
    assert not served.service.state("b")["writer"]
    with pytest.raises(OtherTabError):
        served.service.act("b", Answer("x1", {3: "anna"}))
    served.service.take_over("b")
    served.service.act("b", Answer("x1", {3: "anna"}))
    assert not served.service.state("a", "old")["writer"]
    served.service.leave("b")
    assert served.service.state("a", "old")["writer"]


def test_a_tab_that_is_silent_for_long_is_gone(make_served):
    served = make_served()
    now = [0.0]
    served.service._clock = lambda: now[0]
    served.service.state("a")
    assert not served.service.state("b")["writer"]
    now[0] = 31.0
    assert served.service.state("b")["writer"]


def test_after_the_end_nothing_is_accepted(served):
    served.service.end()
    with pytest.raises(InvalidActionError, match="ended"):
        served.service.act("a", Answer("x1", {3: "anna"}))
    assert served.service.state("a", "old")["ended"]


def test_started_again_it_continues(make_served):
    first = make_served(random_share=0.2)
    first.service.state("a")
    first.service.act("a", Answer("x1", {3: "cleo"}))
    first.service.act("a", Skip("x2", 7))
    first.service.act("a", Answer("x3", {4: "bob", 5: "zoe"}))
    first.service.act("a", Answer("x4", {4: None}))
    first.service.act("a", Undo("x5", "x4"))
    first.close()
    again = make_served(random_share=0.2)
    assert again.service.answers.labels == {3: "cleo", 4: "bob", 5: "zoe"}
    state = again.service.state("a")
    assert numbers(state["order"], "<i4").tolist().index(7) == 26  # the last that is not settled
    assert [name for name, _ in state["steps"]] == ["x1", "x3"]
    found = {row: label for row, _, label in state["labels"]}
    assert found[3] == first.service.answers.found[3]
    assert again.service.act("a", Answer("x3", {4: "anna"})) == {"n": 5}  # known
    again.service.act("a", Undo("x6", "x3"))
    assert again.service.answers.labels == {3: "cleo"}


def test_a_large_answer_comes_in_parts(served):
    with pytest.raises(MissingPartsError):
        served.service.collect(Part("x1", {5: "anna"}, 1))
    with pytest.raises(MissingPartsError):
        served.service.act("a", Answer("x1", {3: "anna"}, 2))
    for number, row in enumerate([4, 5]):
        served.service.collect(Part("x1", {row: "bob"}, number))
    with pytest.raises(MissingPartsError):
        served.service.act("a", Answer("x1", {3: "anna"}, 1))
    assert served.journal.entries == []
    assert served.service.act("a", Answer("x1", {3: "anna"}, 2)) == {"n": 1}
    assert served.service.answers.labels == {3: "anna", 4: "bob", 5: "bob"}
    assert served.service.act("a", Answer("x1", {3: "anna"}, 2)) == {"n": 1}  # sent again
    served.service.act("a", Undo("x2", "x1"))
    assert served.service.answers.labels == {}


def test_a_state_never_has_half_of_an_answer(served, monkeypatch):
    """The full state was read between the name of an answer and its labels."""
    record, found = served.service.answers.record, []

    def slow(*arguments, **options):
        thread = threading.Thread(
            target=lambda: found.append(served.service.state("a", "old", full=True))
        )
        thread.start()
        thread.join(0.2)  # it waits for the answer
        record(*arguments, **options)

    monkeypatch.setattr(served.service.answers, "record", slow)
    served.service.act("a", Answer("x1", {3: "anna"}))
    for _ in range(600):
        if found:
            break
        time.sleep(0.1)
    (state,) = found
    assert [len(state["labels"]), len(state["steps"])] == [1, 1]


def test_the_page_shows_that_the_journal_was_changed(served):
    served.service.act("a", Answer("x1", {3: "anna"}))
    assert served.service.state("a")["notice"] is None
    served.journal.path.unlink()
    served.service.act("a", Answer("x2", {4: "anna"}))
    assert "was removed by another program" in served.service.state("a")["notice"]


def test_similar_rows_are_not_random_and_settled_in_one_step(served):
    served.wait()
    drawn = set(served.service.state("a")["drawn"])
    row = next(row for row in range(30) if row not in drawn)
    similar = served.service.similar_rows(row)
    assert len(similar) == 30 - len(drawn) - 1
    assert not drawn & {row, *similar}
    served.service.act("a", Answer("x1", dict.fromkeys([row, *similar[:3]], "anna")))
    assert not served.journal.entries[-1]["random"]
    served.service.act("a", Undo("x2", "x1"))
    assert served.service.answers.labels == {}
    with pytest.raises(InvalidActionError, match="There is no row 30"):
        served.service.similar_rows(30)


def test_similar_rows_are_unknown_after_the_end_of_the_session(served, monkeypatch):
    monkeypatch.setattr("ambilearn.review.process._PATIENCE", 0.1)
    served.session.end()
    assert served.service.similar_rows(3) == []


# --- what a page may send -------------------------------------------------------------------------


def test_actions_are_read():
    assert parse_action({"id": "a", "kind": "answer", "labels": [[3, "x"], [4, None]]}) == Answer(
        "a", {3: "x", 4: None}
    )
    assert parse_action({"id": "b", "kind": "undo", "of": "a"}) == Undo("b", "a")
    assert parse_action({"id": "c", "kind": "skip", "row": 0}) == Skip("c", 0)


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        "answer",
        {},
        {"id": "", "kind": "undo", "of": "a"},
        {"id": "a" * 65, "kind": "undo", "of": "a"},
        {"id": "a\n", "kind": "undo", "of": "a"},
        {"id": 3, "kind": "undo", "of": "a"},
        {"id": "a", "kind": "delete"},
        {"id": "a", "kind": "undo"},
        {"id": "a", "kind": "skip", "row": "3"},
        {"id": "a", "kind": "skip", "row": True},
        {"id": "a", "kind": "answer"},
        {"id": "a", "kind": "answer", "labels": [[3, "x"]], "parts": "1"},
        {"id": "a", "kind": "answer", "labels": []},
        {"id": "a", "kind": "answer", "labels": {"3": "x"}},
        {"id": "a", "kind": "answer", "labels": [[3]]},
        {"id": "a", "kind": "answer", "labels": [["3", "x"]]},
        {"id": "a", "kind": "answer", "labels": [[3.5, "x"]]},
        {"id": "a", "kind": "answer", "labels": [[3, 7]]},
        {"id": "a", "kind": "answer", "labels": [[3, "x" * 100_001]]},
    ],
)
def test_anything_else_is_rejected(content):
    with pytest.raises(InvalidActionError):
        parse_action(content)
