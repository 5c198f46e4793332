"""MATLAB files: matrices of any kind and size, and damaged bytes."""

import io
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy import sparse
from scipy.io import savemat

from ambilearn.datasets import read_mat
from torture.hostile import byte_edits, edit_bytes, numbers
from torture.oracle import REJECTED, Defect, attempt, check_canary
from torture.target import Target

_ones = st.sampled_from([0, 1, 1, 1])


def _matrix(cell: Any) -> Any:
    shape = st.tuples(st.integers(0, 4), st.integers(0, 4))
    return shape.flatmap(
        lambda size: st.lists(
            st.lists(cell, min_size=size[1], max_size=size[1]), min_size=size[0], max_size=size[0]
        )
    )


@st.composite
def mat_cases(draw: Any) -> dict[str, Any]:
    """Matrices with mostly consistent shapes, in a file with few damaged bytes."""
    n = draw(st.integers(1, 4))
    tame = st.lists(st.lists(st.integers(-3, 3), min_size=2, max_size=2), min_size=n, max_size=n)
    mask = st.lists(st.lists(_ones, min_size=n, max_size=n), min_size=2, max_size=3)
    return {
        "data": draw(tame | tame | tame | _matrix(numbers)),
        "partial_target": draw(mask | mask | mask | _matrix(_ones) | _matrix(numbers)),
        "target": draw(st.none() | st.none() | mask | _matrix(_ones)),
        "kind": draw(
            st.sampled_from(["dense", "dense", "sparse", "text", "complex", "bool", "i1"])
        ),
        "compressed": draw(st.booleans()),
        "edits": draw(st.just([]) | byte_edits),
    }


def check_mat(case: dict[str, Any], folder: Path) -> bool:
    """A file is rejected, or is a consistent data set."""
    path = folder / "case.mat"
    content = make_mat(case)
    path.write_bytes(edit_bytes(content, case["edits"]) if case["edits"] else content)
    data = attempt(read_mat, path, max_bytes=2**24)
    check_canary()
    if data is REJECTED:
        return False
    if not np.isfinite(data.X).all():
        raise Defect("wrong", "features that are not finite")
    for part in (data.candidates, data.y):
        if part is not None and len(part) != len(data.X):
            raise Defect("wrong", "parts of different length")
    return True


def make_mat(case: dict[str, Any]) -> bytes:
    """A MATLAB file with the matrices of a case."""
    variables = {}
    for name in ("data", "partial_target", "target"):
        if case[name] is not None:
            matrix = np.array(case[name], dtype=object)
            matrix = np.atleast_2d(matrix).astype(float) if matrix.size else np.zeros((0, 2))
            variables[name] = _as_kind(matrix, case["kind"] if name != "data" else "dense")
    file = io.BytesIO()
    savemat(file, variables, do_compression=case["compressed"])
    return file.getvalue()


def _as_kind(matrix: Any, kind: str) -> Any:
    with np.errstate(all="ignore"):
        if kind == "sparse":
            return sparse.csc_matrix(matrix)
        if kind == "text":
            return "text"
        if kind == "dense":
            return matrix
        return matrix.astype(kind if kind != "bool" else np.bool_)


TARGETS = [Target("mat-files", "inputs", mat_cases(), check_mat, share=8)]
