"""The losses of deep partial-label learning: one formula, whose terms have weights.

For a row with candidates S and confidences P on them, outputs f of the ordinary head and f̂ of the
complementary head, a weak view x′ and a strong view x″::

    t ∝ 1_S ∘ √(f(x′) ∘ f(x″)) ∘ (1 − f̂(x′))^c ∘ (share of the candidate's weight + .05)
    P ← ρ P + (1 − ρ) t
    loss = r a ½[CE(P, f(x′)) + CE(P, f(x″))] + b ½[U(f(x′)) + U(f(x″))] + τ BCE(f̂, Q)

U is the loss of probability off the candidates. Q is 1 off S and s (1 − P) on S. First r grows from
0 to 1, then s. As long as s is 0, the complementary head learns only which labels are not
candidates, which does not depend on its own outputs; otherwise large sets settle on wrong labels.
"""

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

_SMALLEST = 1e-3  # of 1 − f̂: one head alone cannot exclude a candidate
_VOTE_OFFSET = 0.05


@dataclass(frozen=True)
class Objective:
    """Weights of the terms of the loss, and how targets are made.

    Parameters
    ----------
    comp_power : float
        c, the power of the complementary head in the targets.
    comp_weight : float
        τ, the weight of the complementary head's loss.
    rho : float
        ρ, the share of the previous confidences that is kept.
    temperature : float
        T: the factors of the targets have the power 1 / T.
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
    update : {"before", "after", "next"}
        When the confidences are replaced: before they are used, after they were used, or after
        the step, by the outputs of the new weights.
    """

    comp_power: float = 1.0
    comp_weight: float = 4.0
    rho: float = 0.0
    temperature: float = 1.0
    ramp: float = 0.5
    target_weight: float = 1.0
    outside_weight: float = 1.0
    outside: Literal["joint", "separate"] = "joint"
    outside_strong: bool = True
    strong_view: bool = True
    update: Literal["before", "after", "next"] = "before"


_WITHOUT_HEAD = Objective(comp_power=0.0, comp_weight=0.0, ramp=0.0, strong_view=False)
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


def choose_objective(loss: str, **changes: Any) -> Objective:
    """The preset of a name, with the values that are not None in place of its own."""
    names = {field.name for field in fields(Objective)}
    given = {name: value for name, value in changes.items() if value is not None}
    assert set(given) <= names
    return replace(PRESETS[loss], **given)


def log_prior(weights: Tensor) -> Tensor:
    """What the weights of candidates add to the logarithm of the targets.

    The weights (n, l) are shares in their row, zero off the candidates.
    """
    return torch.log(weights + _VOTE_OFFSET)


def make_targets(
    objective: Objective,
    views: list[Tensor],
    complementary: Tensor,
    mask: Tensor,
    prior: Tensor | None = None,
) -> Tensor:
    """Targets t from the outputs of the two heads, without a gradient.

    ``views`` has the logits of the ordinary head, the weak view first, and ``complementary`` those
    of the complementary head on the weak view. ``prior`` is from :func:`log_prior`. All tensors
    have the shape (b, l).
    """
    with torch.no_grad():
        score = sum(view.log_softmax(1) for view in views) / len(views)
        if objective.comp_power:
            allowed = torch.sigmoid(-complementary).clamp(min=_SMALLEST)
            score = score + objective.comp_power * torch.log(allowed)
        if prior is not None:
            score = score + prior
        return (score / objective.temperature).masked_fill(~mask, -torch.inf).softmax(1)


def row_losses(
    objective: Objective,
    views: list[Tensor],
    complementary: list[Tensor],
    mask: Tensor,
    confidences: Tensor,
    ramp: float | Tensor,
    trust: float | Tensor,
) -> Tensor:
    """Loss of every row, shape (b,).

    ``views`` and ``complementary`` have the logits (b, l) of the two heads for each view.
    ``confidences`` is P, zero off the candidates. ``ramp`` and ``trust`` are r and s, from 0 to 1.
    """
    total = torch.zeros(len(mask), device=mask.device)
    logs = [view.log_softmax(1) for view in views]
    if objective.target_weight:
        cross = sum(-(confidences * log).sum(1) for log in logs) / len(logs)
        total = total + ramp * objective.target_weight * cross
    if objective.outside_weight:
        chosen = logs if objective.outside_strong else logs[:1]
        outside = sum(_outside(log, mask, objective.outside) for log in chosen) / len(chosen)
        total = total + objective.outside_weight * outside
    if objective.comp_weight:
        absent = torch.where(mask, trust * (1 - confidences), 1.0)
        binary = sum(
            binary_cross_entropy_with_logits(view, absent, reduction="none").mean(1)
            for view in complementary
        )
        total = total + objective.comp_weight * binary / len(complementary)
    return total


def _outside(log: Tensor, mask: Tensor, form: str) -> Tensor:
    if form == "joint":
        return -log.masked_fill(~mask, -torch.inf).logsumexp(1)
    # log(1 − f) without cancellation for small f, and finite where f rounds to one.
    rest = torch.log1p(-log.exp().clamp(max=1 - 1e-6))
    return -rest.masked_fill(mask, 0.0).sum(1)
