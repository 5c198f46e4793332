"""The internal format of skops, for the supported versions."""

import io
import json
import os
import tomllib
import tracemalloc
import zipfile
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pytest
import skops
import skops.io
from markdown_pages import ROOT
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from ambilearn import PLCL, PLKNN
from ambilearn.registry import installed_methods
from ambilearn.tables import InvalidModelError, UnsupportedSkopsError, skops_format
from ambilearn.tables.skops_format import (
    check_array,
    check_json_size,
    check_unpacked_size,
    dump_pipeline,
    estimate_json_size,
    load_pipeline,
)

X = np.random.default_rng(0).normal(size=(12, 2))
SETS = [{"a", "b"}, {"b"}, {"a"}] * 4


@pytest.fixture
def pipeline():
    return make_pipeline(StandardScaler(), PLKNN(n_neighbors=3)).fit(X, SETS)


@pytest.mark.parametrize("method", installed_methods().values(), ids=str)
def test_every_method_is_trusted(method):
    assert type(load_pipeline(dump_pipeline(method.load()()))) is method.load()


def test_every_trusted_type_exists():
    for kinds in skops_format._TRUSTED.values():
        for kind in kinds:
            module, _, name = kind.rpartition(".")
            if module.startswith("ambilearn.deep") and not find_spec("torch"):
                continue
            assert isinstance(getattr(import_module(module), name), type)


def test_every_trusted_loader_exists():
    from skops.io._audit import NODE_TYPE_MAPPING

    current = {loader for loader, protocol in NODE_TYPE_MAPPING if protocol == 2}
    assert set(skops_format._TRUSTED) <= current


def test_the_schema_is_as_we_read_it(pipeline):
    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(pipeline))) as archive:
        schema = json.loads(archive.read("schema.json"))
    assert schema["protocol"] == skops_format._PROTOCOL == skops.io._protocol.PROTOCOL
    nodes = {
        (node["__loader__"], f"{node['__module__']}.{node['__class__']}")
        for node in skops_format._nodes(schema)
    }
    assert ("ObjectNode", "sklearn.pipeline.Pipeline") in nodes
    assert ("ObjectNode", "ambilearn.methods.plknn.PLKNN") in nodes
    assert ("NdArrayNode", "numpy.ndarray") in nodes


@pytest.mark.parametrize(
    "foreign",
    [LogisticRegression(), FunctionTransformer(os.mkdir), PLCL(kernel=os.mkdir), {"a": os.mkdir}],
    ids=["class", "function", "parameter", "member"],
)
def test_other_types_are_neither_written_nor_read(foreign):
    with pytest.raises(InvalidModelError, match="is not part of a model that ambilearn saves"):
        dump_pipeline(foreign)
    with pytest.raises(InvalidModelError, match="is not part of a model that ambilearn saves"):
        load_pipeline(skops.io.dumps(foreign))


@pytest.mark.parametrize("version", ["0.14.0", "0.17.0", "0.17.dev0", "1.15.0"])
def test_versions_that_were_not_checked_are_rejected(pipeline, monkeypatch, version):
    content = dump_pipeline(pipeline)
    monkeypatch.setattr(skops, "__version__", version)
    for use in (lambda: load_pipeline(content), lambda: dump_pipeline(pipeline)):
        with pytest.raises(UnsupportedSkopsError) as caught:
            use()
        assert "need skops 0.15 to 0.16" in str(caught.value)
        assert f"installed is {version}. Try: pip install" in str(caught.value)


def test_the_package_declares_the_same_versions():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = sum(declared["optional-dependencies"].values(), declared["dependencies"])
    major, minor = skops_format.NEWEST_SKOPS
    oldest = ".".join(map(str, skops_format.OLDEST_SKOPS))
    found = [each for each in extras if each.startswith("skops")]
    assert found == [f"skops>={oldest},<{major}.{minor + 1}"]


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
    with pytest.raises(
        InvalidModelError, match=r"describes objects of up to \d+ bytes in memory, more than"
    ):
        check_json_size(content, 10**5)
