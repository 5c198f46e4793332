"""Reports of a training run, one per epoch."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

from ambilearn._utils.text import format_duration


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
    >>> from ambilearn.deep.progress import EpochReport
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


@contextmanager
def report_printers(verbose: bool) -> Iterator[list[Callable[[EpochReport], None]]]:
    """Functions that print reports, if ``verbose``. In a terminal, all are in one line."""
    overwrite, printed = verbose and sys.stderr.isatty(), False

    def print_report(report: EpochReport) -> None:
        nonlocal printed
        printed = True
        start, end = ("\r\x1b[K", "") if overwrite else ("", "\n")
        print(f"{start}{report}", end=end, file=sys.stderr, flush=True)

    try:
        yield [print_report] if verbose else []
    finally:
        if printed and overwrite:
            print(file=sys.stderr)


def reports(
    run_epoch: Callable[[], tuple[float, float]], done: int, n_epochs: int
) -> Iterator[EpochReport]:
    """Run the epochs that are left, with a report after each.

    ``run_epoch`` returns the loss and the share of settled rows. ``done`` of the ``n_epochs``
    epochs were run before.
    """
    began = perf_counter()
    first_done = began
    for epoch in range(done, n_epochs):
        loss, settled = run_epoch()
        now = perf_counter()
        if epoch == done:
            first_done = now  # the first epoch also compiles: it does not count in the estimate
        later = epoch - done
        mean = (now - first_done) / later if later else now - began
        left = mean * (n_epochs - epoch - 1)
        yield EpochReport(epoch + 1, n_epochs, loss, settled, now - began, left)
