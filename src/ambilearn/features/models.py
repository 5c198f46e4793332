"""Pretrained networks: find the folder of a model, identify its weights, and load it.

Folders are identified without PyTorch, so that vectors from the cache need no import of it.
"""

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ambilearn._utils.text import requires_extra

# Everything that a model consists of. Weights that are pickled could run code when they are loaded.
_PARTS = ("*.json", "*.txt", "*.model", "*.safetensors", "*.jinja")
_PICKLED = {".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle"}
_OTHER_BUILDS = {"onnx", "openvino", ".git", ".cache"}
_PURPOSE = "A pretrained network"

Encode = Callable[..., Any]  # from a list of texts or pictures to an array


class PretrainedModelError(ValueError):
    """A pretrained network is not there, cannot be loaded, or is not the expected one."""


def find_model(name: str | os.PathLike[str]) -> Path:
    """Folder of a model: the one that is named, or the one with this name at Hugging Face.

    A model that is not in the cache of Hugging Face is downloaded, unless ``HF_HUB_OFFLINE`` is
    set.
    """
    name = os.fspath(name)
    folder = Path(name).expanduser()
    if name and folder.is_dir():
        return folder.resolve()
    if folder.is_absolute() or name.startswith((".", "~")) or name.count("/") > 1 or not name:
        raise PretrainedModelError(f"There is no folder {name!r} with a model.")
    name = name if "/" in name else f"sentence-transformers/{name}"
    with requires_extra("embed", purpose=_PURPOSE):
        from huggingface_hub import snapshot_download

    try:
        stored = Path(snapshot_download(name, allow_patterns=list(_PARTS), local_files_only=True))
        check_model(stored)  # a download may have been interrupted
    except (OSError, ValueError) as error:
        if os.environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}:
            raise PretrainedModelError(
                f"The model {name!r} is not on this machine, and nothing is downloaded offline "
                "(HF_HUB_OFFLINE). Pass the folder of the model instead of its name."
            ) from error
    else:
        return stored
    try:
        return Path(snapshot_download(name, allow_patterns=list(_PARTS)))
    except Exception as error:  # the network, the server, or a name that does not exist
        raise PretrainedModelError(
            f"The model {name!r} cannot be downloaded: {_first_line(error)}. Check the name, or "
            "pass a folder with the model."
        ) from error


def check_model(folder: Path) -> None:
    """Raise an error if the folder has no model, or weights only as pickle files."""
    if not any((folder / name).is_file() for name in ("modules.json", "config.json")):
        raise PretrainedModelError(
            f"The folder {folder} has no model: neither modules.json nor config.json is there."
        )
    files = [path for path in _files(folder) if path.suffix in {".safetensors", *_PICKLED}]
    safe = {path.parent for path in files if path.suffix == ".safetensors"}
    pickled = [path for path in files if path.parent not in safe]
    if pickled:
        raise PretrainedModelError(
            f"The weights in {pickled[0]} are pickled, and a pickle file can run any code. Use a "
            "model with safetensors; if you trust the file, load the model in Python and pass its "
            "encode method as model."
        )
    if not safe:
        raise PretrainedModelError(f"The folder {folder} has no weights (*.safetensors).")


def _files(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and not _OTHER_BUILDS.intersection(path.relative_to(folder).parts)
    )


def hash_model(folder: Path) -> str:
    """Hash of all files of a model: weights and preprocessing."""
    check_model(folder)
    digest = hashlib.sha256()
    for path in _files(folder):
        if any(path.match(pattern) for pattern in _PARTS):
            state = path.stat()
            name = path.relative_to(folder).as_posix()
            content = _hash_file(path, state.st_size, state.st_mtime_ns)
            digest.update(f"{name}\0{content}\0".encode())
    return digest.hexdigest()


def package_versions() -> str:
    """Releases of the packages that run a model, without an import of them."""
    found = []
    for package in ("sentence-transformers", "transformers"):
        with suppress(PackageNotFoundError):
            found.append(f"{package} {'.'.join(version(package).split('.')[:2])}")
    return ", ".join(found)


@lru_cache(maxsize=256)
def _hash_file(path: Path, size: int, changed: int) -> str:
    """Hash of a file that is not read again while its size and time stay the same."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@lru_cache(maxsize=1)
def load_model(folder: Path, content: str, device: str | None) -> Encode:
    """The function of a model from a list of texts or pictures, and a batch size, to vectors.

    The last model is kept. ``content`` is its :func:`hash_model`: if a file changes, the model is
    loaded again.
    """
    return load_network(folder, device).eval().encode


def load_network(folder: Path, device: str | None) -> Any:
    """The model of a folder, a module of PyTorch."""
    with requires_extra("embed", purpose=_PURPOSE):
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

    shows_bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        return SentenceTransformer(
            str(folder),
            device=device,
            local_files_only=True,
            trust_remote_code=False,
            model_kwargs={"use_safetensors": True},
        )
    except MemoryError:
        raise
    except Exception as error:  # damaged files raise errors of many types
        raise PretrainedModelError(
            f"The model in {folder} cannot be loaded: {_first_line(error)}"
        ) from error
    finally:
        if shows_bars:
            logging.enable_progress_bar()


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")
