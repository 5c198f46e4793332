"""A fitted pipeline as bytes in the format of skops, and back, with trusted types only.

skops takes a list of trusted types but does not restrict which of its loaders rebuilds them, and
some loaders call functions. So this module reads the schema first, and rejects a file with other
types than those of models before any object is created, and arrays and JSON that need more memory
than allowed before it is allocated. The schema is internal to skops and may
change: all code that depends on it is in this module, with the versions that it supports.
"""

import io
import json
import math
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from zipfile import ZipFile

import numpy as np
from scipy import sparse
from sklearn.exceptions import InconsistentVersionWarning

from ambilearn._utils.text import requires_extra
from ambilearn.datasets.errors import InvalidFileError
from ambilearn.registry import METHODS

# Versions whose schema and loaders were read, and on which the tests ran; as in pyproject.toml.
# Before adding one, look for changes of skops/io/_protocol.py and of the nodes in _TRUSTED.
OLDEST_SKOPS, NEWEST_SKOPS = (0, 15), (0, 16)
_PROTOCOL = 2  # this library never wrote files of older protocols, which have other loaders

_OBJECTS = (
    *(f"{method.module}.{method.name}" for method in METHODS.values()),
    "ambilearn.deep.training.EpochReport",
    "ambilearn.methods.plda.PLDATransformer",
    "ambilearn.features.pretrained.PretrainedFeatures",
    "ambilearn.graph.neighbors.NeighborSearch",
    "ambilearn.tables.image_files.ImageColumn",
    "ambilearn.tables.text_encoder.TextEncoder",
    "sklearn.compose._column_transformer.ColumnTransformer",
    "sklearn.impute._base.SimpleImputer",
    "sklearn.pipeline.Pipeline",
    "sklearn.preprocessing._data.Normalizer",
    "sklearn.preprocessing._data.StandardScaler",
    "sklearn.preprocessing._encoders.OneHotEncoder",
)
_SCALARS = ("bool", "float64", "int32", "int64", "str_")
_SPARSE = ("scipy.sparse._csr.csr_array", "scipy.sparse._csr.csr_matrix")

# The types that skops may rebuild, by loader. No loader here calls a function.
_TRUSTED = {
    "ObjectNode": _OBJECTS,
    "NdArrayNode": ("numpy.ndarray", *(f"numpy.{name}" for name in _SCALARS)),
    "SparseMatrixNode": _SPARSE,
    "DTypeNode": ("numpy.dtype",),
    "TypeNode": ("builtins.str", "builtins.object", *(f"numpy.{name}" for name in _SCALARS)),
    "JsonNode": ("builtins.str",),
    "DictNode": ("builtins.dict",),
    "ListNode": ("builtins.list",),
    "TupleNode": ("builtins.tuple",),
    "SliceNode": ("builtins.slice",),
}
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class InvalidModelError(InvalidFileError):
    """A file is not a model of this library, or not as it was saved. Nothing was executed."""


class UnsupportedSkopsError(ImportError):
    """The installed skops may write another format than the one that is checked here."""


def dump_pipeline(pipeline: Any) -> bytes:
    """The pipeline as bytes, if it consists of trusted types only."""
    content: bytes = _supported_skops().dumps(pipeline)
    with ZipFile(io.BytesIO(content)) as archive:
        try:
            _check_types(_read_schema(archive))  # do not write a file that cannot be loaded
        except InvalidModelError as error:
            raise InvalidModelError(
                f"The model cannot be saved: {str(error).removeprefix('rejected: ')} Use skops or "
                "joblib to save models with other parts."
            ) from error
    return content


def estimate_schema_size(content: bytes) -> int:
    """Upper bound of the memory that the schema of a dumped pipeline needs."""
    with ZipFile(io.BytesIO(content)) as archive:
        return estimate_json_size(archive.read("schema.json"))


def load_pipeline(content: bytes, max_bytes: int = 2**33) -> Any:
    """The pipeline, if it has only trusted types and needs at most ``max_bytes`` in memory."""
    skops_io = _supported_skops()
    with ZipFile(io.BytesIO(content)) as archive:
        check_unpacked_size(archive, max_bytes)
        schema = _read_schema(archive, max_bytes)
        _check_types(schema)
        _check_arrays(archive, schema, max_bytes)
    with warnings.catch_warnings():
        # load_model warns once, instead of once for each estimator.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        trusted = [*_OBJECTS, *_SPARSE, "numpy.dtype", "builtins.object"]
        return skops_io.loads(content, trusted=trusted)


@contextmanager
def _without_array_libraries() -> Iterator[None]:
    """Context in which a list of scikit-learn's estimators imports no PyTorch, CuPy or Dask.

    skops makes this list, and so imports all packages of scikit-learn. Those hidden here have no
    estimators. With PyTorch, the import takes 1.8 instead of .5 s, and twice the memory. Where
    PyTorch is in use nothing is hidden, because another thread may import what is hidden.
    """
    if "skops.io" in sys.modules or "torch" in sys.modules:
        yield
        return
    names = (f"sklearn.externals.array_api_compat.{name}" for name in ("torch", "cupy", "dask"))
    hidden: dict[str, Any] = dict.fromkeys(name for name in names if name not in sys.modules)
    sys.modules.update(hidden)
    try:
        yield
    finally:
        for name in hidden:
            sys.modules.pop(name, None)


def _supported_skops() -> Any:
    """``skops.io``, if its version is supported."""
    with requires_extra("cli", purpose="A model file"), _without_array_libraries():
        import skops.io

    installed = skops.__version__
    major, minor, *_ = installed.split(".")
    if not OLDEST_SKOPS <= (int(major), int(minor)) <= NEWEST_SKOPS:
        oldest, newest = (".".join(map(str, each)) for each in (OLDEST_SKOPS, NEWEST_SKOPS))
        raise UnsupportedSkopsError(
            f"Model files need skops {oldest} to {newest}; installed is {installed}. "
            f"Try: pip install 'skops~={newest}.0', or update ambilearn."
        )
    return skops.io


def _read_schema(archive: ZipFile, max_bytes: int | None = None) -> Any:
    content = archive.read("schema.json")
    if max_bytes is not None:
        check_json_size(content, max_bytes)
    return json.loads(content)


def _check_types(schema: Any) -> None:
    """Raise an error for types and loaders that no model needs."""
    if schema["protocol"] < _PROTOCOL:
        raise InvalidModelError(
            "written in a format that ambilearn never writes. Fit the model again."
        )
    for node in _nodes(schema):
        loader, kind = node["__loader__"], f"{node.get('__module__')}.{node.get('__class__')}"
        if kind not in _TRUSTED.get(loader, ()):
            raise InvalidModelError(
                f"rejected: {kind} ({loader}) is not part of a model that ambilearn saves."
            )


def _check_arrays(archive: ZipFile, schema: Any, max_bytes: int) -> None:
    """Check that arrays match their headers and need at most ``max_bytes`` of memory."""
    files = [node["file"] for node in _nodes(schema) if "file" in node]
    _check_bytes("needs", sum(archive.getinfo(name).file_size for name in files), max_bytes)
    for name in set(files):
        check_array(archive, name, max_bytes)


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """All nodes that skops would rebuild."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if "__loader__" in node:
                yield node
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def check_unpacked_size(archive: ZipFile, max_bytes: int) -> None:
    """Raise an error if the members of an archive need more than ``max_bytes`` in memory."""
    _check_bytes("needs", sum(member.file_size for member in archive.infolist()), max_bytes)


def _check_bytes(what: str, size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise InvalidModelError(
            f"{what} {size} bytes in memory, more than max_bytes={max_bytes}. If you trust the "
            "file, raise max_bytes of load_model in Python."
        )


# Upper bounds of the bytes that Python needs for an object, a list, an item and an entry, without
# their text.
_JSON_COSTS = {b"{": 240, b"[": 96, b",": 64, b":": 120}


def estimate_json_size(content: bytes) -> int:
    """Upper bound of the memory for objects built from JSON: three bytes, ``{},``, become 72.

    >>> estimate_json_size(b"[{},{}]")
    696
    """
    # A character needs up to four bytes in the whole text, and again in the parsed strings.
    return 8 * len(content) + sum(cost * content.count(sign) for sign, cost in _JSON_COSTS.items())


def check_json_size(content: bytes, max_bytes: int) -> None:
    """Raise an error for JSON from which more than ``max_bytes`` in memory could be built."""
    _check_bytes("describes objects of up to", estimate_json_size(content), max_bytes)


def check_array(archive: ZipFile, name: str, max_bytes: int) -> None:
    """Raise InvalidModelError for an array whose content does not match its header.

    The member of the archive is an array of NumPy (``.npy``), or a sparse one of SciPy (``.npz``),
    which is an archive of arrays itself. It must not unpack to more than ``max_bytes``. A sparse
    array must not have indices out of range, which compiled code does not check.
    """
    if name.endswith(".npz"):
        content = archive.read(name)
        with ZipFile(io.BytesIO(content)) as inner:
            check_unpacked_size(inner, max_bytes)
            for inner_name in inner.namelist():
                check_array(inner, inner_name, max_bytes)
        sparse.load_npz(io.BytesIO(content)).check_format(full_check=True)
        return
    with archive.open(name) as member:
        shape, dtype = _read_header(member)
        announced = math.prod(shape) * dtype.itemsize
        found = archive.getinfo(name).file_size - member.tell()
    if dtype.hasobject or announced != found:
        raise InvalidModelError(
            f"the array {name} should have {announced} bytes and has {found}: the file is damaged "
            "or was changed. Fit the model again."
        )


def _read_header(member: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(member)
    shape, _, dtype = _HEADERS[version](member)
    return shape, dtype
