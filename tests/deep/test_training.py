"""The training loop, step by step."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from ambilearn.deep.augment import Noise, identity  # noqa: E402
from ambilearn.deep.networks import add_heads  # noqa: E402
from ambilearn.deep.objective import PRESETS, choose_objective, make_targets, row_losses  # noqa: E402
from ambilearn.deep.rows import Rows  # noqa: E402
from ambilearn.deep.schedule import one_cycle  # noqa: E402
from ambilearn.deep.training import (  # noqa: E402
    Labels,
    Settings,
    Trainer,
    compiled,
    mix_settled,
    seeded,
)

CPU = torch.device("cpu")


def make_trainer(
    loss="plcl", *, n=12, batch_size=12, epochs=4, strong=None, row_weights=None, **more
):
    with seeded(0, CPU):
        x = torch.randn(n, 3)
        mask = torch.rand(n, 4) < 0.4
        mask[torch.arange(n), torch.randint(0, 4, (n,))] = True
        network = add_heads(nn.Linear(3, 5), x[:2], 4)
    labels = Labels(mask, mask / mask.sum(1, keepdim=True), row_weights=row_weights)
    changes = {k: more.pop(k) for k in ("rho", "ramp", "mixup") if k in more}
    objective = choose_objective(loss, **changes)
    if objective.strong_view and strong is None:
        strong = Noise(0.5)
    settings = Settings(
        objective, identity, strong, epochs, batch_size, lr=0.1, weight_decay=0.0, **more
    )
    return Trainer(network, Rows((n, 3), x), identity, labels, settings)


def state(trainer):
    return {name: t.clone() for name, t in trainer.network.state_dict().items()}


@pytest.mark.parametrize("loss", ["cc", "proden"])
def test_a_step_goes_down_the_gradient_of_the_mean_loss(loss):
    trainer = make_trainer(loss)
    weights = {k: v.requires_grad_() for k, v in state(trainer).items()}
    P = trainer.labels.confidences.clone()
    views, comps = torch.func.functional_call(trainer.network, weights, trainer.rows.held)
    losses = row_losses(
        trainer.settings.objective, [views], [comps], trainer.labels.mask, P, 1.0, 1.0
    )
    used = [w for name, w in weights.items() if "complementary" not in name]
    gradients = torch.autograd.grad(losses.mean(), used)
    rate, momentum = one_cycle(0, 4)
    mean, _ = trainer.run_epoch()
    assert mean == pytest.approx(float(losses.detach().mean()), rel=1e-5)
    for (name, before), gradient in zip(
        ((n, w) for n, w in weights.items() if "complementary" not in n), gradients, strict=True
    ):
        expected = before - 0.1 * rate * (1 + momentum) * gradient  # Nesterov's first step
        torch.testing.assert_close(trainer.network.state_dict()[name], expected.detach())


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


def test_rho_keeps_a_share_of_the_confidences():
    kept, new = (make_trainer("proden", rho=rho) for rho in (0.75, 0.0))
    first = kept.labels.confidences.clone()
    kept.run_epoch()
    new.run_epoch()
    expected = 0.75 * first + 0.25 * new.labels.confidences
    torch.testing.assert_close(kept.labels.confidences, expected)


@pytest.mark.parametrize("loss", PRESETS)
@pytest.mark.parametrize("options", [{}, {"mixup": False}, {"teacher": True}, {"bf16": True}])
def test_confidences_stay_distributions_on_the_candidates(loss, options):
    trainer = make_trainer(loss, n=20, batch_size=6, **options)
    with seeded(1, CPU):
        found = [trainer.run_epoch() for _ in range(3)]
    P = trainer.labels.confidences
    assert trainer.epoch == 3
    assert trainer.step == 9  # the two rows that are left over wait for another epoch
    assert (P[~trainer.labels.mask] == 0).all()
    torch.testing.assert_close(P.sum(1), torch.ones(20))
    assert all(np.isfinite(loss) and 0 <= settled <= 1 for loss, settled in found)


def test_options_change_what_is_learned():
    found = []
    for options in ({}, {"mixup": False}, {"teacher": True}, {"ramp": 0.0}):
        trainer = make_trainer(**options)
        trainer.labels.confidences[:] = 1.0 * (trainer.labels.mask.cumsum(1).cumsum(1) == 1)
        with seeded(1, CPU):
            for _ in range(3):
                trainer.run_epoch()
        found.append(state(trainer)["features.weight"])
    for i, first in enumerate(found):
        assert not any(torch.equal(first, other) for other in found[i + 1 :])


def test_a_teacher_makes_the_targets_with_averaged_weights():
    trainer = make_trainer(teacher=True)
    rows, mask, objective = trainer.rows.held, trainer.labels.mask, trainer.settings.objective
    with seeded(1, CPU):
        trainer.run_epoch()
        ordinary, complementary = trainer.average(rows)
        trainer.run_epoch()
    expected = make_targets(objective, [ordinary], complementary, mask)
    torch.testing.assert_close(trainer.labels.confidences, expected)


def test_settled_rows_are_mixed_with_the_previous_row():
    x = torch.arange(4.0)[:, None, None].expand(4, 2, 3)
    confidences = torch.tensor([[0.95, 0.05], [0.0, 1.0], [0.6, 0.4], [0.9, 0.1]])
    share, mixed = mix_settled(x, confidences, torch.tensor([0.4, 0.8, 0.5, 1.0]))
    torch.testing.assert_close(share, torch.tensor([0.8, 0.6, 1.0, 1.0]))
    # The previous row of the first one is the last one.
    expected = torch.tensor([0.2 * 3, 0.6 * 1, 2.0, 3.0])
    torch.testing.assert_close(mixed, expected[:, None, None].expand(4, 2, 3))


def test_the_power_of_the_weights_follows_the_confidences():
    """Weights in which the confidences trust more than their shares say get a larger power."""
    trainer = make_trainer()
    mask = trainer.labels.mask
    shares = torch.where(mask, torch.arange(1.0, 5.0), 0.0)
    shares = shares / shares.sum(1, keepdim=True)
    trainer.labels.log_shares = torch.where(mask, shares, 1.0).log()
    for power in (1.0, 3.0):
        followed = shares**power
        trainer.labels.confidences[:] = followed / followed.sum(1, keepdim=True)
        trainer.run_epoch()
        assert trainer.power == pytest.approx(power, abs=1e-3)
    torch.testing.assert_close(trainer.prior(), trainer.power * trainer.labels.log_shares)
    trainer.run_epoch()
    trainer.run_epoch()
    assert trainer.power == 0.0  # the network has learned from the weights


def test_a_row_of_weight_zero_does_not_count():
    weights = torch.ones(12)
    weights[3] = 0.0
    trainers = [make_trainer("cc", row_weights=weights) for _ in range(2)]
    trainers[1].rows.held[3] = 100.0
    for trainer in trainers:
        trainer.run_epoch()
    first, second = map(state, trainers)
    for name, tensor in first.items():
        torch.testing.assert_close(tensor, second[name])


def test_the_average_follows_the_weights():
    trainer = make_trainer()
    start = state(trainer)
    with seeded(1, CPU):
        trainer.run_epoch()
    now = state(trainer)
    for name, tensor in trainer.average.state_dict().items():
        torch.testing.assert_close(tensor, start[name] / 51 + now[name] * 50 / 51)
    assert not any(weights.requires_grad for weights in trainer.average.parameters())


def test_frozen_weights_stay():
    trainer = make_trainer()
    frozen = trainer.network.features.requires_grad_(False)
    trainer = Trainer(trainer.network, trainer.rows, identity, trainer.labels, trainer.settings)
    before = frozen.weight.clone()
    trainer.run_epoch()
    assert torch.equal(frozen.weight, before)
    assert not torch.equal(trainer.network.ordinary.weight, trainer.average.ordinary.weight)


def test_a_seed_does_not_touch_the_state_of_the_user():
    before = torch.get_rng_state()
    with seeded(5, CPU):
        first = torch.rand(3)
    assert torch.equal(torch.get_rng_state(), before)
    with seeded(5, CPU):
        assert torch.equal(torch.rand(3), first)


def test_a_function_that_cannot_be_compiled_runs_as_it_is(monkeypatch):
    def compile(function, **options):
        def fails(*arguments):
            raise TypeError("cannot pickle 'module' object")

        return fails

    monkeypatch.setattr(torch, "compile", compile)
    call = compiled(abs)
    with pytest.warns(UserWarning, match="abs runs without torch.compile, which failed: cannot"):
        assert call(-3) == 3
    assert call(-4) == 4
    with pytest.raises(TypeError, match="bad operand"):
        call("text")
    call = compiled(abs)
    with pytest.raises(TypeError, match="bad operand"):
        call("text")
