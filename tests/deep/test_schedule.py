"""Learning rate, momentum, averaging and factors of the loss of each step."""

import pytest

from ambilearn.deep.schedule import (
    average_decay,
    one_cycle,
    ramp_up,
    trust_in_confidences,
    trust_in_weights,
)


@pytest.mark.parametrize("n_steps", [6, 23, 100])
def test_one_cycle_is_that_of_pytorch(n_steps):
    torch = pytest.importorskip("torch")
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1, momentum=0.9)
    theirs = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, 2.0, n_steps, pct_start=0.2, div_factor=10, final_div_factor=100
    )
    for step in range(n_steps):
        rate, momentum = one_cycle(step, n_steps)
        assert 2.0 * rate == pytest.approx(optimizer.param_groups[0]["lr"])
        assert momentum == pytest.approx(optimizer.param_groups[0]["momentum"])
        optimizer.step()
        if step < n_steps - 1:
            theirs.step()


@pytest.mark.parametrize("n_steps", [1, 2, 5])
def test_a_run_of_a_few_steps_has_rates_in_range(n_steps):
    rates = [one_cycle(step, n_steps)[0] for step in range(n_steps)]
    assert all(0 < rate <= 1 for rate in rates)


def test_average_decay_is_small_at_first():
    assert average_decay(1) == 1 / 51
    assert average_decay(10**6) == 0.999


def test_ramp():
    assert [ramp_up(epoch, 8, 0.5) for epoch in range(6)] == [0.25, 0.5, 0.75, 1.0, 1.0, 1.0]
    assert ramp_up(0, 8, 0.0) == 1.0


def test_trust_grows_after_the_ramp():
    found = [trust_in_confidences(epoch, 8, 0.5) for epoch in range(8)]
    assert found == [0, 0, 0, 0, 0.25, 0.5, 0.75, 1]
    assert trust_in_confidences(3, 4, 0.0) == 1
    assert trust_in_confidences(3, 4, 1.0) == 0


def test_weights_count_until_the_ramp_ends():
    found = [trust_in_weights(epoch, 12, 0.5) for epoch in range(12)]
    assert found == [1, 1, 1, 1, 1, 1, 1, 0.5, 0, 0, 0, 0]
    assert trust_in_weights(0, 1, 0.5) == 1  # a run of one epoch uses them
    assert trust_in_weights(7, 8, 1.0) == 1
