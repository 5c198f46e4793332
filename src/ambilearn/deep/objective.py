"""The losses of deep partial-label learning: one formula, whose terms have weights.

For a row with candidates S and confidences P on them, outputs f of the ordinary head and f̂ of the
complementary head, a weak view x′ and a strong view x″::

    P ← t ∝ 1_S ∘ √(f(x′) ∘ f(x″)) ∘ (1 − f̂(x′))^c ∘ w^γ
    loss = r a ½[CE(P, f(x′)) + CE(P, f(x″))] + b ½[U(f(x′)) + U(f(x″))]
           + τ ½[BCE(f̂(x′), Q) + BCE(f̂(x″), Q)]

w are the shares of the candidates in the weights of the row. U is the loss of probability off the
candidates. BCE is the mean over the labels. Q is 1 off S and s (1 − P) on S. First r grows from 0
to 1, then s. As long as s is 0, the complementary head learns only which labels are not candidates,
which does not depend on its own outputs; otherwise large sets settle on wrong labels. When r is 1,
γ falls to 0.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

_SMALLEST = 1e-3  # of 1 − f̂: one head alone cannot exclude a candidate
_LARGEST_POWER = 16.0  # of the weights of candidates


@dataclass(frozen=True)
class Objective:
    """Weights of the terms of the loss, and how targets are made.

    Parameters
    ----------
    comp_power : float
        c, the power of the complementary head in the targets.
    comp_weight : float
        τ, the weight of the complementary head's loss.
    ramp : float
        Share of the epochs in which r grows from 0 to 1.
    target_weight : float
        a, the weight of the cross-entropy with the confidences.
    outside_weight : float
        b, the weight of the loss of probability off the candidates.
    outside : {"joint", "separate"}
        U is −log Σ_{j∈S} f_j or −Σ_{j∉S} log(1 − f_j).
    outside_strong : bool
        Whether U is averaged over both views, or of the weak view only.
    strong_view : bool
        Whether there is a strong view. Without it, both views are the weak one.
    mixup : bool
        Whether the strong views of settled rows are mixed in pairs after the ramp.
    update : {"before", "after", "next"}
        When the confidences are replaced: before they are used, after they were used, or after
        the step, by the outputs of the new weights.
    """

    comp_power: float = 1.0
    comp_weight: float = 4.0
    ramp: float = 0.5
    target_weight: float = 1.0
    outside_weight: float = 1.0
    outside: Literal["joint", "separate"] = "joint"
    outside_strong: bool = True
    strong_view: bool = True
    mixup: bool = True
    update: Literal["before", "after", "next"] = "before"


_WITHOUT_HEAD = Objective(comp_power=0.0, comp_weight=0.0, ramp=0.0, strong_view=False, mixup=False)
PRESETS = {
    "plcl": Objective(),
    # Lv et al. (ICML 2020): targets from the previous visit of a row.
    "proden": replace(_WITHOUT_HEAD, outside_weight=0.0, update="after"),
    # Feng et al. (NeurIPS 2020), risk-consistent: the same with targets of the new weights.
    "rc": replace(_WITHOUT_HEAD, outside_weight=0.0, update="next"),
    # Feng et al. (NeurIPS 2020), classifier-consistent: −log of the candidates' probability.
    "cc": replace(_WITHOUT_HEAD, target_weight=0.0),
    # Wu et al. (ICML 2022): consistency of views, summed, not averaged.
    "crdpll": replace(
        _WITHOUT_HEAD,
        ramp=0.4,
        target_weight=2.0,
        outside="separate",
        outside_strong=False,
        strong_view=True,
        update="after",
    ),
}


def choose_objective(loss: str, **changes: float | bool | None) -> Objective:
    """The preset of a name, with the values that are not None in place of its own."""
    given: dict[str, Any] = {name: value for name, value in changes.items() if value is not None}
    if "comp_weight" in given:
        given["comp_power"] = float(given["comp_weight"] > 0)
    return replace(PRESETS[loss], **given)


def fit_power(log_shares: Tensor, mask: Tensor, confidences: Tensor) -> float:
    """The power γ of the weights that fits the confidences best.

    It maximizes the mean over the rows of Σ_j P_j log π_j, where π ∝ w^γ on the candidates. The
    derivative is zero where P and π have the same mean of log w.

    All tensors have the shape (n, l). ``log_shares`` is log w, zero off the candidates.
    """
    wanted = (confidences * log_shares).sum(1).mean()
    low, high = 0.0, _LARGEST_POWER
    for _ in range(20):
        power = (low + high) / 2
        prior = (power * log_shares).masked_fill(~mask, -torch.inf).softmax(1)
        if (prior * log_shares).sum(1).mean() < wanted:
            low = power
        else:
            high = power
    return low


def make_targets(
    objective: Objective,
    views: list[Tensor],
    complementary: Tensor,
    mask: Tensor,
    prior: Tensor | None = None,
    share: Tensor | None = None,
) -> Tensor:
    """Targets t from the outputs of the two heads, without a gradient.

    ``views`` has the logits of the ordinary head, the weak view first, and ``complementary`` those
    of the complementary head on the weak view. ``prior`` is γ log w. These tensors have the shape
    (b, l). ``share`` (b,) is that of each row in its strong view; the weak view replaces a mixed
    one.
    """
    with torch.no_grad():
        if share is not None:
            views = [views[0], torch.where(share[:, None] < 1, *views)]
        score = sum(view.log_softmax(1) for view in views) / len(views)
        if objective.comp_power:
            allowed = torch.sigmoid(-complementary).clamp(min=_SMALLEST)
            score = score + objective.comp_power * torch.log(allowed)
        if prior is not None:
            score = score + prior
        return score.masked_fill(~mask, -torch.inf).softmax(1)


def row_losses(
    objective: Objective,
    views: list[Tensor],
    complementary: list[Tensor],
    mask: Tensor,
    confidences: Tensor,
    ramp: float | Tensor,
    trust: float | Tensor,
    share: Tensor | None = None,
    weights: Tensor | None = None,
) -> Tensor:
    """Loss of every row, shape (b,).

    ``views`` and ``complementary`` have the logits (b, l) of the two heads for each view.
    ``confidences`` is P, zero off the candidates. ``ramp`` and ``trust`` are r and s, from 0 to 1.
    ``share`` (b,) is that of each row in the last view, which is mixed with that of the previous
    row. Its loss is the mean of the losses for the labels of both rows, weighted by their shares.
    ``weights`` (b,) is how much the labels of each row count; equal by default.
    """
    absent = torch.where(mask, trust * (1 - confidences), 1.0)
    weights = torch.ones(len(mask), device=mask.device) if weights is None else weights
    labels = mask, confidences, absent, weights
    logs, n = [view.log_softmax(1) for view in views], len(views)

    def of_view(i: int, mask: Tensor, p: Tensor, absent: Tensor, weights: Tensor) -> Tensor:
        total = torch.zeros(len(mask), device=mask.device)
        if objective.target_weight:
            total = total - ramp * objective.target_weight * (p * logs[i]).sum(1)
        factor = 1 if objective.outside_strong else n if i == 0 else 0
        if factor and objective.outside_weight:
            total = total + factor * objective.outside_weight * _outside(
                logs[i], mask, objective.outside
            )
        if objective.comp_weight:
            binary = binary_cross_entropy_with_logits(complementary[i], absent, reduction="none")
            total = total + objective.comp_weight * binary.mean(1)
        return weights * total

    found = [of_view(i, *labels) for i in range(n)]
    if share is not None:
        previous = (part.roll(1, 0) for part in labels)
        found[-1] = torch.lerp(of_view(n - 1, *previous), found[-1], share)
    return torch.stack(found).sum(0) / n


def _outside(log: Tensor, mask: Tensor, form: str) -> Tensor:
    if form == "joint":
        return -log.masked_fill(~mask, -torch.inf).logsumexp(1)
    # log(1 − f) without cancellation for small f, and finite where f rounds to one.
    rest = torch.log1p(-log.exp().clamp(max=1 - 1e-6))
    return -rest.masked_fill(mask, 0.0).sum(1)
