import pytest

from ambilearn.experiments.search import DEFAULT_SEARCH, parse_search


def test_ways_to_search():
    assert parse_search("random:20") == {
        "kind": "random",
        "points": 20,
        "scoring": "covering",
    }
    assert parse_search("halving:8", "approximated") == {
        "kind": "halving",
        "points": 8,
        "scoring": "approximated",
    }
    assert parse_search("grid")["points"] is None
    assert parse_search(DEFAULT_SEARCH)["points"] == 16


@pytest.mark.parametrize("text", ["", "random", "grid:5", "halving:0", "random:x", "best:3"])
def test_errors_name_the_mistake(text):
    with pytest.raises(ValueError, match=r"(The search must be|number of points)"):
        parse_search(text)


def test_a_scoring_that_does_not_exist_is_rejected():
    with pytest.raises(ValueError, match="covering, approximated; got 'accuracy'"):
        parse_search("grid", "accuracy")
