"""Outputs of a method as further columns of the rows that another one learns from."""

from typing import Any

from array_api_compat import array_namespace
from scipy import sparse


def side_by_side(*blocks: Any) -> Any:
    """Columns of all blocks, where they are; sparse if one of them is.

    Parameters
    ----------
    *blocks : arrays or sparse matrices of shape (n, …)
        Features and outputs of the same rows.

    Returns
    -------
    rows : array or CSR matrix
    """
    if any(sparse.issparse(block) for block in blocks):
        return sparse.hstack(blocks).tocsr()
    return array_namespace(*blocks).concat(blocks, axis=1)
