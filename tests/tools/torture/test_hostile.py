"""Edits of bytes and of JSON do what they say, the same way each time."""

import json
import os

import pytest
from torture.hostile import EXECUTABLE, PICKLE, edit_bytes, edit_json
from torture.oracle import CANARY

CONTENT = bytes(range(100))


@pytest.mark.parametrize(
    ("what", "length"),
    [("flip", 100), ("set", 100), ("delete", 92), ("cut", 49), ("word", 100)],
)
def test_bytes_are_edited_at_the_given_position(what, length):
    edited = edit_bytes(CONTENT, [(what, 490_000, 7)])
    assert len(edited) == length
    assert edited[:49] == CONTENT[:49]
    assert edited != CONTENT
    assert edited == edit_bytes(CONTENT, [(what, 490_000, 7)])


@pytest.mark.parametrize("what", ["insert", "repeat"])
def test_bytes_are_added(what):
    edited = edit_bytes(CONTENT, [(what, 0, 200)])
    assert len(edited) > 100
    assert edited.endswith(CONTENT)


def test_no_edits_keep_the_content():
    for where in (0, 10**6):
        for what in ("flip", "set", "delete", "insert", "repeat", "cut", "word"):
            assert isinstance(edit_bytes(b"", [(what, where, 3)]), bytes)


def test_json_is_edited_where_the_steps_lead():
    content = {"a": [1, {"b": 2}], "c": 3}
    copy = json.loads(json.dumps(content))
    assert edit_json(copy, [([0, 1, 0], "replace", "x")]) == {"a": [1, {"b": "x"}], "c": 3}
    assert edit_json(copy, [([1], "remove", None)]) == {"a": [1, {"b": "x"}]}
    assert edit_json({}, [([1], "remove", None)]) == {}


def test_hostile_content_would_make_the_canary():
    assert all(str(CANARY) in text for text in EXECUTABLE[:6])
    assert str(CANARY).encode() in PICKLE


@pytest.mark.skipif(os.name != "posix", reason="the pickle calls a shell of Unix")
def test_the_pickle_is_loaded_by_a_loader_that_executes(tmp_path, monkeypatch):
    import pickle

    monkeypatch.chdir(tmp_path)
    name = str(tmp_path / "canary").encode()
    pickle.loads(PICKLE.replace(str(CANARY).encode(), name))
    assert (tmp_path / "canary").exists()
