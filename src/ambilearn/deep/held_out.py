"""A check of a training by rows that the network has not learned from."""

from math import prod

import numpy as np
import torch
from numpy.typing import NDArray

from ambilearn._utils.warnings import warn_user
from ambilearn.deep.networks import compute_outputs
from ambilearn.deep.training import Trainer
from ambilearn.methods.plcl import PLCL

_MOST = 200  # rows that are left out; a fifth of all rows if there are fewer than 1,000
_FEWEST_ROWS = 200  # in all, for which the check is made
_MOST_FITTED = 2000  # rows that PL-CL learns from
_VALUES = 2**25  # of these rows


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
    n = min(_MOST, len(counted) // 5)
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
    most = min(_MOST_FITTED, _VALUES // prod(trainer.rows.shape[1:]))
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
