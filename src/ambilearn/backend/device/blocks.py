"""Blocks of rows on a device."""

from collections.abc import Iterator

ON_DEVICE = 2**27  # numbers held at once on a device, where every call has its price: 1 GB


def device_blocks(n_rows: int, numbers_per_row: int = 1) -> Iterator[slice]:
    """Slices that cover all rows in order; work on one row holds ``numbers_per_row`` numbers."""
    step = max(1, ON_DEVICE // max(1, numbers_per_row))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))
