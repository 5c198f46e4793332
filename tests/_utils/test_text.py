"""Texts of labels, numbers and progress."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambilearn._utils.rounds import Round
from ambilearn._utils.text import (
    RoundProgress,
    TimeLeft,
    format_duration,
    normalize_label,
    normalize_text,
    report_lone_surrogates,
    requires_extra,
    rounds_left,
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


# --- progress -----------------------------------------------------------------------------------


def rounds(*changes, name="PLCL", limit=20, tol=0.01):
    return [Round(name, i, limit, change, tol) for i, change in enumerate(changes, start=1)]


class Clock:
    """A clock that the test advances."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.mark.parametrize(
    ("changes", "options", "left"),
    [
        ([0.4, 0.2, 0.1], {}, 4),  # 0.05, 0.025, 0.0125, 0.00625
        ([0.4], {}, None),
        ([0.4, 0.5], {}, 18),  # as many as are allowed
        ([0.4, 0.39], {}, 18),
        ([0.4, 0.005], {}, 0),
        ([0.4, 0.2], {"tol": 0}, 18),
    ],
)
def test_number_of_remaining_rounds(changes, options, left):
    assert rounds_left(changes, rounds(*changes, **options)[-1]) == left


def test_remaining_time():
    clock = Clock()
    time_left = TimeLeft(clock)
    assert time_left.describe(0, 5) == ""
    clock.now = 20.0
    assert time_left.describe(2, 9) == ", about 1 min 30 s left"
    assert time_left.describe(5, 0) == ""


def test_the_rounds_of_one_estimator_are_described():
    said, clock = [], Clock()
    progress = RoundProgress("judging", said.append, only="Crowd", clock=clock)
    inner = rounds(0.9, 0.8)
    for done in rounds(0.4, 0.2, 0.1, 0.005, name="Crowd"):
        clock.now += 10
        for each in inner:
            progress(each)
        progress(done)
    assert said == [
        "judging",
        "judging: round 2 of at most 20",
        "judging: round 3 of at most 20, about 50 s left",
        "judging: round 4 of at most 20, about 40 s left",
    ]


def test_the_members_of_a_stack_are_described_one_after_the_other():
    said, clock = [], Clock()
    progress = RoundProgress("fitting", said.append, clock=clock)
    for done in [*rounds(0.9, 0.4, 0.2), *rounds(0.9, 0.4, name="SURE")]:
        clock.now += 1
        progress(done)
    assert said == [
        "fitting",
        "fitting: PLCL, round 3 of at most 20",
        "fitting: PLCL, round 4 of at most 20, about 5 s left",
        "fitting: SURE, round 3 of at most 20",
    ]


def test_progress_is_throttled():
    said, clock = [], Clock()
    progress = RoundProgress("judging", said.append, only="PLCL", clock=clock)
    for done in rounds(*(1 / i for i in range(1, 90)), limit=90):
        clock.now += 0.01
        progress(done)
    assert 3 < len(said) < 10


def test_a_description_of_the_state_is_passed_on():
    said = []
    listener = RoundProgress("fitting", said.append)
    listener(Round("DeepPLCL", 1, 3, 0.5, 0.0, "epoch 1 of 3, loss 0.500"))
    assert said == ["fitting", "fitting: epoch 1 of 3, loss 0.500"]


# --- optional packages ----------------------------------------------------------------------------


def test_error_names_package_and_extra():
    with (
        pytest.raises(ImportError) as caught,
        requires_extra("data", purpose="Reading tables"),
    ):
        import no_such_package.inner  # noqa: F401
    assert str(caught.value) == (
        "Reading tables needs no_such_package: pip install 'ambilearn[data]'"
    )
    assert caught.value.name == "no_such_package"


def test_a_missing_dependency_of_a_package_is_named(tmp_path, monkeypatch):
    (tmp_path / "half_there.py").write_text("import no_such_package\n")
    monkeypatch.syspath_prepend(tmp_path)
    with (
        pytest.raises(ImportError, match="This needs no_such_package: "),
        requires_extra("cli", purpose="This"),
    ):
        import half_there  # noqa: F401


def test_errors_of_broken_packages_are_unchanged(tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text("raise ImportError('libbroken.so is of another system')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with (
        pytest.raises(ImportError, match=r"^libbroken\.so is of another system$"),
        requires_extra("cli", purpose="This"),
    ):
        import broken  # noqa: F401


def test_missing_module_of_the_library_is_a_bug():
    with (
        pytest.raises(ModuleNotFoundError, match=r"No module named 'ambilearn\.no_such_module'"),
        requires_extra("cli", purpose="This"),
    ):
        import ambilearn.no_such_module  # noqa: F401
