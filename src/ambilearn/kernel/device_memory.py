"""What an exact fit needs of a device's memory, told before the work begins."""

from typing import Any

from ambilearn._utils.blocks import ON_DEVICE
from ambilearn._utils.devices import free_memory, place_of

_BYTES = 8
_BLOCKS = 5  # blocks of rows that are held at once
_GIB = 2**30


def check_memory(
    X: Any,
    *,
    n_labels: int,
    n_pairs: int,
    n_neighbors: int,
    n_landmarks: int | None,
    n_factors: int,
    keeps_kernel: bool = False,
) -> bool:
    """Refuse a fit that does not fit; whether there is room for one factor only.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows on their device.
    n_labels, n_pairs, n_neighbors : int
        Labels, candidates of all rows together, and neighbours of a row.
    n_landmarks : int or None
        Landmarks, or features of a linear kernel; None for the exact kernel.
    n_factors : int
        Ridge weights, each with a factor of its own if there is room.
    keeps_kernel : bool, default=False
        Whether the kernel matrix is kept beside the factors, for other fits.

    Returns
    -------
    one_factor : bool
        Whether one factor has to do for all ridge weights.

    Raises
    ------
    MemoryError
        If not even that fits. The message says what is needed and what is free.
    """
    free = free_memory(X)
    needed = beside = bytes_beside_kernel(X.shape[0], n_labels, n_pairs, n_neighbors)
    one_factor = False
    if n_landmarks is not None:
        needed += 2 * _BYTES * X.shape[0] * n_landmarks
    else:
        square = _BYTES * X.shape[0] ** 2
        needed += (n_factors + keeps_kernel) * square
        if needed > free and n_factors > 1:
            one_factor, needed = True, beside + (1 + keeps_kernel) * square
    if needed <= free:
        return one_factor
    advice = (
        "Lower n_landmarks, or pass fewer rows."
        if n_landmarks is not None
        else "Set n_landmarks for a kernel of low rank, for instance n_landmarks=2000, whose "
        "memory grows with the rows and not with their square; or pass fewer rows."
    )
    raise MemoryError(
        f"A fit of {X.shape[0]} rows needs about {needed / _GIB:.3g} GiB on its device "
        f"({place_of(X)}), of which {free / _GIB:.3g} GiB are free. {advice}"
    )


def bytes_beside_kernel(n_rows: int, n_labels: int, n_pairs: int, n_neighbors: int) -> int:
    """Bytes of a fit besides kernel and factors: targets and outputs, graph, blocks of rows."""
    dense = 8 * n_rows * n_labels
    mean = -(-n_pairs // n_rows)
    graph = n_rows * (n_neighbors + 1) * (8 * n_neighbors + 24 * mean)
    panels = 3 * n_rows * min(n_rows, 4096)  # of the factorization
    return _BYTES * (dense + graph + panels + _BLOCKS * min(ON_DEVICE, n_rows**2))
