"""The training loop: every loss of :mod:`ambilearn.deep.objective` runs in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite, prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.optim.swa_utils import AveragedModel

from ambilearn._utils.text import format_duration
from ambilearn._utils.warnings import warn_user
from ambilearn.backend import Support
from ambilearn.deep.augment import View
from ambilearn.deep.networks import TwoHeads, autocast, compute_outputs, describe_tensor
from ambilearn.deep.objective import Objective, fit_power, make_targets, row_losses
from ambilearn.deep.rows import DeepRows
from ambilearn.methods.plcl import PLCL

SETTLED = 0.9  # confidence from which on a row counts as settled
_MOST_LEFT_OUT = 200  # rows that are left out; a fifth of all rows if there are fewer than 1,000
_FEWEST_ROWS = 200  # in all, for which the check is made
_MOST_FITTED = 2000  # rows that PL-CL learns from
_MOST_VALUES = 2**25  # of these rows


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
    """

    objective: Objective
    weak: View
    strong: View | None
    epochs: int
    batch_size: int
    lr: float
    weight_decay: float


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

    @classmethod
    def of(cls, candidates: Support, device: torch.device) -> "Labels":
        """The candidates of a fit."""
        shares, mask = candidates.scatter(candidates.prior()), candidates.sets.to_mask()
        weights = np.ones(len(mask)) if candidates.row_weights is None else candidates.row_weights
        log_shares = None
        if candidates.sets.weights is not None:  # in float64, where small shares are not zero
            positive = np.maximum(shares, np.finfo(float).tiny)
            log_shares = torch.from_numpy(np.where(mask, np.log(positive), 0.0)).float().to(device)
        return cls(
            torch.from_numpy(mask).to(device),
            torch.from_numpy(shares).float().to(device),
            torch.from_numpy(weights).float().to(device),
            log_shares,
        )


class Trainer:
    """A training run, epoch by epoch.

    Parameters
    ----------
    network : TwoHeads
        Changed in place.
    rows : DeepRows
        Training rows.
    prepare : callable
        Converts a batch of stored rows to standardized floats.
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
        self, network: TwoHeads, rows: DeepRows, prepare: View, labels: Labels, settings: Settings
    ) -> None:
        self.network, self.rows, self.prepare = network, rows, prepare
        self.labels, self.settings = labels, settings
        self.device = labels.mask.device
        self.batch_size = min(settings.batch_size, len(rows))
        self.steps_per_epoch = len(rows) // self.batch_size
        self.optimizer = _make_optimizer(network, settings)
        self.continue_from(0, 0, 1.0)
        self.left_out = torch.empty(0, dtype=torch.long, device=self.device)
        self._averaging = AveragedModel(network, multi_avg_fn=self._mix, use_buffers=True)
        self.average: TwoHeads = self._averaging.module.requires_grad_(False).eval()
        self._averaging.n_averaged += 1  # the first update mixes, too

    def continue_from(self, epoch: int, step: int, power: float) -> None:
        """Set what has been done, and the learning rate of the next step."""
        self.epoch, self.step, self.power = epoch, step, power
        self.schedule = OneCycleLR(
            self.optimizer,
            self.settings.lr,
            total_steps=self.settings.epochs * self.steps_per_epoch,
            pct_start=0.201,  # .2 divides by zero in a run of five steps
            div_factor=10,
            final_div_factor=100,
            last_epoch=step - 1,
        )

    def _mix(self, means: list[Tensor], latest: list[Tensor], _: object) -> None:
        """Mix values into their averages: the latest steps at first, a thousand in the end."""
        if means[0].is_floating_point():
            torch._foreach_lerp_(means, latest, max(0.001, 50 / (self.step + 50)))
        else:
            torch._foreach_copy_(means, latest)

    def run_epoch(self) -> tuple[float, float]:
        """One pass over the rows: mean loss, and share of rows with a confidence near one."""
        self.network.train()
        self._row_weights = self.labels.row_weights.index_fill(0, self.left_out, 0.0)
        self._row_weights /= self._row_weights.mean()
        self._fit_power()
        total = torch.zeros((), device=self.device)
        order = torch.randperm(len(self.rows), device=self.device)
        for i in range(self.steps_per_epoch):  # the remaining rows are used in other epochs
            index = order[i * self.batch_size : (i + 1) * self.batch_size]
            total += self._run_step(index)
        for mean, latest in zip(self.average.buffers(), self.network.buffers(), strict=True):
            mean.copy_(torch.where(mean.isfinite(), mean, latest))  # masks of infinite numbers
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
        x = self.prepare(self.rows.batch(index, self.device))
        functions = self.settings.weak, self.settings.strong
        views = [view(x.clone()) for view in functions if view is not None]  # may change its input
        _check_views(views, x)
        loss = self._loss(index, views)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.step += 1
        if self.step < self.schedule.total_steps:
            self.schedule.step()
        self._averaging.update_parameters(self.network)
        if self.settings.objective.update == "next":
            with torch.no_grad():
                outputs = self._outputs(views[:1])
            self._update_confidences(index, *outputs)
        return loss.detach()

    def _outputs(self, views: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Logits of the two heads, each a list with one tensor per view."""
        with autocast(self.device):
            heads = self.network(torch.cat(views))
        ordinary, complementary = (list(head.float().chunk(len(views))) for head in heads)
        return ordinary, complementary

    def _loss(self, index: Tensor, views: list[Tensor]) -> Tensor:
        objective, labels = self.settings.objective, self.labels
        ramp = ramp_up(self.epoch, self.settings.epochs, objective.ramp)
        trust = trust_in_confidences(self.epoch, self.settings.epochs, objective.ramp)
        confidences, mask = labels.confidences[index], labels.mask[index]
        share = None
        if objective.mixup and len(views) == 2 and ramp == 1:
            uniform = torch.rand(len(index), device=self.device)
            share, mixed = mix_settled(views[1], confidences, uniform)
            views = [views[0], mixed]
        outputs = self._outputs(views)
        if objective.update != "next":
            new = self._update_confidences(index, *outputs, share)
            confidences = new if objective.update == "before" else confidences
        weights = self._row_weights[index]
        losses = row_losses(objective, *outputs, mask, confidences, ramp, trust, share, weights)
        return losses.mean()

    def _update_confidences(
        self,
        index: Tensor,
        ordinary: list[Tensor],
        complementary: list[Tensor],
        share: Tensor | None = None,
    ) -> Tensor:
        mask, prior = self.labels.mask[index], self.prior(index)
        objective = self.settings.objective
        new = make_targets(objective, ordinary, complementary[0], mask, prior, share)
        self.labels.confidences[index] = new
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

    def final_confidences(
        self, ordinary: NDArray[np.float64], complementary: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """P of all rows, from the outputs f and f̂ of the final network."""
        prior = self.prior()
        return make_targets(
            self.settings.objective,
            [torch.from_numpy(ordinary).clamp(min=1e-300).log()],
            torch.from_numpy(complementary).logit(1e-12),
            self.labels.mask.cpu(),
            None if prior is None else prior.cpu().double(),
        ).numpy()


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


def _make_optimizer(network: nn.Module, settings: Settings) -> torch.optim.SGD:
    """Stochastic gradient descent; biases and scales of normalizations do not decay."""
    trained = [weights for weights in network.parameters() if weights.requires_grad]
    groups = [
        {"params": [w for w in trained if w.ndim > 1], "weight_decay": settings.weight_decay},
        {"params": [w for w in trained if w.ndim <= 1], "weight_decay": 0.0},
    ]
    on_gpu = all(weights.is_cuda for weights in trained)
    return torch.optim.SGD(groups, lr=settings.lr, momentum=0.9, nesterov=True, fused=on_gpu)


def _check_views(views: list[Any], x: Tensor) -> None:
    """Raise an error if a function of the user does not return a batch of the same rows."""
    for view in views:
        is_batch = isinstance(view, Tensor) and view.ndim == x.ndim and len(view) == len(x)
        if not is_batch or view.dtype != x.dtype or view.shape != views[0].shape:
            raise ValueError(
                "The functions in augment must return float32 tensors of the same shape, with one "
                f"row per row of the batch. For a batch of shape {tuple(x.shape)} they returned "
                f"{' and '.join(map(describe_tensor, views))}."
            )


def leave_out_rows(trainer: Trainer) -> None:
    """Choose the rows from which the network learns only after a quarter of the epochs.

    They have small candidate sets, and are spread over the whole table, without random numbers: a
    training that continues from a checkpoint leaves out the same rows.
    """
    if trainer.epoch >= trainer.settings.epochs // 4 or len(trainer.rows) < _FEWEST_ROWS:
        return
    labels = trainer.labels
    sizes, weights = labels.mask.sum(1).cpu().numpy(), labels.row_weights.cpu().numpy()
    counted = np.flatnonzero(weights > 0)
    n = min(_MOST_LEFT_OUT, len(counted) // 5)
    small = counted[sizes[counted] <= np.median(sizes[counted])]
    chosen = small[np.linspace(0, len(small) - 1, n).astype(np.int64)]
    trainer.left_out = torch.from_numpy(chosen).to(trainer.device)


def check_left_out_rows(trainer: Trainer) -> None:
    """After a quarter of the epochs, compare the labels of these rows with those of PL-CL.

    From then on, the network learns from all rows.
    """
    held = trainer.left_out.cpu().numpy()
    if not len(held) or trainer.epoch < trainer.settings.epochs // 4:
        return
    trainer.left_out = trainer.left_out[:0]
    mask = trainer.labels.mask.cpu().numpy()
    rest = np.setdiff1d(np.flatnonzero(trainer.labels.row_weights.cpu().numpy()), held)
    most = min(_MOST_FITTED, _MOST_VALUES // prod(trainer.rows.shape[1:]))
    rest = rest[:: -(-len(rest) // most)]
    reference = PLCL().fit(_inputs(trainer, rest), mask[rest]).predict(_inputs(trainer, held))
    rows = np.arange(len(held))
    taken = trainer.rows.take(torch.from_numpy(held))
    outputs = compute_outputs(trainer.average, taken, trainer.prepare, mirror=False)
    found = outputs[0].argmax(1).numpy()
    right, expected = mask[held][rows, found], mask[held][rows, reference]
    fewer, more = np.sum(expected & ~right), np.sum(right & ~expected)
    if fewer - more > 2.5 * np.sqrt(fewer + more):
        warn_user(
            f"The network does not learn enough from these rows. On {len(held)} of them, left "
            f"out in the first quarter of the epochs, its label is a candidate in "
            f"{right.mean():.0%}, that of PLCL in {expected.mean():.0%}. Use PLCL, or "
            "more epochs, a smaller lr or a pretrained module."
        )


def _inputs(trainer: Trainer, index: NDArray[np.int64]) -> NDArray[np.float32]:
    batch = trainer.prepare(trainer.rows.batch(torch.from_numpy(index), trainer.device))
    return batch.flatten(1).cpu().numpy()


@contextmanager
def training_state(seed: int, device: torch.device) -> Iterator[None]:
    """Global settings of PyTorch for a training; those of the caller are restored afterwards.

    Gradients are computed, random numbers come from a seed, and the network has single precision.
    cuDNN benchmarks its algorithms unless deterministic ones are enabled.
    """
    dtype, benchmark = torch.get_default_dtype(), torch.backends.cudnn.benchmark
    torch.set_default_dtype(torch.float32)
    torch.backends.cudnn.benchmark = not torch.are_deterministic_algorithms_enabled()
    try:
        with torch.inference_mode(False), torch.enable_grad(), seeded(seed, device):
            yield
    finally:
        torch.set_default_dtype(dtype)
        torch.backends.cudnn.benchmark = benchmark


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


def ramp_up(epoch: int, n_epochs: int, ramp: float) -> float:
    """Factor r in an epoch, counted from 0: from 0 to 1 in the share ``ramp`` of the epochs."""
    return min(1.0, (epoch + 1) / (ramp * n_epochs)) if ramp else 1.0


def trust_in_weights(epoch: int, n_epochs: int, ramp: float) -> float:
    """Factor of the power γ in an epoch, counted from 0.

    It is 1 until the ramp ends, and falls to 0 in a third of the epochs after it.
    """
    return max(0.0, 1 - 3 * trust_in_confidences(epoch - 1, n_epochs, ramp))


def trust_in_confidences(epoch: int, n_epochs: int, ramp: float) -> float:
    """Factor s in an epoch, counted from 0: from 0 to 1 in the epochs after the ramp."""
    return max(0.0, (epoch + 1 - ramp * n_epochs) / ((1 - ramp) * n_epochs)) if ramp < 1 else 0.0


@dataclass(frozen=True)
class EpochReport:
    """State of a training run after an epoch.

    Parameters
    ----------
    epoch : int
        Epochs done.
    n_epochs : int
        Epochs in all.
    loss : float
        Mean loss of the epoch.
    settled : float
        Share of the rows with a candidate of confidence .9 or more.
    seconds : float
        Time that this fit has taken so far.
    seconds_left : float
        Estimate of the time that is left.

    Examples
    --------
    >>> from ambilearn.deep.training import EpochReport
    >>> print(EpochReport(3, 40, 1.25, 0.5, 6.0, 74.0))
    epoch 3 of 40, loss 1.250, 50.0 % of the rows settled, about 1 min 14 s left
    """

    epoch: int
    n_epochs: int
    loss: float
    settled: float
    seconds: float
    seconds_left: float

    def __str__(self) -> str:
        return (
            f"epoch {self.epoch} of {self.n_epochs}, loss {self.loss:.3f}, "
            f"{100 * self.settled:.1f} % of the rows settled, "
            f"about {format_duration(self.seconds_left)} left"
        )
