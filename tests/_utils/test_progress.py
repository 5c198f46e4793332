"""A long fit reports its round and the remaining time."""

import pytest

from ambilearn._utils.progress import RoundProgress, TimeLeft, rounds_left
from ambilearn._utils.rounds import Round


class Clock:
    """A clock that the test advances."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def rounds(*changes, name="PLCL", limit=20, tol=0.01):
    return [Round(name, i, limit, change, tol) for i, change in enumerate(changes, start=1)]


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


# --- the outer loop -----------------------------------------------------------------------------
