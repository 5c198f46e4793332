"""Labels that look the same become equal; labels that a script distinguishes do not."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambilearn._utils.label_text import normalize_label, normalize_text, split_labels

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
