"""Networks that map rows to features, and the two heads on top, and their outputs for many rows."""

import copy
import os
from math import prod
from os import PathLike
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate

from ambilearn.deep.augment import View
from ambilearn.deep.rows import DeepRows
from ambilearn.features.models import PretrainedModelError, find_model, hash_model, load_network

BATCH = 1024
_VALUES = 2**22  # of a batch: larger images have smaller batches, which need less memory
LARGEST_SMALL_SIDE = 64  # pixels: larger images get a ResNet-18


class TwoHeads(nn.Module):
    """A network of features with an ordinary and a complementary head.

    The heads start at zero. Random outputs would prefer some candidates before anything is learned,
    and training reinforces such preferences if the sets are large.

    ``features`` maps a batch to features of shape (b, n_features).
    """

    def __init__(self, features: nn.Module, n_features: int, n_labels: int) -> None:
        super().__init__()
        self.features = features
        self.ordinary = nn.Linear(n_features, n_labels)
        self.complementary = nn.Linear(n_features, n_labels)
        for weights in (*self.ordinary.parameters(), *self.complementary.parameters()):
            nn.init.zeros_(weights)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of the two heads, each of shape (b, l)."""
        h, n_features = self.features(x), self.ordinary.in_features
        if not isinstance(h, Tensor) or h.shape[1:] != (n_features,):
            raise ValueError(
                f"module must return features of shape (rows, {n_features}), also in training mode "
                f"and for the views that augment makes, but returned {describe_tensor(h)}."
            )
        return self.ordinary(h.float()), self.complementary(h.float())

    def train(self, mode: bool = True) -> "TwoHeads":
        """Set the mode of all parts but the frozen ones, which stay in evaluation mode."""
        super().train(mode)
        for part in self.frozen_parts():
            part.eval()
        return self

    def frozen_parts(self) -> list[nn.Module]:
        """The parts with weights, all of which are frozen.

        Normalization layers without weights inside such a part are frozen, too.
        """
        parts = [(part, list(part.parameters())) for part in self.features.modules()]
        return [
            part for part, weights in parts if weights and not any(w.requires_grad for w in weights)
        ]


class MLP(nn.Module):
    """The row itself and the second of two hidden layers, for rows of a matrix.

    On few rows of many columns, such as embeddings, hidden layers can fit the candidate set of
    each row, because the heads learn which labels are not candidates. The heads that also see
    the row have no need for that.
    """

    def __init__(self, n_inputs: int, width: int = 256) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for size in (n_inputs, width):
            layers += [nn.Linear(size, width, bias=False), nn.BatchNorm1d(width), nn.GELU()]
            layers.append(nn.Dropout(0.3))
        self.hidden = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """Features of shape (b, n_inputs + width)."""
        return torch.cat([x, self.hidden(x)], 1)


def _conv(n_in: int, n_out: int, pool: bool = False) -> nn.Sequential:
    layers: list[nn.Module] = [nn.Conv2d(n_in, n_out, 3, padding=1, bias=False)]
    if pool:
        layers.append(nn.MaxPool2d(2, ceil_mode=True))  # an image of one pixel stays one
    return nn.Sequential(*layers, nn.BatchNorm2d(n_out), nn.GELU())


class _Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(_conv(width, width), _conv(width, width))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.inner(x)


class ResNet9(nn.Module):
    """Small residual network for images of up to about 64 pixels.

    ``width`` is the number of channels of the first layer; the last has eight times as many.
    """

    def __init__(self, n_channels: int, width: int = 64) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            _conv(n_channels, width),
            _conv(width, 2 * width, pool=True),
            _Residual(2 * width),
            _conv(2 * width, 4 * width, pool=True),
            _conv(4 * width, 8 * width, pool=True),
            _Residual(8 * width),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Features of shape (b, 8 · width)."""
        # Unlike adaptive pooling, this has a gradient that is the same in every run on a GPU.
        return self.layers(x).amax((2, 3))


class _Block(nn.Module):
    """Two convolutions and a shortcut."""

    def __init__(self, n_in: int, n_out: int, stride: int) -> None:
        super().__init__()
        first = nn.Conv2d(n_in, n_out, 3, stride, padding=1, bias=False)
        second = nn.Conv2d(n_out, n_out, 3, padding=1, bias=False)
        norms = nn.BatchNorm2d(n_out), nn.BatchNorm2d(n_out)
        self.inner = nn.Sequential(first, norms[0], nn.ReLU(), second, norms[1])
        self.shortcut = nn.Sequential()
        if n_in != n_out:
            short = nn.Conv2d(n_in, n_out, 1, stride, bias=False)
            self.shortcut = nn.Sequential(short, nn.BatchNorm2d(n_out))

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.shortcut(x) + self.inner(x))


class ResNet18(nn.Sequential):
    """Residual network for larger images (He, Zhang, Ren, Sun, CVPR 2016); 512 features."""

    def __init__(self, n_channels: int) -> None:
        first = nn.Conv2d(n_channels, 64, 7, 2, padding=3, bias=False)
        layers = [first, nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1)]
        for n_in, n_out in ((64, 64), (64, 128), (128, 256), (256, 512)):
            layers += [_Block(n_in, n_out, n_out // n_in), _Block(n_out, n_out, 1)]
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten())


class Pretrained(nn.Module):
    """A network for images that is named, or in a folder; its features are those of its pooling.

    Images are scaled to the size for which the network was made. ``mean`` and ``scale`` of the
    channels are those that it needs, in the range from 0 to 1, and ``content`` is the hash of its
    files.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        folder = find_model(name)
        self.content = hash_model(folder)
        self.network = load_network(folder, "cpu").float()
        processor = getattr(self.network, "processor", None) or self.network[0].processor
        processor = getattr(processor, "image_processor", processor)
        if getattr(processor, "image_mean", None) is None:
            raise PretrainedModelError(f"The model {name!r} is not a network for images.")
        self.mean, self.scale = processor.image_mean, processor.image_std
        crops = getattr(processor, "do_center_crop", False)
        size = dict(processor.crop_size if crops else processor.size)
        self.size = [size.get(side) or size["shortest_edge"] for side in ("height", "width")]

    def forward(self, x: Tensor) -> Tensor:
        """Features of shape (b, d)."""
        if list(x.shape[2:]) != self.size:
            x = interpolate(x, self.size, mode="bicubic", antialias=True)
        return self.network({"pixel_values": x, "modality": "image"})["sentence_embedding"]


class Frozen(nn.Sequential):
    """A network that is not trained, and the standardization of its features."""

    def __init__(self, network: nn.Module, n_features: int) -> None:
        super().__init__(network, nn.BatchNorm1d(n_features, eps=0.0, affine=False))
        self.requires_grad_(False).eval()

    @classmethod
    def of(cls, network: TwoHeads, rows: DeepRows, prepare: View) -> "tuple[Frozen, DeepRows]":
        """The network below the heads, and its standardized features of some rows."""
        found = compute_features(network, rows, prepare)
        base = cls(network.features, found.shape[1])
        norm, variance = base[1], found.var(0, correction=0)
        norm.running_mean = found.mean(0)
        norm.running_var = torch.where(variance > 1e-12, variance, 1.0)
        return base, DeepRows(tuple(found.shape), norm(found))


def choose_width(shape: tuple[int, ...], device: torch.device) -> int:
    """Width of a ResNet-9: 16 on a CPU, otherwise up to 64, twice the larger side."""
    return 16 if device.type == "cpu" else max(16, min(64, 2 * max(shape[1:])))


def choose_features(module: Any, shape: tuple[int, ...], width: int = 64) -> nn.Module:
    """The network of features for rows of a shape, (d,) or (c, h, w), new or copied.

    ``module`` is the parameter of the estimator: ``"auto"``, the name or folder of a pretrained
    network, a module, or a callable that returns one. ``width`` is that of a ResNet-9.
    """
    if isinstance(module, nn.Module):
        return copy.deepcopy(module)
    if not isinstance(module, (str, PathLike)):
        try:
            made = module()
        except TypeError as error:
            raise TypeError(
                f"module={module!r} could not be called without arguments ({error}). Pass an "
                "instance, or a functools.partial that has the arguments."
            ) from error
        if not isinstance(made, nn.Module):
            raise TypeError(
                f"module must make a torch.nn.Module, but {module!r} returned a "
                f"{type(made).__name__}."
            )
        return made
    if module != "auto":
        if len(shape) != 3 or shape[0] not in (1, 3):
            raise ValueError(
                f"module={os.fspath(module)!r} is a network for images, but X has rows of shape "
                f"{shape}. Pass gray or color images, or PretrainedFeatures in a pipeline."
            )
        return Pretrained(os.fspath(module))
    if len(shape) == 1:
        return MLP(shape[0])
    is_large = max(shape[1:]) > LARGEST_SMALL_SIDE
    features = ResNet18(shape[0]) if is_large else ResNet9(shape[0], width)
    return features.to(memory_format=torch.channels_last)  # faster on a GPU


def describe_tensor(value: Any) -> str:
    """Type and shape of what a function of the user returned."""
    if isinstance(value, Tensor):
        return f"{value.dtype} of shape {tuple(value.shape)}"
    return f"a {type(value).__name__}"


def add_heads(features: nn.Module, rows: Tensor, n_labels: int) -> TwoHeads:
    """Put the two heads on a network of features, whose output is checked on some rows."""
    features.eval()
    try:
        with torch.no_grad():
            output = features(rows)
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(
            f"module cannot take a batch of shape {tuple(rows.shape)}: {first}"
        ) from error
    is_matrix = isinstance(output, Tensor) and output.ndim == 2 and len(output) == len(rows)
    if not is_matrix or not output.is_floating_point() or not output.shape[1]:
        raise ValueError(
            "module must return floating-point features of shape (rows, features); for a batch of "
            f"shape {tuple(rows.shape)} it returned {describe_tensor(output)}. Pool or flatten at "
            "its end."
        )
    return TwoHeads(features, output.shape[1], n_labels).to(rows.device)


def autocast(device: torch.device) -> torch.autocast:
    """Context in which networks compute in bfloat16, if the device is a GPU that has it."""
    bf16 = device.type == "cuda" and torch.cuda.is_bf16_supported()
    return torch.autocast(device.type, torch.bfloat16, enabled=bf16)


def compute_outputs(
    network: TwoHeads, rows: DeepRows, prepare: View, *, mirror: bool
) -> tuple[Tensor, Tensor]:
    """Probabilities f and f̂ in host memory, averaged over an image and its mirror image.

    It computes on the device of the network. ``prepare`` converts a batch of stored rows
    to standardized floats.
    """

    def of_batch(batch: Tensor) -> Tensor:
        views = [batch, batch.flip(3)] if mirror else [batch]
        heads = [[head.float().cpu().double() for head in network(view)] for view in views]
        ordinary = sum(f.softmax(1) for f, _ in heads) / len(heads)
        absent = sum(f.sigmoid() for _, f in heads) / len(heads)
        return torch.stack([ordinary, absent], 1)

    return _compute(of_batch, network, rows, prepare).unbind(1)


def compute_features(network: TwoHeads, rows: DeepRows, prepare: View) -> Tensor:
    """Features of the rows, float32 of shape (n, d), in host memory."""
    return _compute(lambda batch: network.features(batch).float().cpu(), network, rows, prepare)


def _compute(of_batch: View, network: TwoHeads, rows: DeepRows, prepare: View) -> Tensor:
    """Outputs of a function for all batches of standardized rows, which must be finite."""
    network.eval()
    device = network.ordinary.weight.device
    size = min(BATCH, max(16, _VALUES // prod(rows.shape[1:])))
    parts: list[Tensor] = []
    for index in torch.arange(len(rows)).split(size):
        with torch.no_grad(), autocast(device):
            parts.append(of_batch(prepare(rows.batch(index, device))))
        bad = ~torch.isfinite(parts[-1]).flatten(1).all(1)
        if bad.any():
            raise ValueError(
                f"The output of the network for row {int(index[bad][0])} of X is not finite. Check "
                "that the values of the row have the range of the training rows."
            )
    return torch.cat(parts)
