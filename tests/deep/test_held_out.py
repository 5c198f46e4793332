"""The check of a training by rows that the network has not learned from."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from trainers import make_trainer  # noqa: E402

from ambilearn.deep import DeepPLCL  # noqa: E402
from ambilearn.deep.held_out import check_left_out_rows, leave_out_rows  # noqa: E402

RNG = np.random.default_rng(0)
CENTERS = RNG.normal(size=(5, 20))
TRUTH = np.arange(220) % 5
X = CENTERS[TRUTH] + RNG.normal(size=(220, 20))
MASK = RNG.random((220, 5)) < 0.3
MASK[np.arange(220), TRUTH] = True


class Blind(nn.Module):
    """Features that say nothing about the row."""

    def forward(self, x):
        return torch.ones(len(x), 2)


def messages_of_fit(rows=slice(None), **parameters):
    parameters = {"epochs": 20, "batch_size": 8, "device": "cpu", "random_state": 0} | parameters
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        DeepPLCL(**parameters).fit(X[rows], MASK[rows])
    return [str(each.message) for each in caught if "does not learn" in str(each.message)]


def test_a_network_that_learns_less_than_plcl_gives_a_warning():
    (message,) = messages_of_fit(module=Blind)
    assert "On 44 of them, left out in the first quarter" in message
    assert messages_of_fit() == []


def test_few_rows_are_not_left_out():
    assert messages_of_fit(slice(190), module=Blind) == []


def test_the_network_learns_from_all_rows_after_a_quarter_of_the_epochs():
    trainer = make_trainer(n=220, epochs=8)
    found = []
    leave_out_rows(trainer)
    for _ in range(4):
        trainer.run_epoch()
        found.append(int((trainer._row_weights == 0).sum()))
        check_left_out_rows(trainer)
    assert found == [44, 44, 0, 0]


def test_a_training_that_continues_leaves_out_the_same_rows():
    first, second, late = (make_trainer(n=220, epochs=8) for _ in range(3))
    second.epoch, late.epoch = 1, 2
    for trainer in (first, second, late):
        leave_out_rows(trainer)
    assert torch.equal(first.left_out, second.left_out)
    assert len(late.left_out) == 0


def test_rows_of_weight_zero_are_not_left_out():
    weights = torch.arange(220.0).clamp(max=1)
    weights[:10] = 0
    trainer = make_trainer(n=220, row_weights=weights)
    leave_out_rows(trainer)
    assert (trainer.labels.row_weights[trainer.left_out] > 0).all()
    assert len(trainer.left_out) == 42
