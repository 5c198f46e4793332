"""Read a partial-label data set from a MATLAB file, and check it.

Such files have the variables ``data`` (rows × features), ``partial_target`` (candidates) and
``target`` (true labels); the last two are usually labels × rows, dense or sparse.
"""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ambilearn._utils.types import Matrix
from ambilearn.candidates import CandidateSets, as_candidates
from ambilearn.datasets.errors import InvalidFileError
from ambilearn.datasets.mat5 import read_matrices
from ambilearn.datasets.record import Dataset

_VARIABLES = ("data", "partial_target", "target")


def read_mat(
    path: str | os.PathLike[str], *, name: str | None = None, max_bytes: int = 2**30
) -> Dataset:
    """Read a partial-label data set from a ``.mat`` file.

    Both orientations of each matrix are supported, and labels may be dense or sparse. The file is
    checked: it has only numbers, the sizes agree, and each row has exactly one true label, which
    is among its candidates. Nothing in the file is executed.

    Parameters
    ----------
    path : path-like
        MATLAB 5–7.2 file with ``data`` and at least one of ``partial_target`` and ``target``.
    name : str, optional
        Name of the data set; by default the name of the file.
    max_bytes : int, default=2**30
        Largest size in memory. A larger file is rejected before it is unpacked.

    Returns
    -------
    Dataset
        With labels ``0 … n_labels - 1``.

    Raises
    ------
    InvalidFileError
        If a check fails; the message names the file, the variable and the row.

    Examples
    --------
    >>> import os, tempfile
    >>> from scipy.io import savemat
    >>> from ambilearn.datasets import read_mat
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "tiny.mat")
    ...     savemat(path, {"data": [[0.5, 1.0], [2.0, 0.0], [1.0, 3.0]],
    ...                    "partial_target": [[1, 1, 0], [1, 0, 1]],
    ...                    "target": [[1, 1, 0], [0, 0, 1]]})
    ...     data = read_mat(path)
    >>> data
    <Dataset tiny: 3 rows, 2 features, 2 labels, 1.33 candidates per row>
    >>> data.candidates.to_sets()
    [{0, 1}, {0}, {1}]
    """
    path = Path(path)
    variables = _load_matrices(path, max_bytes)
    data = variables.pop("data")
    shapes = {key: matrix.shape for key, matrix in variables.items()}
    if len(set(shapes.values())) > 1:
        raise InvalidFileError(
            f"{path}: partial_target and target differ in size: {shapes}. Both need one column per "
            "sample and one row per label."
        )
    shape = next(iter(shapes.values()))
    # The usual orientation comes first: it is chosen if several are possible.
    turns = [
        (turn_data, turn_labels)
        for turn_data in (False, True)
        for turn_labels in (True, False)
        if data.shape[turn_data] == shape[turn_labels]
    ]
    if not turns:
        raise InvalidFileError(
            f"{path}: the sizes do not agree: data is {data.shape}, the labels are {shape}. Each "
            "sample needs one row in data and one column in the labels."
        )
    problems = []
    for turn_data, turn_labels in turns:
        matrices = {key: m.T if turn_labels else m for key, m in variables.items()}
        try:
            candidates, y = _parse_labels(path, matrices)
        except InvalidFileError as problem:
            problems.append(problem)
            continue
        return Dataset(
            X=_parse_features(path, data.T if turn_data else data),
            candidates=candidates,
            y=y,
            classes=np.arange(shape[not turn_labels]),
            name=name or path.stem,
            source=str(path),
        )
    raise problems[0]


def _parse_labels(
    path: Path, matrices: dict[str, Matrix]
) -> tuple[CandidateSets | None, NDArray[np.intp] | None]:
    """Candidate sets and true labels of matrices that have one row per sample."""
    sets = {}
    for key, matrix in matrices.items():
        mask = sparse.csr_array(matrix)
        # as_candidates would read other numbers as weights.
        other = np.flatnonzero((mask.data != 0) & (mask.data != 1))
        if len(other):
            row = int(np.searchsorted(mask.indptr, other[0], side="right")) - 1
            raise InvalidFileError(
                f"{path}: {key} is not 0/1: row {row} has the value {mask.data[other[0]]}. Correct "
                "the file, or download it again."
            )
        try:
            # Results are dense, even if the file stores a sparse mask.
            sets[key] = replace(as_candidates(mask), sparse_mask=False)
        except ValueError as error:
            raise InvalidFileError(f"{path}: {key}: {error}") from error
    candidates, truth = sets.get("partial_target"), sets.get("target")
    if truth is None:
        return candidates, None
    several = np.flatnonzero(truth.sizes != 1)
    if len(several):
        raise InvalidFileError(
            f"{path}: target has more than one true label in row {several[0]}. Mark one, or rename "
            "the matrix to partial_target if these are candidates."
        )
    if candidates is not None:
        outside = np.flatnonzero(~candidates.covers(truth.labels))
        if len(outside):
            raise InvalidFileError(
                f"{path}: the true label {truth.labels[outside[0]]} of row {outside[0]} is not "
                "among its candidates. Mark it in partial_target too, or drop the row."
            )
    return candidates, truth.labels


def _parse_features(path: Path, data: Matrix) -> NDArray[np.float64]:
    X = np.ascontiguousarray(data.toarray() if sparse.issparse(data) else data, dtype=np.float64)
    wrong = np.argwhere(~np.isfinite(X))
    if len(wrong):
        i, j = wrong[0]
        raise InvalidFileError(
            f"{path}: data has the value {X[i, j]} in row {i}, column {j}. Fill it in, or drop the "
            "row."
        )
    return X


def _load_matrices(path: Path, max_bytes: int) -> dict[str, Matrix]:
    found = read_matrices(path, _VARIABLES, max_bytes)
    if "data" not in found or len(found) == 1:
        raise InvalidFileError(
            f"{path} must have the variables `data` and `partial_target` or `target`; it has "
            f"{sorted(found) or 'none of them'}. Rename the variables."
        )
    for key, matrix in found.items():
        if 0 in matrix.shape:
            raise InvalidFileError(
                f"{path}: `{key}` is empty (size {matrix.shape}). Each matrix needs at least one "
                "row and one column."
            )
    return found
