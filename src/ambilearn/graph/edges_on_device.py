"""A neighbour graph on a device as a user gets it."""

from typing import Any, NamedTuple

from scipy import sparse

from ambilearn._utils.devices import to_numpy


class DeviceGraph(NamedTuple):
    """The edges of a graph, in arrays of a library on its device.

    Sparse matrices are SciPy's, in the processor's memory: :meth:`to_csr` makes one.

    Parameters
    ----------
    rows, columns : integer arrays of shape (n_edges,)
        Edge *e* leads from row ``columns[e]`` to row ``rows[e]``, which it rebuilds.
    weights : array of shape (n_edges,)
        Weights; those of equal edges add up.
    n_rows : int
        Number of rows.
    """

    rows: Any
    columns: Any
    weights: Any
    n_rows: int

    def to_csr(self) -> sparse.csr_array:
        """The matrix of shape (n, n) in the processor's memory, without stored zeros."""
        rows, columns, weights = (to_numpy(each) for each in self[:3])
        shape = self.n_rows, self.n_rows
        graph = sparse.coo_array((weights, (rows, columns)), shape=shape).tocsr()
        graph.eliminate_zeros()
        return graph
