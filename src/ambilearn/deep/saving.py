"""The state of a fitted estimator without code: weights as arrays, and the network by its name.

Copies, pickles and model files hold this state. Only networks of ``module="auto"``, and named ones,
have it: they are built again for the shape of the rows. A change of such a network makes older
model files useless: raise ``FORMAT_VERSION`` of :mod:`ambilearn.tables.model_file` with it.
"""

import copy
import os
from typing import Any

import numpy as np
import torch
from torch import nn

from ambilearn._utils.types import Array
from ambilearn.deep.networks import MLP, Frozen, Pretrained, TwoHeads, add_heads, choose_features
from ambilearn.deep.options import Standardizer
from ambilearn.deep.rows import to_tensor
from ambilearn.features.models import PretrainedModelError

_BASE = "features.0.0."  # weights of a named network that is not trained: its files have them


def plain_state(state: dict[str, Any]) -> dict[str, Any]:
    """The state of a fitted estimator, for a file that is also read where there is no such device.

    If ``module`` was a text, ``_weights``, a dictionary of arrays, replaces ``module_``; otherwise
    there is a copy of the network in host memory. Parameters that are paths, tensors or arrays
    become texts and lists.
    """
    network = state["module_"]
    standardizer = state["_standardizer"]
    rest = state | {"_standardizer": (standardizer.mean, standardizer.scale)}
    for name in ("checkpoint", "module"):
        if isinstance(state[name], os.PathLike):
            rest[name] = os.fspath(state[name])
    if state["normalize"] is not None and not isinstance(state["normalize"], str):
        rest["normalize"] = tuple(np.asarray(part).tolist() for part in state["normalize"])
    if state["image_size"] is not None:
        rest["image_size"] = np.asarray(state["image_size"]).tolist()
    if state["_fitted_module"] is None:
        return rest | {"module_": copy.deepcopy(network).to("cpu"), "_weights": None}
    del rest["module_"]
    weights = {name: values.cpu().numpy() for name, values in network.state_dict().items()}
    if isinstance(network.features, nn.Sequential) and isinstance(network.features[0], Frozen):
        weights = {name: values for name, values in weights.items() if not name.startswith(_BASE)}
    return rest | {"_weights": weights}


def restore_network(state: dict[str, Any]) -> dict[str, Any]:
    """The attributes of an estimator from what :func:`plain_state` returned.

    Nothing is executed, and no memory is allocated beyond that of the arrays: the network is built
    without weights, and takes the arrays if their names, shapes and types are the expected ones.
    A named network is loaded from its folder, and must have the hash of the fit.
    Raises ValueError if they do not belong to a network for such rows and labels.
    """
    state = dict(state)
    weights, state["_standardizer"] = state.pop("_weights"), Standardizer(*state["_standardizer"])
    if weights is not None:
        name, content = state["_fitted_module"], state["module_hash_"]
        n_labels = len(state["classes_"])
        if content is None:
            network = _set_weights(_build(state["_row_shape"], n_labels, weights), weights)
            network.to(memory_format=torch.channels_last)  # as choose_features makes it
        else:
            network = _set_weights(_find(name, content, n_labels, weights), weights)
        state["module_"] = network
    return state


def _build(shape: Any, n_labels: int, weights: dict[str, Array]) -> TwoHeads:
    """The network of ``module="auto"`` for rows of a shape, without weights."""
    are_sides = all(isinstance(side, int) and side > 0 for side in shape)
    if not are_sides or len(shape) not in (1, 3):
        raise ValueError(f"{shape!r} is not the shape of a row.")
    width = _width_of(weights, "ordinary.weight") // 8
    with torch.device("meta"):
        features = choose_features("auto", shape, max(1, width))
        return add_heads(features, torch.empty(2, *shape), n_labels)


def _find(name: str, content: str, n_labels: int, weights: dict[str, Array]) -> TwoHeads:
    """A named network with its weights, and what was trained above it without weights."""
    features: nn.Module = Pretrained(name)
    if features.content != content:
        raise PretrainedModelError(
            f"The files of the model {name!r} are not those of the fit: their hash is "
            f"{features.content}, not {content}."
        )
    n_features = _width_of(weights, "features.0.1.running_mean")
    with torch.device("meta"):
        if n_features:
            features = nn.Sequential(Frozen(features, n_features), MLP(n_features))
        return TwoHeads(features, _width_of(weights, "ordinary.weight"), n_labels)


def _width_of(weights: dict[str, Array], name: str) -> int:
    values = weights.get(name)
    return values.shape[-1] if isinstance(values, np.ndarray) and values.ndim else 0


def _set_weights(network: TwoHeads, weights: dict[str, Array]) -> TwoHeads:
    expected = network.float().state_dict()
    for name, values in weights.items():
        known = expected.get(name)
        if known is None or not isinstance(values, np.ndarray):
            raise ValueError(f"The network has no weights {name!r}.")
        tensor = to_tensor(values)
        if (tensor.shape, tensor.dtype) != (known.shape, known.dtype):
            raise ValueError(
                f"The weights {name!r} are {tensor.dtype} of shape {tuple(tensor.shape)}, but "
                f"{known.dtype} of shape {tuple(known.shape)} are needed."
            )
        expected[name] = tensor
    missing = [name for name, values in expected.items() if values.is_meta]
    if missing:
        raise ValueError(f"The weights {missing[0]!r} are missing.")
    network.load_state_dict(expected, assign=True)
    network.requires_grad_(False).eval()
    return network
