"""A fitted pipeline as bytes in the format of skops, and back, with trusted types only.

skops takes a list of trusted types but does not restrict which of its loaders rebuilds them, and
some loaders call functions. So this module reads the schema first, and rejects a file with other
types than those of models before any object is created. The schema is internal to skops and may
change: all code that depends on it is in this module, with the versions that it supports.
"""

import io
import json
import warnings
from collections.abc import Iterator
from typing import Any
from zipfile import ZipFile

from sklearn.exceptions import InconsistentVersionWarning

from ambilearn._utils.optional import requires_extra
from ambilearn.registry import METHODS
from ambilearn.tables.array_checks import (
    check_array,
    check_json_size,
    check_unpacked_size,
    estimate_json_size,
)
from ambilearn.tables.errors import InvalidModelError, UnsupportedSkopsError

# Versions whose schema and loaders were read, and on which the tests ran; as in pyproject.toml.
# Before adding one, look for changes of skops/io/_protocol.py and of the nodes in _TRUSTED.
OLDEST_SKOPS, NEWEST_SKOPS = (0, 15), (0, 16)
_PROTOCOL = 2  # this library never wrote files of older protocols, which have other loaders

_OBJECTS = (
    *(f"{method.module}.{method.name}" for method in METHODS.values()),
    "ambilearn.deep.progress.EpochReport",
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


def _supported_skops() -> Any:
    """``skops.io``, if its version is supported."""
    with requires_extra("cli", purpose="A model file"):
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
    size = sum(archive.getinfo(name).file_size for name in files)
    if size > max_bytes:
        raise InvalidModelError(f"needs {size} bytes in memory, more than max_bytes={max_bytes}.")
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
