"""The MATLAB reader against SciPy's on good files, and against bad files of many kinds."""

import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.io import loadmat, savemat

from ambilearn.datasets import InvalidFileError, read_mat
from ambilearn.datasets.matfile import read_matrices


@pytest.fixture
def small():
    """Seven rows, three features, four labels, of which the last never occurs."""
    y = np.array([0, 1, 2, 0, 1, 2, 0])
    mask = np.zeros((7, 4), dtype=int)
    mask[np.arange(7), y] = 1
    mask[[0, 2, 5], [1, 0, 1]] = 1
    return {
        "data": np.arange(21.0).reshape(7, 3),
        "partial_target": mask.T,
        "target": np.eye(4, dtype=int)[y].T,
    }


@pytest.fixture
def save(tmp_path):
    def save(content, **options):
        savemat(tmp_path / "small.mat", content, **options)
        return tmp_path / "small.mat"

    return save


FORMS = {"dense": np.asarray, "sparse": sparse.csc_array, "bool": lambda m: np.asarray(m) > 0}


@pytest.mark.parametrize("turn_data", [False, True])
@pytest.mark.parametrize("turn_labels", [False, True])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("compressed", [False, True])
def test_every_orientation_and_form(small, save, turn_data, turn_labels, form, compressed):
    turned = {
        key: m.T if (turn_data if key == "data" else turn_labels) else m for key, m in small.items()
    }
    for key in ("partial_target", "target"):
        turned[key] = FORMS[form](turned[key].astype(float))
    data = read_mat(save(turned, do_compression=compressed))
    np.testing.assert_array_equal(data.X, small["data"])
    assert data.X.dtype == np.float64
    assert data.X.flags.c_contiguous
    np.testing.assert_array_equal(data.candidates.to_mask(), small["partial_target"].T)
    np.testing.assert_array_equal(data.y, [0, 1, 2, 0, 1, 2, 0])
    np.testing.assert_array_equal(data.classes, [0, 1, 2, 3])  # also the one that never occurs
    np.testing.assert_array_equal(data.candidates.classes, data.classes)
    assert data.name == "small"


def test_the_orientation_is_found_if_sizes_are_ambiguous(save):
    """As many labels as rows: only the content tells rows from columns."""
    target = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]])  # labels × rows
    X = np.arange(8.0).reshape(4, 2)
    for matrix in (target, target.T):
        data = read_mat(save({"data": X, "target": matrix, "partial_target": matrix}))
        np.testing.assert_array_equal(data.y, [0, 0, 1, 1])


def test_the_usual_orientation_wins_if_both_are_possible(save):
    target = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    data = read_mat(save({"data": np.ones((3, 2)), "target": target}))
    np.testing.assert_array_equal(data.y, target.argmax(axis=0))


def test_without_candidates(small, save):
    del small["partial_target"]
    data = read_mat(save(small), name="called")
    assert data.candidates is None
    assert data.name == "called"
    np.testing.assert_array_equal(data.y, [0, 1, 2, 0, 1, 2, 0])


def test_without_true_labels(small, save):
    del small["target"]
    data = read_mat(save(small))
    assert data.y is None
    assert len(data.candidates) == 7


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("partial_target", np.s_[:, 4], [1, 0, 0, 0], r"true label 1 of row 4 is not among"),
        ("target", np.s_[3, 2], 1, r"more than one true label in row 2"),
        ("target", np.s_[:, 6], 0, r"target: .*row 6"),
        ("partial_target", np.s_[:, 3], 0, r"partial_target: .*row 3 is empty"),
        ("partial_target", np.s_[0, 1], 2, r"partial_target is not 0/1: row 1"),
        ("data", np.s_[5, 2], np.nan, r"value nan in row 5, column 2"),
        ("data", np.s_[5, 2], np.inf, r"value inf in row 5, column 2"),
    ],
)
def test_invalid_numbers_are_named_with_their_row(small, save, name, place, value, message):
    small[name][place] = value
    with pytest.raises(InvalidFileError, match=message):
        read_mat(save(small))


def test_sizes_that_do_not_agree(small, save):
    with pytest.raises(InvalidFileError, match=r"\(5, 3\).*\(4, 7\)"):
        read_mat(save(small | {"data": np.ones((5, 3))}))
    with pytest.raises(InvalidFileError, match="differ in size"):
        read_mat(save(small | {"target": small["target"][:3]}))


@pytest.mark.parametrize("missing", ["data", "both labels"])
def test_variables_that_are_missing(small, save, missing):
    for key in ["data"] if missing == "data" else ["partial_target", "target"]:
        del small[key]
    with pytest.raises(InvalidFileError, match="must have the variables `data` and"):
        read_mat(save(small))


LIMIT = 2**24
HEADER = b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM"


def element(kind, payload, order="<"):
    return struct.pack(order + "II", kind, len(payload)) + payload + bytes(-len(payload) % 8)


def variable(name, shape, *parts, mat_class=6, flags=0, order="<"):
    """A variable of the format, byte by byte, true or not."""
    body = element(6, struct.pack(order + "II", mat_class | flags, 0), order)
    body += element(5, struct.pack(f"{order}{len(shape)}i", *shape), order)
    body += element(1, name.encode(), order) + b"".join(parts)
    return element(14, body, order)


def packed(content):
    squeezed = zlib.compress(content)
    return struct.pack("<II", 15, len(squeezed)) + squeezed


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "file.mat"
        path.write_bytes(content)
        return path

    return write


def read(path, *names, limit=LIMIT):
    return read_matrices(path, names or ("data",), limit)


DTYPES = ["f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?"]


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
def test_dense_matrices_agree_with_scipy(tmp_path, dtype, compressed):
    matrix = np.arange(35).reshape(5, 7).astype(dtype)
    savemat(tmp_path / "a.mat", {"other": "text", "data": matrix}, do_compression=compressed)
    ours = read(tmp_path / "a.mat")["data"]
    np.testing.assert_array_equal(ours, loadmat(tmp_path / "a.mat")["data"])


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("density", [0.0, 0.3, 1.0])
def test_sparse_matrices_agree_with_scipy(tmp_path, density, compressed):
    matrix = sparse.random_array((6, 9), density=density, rng=np.random.default_rng(0)).tocsc()
    savemat(tmp_path / "a.mat", {"data": matrix}, do_compression=compressed)
    ours = read(tmp_path / "a.mat")["data"]
    assert sparse.issparse(ours)
    np.testing.assert_array_equal(ours.toarray(), matrix.toarray())


@pytest.mark.parametrize("name", ["FG-NET", "MSRCv2", "lost", "vehicle"])
def test_the_papers_files_agree_with_scipy(real_data_dir, name):
    path = real_data_dir / f"{name}.mat"
    if not path.is_file():
        pytest.skip(f"{path.name} is not here")
    for key, ours in read(path, "data", "partial_target", "target").items():
        theirs = loadmat(path)[key]
        assert sparse.issparse(ours) == sparse.issparse(theirs)
        dense = [m.toarray() if sparse.issparse(m) else m for m in (ours, theirs)]
        np.testing.assert_array_equal(*dense)


def test_big_endian(write):
    numbers = np.array([1.5, -2.0, 3.25, 4.0])
    body = variable("data", (2, 2), element(9, numbers.astype(">f8").tobytes(), ">"), order=">")
    header = HEADER[:124] + struct.pack(">H", 0x0100) + b"MI"
    found = read(write(header + body))["data"]
    np.testing.assert_array_equal(found, [[1.5, 3.25], [-2.0, 4.0]])
    assert found.dtype.isnative


def test_only_wanted_variables_are_unpacked(write):
    bomb = packed(variable("other", (1, 1), element(9, bytes(10**7))))
    good = packed(variable("data", (1, 1), element(9, struct.pack("<d", 7.0))))
    assert read(write(HEADER + bomb + good), limit=10**5)["data"].item() == 7.0


def test_numbers_may_be_stored_narrower_than_they_are(write):
    body = variable("data", (2, 1), struct.pack("<HH", 2, 2) + bytes([3, 250, 0, 0]))
    np.testing.assert_array_equal(read(write(HEADER + body))["data"], [[3], [250]])


ONE = element(9, struct.pack("<d", 1.0))
EYE = (
    element(5, struct.pack("<2i", 0, 1)),
    element(5, struct.pack("<3i", 0, 1, 2)),
    element(9, struct.pack("<2d", 1, 1)),
)


def spoiled(**parts):
    """A sparse unit matrix with some of rows, starts, values replaced."""
    pieces = dict(zip(("rows", "starts", "values"), EYE, strict=True)) | parts
    return HEADER + variable("data", (2, 2), *pieces.values(), mat_class=5)


def ints(*values):
    return element(5, struct.pack(f"<{len(values)}i", *values))


BAD = {
    "empty": (b"", "not a MATLAB"),
    "text": (b"a,b\n1,2\n" * 40, "not a MATLAB"),
    "version 7.3": (HEADER[:124] + struct.pack("<H", 0x0200) + b"IM", r"save -v7"),
    "cut in the header": (HEADER[:100], "not a MATLAB"),
    "cut in a tag": (HEADER + b"\x0e\0\0", "damaged"),
    "cut in a variable": (HEADER + variable("data", (1, 1), ONE)[:-4], "ends in the middle"),
    "size beyond the end": (HEADER + struct.pack("<II", 14, 2**31) + bytes(64), "ends in the"),
    "no variable": (HEADER + element(9, bytes(8)), "elements that are not variables"),
    "no class": (HEADER + element(14, element(5, bytes(8))), "does not start with its class"),
    "short element too long": (HEADER + struct.pack("<HHI", 14, 9, 0), "too many bytes"),
    "negative size": (HEADER + variable("data", (-1, 4), ONE), "no valid size"),
    "no size": (HEADER + variable("data", (), ONE), "no valid size"),
    "three dimensions": (HEADER + variable("data", (1, 1, 1), ONE), "must be a matrix"),
    "fewer numbers than announced": (HEADER + variable("data", (3, 3), ONE), "but 1 numbers"),
    "absurd size": (
        HEADER + variable("data", (2**31 - 1, 2**31 - 1), ONE),
        "2147483647 × 2147483647 numbers, more than max_bytes",
    ),
    "absurd size, packed": (
        HEADER + packed(variable("data", (2**31 - 1, 2**31 - 1), ONE)),
        "more than max_bytes",
    ),
    "letters for numbers": (HEADER + variable("data", (1, 1), element(16, b"abcdefgh")), "numbers"),
    "part of a number": (HEADER + variable("data", (1, 1), element(9, b"abc")), "array of numbers"),
    "broken compression": (HEADER + element(15, b"not zlib"), "damaged"),
    "cell": (HEADER + variable("data", (1, 1), ONE, mat_class=1), "it is cell"),
    "struct": (HEADER + variable("data", (1, 1), ONE, mat_class=2), "it is struct"),
    "object": (HEADER + variable("data", (1, 1), ONE, mat_class=3), "it is object"),
    "text variable": (HEADER + variable("data", (1, 1), ONE, mat_class=4), "it is text"),
    "function": (HEADER + variable("data", (1, 1), ONE, mat_class=16), "it is function"),
    "unknown class": (HEADER + variable("data", (1, 1), ONE, mat_class=99), "it is unknown"),
    "complex": (HEADER + variable("data", (1, 1), ONE, ONE, flags=0x800), "it is complex"),
    "row outside": (spoiled(rows=ints(0, 2)), "invalid indices"),
    "row below zero": (spoiled(rows=ints(0, -1)), "invalid indices"),
    "row far outside": (spoiled(rows=ints(0, 2**31 - 1)), "invalid indices"),
    "columns go back": (spoiled(starts=ints(0, 3, 2)), "invalid indices"),
    "columns start late": (spoiled(starts=ints(1, 1, 2)), "invalid indices"),
    "too few columns": (spoiled(starts=ints(0, 2)), "invalid indices"),
    "more values than there are": (spoiled(starts=ints(0, 1, 9)), "invalid indices"),
    "negative count": (spoiled(starts=ints(0, 1, -1)), "invalid indices"),
    "too few rows": (spoiled(rows=ints(0)), "invalid indices"),
    "fractional rows": (spoiled(rows=element(9, struct.pack("<2d", 0, 1))), "invalid indices"),
    "sparse in three dimensions": (
        HEADER + variable("data", (2, 2, 1), *EYE, mat_class=5),
        "invalid indices",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_rejected(write, case):
    content, message = BAD[case]
    path = write(content)
    with pytest.raises(InvalidFileError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


def test_opaque_objects_are_skipped(write):
    opaque = element(14, element(6, struct.pack("<II", 17, 0)) + element(1, b"data"))
    assert read(write(HEADER + opaque)) == {}


def test_a_file_above_the_size_limit_is_not_read_completely(write):
    with pytest.raises(InvalidFileError, match="larger than max_bytes=1000"):
        read(write(HEADER + bytes(2000)), limit=1000)


@pytest.mark.slow
def test_a_decompression_bomb_takes_no_memory(write):
    """Four hundred kilobytes that unpack to 400 MB."""
    squeeze = zlib.compressobj()
    head = variable("data", (1, 1))[:64]  # a variable of one number …
    stream = [squeeze.compress(head)]
    stream += [squeeze.compress(bytes(10**6)) for _ in range(400)]  # … and then zeros
    content = b"".join(stream) + squeeze.flush()
    path = write(HEADER + struct.pack("<II", 15, len(content)) + content)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidFileError):
            read(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**26


SEED_FILE = HEADER + b"".join(
    [
        variable("data", (3, 2), element(9, np.arange(6.0).tobytes())),
        variable("target", (2, 2), *EYE, mat_class=5),
        packed(variable("partial_target", (2, 3), element(2, bytes([1, 1, 0, 1, 1, 0])))),
    ]
)


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    edits=st.lists(
        st.tuples(st.integers(124, len(SEED_FILE) - 1), st.integers(0, 255)), min_size=1, max_size=6
    ),
    cut=st.integers(0, len(SEED_FILE)),
)
def test_random_damage_is_rejected_or_harmless(write, edits, cut):
    content = bytearray(SEED_FILE)
    for place, value in edits:
        content[place] = value
    path = write(bytes(content[: len(content) - cut % 7]))
    try:
        found = read(path, "data", "target", "partial_target")
    except InvalidFileError:
        return
    for matrix in found.values():  # would crash the interpreter if an index were wrong
        dense = matrix.toarray() if sparse.issparse(matrix) else matrix
        assert dense.shape == matrix.shape
