"""DeepPLCL on CIFAR-10 with candidate sets: accuracy, time, and the time outside the network.

    python benchmarks/deep_images.py --archive cifar10-jpeg.tar.xz --answers cifar10n.npz \
        supervised q0.5 no_head --seeds 0 1 2 --set epochs=100 lr=.05 --jobs 2 --budget 500

One JSON line per run. The archive holds ``train/<class>/<number>.jpg`` and ``test/…``; it is
decoded once, into ``--cache``. ``--list`` shows the settings.
"""

import argparse
import copy
import io
import json
import multiprocessing
import sys
import tarfile
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from pathlib import Path
from time import perf_counter

import numpy as np

from ambilearn.deep import DeepPLCL

CLASSES = [
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
]
NO_HEAD = {"comp_power": 0.0, "comp_weight": 0.0}
SUPERVISED = {"loss": "cc", "strong_view": True}  # cross-entropy of both views

# Name: how the candidates are made, and parameters of DeepPLCL.
SETTINGS = {
    "supervised": ({"q": 0.0}, SUPERVISED),
    **{f"q{q}": ({"q": q}, {}) for q in (0.1, 0.3, 0.5, 0.7)},
    "no_head": ({"q": 0.5}, NO_HEAD),
    "no_strong": ({"q": 0.5}, {"strong_view": False}),
    "no_ramp": ({"q": 0.5}, {"ramp": 0.0}),
    **{loss: ({"q": 0.5}, {"loss": loss}) for loss in ("proden", "rc", "cc", "crdpll")},
    "n_union": ({"answers": "union"}, {}),
    "n_votes": ({"answers": "votes"}, {}),
    "n_majority": ({"answers": "majority"}, SUPERVISED),
    "n_no_head": ({"answers": "union"}, NO_HEAD),
    "swap": ({"q": 0.3, "eta": 0.1}, {}),
    "swap_found": ({"q": 0.3, "eta": 0.1, "find": True}, {}),
}


def load(archive, cache):
    """Images and labels of the training and of the test rows, in the order of their names."""
    cache = Path(cache)
    if not cache.exists():
        from PIL import Image

        found = {"train": {}, "test": {}}
        with tarfile.open(archive) as tar:
            for member in tar:
                parts = Path(member.name).parts
                if member.isfile() and len(parts) >= 3 and parts[-3] in found:
                    key = CLASSES.index(parts[-2]), int(Path(parts[-1]).stem)
                    with Image.open(io.BytesIO(tar.extractfile(member).read())) as image:
                        found[parts[-3]][key] = np.asarray(image.convert("RGB"))
        arrays = {}
        for part, images in found.items():
            keys = sorted(images)
            arrays[f"X_{part}"] = np.stack([images[key] for key in keys])
            arrays[f"y_{part}"] = np.array([key[0] for key in keys])
        partial = cache.with_suffix(".part.npz")
        np.savez(partial, **arrays)
        partial.replace(cache)
    with np.load(cache) as arrays:
        return tuple(arrays[name] for name in ("X_train", "y_train", "X_test", "y_test"))


def load_answers(path, y):
    """Three people's answers in the order of the images: by class, then by number."""
    with np.load(path) as data:
        answers, truth = data["answers"], data["truth"]
    order = np.argsort(truth, kind="stable")
    assert np.array_equal(truth[order], y), "the answers belong to all training images"
    return answers[order]


def make_candidates(y, seed, q=0.0, eta=0.0, answers=None, votes=None, **_):
    """Mask, weights or labels: what DeepPLCL learns from."""
    rng = np.random.default_rng(seed)
    rows = np.arange(len(y))
    if answers:
        counts = np.zeros((len(y), 10))
        np.add.at(counts, (rows[:, None], votes), 1)
        if answers == "majority":
            return (counts + 1e-3 * rng.random(counts.shape)).argmax(1)
        return counts if answers == "votes" else counts > 0
    if q == 0:
        return y
    mask = rng.random((len(y), 10)) < q
    mask[rows, y] = True
    if eta:
        wrong = np.flatnonzero(rng.random(len(y)) < eta)
        mask[wrong, y[wrong]] = False
        mask[wrong, (y[wrong] + rng.integers(1, 10, len(wrong))) % 10] = True
    return mask


def add_suggestions(model, X, mask, n_folds=3):
    """Candidates with the label that held-out outputs put before all of them."""
    from ambilearn import find_doubtful

    doubt = find_doubtful(X, mask, estimator=model, n_folds=n_folds)
    more = mask.copy()
    rows = np.flatnonzero(doubt.score > 0)
    more[rows, doubt.suggestion[rows].astype(int)] = True
    return more


def time_passes(model, batch_shape, device, compiled, bf16, n=60):
    """Seconds of a step with two passes, without and with the optimizer, of a bare loop."""
    import torch

    network = copy.deepcopy(model.module_).to(device).requires_grad_(True).train()
    forward = torch.compile(network) if compiled else network
    optimizer = torch.optim.SGD(network.parameters(), lr=0.0, momentum=0.9, nesterov=True)
    x = torch.randn(batch_shape, device=device).contiguous(memory_format=torch.channels_last)
    y = torch.randint(0, len(model.classes_), batch_shape[:1], device=device)

    def wait_for_device():
        if device == "cuda":
            torch.cuda.synchronize()

    times = []
    for step_too in (False, True):
        for repeat in range(n + 10):
            if repeat == 10:
                wait_for_device()
                began = perf_counter()
            with torch.autocast(device, torch.bfloat16, enabled=bf16):
                ordinary, complementary = forward(x)
            loss = torch.nn.functional.cross_entropy(ordinary.float(), y)
            (loss + complementary.float().sigmoid().mean()).backward()
            if step_too:
                optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        wait_for_device()
        times.append((perf_counter() - began) / n)
    return times


def measure_time(model, settings):
    """Seconds per epoch, and how they compare with a bare loop of the same two passes."""
    import torch

    history = model.history_
    if len(history) < 2:
        return {}
    epoch = (history[-1].seconds - history[0].seconds) / (len(history) - 1)
    n, batch = len(model.transduction_), settings["batch_size"]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    shape = (batch * (2 if settings["strong"] else 1), *model._row_shape)
    passes, steps = time_passes(
        model, shape, device, settings["compiled"], device == "cuda", 60 if device == "cuda" else 2
    )
    per_epoch = n // batch
    return {
        "epoch_seconds": epoch,
        "first_epoch_seconds": history[0].seconds,
        "outside_network": 1 - per_epoch * passes / epoch,
        "over_bare_loop": epoch / (per_epoch * steps),
    }


_DATA = None


def _start(arguments):
    global _DATA
    X, y, X_test, y_test = load(arguments.archive, arguments.cache)
    votes = load_answers(arguments.answers, y) if arguments.answers else None
    if arguments.rows:
        chosen = np.random.default_rng(0).permutation(len(y))[: arguments.rows]
        X, y, votes = X[chosen], y[chosen], votes if votes is None else votes[chosen]
        X_test, y_test = (
            X_test[:: max(1, 10_000 // arguments.rows)],
            y_test[:: max(1, 10_000 // arguments.rows)],
        )
    _DATA = X, y, X_test, y_test, votes


def run(name, seed, changes, timing):
    """One fit, as a dictionary."""
    from ambilearn.deep import options

    X, y, X_test, y_test, votes = _DATA
    how, parameters = SETTINGS[name]
    parameters = {"epochs": 100, "random_state": seed, **parameters, **changes}
    how = how | {key: parameters.pop(key) for key in ("q", "eta") if key in parameters}
    model = DeepPLCL(**parameters)
    candidates = make_candidates(y, seed, votes=votes, **how)
    began = perf_counter()
    if how.get("find"):
        candidates = add_suggestions(model, X, candidates)
    model.fit(X, candidates)
    seconds = perf_counter() - began
    batch = min(len(y), options.choose_batch_size(model.batch_size, len(y)))
    device = options.choose_device(model.device)
    settings = {
        "batch_size": batch,
        "strong": model._strong,
        "compiled": options.choose_compilation(
            model.compile, device, model.epochs * (len(y) // batch)
        ),
    }
    return {
        "setting": name,
        "seed": seed,
        "changes": changes,
        "rows": len(y),
        "test_accuracy": float(np.mean(model.predict(X_test) == y_test)),
        "transductive": float(np.mean(model.transduction_ == y)),
        "settled": model.history_[-1].settled,
        "epochs": model.n_epochs_,
        "seconds": seconds,
        **(measure_time(model, settings) if timing else {}),
    }


def parse(text):
    """A value of ``--set``: a number, true, false, null or text."""
    try:
        return json.loads(text if not text.startswith(".") else f"0{text}")
    except json.JSONDecodeError:
        return text


def report(outcome):
    """Print one JSON line."""
    rounded = {k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in outcome.items()}
    print(json.dumps(rounded), flush=True)


def main():
    """Run the settings, a few at a time."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("settings", nargs="*", default=["supervised", "q0.5"])
    parser.add_argument("--archive", default="cifar10-jpeg.tar.xz")
    parser.add_argument("--answers", help="cifar10n.npz, for the settings n_…")
    parser.add_argument("--cache", default="cifar10-decoded.npz")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE")
    parser.add_argument("--rows", type=int, help="train on so many rows, for a trial")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--budget", type=float, default=np.inf, help="start no run after so many s")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if arguments.list:
        for name, (how, parameters) in SETTINGS.items():
            print(name, json.dumps(how), json.dumps(parameters))
        return
    changes = {k: parse(v) for k, _, v in (pair.partition("=") for pair in arguments.set)}
    tasks = [(name, seed) for name in arguments.settings for seed in arguments.seeds]
    began = perf_counter()
    load(arguments.archive, arguments.cache)
    with ProcessPoolExecutor(
        arguments.jobs, multiprocessing.get_context("spawn"), _start, (arguments,)
    ) as pool:
        running = set()
        while tasks or running:
            while tasks and len(running) < arguments.jobs:
                if perf_counter() - began > arguments.budget:
                    print(f"out of time before {tasks}", file=sys.stderr)
                    tasks = []
                    break
                running.add(pool.submit(run, *tasks.pop(0), changes, arguments.jobs == 1))
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for each in done:
                report(each.result())


if __name__ == "__main__":
    main()
