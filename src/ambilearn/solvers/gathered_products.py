"""Deterministic products with sparse matrices on a device.

The array API standard has no sparse matrices, and the sparse products of device libraries sum in an
order that can change from run to run. Here each row is stored as a dense vector of its entries,
padded with zeros; a product gathers, multiplies and sums along the rows. Rows of similar length
share a layout, so that a few long rows do not pad all short ones. No operation scatters, so equal
inputs give identical results.
"""

from types import ModuleType
from typing import NamedTuple

from array_api_compat import array_namespace, device

from ambilearn._utils.types import Array

# Zeros accepted as padding before another layout is used, which costs a few more kernel calls.
_MAX_PADDING = 2_000_000


class Layout(NamedTuple):
    """Rows of similar length: ``entry`` and ``column`` of shape (r, w) index their entries."""

    entry: Array
    column: Array


class SparsePattern:
    """Positions of the entries of a sparse matrix; entries at the same position are summed."""

    def __init__(self, rows: Array, columns: Array, n_rows: int) -> None:
        xp, where = array_namespace(rows), device(rows)
        n_entries = rows.shape[0]
        order = xp.argsort(rows)
        ends = xp.searchsorted(xp.take(rows, order), xp.arange(n_rows + 1, device=where))
        starts, lengths = ends[:-1], ends[1:] - ends[:-1]
        # An additional entry with value zero pads the rows.
        padding = xp.zeros((1,), dtype=rows.dtype, device=where)
        order = xp.concat([order, padding + n_entries])
        columns = xp.concat([columns, padding])
        self.n_rows = n_rows
        self.layouts: list[Layout] = []
        members = []
        for shortest, longest in _layout_lengths(xp, lengths):
            (inside,) = xp.nonzero((lengths >= shortest) & (lengths <= longest))
            steps = xp.arange(max(longest, 1), device=where)[None, :]
            length, start = xp.take(lengths, inside)[:, None], xp.take(starts, inside)[:, None]
            place = xp.where(steps < length, start + steps, n_entries)
            entry = xp.take(order, xp.reshape(place, (-1,)))
            column = xp.take(columns, entry)
            self.layouts.append(
                Layout(*(xp.reshape(each, place.shape) for each in (entry, column)))
            )
            members.append(inside)
        # Products are computed layout by layout; `position` restores the order of the rows.
        self.position = xp.argsort(xp.concat(members)) if len(members) > 1 else None

    def matrix(self, values: Array) -> "GatheredMatrix":
        """Matrix with these values, in the order of ``rows`` and ``columns``."""
        xp = array_namespace(values)
        values = xp.concat([values, xp.zeros((1,), dtype=values.dtype, device=device(values))])
        return GatheredMatrix(self, [_take(xp, values, layout.entry) for layout in self.layouts])


class GatheredMatrix:
    """A sparse matrix on a device; supports ``@`` with a vector or a matrix of columns.

    ``values`` are those of the entries, in the layouts of the pattern.
    """

    def __init__(self, pattern: SparsePattern, values: list[Array]) -> None:
        self._pattern, self._values = pattern, values

    def __matmul__(self, x: Array) -> Array:
        xp = array_namespace(x)
        parts = []
        for layout, values in zip(self._pattern.layouts, self._values, strict=True):
            factors = values if x.ndim == 1 else values[:, :, None]
            parts.append(xp.sum(factors * _take(xp, x, layout.column), axis=1))
        if self._pattern.position is None:
            return parts[0]
        return xp.take(xp.concat(parts), self._pattern.position, axis=0)


def _take(xp: ModuleType, x: Array, index: Array) -> Array:
    taken = xp.take(x, xp.reshape(index, (-1,)), axis=0)
    return xp.reshape(taken, (*index.shape, *x.shape[1:]))


def _layout_lengths(xp: ModuleType, lengths: Array) -> list[tuple[int, int]]:
    """Shortest and longest row of each layout: powers of two, merged if little padding is added."""
    longest = int(xp.max(lengths)) if lengths.shape[0] else 0
    bounds: list[tuple[int, int]] = []
    upper = longest
    while upper > 0:
        lower = upper // 2 + 1 if upper > 1 else 0
        n_rows = int(xp.sum(xp.astype((lengths >= lower) & (lengths <= upper), xp.int64)))
        if bounds and n_rows * (bounds[-1][1] - upper) <= _MAX_PADDING:
            bounds[-1] = (lower, bounds[-1][1])
        else:
            bounds.append((lower, upper))
        upper = lower - 1
    return bounds or [(0, 0)]
