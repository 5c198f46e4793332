"""A column of texts or pictures as vectors of a pretrained network."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ambilearn._utils.array_checks import column_names
from ambilearn._utils.image_files import (
    check_pixel_range,
    eight_bits,
    find_image_file,
    open_image,
)
from ambilearn._utils.labels import is_missing
from ambilearn._utils.rounds import Round, is_listening, report_round
from ambilearn._utils.text import TimeLeft, requires_extra, shorten_repr
from ambilearn._utils.types import AnyCandidates, Array
from ambilearn.features.cache import VectorCache, Vectors
from ambilearn.features.models import Encode, find_model, hash_model, load_model, package_versions

_BATCHES_PER_WRITE = 16  # a killed computation loses at most these
_LARGEST_SIDE = 2048  # pixels; networks take a few hundred
_FORMAT = "ambilearn 1"  # changes if the same content is to get another vector


class _Model(NamedTuple):
    """A network: the hash of its files, the key of its vectors, and how to load it.

    Hash and key are None for a function without a name.
    """

    hash: str | None
    key: str | None
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

    def fit(self, X: Any, y: AnyCandidates = None) -> Self:
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

    def fit_transform(
        self, X: Any, y: AnyCandidates = None, **fit_params: Any
    ) -> NDArray[np.float32]:
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
        vectors : ndarray of shape (n, m)
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
        vectors : ndarray of shape (n, m)
            Equal texts, and files with equal content, have equal vectors.
        """
        check_is_fitted(self)
        model = self._find_model()
        if model.hash != self.model_hash_:
            raise ValueError(
                f"The weights or the preprocessing of the model {self.model!r} are not those of "
                f"the fit: their hash is {model.hash}, not {self.model_hash_}. Use the same model, "
                "or fit again."
            )
        vectors = self._embed(_read_column(X)[0], model)
        if len(vectors) and vectors.shape[1] != self.n_features_out_:
            raise ValueError(
                f"The model returns vectors of length {vectors.shape[1]}; it returned "
                f"{self.n_features_out_} numbers in the fit."
            )
        return vectors.reshape(len(vectors), self.n_features_out_)

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the features: that of the column, and a number.

        Parameters
        ----------
        input_features : array-like of shape (1,), optional
            Name of the column; by default that of the fit.

        Returns
        -------
        names : ndarray of shape (m,)
        """
        check_is_fitted(self)
        given = getattr(self, "feature_names_in_", [type(self).__name__.lower()])
        name = given[0] if input_features is None else input_features[0]
        return np.array([f"{name}[{j}]" for j in range(self.n_features_out_)], dtype=object)

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
        self.model_hash_ = model.hash
        self.n_features_out_ = vectors.shape[1]
        if column is not None:
            self.feature_names_in_ = np.array([column], dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return vectors

    def _find_model(self) -> _Model:
        if callable(self.model):
            function = self.model
            identity = None if self.name is None else f"function {self.name}"
            return _Model(identity, identity, lambda: function)
        folder = find_model(self.model)
        identity = hash_model(folder)

        def load() -> Encode:
            encode = load_model(folder, identity, self.device)
            return partial(encode, batch_size=self.batch_size, show_progress_bar=False)

        return _Model(identity, f"{identity} {package_versions()}", load)

    def _embed(self, cells: list[Any], model: _Model) -> NDArray[np.float32]:
        """Vectors of the cells, each different content once."""
        items: Sequence[str | Path] = (
            ["" if is_missing(cell) else str(cell) for cell in cells]
            if self.folder is None
            else self._find_pictures(cells)
        )
        salt = f"{_FORMAT} {model.key} {'text' if self.folder is None else 'picture'} ".encode()
        contents = [
            hashlib.sha256(salt + _digest(row, item)).digest() for row, item in enumerate(items)
        ]
        rows: dict[bytes, int] = {}  # the first row of each content
        for row, key in enumerate(contents):
            rows.setdefault(key, row)
        cache = self._open_cache() if model.key is not None else None
        vectors = cache.get([*rows]) if cache else {}
        lacking = {key: row for key, row in rows.items() if key not in vectors}
        for new in self._compute(model, items, lacking):
            vectors.update(new)
            if cache:
                cache.put(new)
        if not contents:
            return np.empty((0, 0), dtype=np.float32)
        if len({len(vector) for vector in vectors.values()}) > 1:
            raise ValueError("The model returns vectors of different lengths.")
        found = np.stack([vectors[key] for key in contents])
        if self.normalize:
            lengths = np.linalg.norm(found.astype(np.float64), axis=1, keepdims=True)
            found = (found / np.where(lengths > 0, lengths, 1)).astype(np.float32)
        return found

    def _compute(
        self, model: _Model, items: Sequence[str | Path], rows: dict[bytes, int]
    ) -> Iterator[Vectors]:
        """Vectors that were not stored, in parts, from the longest text to the shortest."""
        if not rows:
            return
        keys, size = [*rows], self.batch_size
        if self.folder is None:  # a batch of texts takes as long as its longest one
            keys.sort(key=lambda key: len(str(items[rows[key]])), reverse=True)
            size *= _BATCHES_PER_WRITE  # pictures are large
        encode = model.load()
        parts = [keys[i : i + size] for i in range(0, len(keys), size)]
        by = "" if callable(self.model) else f" by {Path(self.model).name}"
        for part in _with_progress(parts, f"embedding{by}"):
            index = [rows[key] for key in part]
            found = self._encode(encode, [items[i] for i in index], index)
            yield dict(zip(part, found, strict=True))

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
        inputs = items
        if self.folder is not None:
            with ThreadPoolExecutor() as pool:  # Pillow decodes in C, without Python's lock
                inputs = list(pool.map(_open_picture, index, items))
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
    shape = getattr(X, "shape", None)
    if isinstance(X, (str, bytes)) or not (shape is None or len(shape) in (1, 2)):
        raise ValueError("PretrainedFeatures takes a column of texts or of names of files.")
    if shape is not None and shape[1:] not in ((), (1,)):
        raise ValueError(f"PretrainedFeatures takes one column; X has {shape[1]}.")
    names = column_names(X) or [getattr(X, "name", None)]
    if len(names) != 1:
        raise ValueError(f"PretrainedFeatures takes one column; X has {len(names)}.")
    name = names[0]
    cells = [*X] if shape is None else np.asarray(X, dtype=object).ravel().tolist()
    return cells, name if isinstance(name, str) else None


def _digest(row: int, item: str | Path) -> bytes:
    """Hash of a text, or of the content of a file."""
    if isinstance(item, str):
        return hashlib.sha256(item.encode("utf-8", "surrogatepass")).digest()
    try:
        with item.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        raise ValueError(
            f"Row {row}: the picture {item} cannot be read: {error.strerror}."
        ) from error


def _open_picture(row: int, path: Path) -> Any:
    """A picture as RGB, upright, on white if it is transparent."""
    with open_image(row, path) as image:
        from PIL import ImageOps

        check_pixel_range(image)
        if max(image.size) > _LARGEST_SIDE:  # a batch of such pictures needs gigabytes
            image.thumbnail((_LARGEST_SIDE, _LARGEST_SIDE))
        return eight_bits(ImageOps.exif_transpose(image)).convert("RGB")


def _with_progress(parts: list[list[bytes]], label: str) -> Iterator[list[bytes]]:
    """The parts; progress and the time left go to the listener, or to a terminal."""
    total, done, time_left = sum(map(len, parts)), 0, TimeLeft()
    shown: Iterable[list[bytes]] = parts
    if not is_listening():
        with suppress(ModuleNotFoundError):  # a function needs no extra
            from tqdm.auto import tqdm

            shown = tqdm(parts, desc=label, unit="part", disable=None, delay=2, leave=False)
    for number, part in enumerate(shown, 1):
        yield part
        done += len(part)
        text = f"{label}, {done:,} of {total:,}{time_left.describe(done, total - done)}"
        report_round(Round("PretrainedFeatures", number, len(parts), 0.0, 0.0, text))
