"""Train the network of an estimator, and compute its outputs."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from numbers import Integral
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ambilearn._utils.interrupts import may_end_early
from ambilearn._utils.rounds import Round, report_round
from ambilearn._utils.warnings import InterruptedWarning, warn_user
from ambilearn.backend import Support
from ambilearn.deep import options
from ambilearn.deep.augment import CropFlip
from ambilearn.deep.checkpoint import Checkpoint
from ambilearn.deep.held_out import HeldOut
from ambilearn.deep.networks import (
    TwoHeads,
    add_heads,
    choose_features,
    choose_width,
    compute_features,
    compute_outputs,
)
from ambilearn.deep.objective import Objective, choose_objective, make_targets
from ambilearn.deep.rows import DeepRows
from ambilearn.deep.training import Labels, Settings, Trainer, report_printers, reports, seeded


@torch.inference_mode(False)
@torch.enable_grad()  # even if the caller has switched gradients off
def fit_network(model: Any, rows: DeepRows, candidates: Support, seed: int) -> None:
    """Train a network, and set the attributes of the estimator.

    ``seed`` is that of all random numbers.
    """
    device = options.choose_device(model.device)
    form = rows.shape[1:], rows.are_bytes
    continues = model._previous is not None and form == (model._row_shape, model._learned_bytes)
    if not (continues and isinstance(model.normalize, str)):  # weights need inputs of their scale
        model._standardizer = options.Standardizer.of(rows, model.normalize)
    model._row_shape, model._learned_bytes = form
    model._never_candidate = ~candidates.sets.to_mask().any(axis=0)
    model._built_module = isinstance(model.module, str)
    parameters = model.get_params(deep=False)
    names = {field.name for field in fields(Objective)} & set(parameters)
    objective = choose_objective(model.loss, **{name: parameters[name] for name in names})
    settings = _settings(model, objective, rows, device)
    model._mirror = isinstance(settings.weak, CropFlip) and settings.weak.flip
    held = model._standardizer.apply(rows).to(device)
    prepare = model._standardizer.prepare(held, device)
    labels = _labels(candidates, device)
    saved = None
    try:
        with seeded(seed, device), _torch_settings():
            network = _network(model, held, prepare, candidates.n_labels, device)
            trainer = Trainer(network, held, prepare, labels, settings)
            saved = _resume(trainer, model)
            model.history_ = _train(trainer, model, saved)
        model.module_, model.n_epochs_ = trainer.average, trainer.epoch
        model._ended_early = trainer.epoch < settings.epochs
        final = _label_rows(model, held, trainer)
    except KeyboardInterrupt:
        if saved is not None:
            saved.write()
        raise
    model.label_distributions_ = candidates.as_output(candidates.gather(final))
    if saved is not None and not model._ended_early:
        saved.remove()


def _label_rows(model: Any, rows: DeepRows, trainer: Trainer) -> NDArray[np.float64]:
    """Confidences of the training rows by the final network; sets ``train_output_``."""
    ordinary, complementary = predict_probabilities(model, rows, standardized=True)
    model.train_output_ = ordinary
    prior = trainer.prior()
    final: NDArray[np.float64] = make_targets(
        trainer.settings.objective,
        [torch.from_numpy(ordinary).clamp(min=1e-300).log()],
        torch.from_numpy(complementary).logit(1e-12),
        trainer.labels.mask.cpu(),
        None if prior is None else prior.cpu().double(),
    ).numpy()
    return final


def _settings(model: Any, objective: Objective, rows: DeepRows, device: torch.device) -> Settings:
    batch_size = options.choose_batch_size(model.batch_size, rows.shape)
    weak, strong = options.choose_views(model.augment, rows, objective.strong_view)
    epochs = options.choose_epochs(model.epochs, rows, batch_size, device)
    decay = model.weight_decay
    if decay is None:
        decay = 0.005 if rows.are_images else 0.01
    return Settings(
        objective,
        weak,
        strong,
        epochs=epochs,
        batch_size=batch_size,
        lr=model.lr,
        weight_decay=decay,
        bf16=options.computes_in_bf16(device),
    )


def _labels(candidates: Support, device: torch.device) -> Labels:
    shares, mask = candidates.scatter(candidates.prior()), candidates.sets.to_mask()
    weights = torch.ones(len(mask), dtype=torch.float32, device=device)
    if candidates.row_weights is not None:
        weights = torch.from_numpy(candidates.row_weights).float().to(device)
    log_shares = None
    if candidates.sets.weights is not None:  # in double precision, where small shares are not zero
        positive = np.maximum(shares, np.finfo(float).tiny)
        log_shares = torch.from_numpy(np.where(mask, np.log(positive), 0.0)).float().to(device)
    confidences = torch.from_numpy(shares).float().to(device)
    return Labels(torch.from_numpy(mask).to(device), confidences, weights, log_shares)


def _network(
    model: Any, rows: DeepRows, prepare: Any, n_labels: int, device: torch.device
) -> TwoHeads:
    shape = rows.shape[1:]
    width = choose_width(shape, device) if len(shape) == 3 else 0
    features = choose_features(model.module, shape, width).to(device)
    sample = prepare(rows.batch(torch.arange(2), device))
    network = add_heads(features, sample, n_labels)
    if model._previous is not None:
        try:
            network.load_state_dict(model._previous.state_dict())
        except RuntimeError as error:
            raise ValueError(
                "warm_start=True needs the network of the previous fit, but the form of the rows "
                "or module has changed."
            ) from error
    return network


def _resume(trainer: Trainer, model: Any) -> Checkpoint | None:
    """The checkpoint of the run, if it has one, after the run has continued from it."""
    if model.checkpoint is None:
        return None
    standardizer, seed = model._standardizer, model.random_state
    also = [standardizer.mean.tolist(), standardizer.scale.tolist()]
    is_number = isinstance(seed, Integral)
    also.append(int(seed) if is_number else None if seed is None else "random")
    saved = Checkpoint(model.checkpoint, trainer, model.checkpoint_seconds, str(also))
    saved.resume()
    return saved


def _train(trainer: Trainer, model: Any, saved: Checkpoint | None) -> list[Any]:
    """Run the epochs that are left, and return their reports."""
    if not all(map(callable, model.callbacks)):
        raise ValueError(f"callbacks must be functions of one argument; got {model.callbacks!r}.")
    history, name = [], type(model).__name__
    held_out = HeldOut(trainer)
    try:
        with report_printers(model.verbose) as printers:
            for report in reports(trainer.run_epoch, trainer.epoch, trainer.settings.epochs):
                history.append(report)
                held_out.check()
                epochs = report.epoch, report.n_epochs
                report_round(Round(name, *epochs, report.loss, 0.0, str(report)))
                if saved is not None and report.epoch < report.n_epochs:
                    saved.end_epoch()
                for callback in (*model.callbacks, *printers):
                    callback(report)
    except KeyboardInterrupt:
        if trainer.epoch == 0 or not may_end_early():
            raise
        is_complete = trainer.epoch == trainer.settings.epochs
        continued = not is_complete and saved is not None and saved.write()
        later = f", and another fit continues from {model.checkpoint}" if continued else ""
        warn_user(
            f"The training was interrupted after epoch {trainer.epoch} of "
            f"{trainer.settings.epochs}. The model can be used{later}.",
            InterruptedWarning,
        )
    return history


def predict_probabilities(
    model: Any, rows: DeepRows, *, standardized: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Outputs f and f̂ of the two heads, each of shape (n, l)."""
    held = rows if standardized else model._standardizer.apply(rows)
    outputs = compute_outputs(**_inputs(model, held), mirror=model._mirror)
    ordinary, complementary = (output.numpy() for output in outputs)
    ordinary = np.where(model._never_candidate, 0.0, np.maximum(ordinary, 1e-300))
    return ordinary / ordinary.sum(axis=1, keepdims=True), complementary


def extract_features(model: Any, rows: DeepRows) -> NDArray[np.float32]:
    """Features of the rows, shape (n, d)."""
    held = model._standardizer.apply(rows)
    features: NDArray[np.float32] = compute_features(**_inputs(model, held)).numpy()
    return features


def _inputs(model: Any, rows: DeepRows) -> dict[str, Any]:
    """Arguments of the functions that compute outputs and features."""
    device = options.choose_device(model.device)
    return {
        "network": model.module_.to(device),
        "rows": rows,
        "prepare": model._standardizer.prepare(rows, device),
        "bf16": options.computes_in_bf16(device),
    }


@contextmanager
def _torch_settings() -> Iterator[None]:
    """Global settings of PyTorch for a training; those of the caller are restored afterwards.

    The network has single precision. cuDNN benchmarks its algorithms unless deterministic ones are
    enabled.
    """
    dtype, benchmark = torch.get_default_dtype(), torch.backends.cudnn.benchmark
    torch.set_default_dtype(torch.float32)
    torch.backends.cudnn.benchmark = not torch.are_deterministic_algorithms_enabled()
    try:
        yield
    finally:
        torch.set_default_dtype(dtype)
        torch.backends.cudnn.benchmark = benchmark
