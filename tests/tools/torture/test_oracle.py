"""What the campaign takes for right, and what not."""

import json

import numpy as np
import pytest
from torture import oracle
from torture.oracle import REJECTED, Defect, attempt, check_canary, check_confidences

from ambilearn import PLKNN
from ambilearn.candidates import as_candidates


def test_an_error_of_this_library_is_a_rejection():
    assert attempt(as_candidates, [{"a"}, set()]) is REJECTED
    assert (
        attempt(PLKNN().fit, [[1.0], [np.nan]], ["a", "b"]) is REJECTED
    )  # by scikit-learn's check


@pytest.mark.parametrize(
    "function",
    [
        lambda: [][0],
        lambda: int("x"),  # a ValueError, but nobody meant it for a user
        lambda: json.loads("{"),
    ],
)
def test_an_error_of_another_library_is_a_defect(function):
    with pytest.raises(Defect) as caught:
        attempt(function)
    assert caught.value.kind == "traceback"


def test_an_unexpected_error_is_a_defect():
    class Hostile:
        shape = (2, 2)

        def __array__(self, *_, **__):
            raise KeyError("no array")

    with pytest.raises(Defect, match="KeyError"):
        attempt(PLKNN().fit, Hostile(), ["a", "b"])


@pytest.mark.parametrize(
    ("confidences", "message"),
    [
        ([[0.5, 0.5, 0.0]], "shape"),
        ([[np.nan, 1.0]], "not finite"),
        ([[0.0, 0.0]], "invalid confidences"),
        ([[-0.5, 1.5]], "invalid confidences"),
    ],
)
def test_invalid_confidences_are_found(confidences, message):
    check_confidences([[0.25, 0.75]], (1, 2))
    with pytest.raises(Defect, match=message):
        check_confidences(confidences, (1, 2))


def test_a_canary_file_means_executed_code(tmp_path, monkeypatch):
    monkeypatch.setattr(oracle, "CANARY", tmp_path / "canary")
    check_canary()
    (tmp_path / "canary").touch()
    with pytest.raises(Defect, match="executed"):
        check_canary()
    check_canary()  # and the next case starts anew
