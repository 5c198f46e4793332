"""Checkpoints from which a killed run continues, in a format that contains no code."""

import json
import os
import re
from dataclasses import is_dataclass
from errno import EISDIR
from hashlib import blake2b
from pathlib import Path
from time import monotonic
from typing import Any

import torch
from torch import Tensor

from ambilearn._utils.files import atomic_write, check_writable
from ambilearn._utils.text import requires_extra
from ambilearn._utils.warnings import run_to_end, warn_user
from ambilearn.deep.options import sample_rows
from ambilearn.deep.training import Trainer

SECONDS = 60.0  # at least, between two writes


class Checkpoint:
    """The file of a run: written after epochs and at an interrupt, read when the run starts again.

    Writes are atomic. ``also`` is what distinguishes the run besides rows, candidates, settings and
    network.
    """

    def __init__(self, path: Any, trainer: Trainer, also: str) -> None:
        with requires_extra("deep", purpose="A checkpoint"):
            import safetensors.torch

        self._format = safetensors.torch
        self._trainer = trainer
        self._path = Path(path).absolute()  # a callback may change the working directory
        try:
            if self._path.is_dir():
                raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
            check_writable(self._path)
        except OSError as error:
            raise ValueError(
                f"checkpoint={str(path)!r} cannot be written ({error.strerror}). Choose another "
                "file, or make it and its folder writable."
            ) from error
        self._run = _fingerprint(trainer, also)
        self._written = monotonic()

    def resume(self) -> None:
        """Continue from the file, if there is one.

        Raises
        ------
        ValueError
            If the file is no checkpoint, or belongs to other rows or parameters.
        """
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return
        try:
            header = int.from_bytes(content[:8], "little")
            about = json.loads(content[8 : 8 + header])["__metadata__"]
            run, epoch, step = about["run"], int(about["epoch"]), int(about["step"])
            power = float(about["power"])
            tensors = self._format.load(content)
            if about.pop("checksum") != _checksum(tensors, about):
                raise ValueError("The checksum is wrong.")
        except Exception as error:
            raise ValueError(
                f"{self._path} is not a checkpoint of DeepPLCL, or it is damaged. Give another "
                "path as checkpoint, or delete the file if you do not need it."
            ) from error
        if run != self._run:
            raise ValueError(
                f"The checkpoint {self._path} belongs to a fit with other rows, candidates or "
                "parameters: delete it to start again, or give another path as checkpoint. In "
                "cross_val_score and GridSearchCV, use checkpoint=None."
            )
        _restore(self._trainer, tensors)
        self._trainer.continue_from(epoch, step, power)

    def end_epoch(self) -> None:
        """Write the state, unless the last write was too recent."""
        if monotonic() - self._written >= SECONDS:
            self.write()

    def write(self) -> bool:
        """Write the state after an epoch; return whether there is a file.

        Within an epoch the file stays as it is. Gives a warning if it cannot be written. An older
        one is kept. Ctrl-C has an effect only after the write.
        """
        if self._trainer.step == self._trainer.epoch * self._trainer.steps_per_epoch:
            run_to_end(self._write)
        return self._path.exists()

    def _write(self) -> None:
        trainer = self._trainer
        about = {"run": self._run, "power": repr(trainer.power)}
        about |= {"epoch": str(trainer.epoch), "step": str(trainer.step)}
        tensors = {name: t.detach().cpu().contiguous() for name, t in _collect(trainer).items()}
        content = self._format.save(tensors, about | {"checksum": _checksum(tensors, about)})
        try:
            with atomic_write(self._path) as file:
                file.write(content)
        except OSError as error:  # such as a full disk: the training is not lost
            warn_user(f"The checkpoint {self._path} could not be written: {error.strerror}.")
        self._written = monotonic()

    def remove(self) -> None:
        """Delete the file: the run is complete. Gives a warning if that is not possible."""
        try:
            self._path.resolve().unlink(missing_ok=True)  # not a link to it
        except OSError as error:
            warn_user(
                f"The training is complete, but its checkpoint {self._path} could not be deleted "
                f"({error.strerror}). Delete it before you fit again."
            )


def _collect(trainer: Trainer) -> dict[str, Tensor]:
    """The tensors that a training changes, and states of random numbers, by name."""
    found = {f"network.{name}": t for name, t in trainer.network.state_dict().items()}
    found |= {f"average.{name}": t for name, t in trainer.average.state_dict().items()}
    for name, weights in trainer.network.named_parameters():
        momentum = trainer.optimizer.state.get(weights, {}).get("momentum_buffer")
        if momentum is not None:
            found[f"momentum.{name}"] = momentum
    found["confidences"] = trainer.labels.confidences
    found["random.host"] = torch.get_rng_state()
    if trainer.device.type == "cuda":
        found["random.device"] = torch.cuda.get_rng_state(trainer.device)
    return found


def _restore(trainer: Trainer, tensors: dict[str, Tensor]) -> None:
    for name, weights in trainer.network.named_parameters():
        if f"momentum.{name}" in tensors:
            trainer.optimizer.state[weights]["momentum_buffer"] = torch.empty_like(weights)
    for name, tensor in _collect(trainer).items():
        tensor.copy_(tensors.get(name, tensor))  # a GPU has random numbers of its own
    torch.set_rng_state(tensors["random.host"])
    if trainer.device.type == "cuda" and "random.device" in tensors:
        torch.cuda.set_rng_state(tensors["random.device"], trainer.device)


def _name(value: Any) -> str:
    """Text that is the same in every process: for a function of the user, its name."""
    if is_dataclass(value) or not callable(value):
        return str(value)
    return str(getattr(value, "__qualname__", type(value).__qualname__))


def _fingerprint(trainer: Trainer, also: str) -> str:
    """Hash of the rows, candidates, parameters and network of a run.

    Trained weights do not count: they may start at random, so that they differ in another process.
    """
    settings, labels = trainer.settings, trainer.labels
    named = {name: _name(value) for name, value in vars(settings).items()}
    shapes = {name: list(t.shape) for name, t in trainer.network.state_dict().items()}
    parts = re.sub(" at 0x[0-9a-f]+", "", repr(trainer.network))  # addresses of functions
    text = json.dumps([named, shapes, parts, list(trainer.rows.shape), also], sort_keys=True)
    frozen = [weights for weights in trainer.network.parameters() if not weights.requires_grad]
    frozen += [values for part in trainer.network.frozen_parts() for values in part.buffers()]
    rows = trainer.rows
    values = sample_rows(rows) if rows.held is None else rows.held
    given = (values, labels.mask, labels.log_shares, labels.row_weights, *frozen)
    return _hash(text, [tensor for tensor in given if tensor is not None])


def _checksum(tensors: dict[str, Tensor], about: dict[str, str]) -> str:
    names = sorted(tensors)
    return _hash(json.dumps([about, names], sort_keys=True), [tensors[name] for name in names])


def _hash(text: str, tensors: list[Tensor]) -> str:
    found = blake2b(text.encode(), digest_size=16)
    for tensor in tensors:
        found.update(tensor.cpu().contiguous().flatten().view(torch.uint8).numpy())
    return found.hexdigest()
