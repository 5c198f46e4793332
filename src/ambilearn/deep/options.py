"""Values of the parameters of the estimator for given rows and a given machine."""

from dataclasses import dataclass
from math import ceil, log2, prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ambilearn._utils.types import Estimator
from ambilearn._utils.warnings import warn_user
from ambilearn.deep.augment import CropFlip, Noise, StrongImageView, SwapFeatures, View, identity
from ambilearn.deep.objective import choose_objective
from ambilearn.deep.rows import DeepRows
from ambilearn.deep.training import Settings

_SAMPLE = 4096  # images from which mean and scale are computed
_SAMPLE_VALUES = 2**25  # of these images: fewer of large ones, which need less memory
_VALUES_PER_STEP = 2**23  # 512 color images of 64 pixels, or 64 of 224
_STEPS, _FEWEST_STEPS = 1500, 600  # of a training: by default, and without a warning


def choose_device(name: str) -> torch.device:
    """The device of a name; of "auto", a GPU if there is one.

    Raises
    ------
    ValueError
        If there is no such device here.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
        if name == "cpu" and torch.backends.mps.is_available():
            name = "mps"
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        first = str(error).splitlines()[0]
        raise ValueError(
            f"device={name!r} cannot be used on this machine ({first}). Use device='auto' or "
            "device='cpu'."
        ) from error
    return device


def choose_batch_size(batch_size: int | None, shape: tuple[int, ...]) -> int:
    """About fifty steps per epoch by default: a power of two between 32 and 512.

    ``shape`` is that of all rows. Large images have smaller batches, which need less memory.
    """
    if batch_size is not None:
        return batch_size
    wanted = min(shape[0] / 50, _VALUES_PER_STEP / prod(shape[1:]))
    return int(min(512, max(32, 2 ** round(log2(max(1, wanted))))))


def choose_epochs(epochs: int | None, rows: DeepRows, batch_size: int, device: torch.device) -> int:
    """By default at least 1,500 steps, and 100 epochs; 25 of images on a CPU.

    Gives a warning if the epochs of the user are too few for a useful network.
    """
    per_epoch = max(1, len(rows) // batch_size)
    if epochs is None:
        least = 25 if rows.are_images and device.type == "cpu" else 100
        return max(least, ceil(_STEPS / per_epoch))
    if epochs * per_epoch < _FEWEST_STEPS:
        warn_user(
            f"epochs={epochs} are {epochs * per_epoch} steps of {min(batch_size, len(rows))} rows, "
            f"which are too few for an accurate network. Use epochs={ceil(_STEPS / per_epoch)}, or "
            "epochs=None."
        )
    return epochs


def choose_views(augment: Any, rows: DeepRows, strong: bool) -> tuple[View, View | None]:
    """The functions that make the weak and the strong view; None if there is one view only.

    ``augment`` is the parameter of the estimator, and ``strong`` whether the loss uses a strong
    view. Gray images are not mirrored: they may be letters or digits.
    """
    if augment is None:
        augment = None, None
    elif isinstance(augment, str) and rows.are_images:
        flip = rows.shape[1] > 1
        augment = CropFlip(flip), StrongImageView(flip)
    elif isinstance(augment, str):
        augment = Noise(), SwapFeatures()
    is_pair = isinstance(augment, (tuple, list)) and len(augment) == 2
    if not is_pair or not all(view is None or callable(view) for view in augment):
        raise ValueError(
            "augment must be 'auto', None, or a pair (weak, strong) of callables that take and "
            f"return a batch; got {augment!r}."
        )
    return augment[0] or identity, augment[1] if strong else None


def choose_settings(model: Estimator, rows: DeepRows, device: torch.device) -> Settings:
    """Settings of the training of an estimator."""
    objective = choose_objective(
        model.loss, comp_weight=model.comp_weight, ramp=model.ramp, mixup=model.mixup
    )
    batch_size = choose_batch_size(model.batch_size, rows.shape)
    weak, strong = choose_views(model.augment, rows, objective.strong_view)
    epochs = choose_epochs(model.epochs, rows, batch_size, device)
    decay = model.weight_decay
    if decay is None:
        decay = 0.005 if rows.are_images else 0.01
    return Settings(objective, weak, strong, epochs, batch_size, model.lr, decay)


@dataclass(frozen=True)
class Standardizer:
    """Standardizes stored rows: each feature or channel gets mean 0 and variance 1.

    ``mean`` and ``scale`` are in the unit of the stored values.
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def of(cls, rows: DeepRows, normalize: Any) -> "Standardizer":
        """From the rows, or from the parameter ``normalize`` of the estimator."""
        n, unit = rows.shape[1], rows.unit
        if normalize is None:
            return cls(np.zeros(n), np.full(n, unit))
        if not isinstance(normalize, str):
            mean, scale = _check_normalization(normalize, n)
            return cls(mean * unit, scale * unit)
        axes = (0, 2, 3) if rows.are_images else 0
        values = sample_rows(rows).numpy().astype(np.float64)
        scale = values.std(axis=axes)
        # The computed scale of a constant is not always zero.
        rounding = 10 * np.finfo(float).eps * np.abs(values).max(axis=axes)
        return cls(values.mean(axis=axes), np.where(scale > rounding, scale, 1.0))

    @classmethod
    def for_pretrained(cls, rows: DeepRows, mean: Any, scale: Any) -> "Standardizer":
        """From the three channels of a pretrained network; gray images get three channels."""
        if rows.unit != 255:
            values = sample_rows(rows)
            if values.min() < 0 or values.max() > 1:
                raise ValueError(
                    "A pretrained network needs images of type uint8, or with values from 0 to 1; "
                    f"X has values from {float(values.min()):g} to {float(values.max()):g}."
                )
        return cls(rows.unit * np.array(mean, float), rows.unit * np.array(scale, float))

    def apply(self, rows: DeepRows) -> DeepRows:
        """The rows of a matrix standardized in full precision; other rows as they are."""
        if rows.held is None or rows.are_images:
            return rows
        values = (rows.held.numpy() - self.mean) / self.scale
        with np.errstate(over="ignore"):  # the output of the network is checked
            return DeepRows(rows.shape, torch.from_numpy(values.astype(np.float32)))

    def prepare(self, rows: DeepRows, device: torch.device) -> View:
        """The function that standardizes a batch of the rows on the device."""
        if rows.held is not None and not rows.are_images:
            return identity  # done by apply
        shape = (-1, *[1] * (len(rows.shape) - 2))
        mean = torch.tensor(self.mean, dtype=torch.float32, device=device).view(shape)
        scale = torch.tensor(self.scale, dtype=torch.float32, device=device).view(shape)
        return lambda x: (x.to(torch.float32) - mean) / scale


def _check_normalization(normalize: Any, n: int) -> NDArray[np.float64]:
    try:
        mean, scale = normalize
        pair = np.stack([np.broadcast_to(np.asarray(part, float), n) for part in (mean, scale)])
    except (TypeError, ValueError):
        pair = np.zeros((2, n))
    if not np.isfinite(pair).all() or not (pair[1] > 0).all():
        raise ValueError(
            "normalize must be 'auto', None, or a pair (mean, standard deviation) of numbers, one "
            f"for each of the {n} features or channels; got {normalize!r}."
        )
    return pair


def sample_rows(rows: DeepRows) -> Tensor:
    """All rows of a matrix; otherwise a sample of evenly spaced rows."""
    if rows.held is not None and not rows.are_images:
        return rows.held
    n = min(len(rows), _SAMPLE, max(16, _SAMPLE_VALUES // prod(rows.shape[1:])))
    index = np.linspace(0, len(rows) - 1, n).round().astype(np.int64)
    return rows.batch(torch.from_numpy(index), torch.device("cpu"))
