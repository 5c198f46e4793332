"""Memory that a fit needs on a device, checked before it starts."""

from typing import Any

from ambilearn.backend.arrays import describe_device, free_memory
from ambilearn.backend.device.blocks import ON_DEVICE

_BYTES = 8
_BLOCKS = 5  # blocks of rows that are held at once
_GIB = 2**30


def bytes_of_fit(
    n_rows: int,
    *,
    n_labels: int,
    n_pairs: int,
    n_neighbors: int,
    rank: int | None,
    n_matrices: int = 1,
) -> int:
    """Bytes that a fit needs on a device.

    ``n_pairs`` counts the candidates of all rows together. ``rank`` is the number of columns of the
    features that replace the kernel matrix, such as landmarks; 0 without a kernel, None for the
    exact kernel. ``n_matrices`` counts the n×n matrices of the exact kernel: itself, or factors,
    one of which may overwrite it.
    """
    numbers = n_matrices * n_rows**2 if rank is None else 2 * n_rows * rank
    return bytes_besides_kernel(n_rows, n_labels, n_pairs, n_neighbors) + _BYTES * numbers


def bytes_besides_kernel(n_rows: int, n_labels: int, n_pairs: int, n_neighbors: int) -> int:
    """Bytes of a fit besides kernel and factors: targets and outputs, graph, blocks of rows."""
    dense = 8 * n_rows * n_labels
    mean = -(-n_pairs // n_rows)
    graph = n_rows * (n_neighbors + 1) * (8 * n_neighbors + 24 * mean)
    panels = 3 * n_rows * min(n_rows, 4096)  # of the factorization
    return _BYTES * (dense + graph + panels + _BLOCKS * min(ON_DEVICE, n_rows**2))


def has_memory(X: Any, n_bytes: int) -> bool:
    """Whether ``n_bytes`` can be allocated on the device of X."""
    return n_bytes <= free_memory(X)


def require_memory(X: Any, n_bytes: int, *, low_rank: bool = False) -> None:
    """Raise MemoryError if a fit does not fit in the memory of the device of X.

    The message has the required memory, the free memory, and what to do. ``n_bytes`` is the memory
    that the fit has yet to allocate; ``low_rank`` whether the kernel has low rank already.
    """
    if has_memory(X, n_bytes):
        return
    advice = (
        "Lower n_landmarks, or pass fewer rows."
        if low_rank
        else "Set n_landmarks for a kernel of low rank, for instance n_landmarks=2000, whose "
        "memory grows with the rows and not with their square; or pass fewer rows."
    )
    raise MemoryError(
        f"A fit of {X.shape[0]} rows needs about {n_bytes / _GIB:.3g} GiB on its device "
        f"({describe_device(X)}), but only {free_memory(X) / _GIB:.3g} GiB are free. {advice}"
    )
