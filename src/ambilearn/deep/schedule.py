"""Values that change from step to step: learning rate, momentum, averaging, ramp."""

from math import cos, pi

_RISE = 0.2  # share of the steps in which the learning rate rises
_START, _END = 0.1, 0.001  # learning rate at the start and at the end, over the largest
_MOMENTA = (0.95, 0.85)  # at the smallest and at the largest learning rate


def _between(start: float, end: float, share: float) -> float:
    return end + (start - end) / 2 * (1 + cos(pi * share))


def one_cycle(step: int, n_steps: int) -> tuple[float, float]:
    """Learning rate over the largest, and momentum, of a step: one cycle of cosines.

    >>> [round(one_cycle(step, 101)[0], 3) for step in (0, 10, 100)]
    [0.1, 0.579, 0.001]
    """
    top = _RISE * n_steps - 1
    if step < top:
        share = step / top
        return _between(_START, 1.0, share), _between(*_MOMENTA, share)
    share = min(1.0, (step - top) / max(1e-9, n_steps - 1 - top))
    return _between(1.0, _END, share), _between(*_MOMENTA[::-1], share)


def average_decay(step: int) -> float:
    """Share of the average that a step keeps: small at first, .999 in the end."""
    return min(0.999, step / (step + 50))


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
