"""Arrays that do not match their headers are found before memory is allocated."""

import io
import json
import tracemalloc
import zipfile

import numpy as np
import pytest
from scipy import sparse

from ambilearn.tables import InvalidModelError
from ambilearn.tables.array_checks import (
    check_array,
    check_json_size,
    check_unpacked_size,
    estimate_json_size,
)


def npy(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def npz(matrix):
    buffer = io.BytesIO()
    sparse.save_npz(buffer, matrix)
    return buffer.getvalue()


def archive(compression=zipfile.ZIP_STORED, **members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as new:
        for name, content in members.items():
            new.writestr(name.replace("_", "."), content)
    return zipfile.ZipFile(buffer)


def check(content, name="a.npy", max_bytes=10**6):
    check_array(archive(**{name.replace(".", "_"): content}), name, max_bytes)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0),
        np.zeros((0, 3)),
        np.float64(3),
        np.asfortranarray(np.ones((2, 3), dtype=np.int32)),
        np.array(["a", "longer"]),
    ],
)
def test_arrays_as_they_are_written(array):
    check(npy(array))


@pytest.mark.parametrize("shape", [(10**12,), (10**6, 10**6), (7,), (5,), ()])
def test_a_header_that_announces_something_else(shape):
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer, {"descr": "<f8", "fortran_order": False, "shape": shape}
    )
    with pytest.raises(InvalidModelError, match=r"a\.npy should have \d+ bytes and has 48"):
        check(buffer.getvalue() + bytes(48))


def test_objects_are_rejected():
    with pytest.raises(InvalidModelError, match="should have"):
        check(npy(np.array([{}], dtype=object), allow_pickle=True))


@pytest.mark.parametrize("content", [b"", b"no array", npy(np.ones(3))[:20], b"\x93NUMPY\x09\x00"])
def test_other_objects_are_an_error(content):
    with pytest.raises((ValueError, KeyError)):
        check(content)


MATRIX = sparse.csr_array(np.eye(4))


def test_sparse_arrays_as_they_are_written():
    check(npz(MATRIX), "a.npz")
    check(npz(sparse.csr_matrix((0, 5))), "a.npz")


@pytest.mark.parametrize(
    ("part", "values"), [("indices", [0, 1, 2, 4]), ("indices", [0, -1, 2, 3]), ("indptr", [9] * 5)]
)
def test_positions_outside_of_a_sparse_array_are_found(part, values):
    parts = dict(np.load(io.BytesIO(npz(MATRIX)), allow_pickle=False))
    parts[part] = np.array(values, dtype=parts[part].dtype)
    buffer = io.BytesIO()
    np.savez(buffer, **parts)
    with pytest.raises(ValueError, match=r"ind"):
        check(buffer.getvalue(), "a.npz")


def test_a_bomb_within_is_not_unpacked():
    bomb = archive(zipfile.ZIP_DEFLATED, data_npy=npy(np.zeros(10**6))).fp.getvalue()
    assert len(bomb) < 10**5
    with pytest.raises(InvalidModelError, match=r"needs \d+ bytes in memory, more than max_bytes"):
        check(bomb, "a.npz")


def test_sizes_are_added():
    files = archive(a=bytes(600), b=bytes(600))
    check_unpacked_size(files, 1200)
    with pytest.raises(InvalidModelError, match=r"needs 1200 bytes in .* max_bytes=1199"):
        check_unpacked_size(files, 1199)


@pytest.mark.parametrize(
    "item",
    ["{}", "[]", "[0]", "[[[[[[0]]]]]]", '{"":0}', '{"":{"":{"":0}}}', '{"a":0,"b":0,"c":0}', "1.5",
     "9999", '"ab"', "[0,0,0,0,0]", '"\\u1234"', '"\U0001f600a"', "null"],
)  # fmt: skip
def test_json_takes_no_more_memory_than_estimated(item):
    content = f"[{','.join([item] * 1000)}]".encode()
    tracemalloc.start()
    parsed = json.loads(content)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(parsed) == 1000
    assert peak < estimate_json_size(content) < 120 * len(content)


def test_json_that_would_fill_the_memory_is_rejected():
    content = b"[" + b"{}," * 1000 + b"{}]"
    check_json_size(content, 10**6)
    with pytest.raises(InvalidModelError, match=r"describes objects of up to \d+ bytes, more than"):
        check_json_size(content, 10**5)
