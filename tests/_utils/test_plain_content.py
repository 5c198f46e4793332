"""Content of files against the form that is expected of it."""

import pytest

from ambilearn._utils.plain_content import check_content

FORM = {
    "title": str,
    "runs?": int,
    "share?": float,
    "quick?": bool,
    "data": [str],
    "methods?": [(str, {"label": str})],
    "score?": (type(None), float),
    "params?": {"*": object},
}
RIGHT = {"title": "a", "data": ["iris"]}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"runs": 3, "share": 0.5, "quick": True},
        {"share": 1},
        {"data": []},
        {"methods": ["plcl", {"label": "x"}]},
        {"score": None},
        {"score": 0.5},
        {"params": {"a": [1], "b": None, "c": True}},
    ],
)
def test_valid_content_passes(more):
    check_content(RIGHT | more, FORM)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"title": 7}, "title must be text, not 7."),
        ({"data": "iris"}, "data must be a list, not 'iris'."),
        ({"data": ["iris", {}]}, r"data\[1\] must be text, not {}."),
        ({"runs": "x"}, "runs must be a whole number, not 'x'."),
        ({"runs": 2.5}, "runs must be a whole number, not 2.5."),
        ({"runs": True}, "runs must be a whole number, not True."),
        ({"share": "half"}, "share must be a number"),
        ({"share": float("nan")}, "share must be a number, not nan."),
        ({"share": 10**400}, "share must be a number, not 1000.*…."),
        ({"share": False}, "share must be a number"),
        ({"quick": 1}, "quick must be true or false, not 1."),
        ({"methods": [3]}, r"methods\[0\] must be a table of names and values, not 3."),
        ({"methods": [{}]}, r"'methods\[0\].label' is missing."),
        (
            {"methods": [{"label": "a", "x": 1}]},
            r"'methods\[0\].x' is not a known name. .*: label.",
        ),
        ({"score": "high"}, "score must be a number, not 'high'."),
        ({"params": []}, "params must be a table of names and values"),
        ({"extra": 1}, "'extra' is not a known name. Known names: title, runs, share"),
    ],
)
def test_errors_name_the_place(more, message):
    with pytest.raises(ValueError, match=message):
        check_content(RIGHT | more, FORM)


def test_missing_entries_are_named():
    with pytest.raises(ValueError, match="'data' is missing"):
        check_content({"title": "a"}, FORM)


@pytest.mark.parametrize("content", [None, [], "text", 3])
def test_the_top_level_can_be_any_form(content):
    with pytest.raises(ValueError, match="It must be a table of names and values"):
        check_content(content, FORM)
