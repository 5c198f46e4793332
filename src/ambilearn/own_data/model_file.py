"""Save a model as a file, and load it without executing anything from it.

The file is a ZIP archive of three members: ``about.json`` says in plain text what the model is
(versions, columns, labels, method, parameters), ``pipeline.skops`` is the fitted pipeline in the
format of skops, and ``SHA256SUMS`` has the checksums of both. Loading reads arrays and rebuilds
objects of the classes listed here, and no others; a file with anything else is refused before any
object is made.
"""

import hashlib
import io
import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, is_zipfile

import sklearn
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.pipeline import Pipeline

from ambilearn._utils.warnings import warn_user
from ambilearn.datasets.errors import InvalidFileError
from ambilearn.datasets.folders import written_whole
from ambilearn.own_data.columns import Column
from ambilearn.own_data.model import TableModel
from ambilearn.registry import METHODS

FORMAT = "ambilearn model"
FORMAT_VERSION = 1
_ABOUT, _PIPELINE, _SUMS = "about.json", "pipeline.skops", "SHA256SUMS"
_ARCHIVE = b"PK\x03\x04"  # how a ZIP archive begins
_SKOPS_PROTOCOL = 2  # older ones have other loaders, which were never written by this library

_OBJECTS = (
    *(f"{method.module}.{method.name}" for method in METHODS.values()),
    "ambilearn.methods.plda.PLDATransformer",
    "ambilearn.graph.neighbors.NeighborSearch",
    "sklearn.compose._column_transformer.ColumnTransformer",
    "sklearn.impute._base.SimpleImputer",
    "sklearn.pipeline.Pipeline",
    "sklearn.preprocessing._data.StandardScaler",
    "sklearn.preprocessing._encoders.OneHotEncoder",
)
_SCALARS = ("bool", "float64", "int32", "int64", "str_")
_SPARSE = ("scipy.sparse._csr.csr_array", "scipy.sparse._csr.csr_matrix")

# What skops may rebuild, and with which of its loaders. No loader here calls a function.
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


class InvalidModelError(InvalidFileError):
    """A file is not a model of this library, or not as it was saved. Nothing was executed."""


def save_model(model: TableModel, target: str | os.PathLike[str]) -> None:
    """Save a model; the file appears under its name only once it is complete.

    It holds what the method needs to predict: with kernels and neighbours, the features of the
    training rows. Mind that before you give it away.

    Parameters
    ----------
    model : TableModel
        What :func:`ambilearn.own_data.fit_table` returns.
    target : path-like
        The file.
    """
    from skops.io import dumps

    about = {
        "format": FORMAT,
        "format version": FORMAT_VERSION,
        **model.about,
        "columns": [column._asdict() for column in model.columns],
        "labels": model.classes.tolist(),
    }
    members = {
        _ABOUT: json.dumps(about, indent=2, ensure_ascii=False).encode(),
        _PIPELINE: dumps(model.pipeline),
    }
    _check_types(members[_PIPELINE])  # better no file than one that cannot be loaded
    members[_SUMS] = "".join(
        f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in members.items()
    ).encode()
    with written_whole(Path(target)) as file, ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def load_model(source: str | os.PathLike[str], *, max_bytes: int = 2**33) -> TableModel:
    """Load a model that :func:`save_model` wrote. Nothing in the file is executed.

    Parameters
    ----------
    source : path-like
        The file.
    max_bytes : int, default=2**33
        Size in memory above which a file is refused before it is unpacked.

    Returns
    -------
    TableModel

    Raises
    ------
    InvalidModelError
        If the file is something else, is damaged, was changed, contains other objects than a
        model has, or was saved by a newer version of this library.

    Warns
    -----
    UserWarning
        If it was saved with another version of scikit-learn.
    """
    name = os.fspath(source)
    with open(source, "rb") as file:
        if not is_zipfile(file):
            raise InvalidModelError(f"{name} {_why_no_archive(file)}")
        try:
            about, content = _read_members(file, max_bytes)
            pipeline = _rebuild(content, max_bytes)
            model = _checked(pipeline, about)
        except InvalidModelError as error:
            raise InvalidModelError(f"{name}: {error}") from error
        except MemoryError:
            raise
        except Exception as error:  # a foreign file may break any reader, in any way
            raise InvalidModelError(
                f"{name} is damaged, or no model ({error!r}). Copy or download it again, or fit "
                "the model again."
            ) from error
    if about["scikit-learn"] != sklearn.__version__:
        warn_user(
            f"{name} was saved with scikit-learn {about['scikit-learn']}, this is "
            f"{sklearn.__version__}: predictions may differ. Fit the model again, or install that "
            "version."
        )
    return model


def _why_no_archive(file: Any) -> str:
    """What is wrong with a file that does not end as an archive does."""
    file.seek(0)
    beginning = file.read(len(_ARCHIVE))
    if not beginning or beginning == _ARCHIVE:
        return (
            f"is {'damaged: its end is missing' if beginning else 'empty'}. Was it copied or "
            "downloaded in part? Do that again, or fit the model again."
        )
    return (
        "is not a model: models are the files that `ambilearn fit` writes. (Pickle and joblib "
        "files are never read: they can run code.)"
    )


def _read_members(file: Any, max_bytes: int) -> tuple[dict[str, Any], bytes]:
    """What the model is, and its pipeline, unchanged since they were saved."""
    with _opened(file, max_bytes) as archive:
        missing = {_ABOUT, _PIPELINE, _SUMS} - set(archive.namelist())
        if missing:
            raise InvalidModelError(
                f"not a model of ambilearn, the archive has no {', '.join(sorted(missing))}. Give "
                "a file that `ambilearn fit` wrote."
            )
        members = {name: archive.read(name) for name in (_ABOUT, _PIPELINE)}
        sums = archive.read(_SUMS).decode()
    # The version first: a newer one may well have other checksums.
    about = json.loads(members[_ABOUT])
    if about["format"] != FORMAT:
        raise InvalidModelError("not a model of ambilearn. Give a file that `ambilearn fit` wrote.")
    if about["format version"] > FORMAT_VERSION:
        raise InvalidModelError(
            f"saved by a newer version of ambilearn, {about['ambilearn']}. Update ambilearn to "
            "load it."
        )
    for name, content in members.items():
        if f"{hashlib.sha256(content).hexdigest()}  {name}" not in sums.splitlines():
            raise InvalidModelError(
                f"{name} in the archive is not as it was saved: the file is damaged, or somebody "
                "changed it. Fit the model again."
            )
    return about, members[_PIPELINE]


def _rebuild(content: bytes, max_bytes: int) -> Any:
    """The pipeline, if it consists of trusted types only."""
    from skops.io import loads

    _check_types(content, max_bytes)
    with warnings.catch_warnings():
        # One warning of our own instead of one for each estimator.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        return loads(content, trusted=[*_OBJECTS, *_SPARSE, "numpy.dtype", "builtins.object"])


def _check_types(content: bytes, max_bytes: int | None = None) -> None:
    """Refuse what skops would rebuild with a loader, or as a type, that no model needs."""
    with _opened(io.BytesIO(content), max_bytes) as archive:
        schema = json.loads(archive.read("schema.json"))
    if schema["protocol"] < _SKOPS_PROTOCOL:
        raise InvalidModelError("written in a form that ambilearn never writes.")
    for loader, kind in _nodes(schema):
        if kind not in _TRUSTED.get(loader, ()):
            raise InvalidModelError(
                f"refused: {kind} ({loader}) is no part of a model that ambilearn saves."
            )


def _nodes(schema: Any) -> Iterator[tuple[Any, str]]:
    """Loader and type of everything that skops would rebuild."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if "__loader__" in node:
                yield node["__loader__"], f"{node.get('__module__')}.{node.get('__class__')}"
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _opened(file: Any, max_bytes: int | None) -> ZipFile:
    archive = ZipFile(file)
    size = sum(member.file_size for member in archive.infolist())
    if max_bytes is not None and size > max_bytes:
        raise InvalidModelError(
            f"announces {size} bytes, more than max_bytes={max_bytes} allows. Raise it, in Python, "
            "if you trust the file."
        )
    return archive


def _checked(pipeline: Any, about: dict[str, Any]) -> TableModel:
    """The model, if pipeline and description belong together."""
    columns = tuple(Column(column["name"], column["kind"]) for column in about["columns"])
    if not (
        isinstance(pipeline, Pipeline)
        and list(pipeline.named_steps) == ["preprocessing", "method"]
        and pipeline.feature_names_in_.tolist() == [column.name for column in columns]
        and pipeline.classes_.tolist() == about["labels"]
    ):
        raise InvalidModelError("the pipeline is not the one that about.json describes.")
    added = ("format", "format version", "columns", "labels")
    rest = {key: value for key, value in about.items() if key not in added}
    return TableModel(pipeline, columns, rest)
