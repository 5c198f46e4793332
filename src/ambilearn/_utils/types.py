"""Types of arrays, for annotations."""

from typing import Any, TypeAlias

import numpy as np

# An array of NumPy, or of another library of the array API standard: their interface is the same.
Array: TypeAlias = np.ndarray
# A dense array or a SciPy sparse matrix, for instance validated rows. SciPy has no types.
Matrix: TypeAlias = Any
# A seed of scikit-learn.
RandomState: TypeAlias = "int | np.random.RandomState | None"
