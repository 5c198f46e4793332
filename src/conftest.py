"""Modules whose examples need PyTorch are left out where it is not installed."""

from importlib.util import find_spec

_NEED_TORCH = (
    "augment",
    "checkpoint",
    "fitting",
    "image_files",
    "networks",
    "objective",
    "options",
    "prediction",
    "rows",
    "saving",
    "training",
)
if find_spec("torch") is None:
    collect_ignore = [f"ambilearn/deep/{name}.py" for name in _NEED_TORCH]
