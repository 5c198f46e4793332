"""The training loop, step by step."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402
from trainers import CPU, make_trainer  # noqa: E402

from ambilearn.deep import DeepPLCL, training  # noqa: E402
from ambilearn.deep.augment import identity  # noqa: E402
from ambilearn.deep.objective import PRESETS, make_targets, row_losses  # noqa: E402
from ambilearn.deep.training import (  # noqa: E402
    check_left_out_rows,
    leave_out_rows,
    mix_settled,
    ramp_up,
    seeded,
    trust_in_confidences,
    trust_in_weights,
)


def scatter(trainer):
    """Random confidences and heads, as in the middle of a run."""
    with seeded(2, CPU):
        for head in (trainer.network.ordinary, trainer.network.complementary):
            nn.init.normal_(head.weight)
        random = torch.rand(trainer.labels.mask.shape) * trainer.labels.mask
        trainer.labels.confidences[:] = random / random.sum(1, keepdim=True)


def rate_and_momentum(trainer):
    """Of the next step; the rate is relative to the largest one, .1."""
    group = trainer.optimizer.param_groups[0]
    return group["lr"] / 0.1, group["momentum"]


def settle(trainer):
    """Confidence one for the first candidate of every row."""
    trainer.labels.confidences[:] = 1.0 * (trainer.labels.mask.cumsum(1).cumsum(1) == 1)


def state(trainer):
    return {name: t.clone() for name, t in trainer.network.state_dict().items()}


@pytest.mark.parametrize("loss", PRESETS)
def test_a_step_goes_down_the_gradient_of_the_mean_loss(loss):
    """PL-CL replaces the confidences before they are used, the other methods afterwards."""
    trainer = make_trainer(loss, strong=identity, ramp=0.25, mixup=False)
    scatter(trainer)
    objective, mask = trainer.settings.objective, trainer.labels.mask
    weights = {k: v.requires_grad_() for k, v in state(trainer).items()}
    ordinary, comp = torch.func.functional_call(trainer.network, weights, trainer.rows.held)
    targets = make_targets(objective, [ordinary], comp, mask)
    P = targets if loss == "plcl" else trainer.labels.confidences.clone()
    n_views = 2 if objective.strong_view else 1
    trainer.epoch = 1  # of four, so the ramp has ended and a third of the trust is reached
    losses = row_losses(objective, [ordinary] * n_views, [comp] * n_views, mask, P, 1.0, 1 / 3)
    gradients = torch.autograd.grad(losses.mean(), list(weights.values()), materialize_grads=True)
    rate, momentum = rate_and_momentum(trainer)
    mean, _ = trainer.run_epoch()
    assert mean == pytest.approx(float(losses.detach().mean()), rel=1e-5)
    for (name, before), gradient in zip(weights.items(), gradients, strict=True):
        expected = before - 0.1 * rate * (1 + momentum) * gradient  # Nesterov's first step
        torch.testing.assert_close(trainer.network.state_dict()[name], expected.detach())


def test_the_ramp_weights_the_confidences():
    losses = []
    for ramp in (1.0, 0.25):  # a quarter of the cross-entropy in the first epoch, or all of it
        trainer = make_trainer("proden", ramp=ramp)
        scatter(trainer)
        losses.append(trainer.run_epoch()[0])
    assert losses[0] == pytest.approx(losses[1] / 4, rel=1e-5)


def test_only_matrices_decay():
    """If every label is a candidate, the loss of CC is constant: only the decay is left."""
    trainer = make_trainer("cc", weight_decay=0.5)
    trainer.labels.mask[:] = True
    before = state(trainer)
    rate, momentum = rate_and_momentum(trainer)
    trainer.run_epoch()
    after = state(trainer)
    kept = 1 - 0.5 * 0.1 * rate * (1 + momentum)
    torch.testing.assert_close(after["features.weight"], kept * before["features.weight"])
    torch.testing.assert_close(after["features.bias"], before["features.bias"])


def outputs(trainer):
    with torch.no_grad():
        return trainer.network(trainer.rows.held)


@pytest.mark.parametrize("loss", ["proden", "rc"])
def test_when_the_confidences_are_replaced(loss):
    """PRODEN by the outputs before the step, RC by those after it."""
    trainer = make_trainer(loss)
    before = outputs(trainer)
    trainer.run_epoch()
    after = outputs(trainer)
    ordinary, comp = before if loss == "proden" else after
    expected = make_targets(PRESETS[loss], [ordinary], comp, trainer.labels.mask)
    torch.testing.assert_close(trainer.labels.confidences, expected)


@pytest.mark.parametrize("loss", PRESETS)
@pytest.mark.parametrize(("mixup", "bf16"), [(None, False), (False, False), (None, True)])
def test_confidences_stay_distributions_on_the_candidates(loss, mixup, bf16, monkeypatch):
    of_gpu = torch.autocast("cpu", torch.bfloat16, enabled=bf16)
    monkeypatch.setattr(training, "autocast", lambda device: of_gpu)
    trainer = make_trainer(loss, n=20, batch_size=6, mixup=mixup)
    with seeded(1, CPU):
        found = [trainer.run_epoch() for _ in range(3)]
    P = trainer.labels.confidences
    assert trainer.epoch == 3
    assert trainer.step == 9  # the two rows that are left over wait for another epoch
    assert (P[~trainer.labels.mask] == 0).all()
    torch.testing.assert_close(P.sum(1), torch.ones(20))
    assert all(np.isfinite(loss) and 0 <= settled <= 1 for loss, settled in found)


def test_settled_rows_are_mixed_with_the_previous_row():
    x = torch.arange(4.0)[:, None, None].expand(4, 2, 3)
    confidences = torch.tensor([[0.95, 0.05], [0.0, 1.0], [0.85, 0.15], [0.9, 0.1]])
    share, mixed = mix_settled(x, confidences, torch.tensor([0.4, 0.8, 0.5, 1.0]))
    torch.testing.assert_close(share, torch.tensor([0.8, 0.6, 1.0, 1.0]))
    # The previous row of the first one is the last one.
    expected = torch.tensor([0.2 * 3, 0.6 * 1, 2.0, 3.0])
    torch.testing.assert_close(mixed, expected[:, None, None].expand(4, 2, 3))


def test_views_are_mixed_after_the_ramp():
    trainers = [make_trainer(mixup=mixup) for mixup in (True, False)]
    for equal in (True, False):  # r is 1 from the second of four epochs on
        for trainer in trainers:
            settle(trainer)
            with seeded(1, CPU):
                trainer.run_epoch()
        first, second = (state(trainer)["ordinary.weight"] for trainer in trainers)
        assert torch.equal(first, second) == equal


def test_a_mixed_view_makes_no_targets():
    trainer = make_trainer(ramp=0.0)
    scatter(trainer)
    settle(trainer)
    ordinary, complementary = outputs(trainer)
    expected = make_targets(PRESETS["plcl"], [ordinary], complementary, trainer.labels.mask)
    with seeded(1, CPU):
        trainer.run_epoch()
    torch.testing.assert_close(trainer.labels.confidences, expected)


def test_the_power_of_the_weights_follows_the_confidences():
    """Weights with which the confidences agree more than their shares say get a larger power."""
    trainer = make_trainer(strong=identity, mixup=False)
    mask = trainer.labels.mask
    shares = torch.where(mask, torch.arange(1.0, 5.0), 0.0)
    shares = shares / shares.sum(1, keepdim=True)
    trainer.labels.log_shares = torch.where(mask, shares, 1.0).log()
    for power in (1.0, 3.0):
        followed = shares**power
        trainer.labels.confidences[:] = followed / followed.sum(1, keepdim=True)
        ordinary, complementary = outputs(trainer)
        trainer.run_epoch()
        assert trainer.power == pytest.approx(power, abs=1e-3)
        prior = trainer.power * trainer.labels.log_shares
        expected = make_targets(PRESETS["plcl"], [ordinary], complementary, mask, prior)
        torch.testing.assert_close(trainer.labels.confidences, expected)
    trainer.run_epoch()
    trainer.run_epoch()
    assert trainer.power == 0.0  # the network has learned from the weights


@pytest.mark.parametrize("mixed", [False, True])
def test_a_row_of_weight_zero_does_not_count(mixed):
    """Its features and, where views are mixed, its labels."""
    weights = torch.ones(12)
    weights[3] = 0.0
    given = {"ramp": 0.0} if mixed else {"loss": "cc"}
    trainers = [make_trainer(row_weights=weights, **given) for _ in range(2)]
    changed = trainers[1].labels.mask if mixed else trainers[1].rows.held
    changed[3] = ~changed[3] if mixed else 100.0
    for trainer in trainers:
        settle(trainer)
        with seeded(1, CPU):
            trainer.run_epoch()
    first, second = map(state, trainers)
    for name, tensor in first.items():
        torch.testing.assert_close(tensor, second[name])


def test_the_average_follows_the_weights_and_the_statistics_of_normalizations():
    trainer = make_trainer(features=nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5)))
    start = state(trainer)
    with seeded(1, CPU):
        trainer.run_epoch()
    now = state(trainer)
    assert not torch.equal(now["features.1.running_mean"], start["features.1.running_mean"])
    for name, tensor in trainer.average.state_dict().items():
        if tensor.is_floating_point():
            torch.testing.assert_close(tensor, start[name] / 51 + now[name] * 50 / 51)
    assert not any(weights.requires_grad for weights in trainer.average.parameters())


@pytest.mark.parametrize("masked", [-torch.inf, 0.0])
def test_the_average_has_the_buffers_that_have_no_mean(masked):
    """A mask of infinite numbers, also if the first batch sets it, and a flag that it sets."""

    class Features(nn.Linear):
        def __init__(self):
            super().__init__(3, 5)
            self.register_buffer("mask", torch.tensor([0.0, 0, 0, 0, masked]))
            self.register_buffer("started", torch.tensor(False))

        def forward(self, x):
            if self.training:
                self.started.fill_(True)
                self.mask[4] = -torch.inf
            return (super().forward(x) + self.mask).softmax(1)

    trainer = make_trainer(features=Features())
    with seeded(1, CPU):
        losses = [trainer.run_epoch()[0] for _ in range(2)]
    assert np.isfinite(losses).all()
    average = trainer.average.features
    assert average.mask.tolist() == [0, 0, 0, 0, -np.inf]
    assert average.started


def test_a_seed_does_not_touch_the_state_of_the_user():
    before = torch.get_rng_state()
    with seeded(5, CPU):
        first = torch.rand(3)
    assert torch.equal(torch.get_rng_state(), before)
    with seeded(5, CPU):
        assert torch.equal(torch.rand(3), first)


def test_a_view_that_changes_its_input_does_not_change_the_other_view():
    class Record(nn.Linear):
        def forward(self, x):
            seen.append(x)
            return super().forward(x)

    seen = []
    trainer = make_trainer(features=Record(3, 5), strong=lambda x: x.zero_())
    seen.clear()
    trainer.run_epoch()
    weak, strong = seen[0].chunk(2)
    assert weak.any()
    assert not strong.any()


def test_weights_of_candidates_do_not_count_in_a_row_of_weight_zero():
    powers = []
    for share in (0.2, 0.7):
        weights = torch.ones(12)
        weights[3] = 0.0
        trainer = make_trainer(row_weights=weights)
        scatter(trainer)
        shares = torch.where(trainer.labels.mask, 0.3, 1.0)
        shares[3] *= share
        trainer.labels.log_shares = shares.log()
        trainer.run_epoch()
        powers.append(trainer.power)
    assert powers[0] == powers[1]


def test_other_devices_are_seeded(monkeypatch):
    seeds = []
    monkeypatch.setattr(torch, "manual_seed", seeds.append)
    with seeded(5, torch.device("mps")), seeded(6, CPU):
        pass
    assert seeds == [5]


@pytest.mark.parametrize("n_steps", range(1, 7))
def test_a_run_of_a_few_steps_has_rates_in_range(n_steps):
    trainer = make_trainer(epochs=n_steps)
    for _ in range(n_steps):
        assert 0 < rate_and_momentum(trainer)[0] <= 1
        trainer.run_epoch()


def test_the_rate_rises_in_a_fifth_of_the_steps_and_falls():
    trainer = make_trainer(epochs=101)
    rates = []
    for _ in range(101):
        rates.append(rate_and_momentum(trainer))
        trainer.run_epoch()
    assert rates[0] == pytest.approx((0.1, 0.95))
    assert max(rates)[0] == pytest.approx(1, abs=0.01)
    assert rates.index(max(rates)) in (19, 20)
    assert rates[-1] == pytest.approx((0.001, 0.95), rel=1e-3)
    trainer.continue_from(50, 50, 1.0)
    assert rate_and_momentum(trainer) == pytest.approx(rates[50])


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


# --- rows that the network has not learned from ---

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
