"""The training loop: every loss of :mod:`ambilearn.deep.objective` runs in it."""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from typing import Any

import torch
from torch import Tensor, nn

from ambilearn._utils.warnings import warn_user
from ambilearn.deep.augment import ImageView, View
from ambilearn.deep.networks import TwoHeads
from ambilearn.deep.objective import Objective, fit_power, make_targets, row_losses
from ambilearn.deep.rows import Rows
from ambilearn.deep.schedule import (
    average_decay,
    one_cycle,
    ramp_up,
    trust_in_confidences,
    trust_in_weights,
)

SETTLED = 0.9  # confidence from which on a row counts as settled


@dataclass(frozen=True)
class Settings:
    """Parameters of the training loop.

    Parameters
    ----------
    objective : Objective
        The loss.
    weak, strong : callable
        Make a view of a batch; ``strong`` is None if there is one view.
    epochs, batch_size : int
        Size of the run.
    lr, weight_decay : float
        Of stochastic gradient descent.
    teacher : bool
        Whether targets come from averaged weights.
    bf16 : bool
        Whether the network computes in bfloat16.
    compiled : bool
        Whether network and views are compiled.
    """

    objective: Objective
    weak: View
    strong: View | None
    epochs: int
    batch_size: int
    lr: float
    weight_decay: float
    teacher: bool = False
    bf16: bool = False
    compiled: bool = False


@dataclass
class Labels:
    """Candidates and confidences of the rows, on the device.

    Parameters
    ----------
    mask : bool Tensor of shape (n, l)
        Candidates.
    confidences : Tensor of shape (n, l)
        P; changed by the training.
    row_weights : Tensor of shape (n,)
        How much each row counts.
    log_shares : Tensor of shape (n, l), optional
        Logarithm of the shares of the candidates in the weights of their row; zero elsewhere.
    """

    mask: Tensor
    confidences: Tensor
    row_weights: Tensor
    log_shares: Tensor | None = None


class Trainer:
    """A training run, epoch by epoch.

    Parameters
    ----------
    network : TwoHeads
        Changed in place.
    rows : Rows
        Training rows.
    prepare : callable
        Makes a batch of stored rows standardized floats.
    labels : Labels
        Their candidates.
    settings : Settings
        The parameters.

    Attributes
    ----------
    average : TwoHeads
        The running average of the weights, for predictions.
    epoch, step : int
        Epochs and steps done.
    power : float
        γ, the power of the weights of candidates in the targets.
    left_out : Tensor
        Indices of rows from which the network does not learn now.
    """

    def __init__(
        self, network: TwoHeads, rows: Rows, prepare: View, labels: Labels, settings: Settings
    ) -> None:
        self.network, self.rows, self.prepare = network, rows, prepare
        self.labels, self.settings = labels, settings
        self.device = labels.mask.device
        self.average = copy.deepcopy(network).requires_grad_(False).eval()
        self.batch_size = min(settings.batch_size, len(rows))
        self.steps_per_epoch = len(rows) // self.batch_size
        self.optimizer = _make_optimizer(network, settings)
        self.epoch, self.step, self.power = 0, 0, 1.0
        self.left_out = torch.empty(0, dtype=torch.long, device=self.device)
        pairs = zip(self.average.parameters(), network.parameters(), strict=True)
        self._weights = [pair for pair in pairs if pair[1].requires_grad]
        self._buffers = list(zip(self.average.buffers(), network.buffers(), strict=True))
        faster = compiled if settings.compiled else lambda function: function
        self._forward, self._average = faster(network), faster(self.average)
        self._weak = _view(settings.weak, faster)
        self._strong = None if settings.strong is None else _view(settings.strong, faster)
        self._row_losses = faster(row_losses)
        self._mix_settled = faster(mix_settled)
        self._make_targets = faster(make_targets)

    def run_epoch(self) -> tuple[float, float]:
        """One pass over the rows: mean loss, and share of rows with a confidence near one."""
        self.network.train()
        self._row_weights = self.labels.row_weights.index_fill(0, self.left_out, 0.0)
        self._row_weights /= self._row_weights.mean()
        self._fit_power()
        averaged = self._weights + [pair for pair in self._buffers if _has_mean(*pair)]
        self._averaged = [list(tensors) for tensors in zip(*averaged, strict=True)]
        total = torch.zeros((), device=self.device)
        order = torch.randperm(len(self.rows), device=self.device)
        for i in range(self.steps_per_epoch):  # the remaining rows are used in other epochs
            index = order[i * self.batch_size : (i + 1) * self.batch_size]
            total += self._run_step(index)
        for mean, latest in self._buffers:
            if not _has_mean(mean, latest):
                mean.copy_(latest)
        self.epoch += 1
        loss = float(total) / self.steps_per_epoch
        if not isfinite(loss):
            raise ValueError(
                f"The loss of epoch {self.epoch} is not finite. Use a smaller lr, and check that "
                "module and augment, if you have set them, return finite numbers."
            )
        settled = (self.labels.confidences.amax(1) >= SETTLED).float().mean()
        return loss, float(settled)

    def _run_step(self, index: Tensor) -> Tensor:
        rate, momentum = one_cycle(self.step, self.settings.epochs * self.steps_per_epoch)
        for group in self.optimizer.param_groups:
            group["lr"], group["momentum"] = rate * self.settings.lr, momentum
        x = self.prepare(self.rows.batch(index, self.device))
        views = [view(x) for view in (self._weak, self._strong) if view is not None]
        _check_views(views, x)
        loss = self._loss(index, views)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.step += 1
        self._update_average()
        if self.settings.objective.update == "next":
            with torch.no_grad():
                outputs = self._outputs(self._forward, views[:1])
            self._update_confidences(index, *outputs)
        return loss.detach()

    def _outputs(self, network: nn.Module, views: list[Tensor]) -> tuple[list[Tensor], ...]:
        """Logits of the two heads, each a list with one tensor per view."""
        batch = self.network.arrange(torch.cat(views))
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.settings.bf16):
            heads = network(batch)
        return tuple(list(head.float().chunk(len(views))) for head in heads)

    def _loss(self, index: Tensor, views: list[Tensor]) -> Tensor:
        objective, labels = self.settings.objective, self.labels
        ramp = ramp_up(self.epoch, self.settings.epochs, objective.ramp)
        trust = trust_in_confidences(self.epoch, self.settings.epochs, objective.ramp)
        confidences, mask = labels.confidences[index], labels.mask[index]
        share = None
        if objective.mixup and len(views) == 2 and ramp == 1:
            uniform = torch.rand(len(index), device=self.device)
            share, mixed = self._mix_settled(views[1], confidences, uniform)
            views = [views[0], mixed]
        ordinary, complementary = self._outputs(self._forward, views)
        if objective.update != "next":
            of_f, of_complement = self._teacher(views, ordinary, complementary)
            new = self._update_confidences(index, of_f, of_complement, share)
            confidences = new if objective.update == "before" else confidences
        # Tensors, because a compiled function is compiled again for every other number.
        factors = [torch.full((), factor, device=self.device) for factor in (ramp, trust)]
        outputs = ordinary, complementary
        weights = self._row_weights[index]
        losses = self._row_losses(objective, *outputs, mask, confidences, *factors, share, weights)
        return losses.mean()

    def _teacher(
        self, views: list[Tensor], ordinary: list[Tensor], complementary: list[Tensor]
    ) -> tuple[list[Tensor], ...]:
        if not self.settings.teacher or self.epoch == 0:  # the average is close to random weights
            return ordinary, complementary
        with torch.no_grad():
            return self._outputs(self._average, views[:1])

    def _update_confidences(
        self,
        index: Tensor,
        ordinary: list[Tensor],
        complementary: list[Tensor],
        share: Tensor | None = None,
    ) -> Tensor:
        labels, objective = self.labels, self.settings.objective
        detached = [view.detach() for view in ordinary]
        share = share if len(detached) == 2 else None
        targets = self._make_targets(
            objective,
            detached,
            complementary[0].detach(),
            labels.mask[index],
            self.prior(index),
            share,
        )
        new = targets.lerp(labels.confidences[index], objective.rho)
        labels.confidences[index] = new
        return new

    def _fit_power(self) -> None:
        labels, settings = self.labels, self.settings
        # A loss without targets does not learn from the weights: they always count once.
        if labels.log_shares is not None and settings.objective.target_weight:
            counted = self._row_weights > 0
            of_rows = labels.log_shares, labels.mask, labels.confidences
            fitted = fit_power(*(part[counted] for part in of_rows))
            # The network learns the confidences, so in the end its outputs contain the weights. If
            # they counted again, the confidences would move toward the largest weight.
            self.power = fitted * trust_in_weights(
                self.epoch, settings.epochs, settings.objective.ramp
            )

    def prior(self, index: Tensor | slice = slice(None)) -> Tensor | None:
        """γ log w of some rows, a term of the logarithm of their targets; None without weights."""
        shares = self.labels.log_shares
        return None if shares is None else self.power * shares[index]

    def _update_average(self) -> None:
        keep = average_decay(self.step)
        with torch.no_grad():
            torch._foreach_lerp_(*self._averaged, 1 - keep)


def mix_settled(x: Tensor, confidences: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor]:
    """Each row of a view mixed with the previous one, if both are settled.

    The rows of a batch are in random order. ``confidences`` (b, l) is P, and ``uniform`` (b,) has
    random numbers from 0 to 1. Returns the share (b,) of each row, 1 or between .5 and 1 if it is
    mixed, and the mixed view.
    """
    settled = confidences.amax(1) >= SETTLED
    share = torch.where(settled & settled.roll(1, 0), 1 - uniform / 2, 1.0)
    wide = share.view(-1, *[1] * (x.ndim - 1))
    return share, torch.lerp(x.roll(1, 0), x, wide.to(x.dtype))


def _has_mean(mean: Tensor, latest: Tensor) -> bool:
    """Whether a buffer is averaged, as the statistics of normalizations are; others are copied.

    Counters, flags and infinite or missing numbers, such as masks, have no mean. A training step
    can set such numbers, so this is checked in every epoch; in every step it would be slow.
    """
    return latest.is_floating_point() and bool((latest - mean).isfinite().all())


def _make_optimizer(network: nn.Module, settings: Settings) -> torch.optim.SGD:
    """Stochastic gradient descent; biases and scales of normalizations do not decay."""
    trained = [weights for weights in network.parameters() if weights.requires_grad]
    groups = [
        {"params": [w for w in trained if w.ndim > 1], "weight_decay": settings.weight_decay},
        {"params": [w for w in trained if w.ndim <= 1], "weight_decay": 0.0},
    ]
    on_gpu = all(weights.is_cuda for weights in trained)
    return torch.optim.SGD(groups, lr=settings.lr, momentum=0.9, nesterov=True, fused=on_gpu)


def _view(view: View, faster: Callable[[Any], Any]) -> View:
    """A view, compiled by ``faster`` if its random numbers can be drawn before the call."""
    if not isinstance(view, ImageView):
        return lambda x: view(x.clone())  # a function of the user may change its input
    apply, draw = faster(view.apply), view.draw
    return lambda x: apply(x, draw(x))


def _check_views(views: list[Any], x: Tensor) -> None:
    """Raise an error if a function of the user does not return a batch of the same rows."""
    for view in views:
        is_batch = isinstance(view, Tensor) and view.ndim == x.ndim and len(view) == len(x)
        if not is_batch or view.dtype != x.dtype or view.shape != views[0].shape:
            raise ValueError(
                "The functions in augment must return float32 tensors of the same shape, with one "
                f"row per row of the batch. For a batch of shape {tuple(x.shape)} they returned "
                f"{' and '.join(map(_describe, views))}."
            )


def _describe(view: Any) -> str:
    if isinstance(view, Tensor):
        return f"{view.dtype} of shape {tuple(view.shape)}"
    return f"a {type(view).__name__}"


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled function; where compilation fails, the function itself, with a warning."""
    current = torch.compile(function, dynamic=False)

    def call(*arguments: Any, **options: Any) -> Any:
        nonlocal current
        try:
            return current(*arguments, **options)
        except Exception as error:
            if current is function:
                raise
            current = function
            result = function(*arguments, **options)  # raises an error of the function itself
            name = getattr(function, "__qualname__", type(function).__name__)
            first = (str(error).splitlines() or [""])[0]
            warn_user(f"{name} runs without torch.compile, which failed: {first}")
            return result

    return call


@contextmanager
def seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Random numbers of PyTorch from a seed; the previous state is restored afterwards."""
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        if device.type not in ("cpu", "cuda"):
            torch.manual_seed(seed)  # of all devices, whose state is not restored
        torch.default_generator.manual_seed(seed)
        if device.type == "cuda":
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        yield
