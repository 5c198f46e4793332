"""A column of texts or pictures as vectors of a pretrained network."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ambilearn._utils.image_files import decoded_formats, find_image_file
from ambilearn._utils.missing import is_missing
from ambilearn._utils.optional import requires_extra
from ambilearn._utils.text import shorten_repr
from ambilearn.features.cache import VectorCache
from ambilearn.features.models import Encode, find_model, identify_model, load_model

_BATCHES_PER_WRITE = 16  # a killed computation loses at most these
_MOST_PIXELS = 2**27  # of a picture; 134 million pixels need 400 MB as RGB
_FORMAT = "ambilearn 1"  # changes if the same content is to get another vector


class _Model(NamedTuple):
    """A network: a hash of what it computes (None if unknown), and how to load it."""

    identity: str | None
    load: Callable[[], Encode]


class PretrainedFeatures(TransformerMixin, BaseEstimator):
    r"""Vectors of a pretrained network for a column of texts or of pictures.

    Each different text or picture :math:`t` becomes the vector :math:`g(t) / \|g(t)\|_2` of a
    network :math:`g` that is not trained further. Vectors are stored on disk, so that folds of a
    cross-validation, searches and later runs compute each of them once.

    Texts and pictures are embedded by Sentence Transformers [1]_, with the preprocessing and the
    pooling of the model; the extra ``embed`` installs it. A function needs no extra.

    Parameters
    ----------
    model : str, path or callable
        The name of a model at Hugging Face (``"all-MiniLM-L6-v2"`` for texts,
        ``"facebook/dinov2-small"`` for pictures) or the folder of one, with weights in the format
        safetensors. A name that is not in the cache of Hugging Face is downloaded, unless the
        environment variable ``HF_HUB_OFFLINE`` is set. Or a function from a list of texts, or of
        RGB images of Pillow, to an array with a row for each.
    folder : path, optional
        Folder of the pictures. The column then has names of image files in this folder; without
        it, texts.
    normalize : bool, default=True
        Whether each vector is divided by its length.
    batch_size : int, default=32
        Number of texts or pictures that the network takes at once.
    device : str, optional
        Device of PyTorch, such as ``"cuda"``; by default a GPU if there is one.
    cache : bool or path, default=True
        Folder of the stored vectors; the user's cache folder if True, none if False or None.
    name : str, optional
        Name of a function, under which its vectors are stored. It must change if the function
        does. Vectors of a function without a name are not stored.

    Attributes
    ----------
    model_hash_ : str or None
        Hash of the weights and the preprocessing. Other weights are refused by ``transform``.
    n_features_out_ : int
        Length of a vector.
    feature_names_in_ : ndarray of shape (1,)
        Name of the column, if it has one.

    References
    ----------
    .. [1] Reimers, Gurevych. Sentence-BERT: Sentence embeddings using Siamese BERT-networks.
       EMNLP, 2019.

    Examples
    --------
    >>> from ambilearn.features import PretrainedFeatures
    >>> def count_letters(texts):
    ...     return [[text.count("a"), text.count("b")] for text in texts]
    >>> PretrainedFeatures(count_letters).fit_transform(["aaab", "b"]).round(3)
    array([[0.949, 0.316],
           [0.   , 1.   ]], dtype=float32)
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | Callable[[Sequence[Any]], ArrayLike],
        *,
        folder: str | os.PathLike[str] | None = None,
        normalize: bool = True,
        batch_size: int = 32,
        device: str | None = None,
        cache: bool | str | os.PathLike[str] | None = True,
        name: str | None = None,
    ) -> None:
        self.model = model
        self.folder = folder
        self.normalize = normalize
        self.batch_size = batch_size
        self.device = device
        self.cache = cache
        self.name = name

    def fit(self, X: Any, y: Any = None) -> Self:
        """Identify the model, and find the length of its vectors.

        Parameters
        ----------
        X : list, array, series or data frame with one column, n rows
            Texts, or names of image files.
        y : object
            Not used.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self._fit_embed(X, only_first=True)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> NDArray[np.float32]:
        """Fit, and return the vectors of the same rows.

        Parameters
        ----------
        X : list, array, series or data frame with one column, n rows
            Texts, or names of image files.
        y : object
            Not used.
        **fit_params : dict
            Not used.

        Returns
        -------
        vectors : ndarray of shape (n, n_features_out\\_)
        """
        return self._fit_embed(X, only_first=False)

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Vectors of texts or pictures.

        Parameters
        ----------
        X : list, array, series or data frame with one column, n rows
            Texts, or names of image files. A missing text is an empty text.

        Returns
        -------
        vectors : ndarray of shape (n, n_features_out\\_)
            Equal texts, and files with equal content, have equal vectors.
        """
        check_is_fitted(self)
        model = self._find_model()
        if model.identity != self.model_hash_:
            raise ValueError(
                f"The weights or the preprocessing of the model {self.model!r} are not those of "
                f"the fit: their hash is {model.identity}, not {self.model_hash_}. Use the same "
                "model and the same versions of sentence-transformers and transformers, or fit "
                "again."
            )
        vectors = self._embed(_read_column(X)[0], model)
        if len(vectors) and vectors.shape[1] != self.n_features_out_:
            raise ValueError(
                f"The model returns vectors of length {vectors.shape[1]}; it returned "
                f"{self.n_features_out_} numbers in the fit."
            )
        return vectors.reshape(len(vectors), self.n_features_out_)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the features: that of the column, and a number.

        Parameters
        ----------
        input_features : array-like of shape (1,), optional
            Name of the column; by default that of the fit.

        Returns
        -------
        names : ndarray of shape (n_features_out\\_,)
        """
        check_is_fitted(self)
        names = (
            getattr(self, "feature_names_in_", None) if input_features is None else input_features
        )
        prefix = type(self).__name__.lower() if names is None else str(names[0])
        return np.array([f"{prefix}{j}" for j in range(self.n_features_out_)], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.string = False, True
        tags.input_tags.allow_nan = self.folder is None
        return tags

    def _fit_embed(self, X: Any, only_first: bool) -> NDArray[np.float32]:
        if self.batch_size < 1:
            raise ValueError(f"batch_size must be at least 1; got {self.batch_size}.")
        cells, column = _read_column(X)
        if not cells:
            raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
        model = self._find_model()
        vectors = self._embed(cells[:1] if only_first else cells, model)
        self.model_hash_ = model.identity
        self.n_features_out_ = vectors.shape[1]
        if column is not None:
            self.feature_names_in_ = np.array([column], dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return vectors

    def _find_model(self) -> _Model:
        if callable(self.model):
            function = self.model
            identity = None if self.name is None else _hash(b"function", self.name.encode())
            return _Model(identity, lambda: function)
        folder = find_model(self.model)
        identity = identify_model(folder)
        return _Model(
            identity,
            lambda: partial(
                load_model(folder, identity, self.device),
                batch_size=self.batch_size,
                show_progress_bar=False,
            ),
        )

    def _embed(self, cells: list[Any], model: _Model) -> NDArray[np.float32]:
        """Vectors of the cells, each different content once."""
        is_picture = self.folder is not None
        items = self._find_pictures(cells) if is_picture else [_as_text(cell) for cell in cells]
        cache = self._open_cache() if model.identity is not None else None
        kind = b"picture" if is_picture else b"text"
        salt = f"{_FORMAT} {model.identity}".encode() + kind
        contents = (_hash_picture if is_picture else _hash_text)(items, salt)
        rows = {key: row for row, key in reversed([*enumerate(contents)])}  # the first row of each
        vectors = cache.get([*rows]) if cache else {}
        lacking = [key for key in rows if key not in vectors]
        if lacking:
            size = self.batch_size * _BATCHES_PER_WRITE
            if not is_picture:  # a batch takes as long as its longest text
                lacking.sort(key=lambda key: len(items[rows[key]]), reverse=True)
            chunks = [lacking[i : i + size] for i in range(0, len(lacking), size)]
            encode = model.load()
            for keys in _with_progress(chunks, self._label()):
                index = [rows[key] for key in keys]
                found = self._encode(encode, [items[i] for i in index], index)
                new = dict(zip(keys, found, strict=True))
                vectors.update(new)
                if cache:
                    cache.put(new)
        if not contents:
            return np.empty((0, 0), dtype=np.float32)
        matrix = _stack([vectors[key] for key in contents])
        if self.normalize:
            lengths = np.linalg.norm(matrix.astype(np.float64), axis=1, keepdims=True)
            matrix = (matrix / np.where(lengths > 0, lengths, 1)).astype(np.float32)
        return matrix

    def _label(self) -> str:
        return "Embedding" if callable(self.model) else f"Embedding ({Path(self.model).name})"

    def _open_cache(self) -> VectorCache | None:
        if self.cache is None or self.cache is False:
            return None
        if self.cache is True:
            with requires_extra("embed", purpose="The cache of embeddings"):
                import pooch

            return VectorCache(Path(pooch.os_cache("ambilearn")))
        return VectorCache(Path(self.cache).expanduser())

    def _find_pictures(self, cells: list[Any]) -> list[Path]:
        assert self.folder is not None
        folder, found = Path(self.folder).expanduser(), []
        for row, cell in enumerate(cells):
            if is_missing(cell) or not str(cell).strip():
                raise ValueError(
                    f"Row {row} has no picture. Name a file in every row, or remove the row."
                )
            path, problem = find_image_file(str(cell).strip(), [folder])
            if path is None or problem is not None:
                raise ValueError(
                    f"Row {row}: the picture {shorten_repr(cell)} is {problem}. Paths are relative "
                    f"to the folder {folder}."
                )
            found.append(path)
        return found

    def _encode(self, encode: Encode, items: list[Any], index: list[int]) -> NDArray[np.float32]:
        pictures = self.folder is not None
        inputs = (
            [_open_picture(path, row) for path, row in zip(items, index, strict=True)]
            if (pictures)
            else items
        )
        try:
            found = encode(inputs)
        except (MemoryError, RuntimeError) as error:  # PyTorch raises its own for a GPU
            if isinstance(error, RuntimeError) and "memory" not in str(error).lower():
                raise
            raise MemoryError(
                f"Not enough memory for {len(items)} texts or pictures, the first in row "
                f"{index[0]}: reduce batch_size (now {self.batch_size}), or use device='cpu'."
            ) from error
        vectors = np.asarray(found, dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(items) or not vectors.shape[1]:
            raise ValueError(
                f"The model must return one vector for each of {len(items)} rows; it returned an "
                f"array of shape {vectors.shape}."
            )
        bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(bad):
            raise ValueError(f"The model returns NaN or infinity for row {index[bad[0]]}.")
        return vectors


def _read_column(X: Any) -> tuple[list[Any], str | None]:
    """The cells of a column, and its name if it has one."""
    name = getattr(X, "name", None)
    columns = getattr(X, "columns", getattr(X, "column_names", None))
    shape = getattr(X, "shape", None)
    if columns is not None:
        if len(columns) != 1:
            raise ValueError(f"PretrainedFeatures takes one column; X has {len(columns)}.")
        name = columns[0]
    elif isinstance(X, (str, bytes)) or not (shape is None or len(shape) in (1, 2)):
        raise ValueError("PretrainedFeatures takes a column of texts or of names of files.")
    cells = np.asarray(X, dtype=object) if shape is not None else [*X]
    if isinstance(cells, np.ndarray):
        if cells.ndim == 2 and cells.shape[1] != 1:
            raise ValueError(f"PretrainedFeatures takes one column; X has {cells.shape[1]}.")
        cells = cells.ravel().tolist()
    return cells, name if isinstance(name, str) else None


def _as_text(cell: Any) -> str:
    return "" if is_missing(cell) else str(cell)


def _hash(*parts: bytes) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _hash_text(texts: Iterable[str], salt: bytes) -> list[bytes]:
    return [
        hashlib.sha256(salt + b"\0" + text.encode("utf-8", "surrogatepass")).digest()
        for text in texts
    ]


def _hash_picture(paths: Iterable[Path], salt: bytes) -> list[bytes]:
    keys = []
    for row, path in enumerate(paths):
        with _named_errors(row, path), path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
        keys.append(hashlib.sha256(salt + b"\0" + digest).digest())
    return keys


def _open_picture(path: Path, row: int) -> Any:
    """A picture as RGB, upright."""
    with requires_extra("embed", purpose="Reading pictures"):
        from PIL import Image, ImageOps

    with _named_errors(row, path), Image.open(path, formats=decoded_formats()) as image:
        if image.size[0] * image.size[1] > _MOST_PIXELS:
            raise ValueError(f"it has {image.size[0]} × {image.size[1]} pixels, which is too many")
        return ImageOps.exif_transpose(image).convert("RGB")


@contextmanager
def _named_errors(row: int, path: Path) -> Iterator[None]:
    """Name the row and the file in errors; Pillow's plugins raise errors of any class."""
    try:
        yield
    except MemoryError:  # not a problem of the file
        raise
    except Exception as error:
        reason = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise ValueError(
            f"Row {row}: the picture {path} cannot be read: {reason}. Replace the file, or leave "
            "the row out."
        ) from error


def _stack(vectors: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    if len({len(vector) for vector in vectors}) > 1:
        raise ValueError("The model returns vectors of different lengths.")
    return np.stack(vectors)


def _with_progress(chunks: list[list[bytes]], label: str) -> Iterator[list[bytes]]:
    """The chunks, with a progress bar and the time left if standard error is a terminal."""
    try:
        from tqdm.auto import tqdm
    except ModuleNotFoundError:  # a function needs no extra
        yield from chunks
        return
    total = sum(map(len, chunks))
    with tqdm(total=total, desc=label, unit="row", disable=None, delay=2, leave=False) as bar:
        for chunk in chunks:
            yield chunk
            bar.update(len(chunk))
