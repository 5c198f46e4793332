"""What a page may send."""

import pytest

from ambilearn.review.actions import Answer, InvalidActionError, Skip, Undo, parse_action


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
