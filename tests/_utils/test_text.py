import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambilearn._utils.text import (
    format_duration,
    normalize_label,
    normalize_text,
    report_lone_surrogates,
    shorten_repr,
    split_labels,
)


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


ZOE = "Zo\u00eb"


@pytest.mark.parametrize(
    "text",
    [
        ZOE,
        "Zoe\u0308",  # NFD
        "Zo\u200b\u00eb",
        "\u2060Zo\u00eb",
        "\ufeffZo\u00eb",
        "Zoe\u200b\u0308",  # what keeps letter and mark apart is dropped first
        "\u00a0Zo\u00eb ",
    ],
)
def test_forms_of_one_label(text):
    assert normalize_label(text) == ZOE


def test_a_no_break_space_is_a_space():
    assert normalize_label("New\u00a0York") == "New York"


def test_joiners_are_kept():
    persian, emoji = "می\u200cخواهم", "👩\u200d🔬"
    assert normalize_label(persian) == persian
    assert normalize_label(emoji) == emoji


def test_case_and_compatibility_forms_are_kept():
    assert normalize_label("ﬁ") == "ﬁ"  # NFKC would make two letters of it
    assert normalize_label("Anna") != normalize_label("anna")


@given(st.text())
def test_normalization_is_idempotent(text):
    once = normalize_label(text)
    assert normalize_label(once) == once
    assert unicodedata.is_normalized("NFC", once)


def test_text_is_split_at_the_separator_in_either_form():
    assert split_labels("a or\u00a0b", " or ") == ["a", "b"]
    assert split_labels("a\u00a0b", "\u00a0") == ["a", "b"]
    assert split_labels("a|b", None) == ["a|b"]
    assert split_labels("", "|") == [""]


def test_blanks_around_text_are_kept():
    assert normalize_text(" e\u0301\u00a0") == " é "
