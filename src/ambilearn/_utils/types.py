"""Types of arrays, for annotations."""

from typing import TYPE_CHECKING, Any, TypeAlias

# An array of NumPy, or of another library of the array API standard: their interface is the same.
# A data frame of pandas, which is optional.
if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    Array: TypeAlias = np.ndarray
    DataFrame: TypeAlias = pd.DataFrame
else:  # so that `ambilearn --help` does not import NumPy
    Array = DataFrame = Any
# A dense array or a SciPy sparse matrix, for instance validated rows. SciPy has no types.
Matrix: TypeAlias = Any
# A seed of scikit-learn.
RandomState: TypeAlias = "int | np.random.RandomState | None"
# Candidate sets, or labels, in any form that `as_candidates` takes.
AnyCandidates: TypeAlias = Any
# A label: hashable, and sortable among the others.
Label: TypeAlias = Any
# An estimator of scikit-learn or of this library. scikit-learn has no types.
Estimator: TypeAlias = Any
# Values of parameters by their names.
Params: TypeAlias = dict[str, Any]
