"""Every loss against a literal computation in NumPy."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from ambilearn.deep.objective import (  # noqa: E402
    PRESETS,
    choose_objective,
    fit_power,
    make_targets,
    row_losses,
)

B, L = 6, 5


def softmax(z):
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


@pytest.fixture
def batch():
    """Logits of two views by two heads, candidates, and confidences on them."""
    rng = np.random.default_rng(0)
    weak, strong, comp_weak, comp_strong = rng.normal(size=(4, B, L))
    mask = rng.random((B, L)) < 0.5
    mask[np.arange(B), rng.integers(L, size=B)] = True
    mask[0] = True  # nothing is known of this row
    mask[1] = np.arange(L) == 2  # this one is certain
    P = rng.random((B, L)) * mask
    return weak, strong, comp_weak, comp_strong, mask, P / P.sum(1, keepdims=True)


def computed(loss, batch, ramp=1.0, trust=1.0, **changes):
    weak, strong, comp_weak, comp_strong, mask, P = map(torch.tensor, batch)
    objective = choose_objective(loss, **changes)
    views, comps = ([weak], [comp_weak])
    if objective.strong_view:
        views, comps = [weak, strong], [comp_weak, comp_strong]
    return row_losses(objective, views, comps, mask, P, ramp, trust).numpy()


@pytest.mark.parametrize(("ramp", "trust"), [(0.0, 0.0), (0.3, 0.0), (1.0, 0.4), (1.0, 1.0)])
def test_deep_plcl(batch, ramp, trust):
    weak, strong, comp_weak, comp_strong, mask, P = batch
    expected = np.zeros(B)
    for i in range(B):
        for view, comp in ((weak, comp_weak), (strong, comp_strong)):
            f, absent = softmax(view)[i], sigmoid(comp)[i]
            Q = [trust * (1 - P[i, j]) if mask[i, j] else 1.0 for j in range(L)]
            cross = -sum(P[i, j] * np.log(f[j]) for j in range(L))
            outside = -np.log(1 - sum(f[j] for j in range(L) if not mask[i, j]))
            binary = -sum(
                Q[j] * np.log(absent[j]) + (1 - Q[j]) * np.log(1 - absent[j]) for j in range(L)
            )
            expected[i] += (ramp * cross + outside + 4 * binary / L) / 2
    np.testing.assert_allclose(computed("plcl", batch, ramp, trust), expected, rtol=1e-6)


@pytest.mark.parametrize("loss", ["plcl", "cc"])
def test_a_mixed_view_has_the_loss_for_the_labels_of_both_rows(batch, loss):
    weak, strong, comp_weak, comp_strong, mask, P = map(torch.tensor, batch)
    share = torch.tensor([1.0, 0.5, 0.75, 1.0, 0.9, 0.6], dtype=torch.float64)
    objective = choose_objective(loss)
    common = (0.3, 0.4)
    previous = mask.roll(1, 0), P.roll(1, 0)
    of_weak = row_losses(objective, [weak], [comp_weak], mask, P, *common)
    own = row_losses(objective, [strong], [comp_strong], mask, P, *common)
    other = row_losses(objective, [strong], [comp_strong], *previous, *common)
    views, comps = [weak, strong], [comp_weak, comp_strong]
    found = row_losses(objective, views, comps, mask, P, *common, share)
    torch.testing.assert_close(found, (of_weak + share * own + (1 - share) * other) / 2)


def test_the_power_of_weights_fits_the_confidences(batch):
    """The best of a grid of powers, and the power itself where the confidences are one."""
    *_, mask, P = batch
    rng = np.random.default_rng(1)
    log_shares = np.where(mask, np.log(rng.random((B, L))), 0.0)

    def prior(power):
        return softmax(np.where(mask, power * log_shares, -np.inf))

    def fit(confidences):
        return fit_power(*map(torch.tensor, (log_shares, mask, confidences)))

    assert fit(prior(2.5)) == pytest.approx(2.5, abs=1e-3)
    # Confidences that follow the weights in part, so that the best power is positive.
    followed = (P + prior(2.0)) / 2
    grid = np.arange(0, 8, 0.01)
    fits = [(followed * np.log(np.where(mask, prior(power), 1))).sum() for power in grid]
    assert fit(followed) == pytest.approx(grid[np.argmax(fits)], abs=0.01)
    assert fit(prior(-1.0)) == 0.0  # weights that mislead are not used
    assert fit(prior(50.0)) == pytest.approx(16.0, abs=1e-3)


@pytest.mark.parametrize("loss", ["proden", "rc"])
def test_proden_and_rc_are_cross_entropy_with_the_confidences(batch, loss):
    weak, *_, P = batch
    expected = [-sum(P[i] * np.log(softmax(weak)[i])) for i in range(B)]
    np.testing.assert_allclose(computed(loss, batch), expected, rtol=1e-6)


def test_cc_is_the_logarithm_of_the_probability_of_the_candidates(batch):
    weak, *_, mask, _ = batch
    expected = [-np.log(sum(softmax(weak)[i, mask[i]])) for i in range(B)]
    np.testing.assert_allclose(computed("cc", batch), expected, rtol=1e-6, atol=1e-7)


def test_crdpll_sums_the_views_and_keeps_each_label_off_the_candidates_small(batch):
    weak, strong, _, _, mask, P = batch
    expected = np.zeros(B)
    for i in range(B):
        off = [j for j in range(L) if not mask[i, j]]
        expected[i] = -sum(np.log(1 - softmax(weak)[i, j]) for j in off)
        for view in (weak, strong):
            expected[i] += -0.25 * sum(P[i] * np.log(softmax(view)[i]))
    np.testing.assert_allclose(computed("crdpll", batch, ramp=0.25), expected, rtol=1e-6)


def test_a_given_weight_replaces_that_of_the_preset(batch):
    without = computed("plcl", batch, comp_weight=0.0, outside_weight=0.0)
    crossed = computed("crdpll", batch, outside_weight=0.0)
    np.testing.assert_allclose(2 * without, crossed)
    assert choose_objective("proden", ramp=0.3).ramp == 0.3
    assert choose_objective("proden", ramp=None) == PRESETS["proden"]


def test_targets(batch):
    weak, strong, comp, _, mask, P = batch
    expected = np.zeros((B, L))
    for i in range(B):
        for j in np.flatnonzero(mask[i]):
            expected[i, j] = np.sqrt(softmax(weak)[i, j] * softmax(strong)[i, j])
            expected[i, j] *= (1 - sigmoid(comp)[i, j]) * P[i, j] ** 3
    expected /= expected.sum(1, keepdims=True)
    arguments = map(torch.tensor, (comp, mask))
    views = [torch.tensor(weak), torch.tensor(strong)]
    assert choose_objective("plcl", comp_weight=0).comp_power == 0
    found = make_targets(
        PRESETS["plcl"], views, *arguments, 3 * torch.tensor(np.where(mask, P, 1)).log()
    )
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


def test_the_complementary_head_alone_excludes_no_candidate():
    ordinary, complementary = torch.zeros(1, 3), torch.tensor([[50.0, -50.0, -50.0]])
    mask = torch.tensor([[True, True, False]])
    found = make_targets(PRESETS["plcl"], [ordinary], complementary, mask)
    torch.testing.assert_close(found, torch.tensor([[0.001, 1.0, 0.0]]) / 1.001)


def test_targets_where_the_strong_view_is_mixed(batch):
    weak, strong, comp, _, mask, _ = map(torch.tensor, batch)
    share = torch.tensor([1.0, 0.5, 0.75, 1.0, 0.9, 0.6])
    objective = PRESETS["plcl"]
    both = make_targets(objective, [weak, strong], comp, mask)
    of_weak = make_targets(objective, [weak], comp, mask)
    found = make_targets(objective, [weak, strong], comp, mask, share=share)
    torch.testing.assert_close(found, torch.where(share[:, None] < 1, of_weak, both))


def test_targets_of_one_view_without_the_second_head(batch):
    weak, _, comp, _, mask, _ = batch
    expected = softmax(weak) * mask
    expected /= expected.sum(1, keepdims=True)
    arguments = [torch.tensor(weak)], torch.tensor(comp), torch.tensor(mask)
    found = make_targets(PRESETS["proden"], *arguments)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)


def test_targets_have_no_gradient(batch):
    weak, _, comp, _, mask, _ = map(torch.tensor, batch)
    weak.requires_grad_()
    assert not make_targets(PRESETS["plcl"], [weak], comp, mask).requires_grad


@pytest.mark.parametrize("loss", PRESETS)
def test_extreme_outputs_give_finite_losses_and_gradients(loss):
    views = [(s * torch.tensor([[900.0, -900.0, 0.0]] * 3)).requires_grad_() for s in (1, -1)]
    comps = [(s * torch.tensor([[900.0, -900.0, 0.0]] * 3)).requires_grad_() for s in (1, -1)]
    mask = torch.tensor([[True, True, False], [False, True, False], [True, True, True]])
    P = mask / mask.sum(1, keepdim=True)
    losses = row_losses(choose_objective(loss), views, comps, mask, P, 1.0, 1.0)
    losses.sum().backward()
    assert torch.isfinite(losses).all()
    used = [view for view in views + comps if view.grad is not None]
    assert used
    assert all(torch.isfinite(view.grad).all() for view in used)
    targets = make_targets(PRESETS["plcl"], views, comps[0], mask)
    torch.testing.assert_close(targets.sum(1), torch.ones(3))
