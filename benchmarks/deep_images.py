"""DeepPLCL on CIFAR-10 with candidate sets: accuracy, time, and the time outside the network.

    python benchmarks/deep_images.py --archive cifar10-jpeg.tar.xz --answers cifar10n.npz \
        --output docs/deep_images.jsonl --seeds 0 1 2 --set epochs=30 --budget 500 supervised q0.5
    python benchmarks/deep_images.py --table docs/deep_images.jsonl

One JSON line per run, appended to ``--output`` at once. The table has the seconds of runs that had
the GPU alone, not of several ``--workers``. The archive holds
``train/<class>/<number>.jpg`` and ``test/…``. ``--list`` shows the settings. A setting may have
changes of its own, ``q0.5:weight_decay=.01,width=128``: parameters of ``DeepPLCL``, and the width
of its ResNet-9.
"""

import argparse
import copy
import io
import json
import multiprocessing
import sys
import tarfile
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from time import perf_counter, time

import numpy as np
from sklearn.base import clone

from ambilearn.deep import DeepPLCL
from ambilearn.deep.augment import CropFlip

CLASSES = [
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
]
NO_HEAD = {"comp_weight": 0.0}
# With one candidate per row, both terms of the loss are the cross-entropy of both views.
SUPERVISED = {"comp_weight": 0.0}

# Name: how the candidates are made, and parameters of DeepPLCL.
SETTINGS = {
    "supervised": ({"q": 0.0}, SUPERVISED),
    **{f"q{q}": ({"q": q}, {}) for q in (0.1, 0.3, 0.5, 0.7)},
    **{f"q{q}_folds": ({"q": q, "folds": 4}, SUPERVISED) for q in (0.3, 0.5)},
    "q0.5_correct": ({"q": 0.5, "only_correct": True}, {}),
    "no_head": ({"q": 0.5}, NO_HEAD),
    "no_strong": ({"q": 0.5}, {"augment": (CropFlip(), None)}),
    "no_ramp": ({"q": 0.5}, {"ramp": 0.0}),
    "no_mixup": ({"q": 0.5}, {"mixup": False}),
    **{loss: ({"q": 0.5}, {"loss": loss}) for loss in ("proden", "rc", "cc", "crdpll")},
    "n_union": ({"answers": "union"}, {}),
    "n_votes": ({"answers": "votes"}, {}),
    "n_majority": ({"answers": "majority"}, SUPERVISED),
    "n_best": ({"answers": "best"}, SUPERVISED),
    "n_folds": ({"answers": "union", "folds": 4}, SUPERVISED),
    "n_no_head": ({"answers": "union"}, NO_HEAD),
    "swap": ({"q": 0.3, "eta": 0.1}, {}),
    "swap_found": ({"q": 0.3, "eta": 0.1, "find": True}, {}),
}


def _decode(files):
    from PIL import Image

    return np.stack([np.asarray(Image.open(io.BytesIO(file)).convert("RGB")) for file in files])


def load(archive):
    """Images and labels of the training and of the test rows, in the order of their names."""
    found = {"train": [], "test": []}
    with tarfile.open(archive) as tar:
        for member in tar:
            parts = Path(member.name).parts
            if member.isfile() and len(parts) >= 3 and parts[-3] in found:
                key = CLASSES.index(parts[-2]), int(Path(parts[-1]).stem)
                found[parts[-3]].append((*key, tar.extractfile(member).read()))
    arrays = []
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        for rows in (sorted(found["train"]), sorted(found["test"])):
            files = [row[2] for row in rows]
            blocks = [files[i : i + 1000] for i in range(0, len(files), 1000)]
            arrays.append(np.concatenate(list(pool.map(_decode, blocks))))
            arrays.append(np.array([row[0] for row in rows]))
    return arrays


def load_answers(path, y):
    """The answers of three people in the order of the images: by class, then by number."""
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
        if answers == "best":
            majority = make_candidates(y, seed, answers="majority", votes=votes)
            return np.where(counts[rows, y] > 0, y, majority)
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
    """Candidates and the label whose held-out output exceeds those of all candidates."""
    from ambilearn import find_doubtful

    doubt = find_doubtful(X, mask, estimator=model, n_folds=n_folds)
    more = mask.copy()
    rows = np.flatnonzero(doubt.score > 0)
    more[rows, doubt.suggestion[rows].astype(int)] = True
    return more


def choose_held_out(model, X, y, mask, n_folds):
    """Labels that networks trained on the true labels of other rows choose among the candidates."""
    part = np.random.default_rng(0).permutation(len(y)) % n_folds
    chosen = np.empty_like(y)
    for fold in range(n_folds):
        held = part == fold
        outputs = clone(model).fit(X[~held], y[~held]).predict_proba(X[held])
        chosen[held] = (outputs * mask[held]).argmax(1)
    return chosen


@contextmanager
def learn_only_correct(y):
    """After the ramp, the confidences of a row are learned only if they prefer its true label."""
    import torch

    from ambilearn.deep import training

    losses_of_rows = training.row_losses

    class OnlyCorrect(training.Trainer):
        def _loss(self, index, views):
            truth = torch.from_numpy(y).to(self.device)[index]

            def losses(objective, f, absent, mask, confidences, ramp, *others):
                if self.epoch >= objective.ramp * self.settings.epochs:
                    ramp = ramp * (confidences.argmax(1) == truth)
                return losses_of_rows(objective, f, absent, mask, confidences, ramp, *others)

            training.row_losses = losses
            return super()._loss(index, views)

    original, training.Trainer = training.Trainer, OnlyCorrect
    try:
        yield
    finally:
        training.Trainer, training.row_losses = original, losses_of_rows


def time_passes(model, batch_shape, device, bf16, n=60):
    """Seconds of a step with two passes, without and with the optimizer, of a bare loop."""
    import torch

    network = copy.deepcopy(model.module_).to(device).requires_grad_(True).train()
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
                ordinary, complementary = network(x)
            loss = torch.nn.functional.cross_entropy(ordinary.float(), y)
            (loss + complementary.float().sigmoid().mean()).backward()
            if step_too:
                optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        wait_for_device()
        times.append((perf_counter() - began) / n)
    return times


def run(name, seed, changes, data):
    """One fit, as a dictionary."""
    X, y, X_test, y_test, votes = data
    how, parameters = SETTINGS[name]
    parameters = {"epochs": 30, "random_state": seed, **parameters, **changes}
    how = how | {key: parameters.pop(key) for key in ("q", "eta") if key in parameters}
    if width := parameters.pop("width", None):
        from ambilearn.deep.networks import ResNet9

        parameters["module"] = partial(ResNet9, X.shape[-1], width)
    model = DeepPLCL(**parameters)
    candidates = make_candidates(y, seed, votes=votes, **how)
    began = perf_counter()
    if how.get("find"):
        candidates = add_suggestions(model, X, candidates)
    if how.get("folds"):
        candidates = choose_held_out(model, X, y, candidates, how["folds"])
    with learn_only_correct(y) if how.get("only_correct") else nullcontext():
        model.fit(X, candidates)
    seconds = perf_counter() - began
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
        "epoch_seconds": _epoch_seconds(model),
        "first_epoch_seconds": model.history_[0].seconds,
    }


def _epoch_seconds(model):
    """Typical epoch: the mean of the medians of the first and the second half of the training."""
    durations = np.diff([report.seconds for report in model.history_])
    return float(np.mean([np.median(half) for half in np.array_split(durations, 2)]))


def measure_time(data, changes, epochs=13):
    """Epochs of all rows and of half of them, and of a bare loop of the same two passes."""
    import torch

    X, y, *_ = data
    device = "cuda" if torch.cuda.is_available() else "cpu"
    options = {"random_state": 0, **changes, "epochs": epochs}
    mask = make_candidates(y, 0, q=0.5)
    model = DeepPLCL(**options).fit(X, mask)
    batch = _batch_size(model, y)
    half = DeepPLCL(**options | {"batch_size": batch}).fit(X[::2], mask[::2])
    epoch = _epoch_seconds(model)
    passes, steps = time_passes(
        model,
        (2 * batch, *model._row_shape),
        device,
        device == "cuda",
        60 if device == "cuda" else 2,
    )
    return {
        "setting": "time",
        "rows": len(y),
        "epoch_seconds": epoch,
        "outside_network": 1 - len(y) // batch * passes / epoch,
        "over_bare_loop": epoch / (len(y) // batch * steps),
        "over_half_of_the_rows": epoch / _epoch_seconds(half),
    }


def _batch_size(model, y):
    from ambilearn.deep.options import choose_batch_size

    return min(len(y), choose_batch_size(model.batch_size, (len(y), *model._row_shape)))


def parse_changes(pairs):
    """Pairs NAME=VALUE as a dictionary."""
    return {name: parse(value) for name, _, value in (pair.partition("=") for pair in pairs)}


def parse(text):
    """A value of a change: a number, true, false, null or text."""
    try:
        return json.loads(text if not text.startswith(".") else f"0{text}")
    except json.JSONDecodeError:
        return text


def report(outcome, output):
    """Print one JSON line, and append it to a file."""
    rounded = {k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in outcome.items()}
    print(json.dumps(rounded), flush=True)
    if output:
        with output.open("a") as file:
            print(json.dumps(rounded), file=file)


def make_tables(outcomes):
    """Markdown lines: for every number of epochs a table, the longest runs first."""
    runs = {}
    for outcome in outcomes:
        if "test_accuracy" in outcome:
            key = outcome["setting"], outcome.get("note", "")
            runs.setdefault(outcome["epochs"], {}).setdefault(key, []).append(outcome)
    for epochs in sorted(runs, reverse=True):
        yield from ["", f"**{epochs} epochs**", ""]
        yield from _make_table(runs[epochs])


def _make_table(runs):
    """Mean and spread over the runs, and the share of the supervised accuracy.

    Times are of runs that had the GPU alone: ``beside`` is the number of other runs on it.
    """
    supervised = {}
    for key in sorted(runs, reverse=True):  # a run without a note comes last, and counts
        if key[0] == "supervised":
            supervised |= {run["seed"]: run["test_accuracy"] for run in runs[key]}
    yield "| setting | seeds | new images | of supervised | cleaned labels | seconds |"
    yield "|---|---|---|---|---|---|"
    for name, note in sorted(runs, key=lambda key: (list(SETTINGS).index(key[0]), key[1])):
        found = runs[name, note]
        known = [run for run in found if run["seed"] in supervised]
        shares = [run["test_accuracy"] / supervised[run["seed"]] for run in known]
        alone = [run["seconds"] for run in found if not run.get("beside")]
        cells = [
            f"{name}, {note}" if note else name,
            str(len({run["seed"] for run in found})),
            _mean_and_spread([run["test_accuracy"] for run in found]),
            f"{100 * np.mean(shares):.1f} %" if shares else "",
            _mean_and_spread([run["transductive"] for run in found]),
            f"{np.median(alone):.0f}" if alone else "",
        ]
        yield f"| {' | '.join(cells)} |"


def _mean_and_spread(values):
    spread = f" ± {np.std(values, ddof=1):.4f}".replace("0.", ".") if len(values) > 1 else ""
    return f"{np.mean(values):.4f}".removeprefix("0") + spread


def main():
    """Run the settings, the first seed of all of them first."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("settings", nargs="*", default=["supervised", "q0.5"])
    parser.add_argument("--archive", default="cifar10-jpeg.tar.xz")
    parser.add_argument("--answers", help="cifar10n.npz, for the settings n_…")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE")
    parser.add_argument("--rows", type=int, help="train on so many rows, for a trial")
    parser.add_argument("--budget", type=float, default=np.inf, help="start no run after so many s")
    parser.add_argument("--workers", type=int, default=1, help="runs at the same time on one GPU")
    parser.add_argument("--note", help="text that identifies these runs in the table")
    parser.add_argument("--output", type=Path, help="file to which results are appended")
    parser.add_argument("--table", type=Path, help="print a table of such a file")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if arguments.list:
        for name, (how, parameters) in SETTINGS.items():
            print(name, json.dumps(how), json.dumps(parameters))
        return
    if arguments.table:
        lines = arguments.table.read_text().splitlines()
        print("\n".join(make_tables(map(json.loads, lines))).strip())
        return
    arguments.changes = parse_changes(arguments.set)
    arguments.deadline = time() + arguments.budget
    tasks = [(seed, name) for seed in arguments.seeds for name in arguments.settings]
    options = {"mp_context": multiprocessing.get_context("spawn"), "initializer": _start_worker}
    shared = arguments, _load_all(arguments)
    with ProcessPoolExecutor(arguments.workers, **options, initargs=shared) as pool:
        for done in as_completed([pool.submit(_run_task, *task) for task in tasks]):
            if outcome := done.result():
                report(outcome, arguments.output)


def _start_worker(arguments, data):
    global _arguments, _data
    _arguments, _data = arguments, data


def _run_task(seed, name):
    """One measurement, or None if there is no time left for it."""
    if time() > _arguments.deadline:
        print(f"out of time before {name}, seed {seed}", file=sys.stderr)
        return None
    if name == "time":
        return measure_time(_data, _arguments.changes)
    name, _, own = name.partition(":")
    note = _arguments.note or own.replace(",", ", ")
    more = {"note": note} if note else {}
    more |= {"beside": _arguments.workers - 1} if _arguments.workers > 1 else {}
    changes = _arguments.changes | parse_changes(own.split(",") if own else [])
    return run(name, seed, changes, _data) | more


def _load_all(arguments):
    X, y, X_test, y_test = load(arguments.archive)
    votes = load_answers(arguments.answers, y) if arguments.answers else None
    if arguments.rows:
        chosen = np.random.default_rng(0).permutation(len(y))[: arguments.rows]
        X, y, votes = X[chosen], y[chosen], votes if votes is None else votes[chosen]
        part = slice(None, None, max(1, 10_000 // arguments.rows))
        X_test, y_test = X_test[part], y_test[part]
    return X, y, X_test, y_test, votes


if __name__ == "__main__":
    main()
