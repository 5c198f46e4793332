"""Outputs of a trained network for many rows."""

from collections.abc import Callable, Iterator
from math import prod

import torch
from torch import Tensor

from ambilearn.deep.networks import TwoHeads
from ambilearn.deep.rows import Rows

BATCH = 1024
_VALUES = 2**22  # of a batch: larger images have smaller batches, which need less memory


def compute_outputs(
    network: TwoHeads,
    rows: Rows,
    prepare: Callable[[Tensor], Tensor],
    *,
    mirror: bool,
    bf16: bool,
) -> tuple[Tensor, Tensor]:
    """Probabilities f and f̂ in host memory, averaged over an image and its mirror image.

    It computes on the device of the network. ``prepare`` makes a batch of stored rows standardized
    floats.
    """
    parts: list[tuple[Tensor, Tensor]] = []
    for start, batch, device in _batches(network, rows, prepare):
        views = [batch, batch.flip(3)] if mirror else [batch]
        with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            heads = [network(view) for view in views]
        ordinary = sum(f.float().cpu().double().softmax(1) for f, _ in heads) / len(heads)
        absent = sum(f.float().cpu().double().sigmoid() for _, f in heads) / len(heads)
        _check_finite(ordinary, start)
        parts.append((ordinary, absent))
    return torch.cat([part for part, _ in parts]), torch.cat([part for _, part in parts])


def compute_features(
    network: TwoHeads, rows: Rows, prepare: Callable[[Tensor], Tensor], *, bf16: bool
) -> Tensor:
    """Features of the rows, float32 of shape (n, d), in host memory."""
    parts: list[Tensor] = []
    for start, batch, device in _batches(network, rows, prepare):
        with torch.no_grad(), torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            features = network.features(batch).float().cpu()
        _check_finite(features, start)
        parts.append(features)
    return torch.cat(parts)


def _check_finite(output: Tensor, start: int) -> None:
    """Raise an error if the output of a batch that begins at row ``start`` is not finite."""
    bad = ~torch.isfinite(output).all(1)
    if bad.any():
        row = start + int(bad.nonzero()[0])
        raise ValueError(
            f"The output of the network for row {row} of X is not finite. Check that the values of "
            "the row have the range of the training rows."
        )


def _batches(
    network: TwoHeads, rows: Rows, prepare: Callable[[Tensor], Tensor]
) -> Iterator[tuple[int, Tensor, torch.device]]:
    """The first row, the standardized rows and the device of every batch."""
    network.eval()
    device = next(network.ordinary.parameters()).device
    size = min(BATCH, max(16, _VALUES // prod(rows.shape[1:])))
    for start in range(0, len(rows), size):
        index = torch.arange(start, min(start + size, len(rows)))
        batch = prepare(rows.batch(index, device))
        yield start, network.arrange(batch), device
