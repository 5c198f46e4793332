"""Save a model as a file, and load it without executing anything from it.

The file is a ZIP archive of three members: ``about.json`` says in plain text what the model is
(versions, columns, labels, method, parameters), ``pipeline.skops`` is the fitted pipeline in
skops format, and ``SHA256SUMS`` has the checksums of both. Loading reads arrays and rebuilds only
objects of the classes that :mod:`ambilearn.tables.skops_format` trusts.
"""

import hashlib
import io
import json
import math
import os
import re
import warnings
from copy import copy
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, is_zipfile

import numpy as np
import sklearn
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ambilearn._utils.files import atomic_write
from ambilearn._utils.plain_content import check_content
from ambilearn._utils.types import Estimator, Label
from ambilearn._utils.warnings import warn_user
from ambilearn.base import PartialLabelClassifier
from ambilearn.confidence.calibration import Calibration
from ambilearn.features.models import PretrainedModelError
from ambilearn.features.pretrained import PretrainedFeatures
from ambilearn.tables.columns import EMBEDDED, LISTS, Column
from ambilearn.tables.fit import made_by
from ambilearn.tables.image_files import ImageColumn
from ambilearn.tables.model import TableModel
from ambilearn.tables.preprocessing import find_embeddings, make_preprocessing
from ambilearn.tables.skops_format import (
    InvalidModelError,
    check_json_size,
    check_unpacked_size,
    dump_pipeline,
    estimate_json_size,
    estimate_schema_size,
    load_pipeline,
)

FORMAT = "ambilearn model"
FORMAT_VERSION = 3  # 2: without calibration; 1: the package tables was named own_data
_ABOUT, _PIPELINE, _SUMS = "about.json", "pipeline.skops", "SHA256SUMS"
_ARCHIVE = b"PK\x03\x04"  # how a ZIP archive begins
# Bytes in memory allowed for any file, and for each byte of a larger file. A model is mostly
# numbers, which do not compress much; a zip bomb is mostly zeros, which compress a thousandfold.
_FREE_BYTES, _MAX_RATIO = 2**28, 100
_KINDS = ("number", "truth value", "date", "category", "text", "image", *LISTS, *EMBEDDED)
_FORM = {
    "ambilearn": str,
    "scikit-learn": str,
    "method": str,
    "chosen": {"*": object},
    "interrupted?": bool,
    "columns": [{"name": str, "kind": str, "length?": int, "model?": str}],
    "labels": [object],
    "calibration": {
        "reason": str,
        "inverse temperature": (type(None), float),
        "of logarithms": bool,
    },
    "*": object,
}
_ESTIMATOR = "estimator"
_NO_MATCH = "the pipeline does not match about.json. Fit the model again."
_BYTES_PER_FEATURE = 8
_BYTES_PER_PIXEL = 64  # in the layers of a network
_ESTIMATOR_FORM = {
    "kind": str,
    "ambilearn": str,
    "scikit-learn": str,
    "method": str,
    "labels": [object],
    "*": object,
}


def save_model(model: Estimator, target: str | os.PathLike[str]) -> None:
    """Save a model; the file appears under its name only once it is complete.

    The file has everything that the method needs to predict. For kernel and neighbor methods that
    includes the features of the training rows; consider this before you share it. A
    :class:`~ambilearn.DeepPLCL` is saved as arrays, if its network is that of ``module="auto"`` or
    a named one, and no other parameter is a function; the network is built again, or loaded from
    its own files, when the file is loaded.

    Parameters
    ----------
    model : TableModel or estimator
        What :func:`ambilearn.tables.fit_table` returns; or a fitted method of this library, or a
        pipeline that ends in one and whose other steps are those that
        :func:`~ambilearn.tables.fit_table` uses or :class:`~ambilearn.PLDATransformer`.
    target : path-like
        The file.

    Raises
    ------
    InvalidModelError
        If a part of the model is of a type that :func:`load_model` does not load.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from ambilearn import PLKNN
    >>> from ambilearn.tables import load_model, save_model
    >>> model = PLKNN(n_neighbors=1).fit([[0.0], [1.0]], [{"a", "b"}, {"b"}])
    >>> with TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/my.model")
    ...     load_model(f"{folder}/my.model").predict([[0.9]])
    array(['b'], dtype='<U1')
    """
    about = {"format": FORMAT, "format version": FORMAT_VERSION, **_describe(model)}
    pipeline = model.pipeline if isinstance(model, TableModel) else model
    members = {
        _ABOUT: json.dumps(about, indent=2, ensure_ascii=False).encode(),
        _PIPELINE: dump_pipeline(pipeline),
    }
    members[_SUMS] = "".join(
        f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in members.items()
    ).encode()
    packed = _pack(members, ZIP_DEFLATED)
    sizes = [
        sum(map(len, members.values())),
        estimate_json_size(members[_ABOUT]),
        estimate_schema_size(members[_PIPELINE]),
    ]
    if max(sizes) > _allowed_bytes(len(packed)):
        packed = _pack(members, ZIP_STORED)  # compressed, it would be rejected as a zip bomb
    with atomic_write(Path(target)) as file:
        file.write(packed)


def _pack(members: dict[str, bytes], compression: int) -> bytes:
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _allowed_bytes(size: int) -> int:
    return max(_FREE_BYTES, _MAX_RATIO * size)


def load_model(source: str | os.PathLike[str], *, max_bytes: int | None = None) -> Any:
    """Load a model that :func:`save_model` wrote. Nothing in the file is executed.

    Parameters
    ----------
    source : path-like
        The file.
    max_bytes : int, optional
        Maximum size in memory of the unpacked file and of its objects. By default 256 MiB or 100
        times the file size, whichever is larger.

    Returns
    -------
    model : TableModel or estimator
        What was saved.

    Raises
    ------
    InvalidModelError
        If the file is not a model, is damaged, was changed, contains objects that no model has,
        was saved in the format of another version of this library, or has a method that was
        removed.
    UnsupportedSkopsError
        If another skops is installed than those whose format is checked.

    Warns
    -----
    UserWarning
        If it was saved with another version of scikit-learn.
    """
    name = os.fspath(source)
    with open(source, "rb") as file:
        if not is_zipfile(file):
            raise InvalidModelError(f"{name} {_why_no_archive(file)}")
        if max_bytes is None:
            max_bytes = _allowed_bytes(os.fstat(file.fileno()).st_size)
        try:
            about, content = _read_members(file, max_bytes)
            model = load_pipeline(content, max_bytes)
            if _is_estimator(about):
                _check_estimator(model, about, max_bytes)
            else:
                model = _checked(model, about)
                _try_out(model, max_bytes)
        except InvalidModelError as error:
            raise InvalidModelError(f"{name}: {error}") from error
        except (MemoryError, ImportError, PretrainedModelError):  # not caused by the file
            raise
        except Exception as error:  # a damaged file may raise any error
            raise InvalidModelError(
                f"{name} is damaged, or not a model ({error!r}). Copy or download it again, or "
                "fit the model again."
            ) from error
    if about["scikit-learn"] != sklearn.__version__:
        warn_user(
            f"{name} was saved with scikit-learn {about['scikit-learn']}, this is "
            f"version {sklearn.__version__}. Predictions may differ. Fit the model again, or "
            "install the older version."
        )
    return model


def load_table_model(source: str | os.PathLike[str]) -> TableModel:
    """Load a model of a table; an error if the file has another estimator."""
    model = load_model(source)
    if not isinstance(model, TableModel):
        raise InvalidModelError(
            f"{os.fspath(source)} holds a {type(model).__name__} that was not fitted to a table: "
            "load it in Python with ambilearn.tables.load_model, or fit a model with "
            "`ambilearn fit`."
        )
    return model


def _why_no_archive(file: Any) -> str:
    """Why a file is not a ZIP archive."""
    file.seek(0)
    beginning = file.read(len(_ARCHIVE))
    if not beginning or beginning == _ARCHIVE:
        return (
            f"is {'damaged: its end is missing' if beginning else 'empty'}. Was it copied or "
            "downloaded in part? Do that again, or fit the model again."
        )
    return (
        "is not a model. Use a file that `ambilearn fit` wrote. (Pickle and joblib files are "
        "never read: they can run code.)"
    )


def _read_members(file: Any, max_bytes: int) -> tuple[dict[str, Any], bytes]:
    """Description and pipeline of the model, with their checksums verified."""
    with ZipFile(file) as archive:
        check_unpacked_size(archive, max_bytes)
        missing = {_ABOUT, _PIPELINE, _SUMS} - set(archive.namelist())
        if missing:
            raise InvalidModelError(
                f"not a model of ambilearn: the archive has no {', '.join(sorted(missing))}. Use "
                "a file that `ambilearn fit` wrote."
            )
        members = {name: archive.read(name) for name in (_ABOUT, _PIPELINE)}
        sums = archive.read(_SUMS).decode()
    # The version first: other versions may have other checksums.
    check_json_size(members[_ABOUT], max_bytes)
    about = json.loads(members[_ABOUT])
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise InvalidModelError("not a model of ambilearn. Use a file that `ambilearn fit` wrote.")
    _check_about(about, {"format version": int, "*": object})
    if about["format version"] > FORMAT_VERSION:
        raise InvalidModelError(
            f"saved by a newer version of ambilearn, {about.get('ambilearn')}. Update ambilearn to "
            "load it."
        )
    if about["format version"] < FORMAT_VERSION:
        raise InvalidModelError(
            f"saved by an older version of ambilearn, {about.get('ambilearn')}, in a format that "
            "this version does not load. Fit the model again."
        )
    for name, content in members.items():
        if f"{hashlib.sha256(content).hexdigest()}  {name}" not in sums.splitlines():
            raise InvalidModelError(
                f"{name} in the archive does not match its checksum: the file is damaged or was "
                "changed. Fit the model again."
            )
    _check_about(about, _ESTIMATOR_FORM if _is_estimator(about) else _FORM)
    return about, members[_PIPELINE]


def _is_estimator(about: dict[str, Any]) -> bool:
    return about.get("kind") == _ESTIMATOR


def _check_about(about: dict[str, Any], form: dict[str, Any]) -> None:
    try:
        check_content(about, form)
    except ValueError as error:
        raise InvalidModelError(
            f"{_ABOUT} in the archive does not describe a model: {error} Fit the model again."
        ) from error


def _describe(model: Estimator) -> dict[str, Any]:
    if not isinstance(model, TableModel):
        return _describe_estimator(model)
    model.method._check_savable()
    columns = [
        {k: v for k, v in column._asdict().items() if v != Column._field_defaults.get(k)}
        for column in model.columns
    ]
    calibration = {
        "reason": model.calibration.reason,
        "inverse temperature": model.calibration.inverse_temperature,
        "of logarithms": model.calibration.of_logarithms,
    }
    labels = model.classes.tolist()
    return {**model.about, "columns": columns, "labels": labels, "calibration": calibration}


def _checked(pipeline: Any, about: dict[str, Any]) -> TableModel:
    """The model, if pipeline and description belong together."""
    columns = tuple(Column(**column) for column in about["columns"])
    if not all(column.kind in _KINDS and column.length >= 1 for column in columns):
        raise InvalidModelError("about.json describes invalid columns. Fit the model again.")
    if not (
        isinstance(pipeline, Pipeline)
        and list(pipeline.named_steps) == ["preprocessing", "method"]
        # The size first: a forged length must not create a huge list.
        and len(pipeline.feature_names_in_) == sum(column.length for column in columns)
        and pipeline.feature_names_in_.tolist()
        == [name for column in columns for name in column.feature_names]
        and pipeline.classes_.tolist() == about["labels"]
    ):
        raise InvalidModelError(_NO_MATCH)
    added = ("format", "format version", "columns", "labels", "calibration")
    rest = {key: value for key, value in about.items() if key not in added}
    names = ("reason", "inverse temperature", "of logarithms")
    calibration = Calibration(*(about["calibration"][name] for name in names))
    factor = calibration.inverse_temperature
    if factor is not None and factor <= 0:
        raise InvalidModelError("about.json has an invalid calibration. Fit the model again.")
    return TableModel(pipeline, columns, rest, calibration)


def _try_out(model: TableModel, max_bytes: int) -> None:
    """Label a row of missing cells: if parts of the model do not match, loading fails."""
    import pandas as pd

    if any(column.kind == "image" for column in model.columns):  # which must not be missing
        if len(model.columns) > 1 or not isinstance(model.pipeline[0], ImageColumn):
            raise InvalidModelError(_NO_MATCH)
        _try_out_method(model.method, max_bytes)
        return
    if any(column.kind in EMBEDDED for column in model.columns):  # the weights may not be here
        _check_embeddings(model)
        _try_out_method(model.method, max_bytes)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.choices(pd.DataFrame([dict.fromkeys(column.name for column in model.columns)]))


def _check_embeddings(model: TableModel) -> None:
    """Make the transformers of pretrained networks anew, with their hash and length.

    No other attribute of the file is used, such as a folder to write to.
    """
    made = make_preprocessing(model.columns)
    found = find_embeddings(model.pipeline[0], model.columns)
    fresh = {columns: step for _, step, columns in made.transformers if isinstance(columns, str)}
    for column, stored in found.items():
        content, length = stored.model_hash_, stored.n_features_out_
        is_hash = isinstance(content, str) and re.fullmatch("[0-9a-f]{64}", content)
        if type(stored) is not PretrainedFeatures or not is_hash or not isinstance(length, int):
            raise InvalidModelError(_NO_MATCH)
        stored.__dict__ = vars(fresh[column]) | {
            "model_hash_": content,
            "n_features_out_": length,
        }


def _describe_estimator(model: Estimator) -> dict[str, Any]:
    """Description of a fitted method or pipeline, for ``about.json``.

    Raises TypeError if it is neither a method of this library nor a pipeline that ends in one.
    """
    method = _method_of(model)
    if method is None:
        best = hasattr(model, "best_estimator_")
        advice = "Save its best_estimator_." if best else "Use skops or joblib for other models."
        raise TypeError(
            "save_model saves a TableModel, a fitted method of ambilearn such as PLCL, or a "
            f"pipeline that ends in one; got {type(model).__name__}. {advice}"
        )
    check_is_fitted(method)
    method._check_savable()
    return {
        "kind": _ESTIMATOR,
        **made_by(),
        "method": type(method).__name__,
        "labels": _plain_labels(method),
    }


def _check_estimator(model: Estimator, about: dict[str, Any], max_bytes: int) -> None:
    """Raise if a loaded estimator is not the one described in ``about``, or cannot predict.

    It is tried on a row that may take ``max_bytes``.
    """
    method = _method_of(model)
    if method is None or method.classes_.tolist() != about["labels"]:
        raise InvalidModelError("the estimator is not the one that about.json describes.")
    _try_out_method(method, max_bytes)


def _try_out_method(method: PartialLabelClassifier, max_bytes: int) -> None:
    """Label a row of zeros: if parts of a method do not match, loading fails."""
    shape = method._input_shape
    size = _BYTES_PER_FEATURE if len(shape) == 1 else _BYTES_PER_PIXEL
    if size * math.prod(shape) > max_bytes:
        raise InvalidModelError(
            f"has rows of shape {shape}, more than max_bytes={max_bytes} allows."
        )
    if "device" in method.get_params(deep=False):  # it may not be here, which is no damage
        method = copy(method).set_params(device="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        method.predict_proba(np.zeros((1, *shape), method._input_type))


def _method_of(model: Estimator) -> PartialLabelClassifier | None:
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    return last if isinstance(last, PartialLabelClassifier) else None


def _plain_labels(method: PartialLabelClassifier) -> list[Any]:
    """The labels, if a text file can hold them."""
    if not isinstance(method.classes_, np.ndarray):
        raise TypeError(
            f"This {type(method).__name__} was fitted on a device: fit it to NumPy arrays to save "
            "it."
        )
    labels: list[Label] = method.classes_.tolist()
    for label in labels:
        if not isinstance(label, (str, int, float)):
            raise TypeError(
                f"The label {label!r} cannot be saved: labels of a saved model are texts, numbers "
                "or truth values."
            )
    return labels
