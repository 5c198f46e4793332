import pytest

from ambilearn._utils.text import (
    format_duration,
    pluralize,
    report_lone_surrogates,
    shorten_list,
    shorten_repr,
)


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (1000, "1,000 rows")]
)
def test_one_has_the_singular_form(number, text):
    assert pluralize(number, "row") == text


def test_further_items_are_counted():
    assert shorten_list(range(8)) == "0, 1, 2, 3, 4, 5, 6, 7"
    assert shorten_list(range(9)) == "0, 1, 2, 3, 4, 5, 6, 7 and 1 more"
    assert shorten_list(["a", "b", "c"], limit=1) == "a and 2 more"
    assert shorten_list([]) == ""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (59.6, "1 min 00 s"), (61, "1 min 01 s"), (3600, "1 h 00 min"), (None, "?")],
)
def test_durations(seconds, text):
    assert format_duration(seconds) == text


def test_long_values_are_shortened():
    assert shorten_repr("x" * 58) == repr("x" * 58)
    assert shorten_repr("x" * 59) == "'" + "x" * 58 + "…"
    assert len(shorten_repr([0.123456] * 512)) == 60


def test_lone_surrogate_error_shows_the_preceding_text():
    with pytest.raises(ValueError, match=r"an invalid character .* after 'is the end of a line'"):
        encode("this is the end of\na line\udc80, and more")
    assert encode("é😀") == "é😀".encode()


@report_lone_surrogates()
def encode(text):
    return text.encode()


class Silent:
    def __repr__(self):
        raise RuntimeError("I will not say")


def test_values_without_repr_are_shown_by_type():
    assert shorten_repr(10**5000).startswith("<int object at")
    assert shorten_repr(Silent(), limit=200).count("Silent object at") == 1
