"""PL-CL on a device: time of every part relative to its lower bound and to the CPU, as JSON lines.

    SCIPY_ARRAY_API=1 python benchmarks/gpu.py [--device cuda] [--only floor sizes …]

The lower bound (floor) of a fit is the time of its Cholesky factorizations and matrix products at
the rates measured on the device in the same run.
"""

import argparse
import os
from collections import defaultdict
from contextlib import ExitStack, contextmanager
from time import perf_counter
from unittest import mock

os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import sklearn
import torch
from common import make_ambiguous, print_result, real_split

from ambilearn import IPAL, LALO, PLAGGD, PLCL, PLCP, PLKNN, SURE, PLStacking, PLVoting
from ambilearn.candidates import CandidateSets

# Parts of a fit that are timed: name of the part, module, class or None, function.
PARTS = (
    ("kernel", "rows", None, "train_kernel"),
    ("landmarks", "rows", None, "_features"),
    ("cholesky", "solvers.blocked_cholesky", None, "factor_in_place"),
    ("neighbors", "rows", None, "LocalGeometry"),
    ("pattern", "backend.device.support", None, "DeviceSupportGraph"),
    ("neighbor_weights", "graph.adaptive", "Neighborhoods", "fit_graph"),
    ("regressions", "kernel.ridge", "DualRidge", "fit"),
    ("regressions", "kernel.primal", "PrimalRidge", "fit"),
    ("confidences", "graph.adaptive", "AdaptiveGraph", "smooth"),
)  # fmt: skip
ITERATIONS = 8
SIZES = (  # that the targets name: rows, features, labels, candidates of a row
    (11_495, 163, 219, 1.91),
    (30_000, 64, 100, 3.0),
    (100_000, 64, 100, 3.0),
)


def main():
    """Run the selected benchmarks."""
    sections = {
        "floor": floor, "agreement": agreement, "methods": methods, "sizes": sizes,
        "one_factor": one_factor, "stack": stack, "curve": curve, "landmarks": landmarks,
    }  # fmt: skip
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--only", nargs="*", choices=sections, default=list(sections))
    parser.add_argument("--max-rows", type=int, default=100_000)
    parser.add_argument("--max-cpu-rows", type=int, default=10_000)
    options = parser.parse_args()
    options.rates = measure_rates(options.device)
    with sklearn.config_context(array_api_dispatch=True):
        fit(PLCL(max_iter=2, tol=0), *make(500, 8, 5), options)  # loads the libraries
        for name in options.only:
            sections[name](options)


def synchronize():
    """Wait for the device."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def timed(function, repeats=3):
    """Shortest time of a function on the device."""
    times = []
    for _ in range(repeats):
        synchronize()
        began = perf_counter()
        function()
        synchronize()
        times.append(perf_counter() - began)
    return min(times)


def measure_rates(device):
    """Operations per second of a matrix product and of a Cholesky factorization."""
    n = 8192 if device != "cpu" else 1024
    A = torch.randn(n, n, dtype=torch.float64, device=device)
    A @ A
    product = 2 * n**3 / timed(lambda: A @ A)
    n *= 2
    A = torch.randn(n, n, dtype=torch.float64, device=device)
    spd = A @ A.T + n * torch.eye(n, dtype=torch.float64, device=device)
    cholesky = n**3 / 3 / timed(lambda: torch.linalg.cholesky(spd))
    return product, cholesky


def floor(options):
    """Rates that determine all lower bounds."""
    product, cholesky = options.rates
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    print_result(
        "gpu_rates", device=name, torch=torch.__version__,
        gemm_tflops=product / 1e12, cholesky_tflops=cholesky / 1e12,
    )  # fmt: skip


def floor_of(n, d, l, n_factors, options):
    """Seconds of the products and factorizations that every fit needs."""
    product, cholesky = options.rates
    best = max(product, cholesky)
    # Kernel and neighbors, and two triangular solves per regression.
    operations = 2 * 2 * n**2 * d + ITERATIONS * 2 * 2 * n**2 * l
    return n_factors * n**3 / 3 / best + operations / product


def make(n, d, l, mean_candidates=3.0):
    """Rows and candidate sets for dense results."""
    X, mask, _ = make_ambiguous(n, d, l, mean_candidates)
    indices = mask.indptr.astype(np.intp), mask.indices.astype(np.intp)
    return X, CandidateSets(np.arange(l), *indices)


@contextmanager
def parts_timed():
    """Context that sums the seconds of each part of the fits."""
    from importlib import import_module

    spent = defaultdict(float)
    inside = []

    def wrap(name, function):
        def wrapper(*args, **kwargs):
            if inside:  # part of a function that is timed
                return function(*args, **kwargs)
            inside.append(name)
            synchronize()
            began = perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                synchronize()
                spent[name] += perf_counter() - began
                inside.pop()

        return wrapper

    with ExitStack() as stack:
        for name, module, owner, attribute in PARTS:
            place = import_module(f"ambilearn.{module}")
            place = getattr(place, owner) if owner else place
            wrapped = wrap(name, getattr(place, attribute))
            stack.enter_context(mock.patch.object(place, attribute, wrapped))
        yield spent


def fit(model, X, sets, options, dtype=torch.float64):
    """Fit on the device: the model, its rows there, seconds, peak bytes, seconds of the parts."""
    Xd = torch.asarray(X, dtype=dtype, device=options.device)
    on_gpu = Xd.is_cuda
    if on_gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    synchronize()
    with parts_timed() as parts:
        began = perf_counter()
        model.fit(Xd, sets)
        synchronize()
        seconds = perf_counter() - began
    peak = torch.cuda.max_memory_allocated() if on_gpu else 0
    parts["rest"] = seconds - sum(parts.values())
    rounded = {f"{name}_s": round(value, 4) for name, value in parts.items()}
    return Xd, seconds, peak, rounded


def size(n, d, l, options, mean_candidates=3.0, label="gpu_fit", **params):
    """One fit of PL-CL of a given size, its lower bound, and predictions per second."""
    X, sets = make(n, d, l, mean_candidates)
    model = PLCL(max_iter=ITERATIONS, tol=0, **params)
    Xd, seconds, peak, parts = fit(model, X, sets, options)
    # Whether the complementary classifier had a factor of its own.
    n_factors = 1 if peak and peak < 1.5 * 8 * n**2 else 2
    least = floor_of(n, d, l, n_factors, options)
    model.predict(Xd[:100])
    some = Xd[:20_000]
    rate = len(some) / timed(lambda: model.predict(some), 2)
    print_result(
        label, rows=n, features=d, labels=l, seconds=seconds, floor_s=least,
        over_floor=seconds / least, peak_gib=peak / 2**30, rows_per_second=rate, **parts,
    )  # fmt: skip
    return seconds


def sizes(options):
    """The sizes that the targets name."""
    for n, d, l, candidates in SIZES:
        if n <= options.max_rows:
            size(n, d, l, options, candidates)


def stack(options):
    """The default stack and PL-CL with eight iterations each; then its results on the CPU."""
    for n, d, l, candidates in SIZES:
        if n > options.max_rows:
            continue
        X, sets = make(n, d, l, candidates)
        _, plcl_seconds, plcl_peak, _ = fit(limited(PLCL()), X, sets, options)
        _, seconds, peak, parts = fit(limited(PLStacking()), X, sets, options)
        print_result(
            "gpu_stack", rows=n, features=d, labels=l, seconds=seconds, plcl_seconds=plcl_seconds,
            time_ratio=seconds / plcl_seconds, peak_gib=peak / 2**30,
            plcl_peak_gib=plcl_peak / 2**30, **parts,
        )  # fmt: skip
    for name, split in real_splits():
        *_, figures = compare_with_host(PLStacking(), split, options)
        print_result("gpu_stack_agreement", data=name, rows=len(split[0]), **figures)


def limited(model):
    """Model with the same number of iterations as in the other measurements."""
    if isinstance(model, PLStacking):
        model.set_params(
            estimators=model._default_estimators(), final_estimator=sklearn.clone(model._final())
        )
    limits = {"max_iter": ITERATIONS, "tol": 0.0}
    params = {name: limits.get(name.rpartition("__")[2]) for name in model.get_params()}
    return model.set_params(**{name: limit for name, limit in params.items() if limit is not None})


def curve(options):
    """1 000 to 100 000 rows, and the CPU for the sizes it can handle."""
    for n in (1_000, 3_000, 10_000, 20_000, 30_000, 50_000, 70_000):
        if n > options.max_rows:
            break
        if n != 30_000:  # one of the sizes above
            size(n, 64, 100, options, label="gpu_curve")
        if n <= options.max_cpu_rows:
            X, sets = make(n, 64, 100)
            began = perf_counter()
            PLCL(max_iter=ITERATIONS, tol=0).fit(X, sets)
            print_result("gpu_curve_cpu", rows=n, seconds=perf_counter() - began)


def agreement(options):
    """Real data sets on device and CPU: confidences and predictions, and repeatability."""
    for name, split in real_splits():
        X, mask, X_test, _ = split
        host, model, test, figures = compare_with_host(PLCL(), split, options)
        single = PLCL()
        fit(single, X, mask, options, torch.float32)
        scores = model.decision_function(test).cpu().numpy()
        print_result(
            "gpu_agreement", data=name, rows=len(X), iterations=model.n_iter_, **figures,
            scores=float(np.abs(scores - host.decision_function(X_test)).max()),
            float32_confidences=float(np.abs(to_host(single) - host.label_distributions_).max()),
            float32_predictions_differ=differences(single, test.float(), host, X_test),
        )  # fmt: skip


def real_splits():
    """Name and split of each real data set whose file exists."""
    for name in ("lost", "msrcv2", "fg-net"):
        split = real_split(name)
        if split is not None:
            yield name, split


def compare_with_host(model, split, options):
    """Fit on the CPU and twice on the device: both models, the test rows, differences."""
    X, mask, X_test, _ = split
    host, again = sklearn.clone(model).fit(X, mask), sklearn.clone(model)
    Xd, seconds, _, _ = fit(model, X, mask, options)
    again.fit(Xd, mask)
    test = torch.asarray(X_test, dtype=torch.float64, device=options.device)
    figures = {
        "seconds": seconds,
        "confidences": float(np.abs(to_host(model) - host.label_distributions_).max()),
        "predictions_differ": differences(model, test, host, X_test),
        "same_bits_again": torch.equal(model.label_distributions_, again.label_distributions_),
    }
    return host, model, test, figures


def differences(model, Xd, host, X):
    """Number of rows with different predictions on device and CPU."""
    return int((model.predict(Xd).cpu().numpy() != host.predict(X)).sum())


def to_host(model):
    """Confidences as a NumPy array."""
    return model.label_distributions_.cpu().numpy()


def methods(options):
    """The other methods on one data set, device and CPU."""
    X, sets = make(3_000, 32, 20)
    for model in (
        PLCL(n_landmarks=200, random_state=0), PLCL(kernel="linear"),
        PLAGGD(), LALO(), SURE(), IPAL(), PLKNN(), PLCP(), PLVoting(), PLStacking(),
    ):  # fmt: skip
        host = sklearn.clone(model)
        began = perf_counter()
        host.fit(X, sets)
        host_seconds = perf_counter() - began
        Xd, seconds, _, _ = fit(model, X, sets, options)
        print_result(
            "gpu_method", method=type(model).__name__, kernel=getattr(model, "kernel", None),
            landmarks=getattr(model, "n_landmarks", None),
            seconds=seconds, cpu_seconds=host_seconds,
            confidences=float(np.abs(to_host(model) - host.label_distributions_).max()),
            predictions_differ=differences(model, Xd, host, X),
        )  # fmt: skip


def one_factor(options):
    """The complementary classifier with conjugate gradients and with its own factorization."""
    n = min(20_000, options.max_rows)
    X, sets = make(n, 64, 100)
    two = PLCL(max_iter=3, tol=0)
    _, seconds_two, _, _ = fit(two, X, sets, options)
    one = PLCL(max_iter=3, tol=0)
    # Memory for the kernel matrix and the rest of a fit, but not for a second matrix.
    torch.cuda.empty_cache()
    room = int(1.8 * 8 * n**2)
    filled = torch.empty(torch.cuda.mem_get_info()[0] - room, dtype=torch.uint8, device="cuda")
    _, seconds_one, peak, _ = fit(one, X, sets, options)
    del filled
    outputs = (one.complementary_train_output_ - two.complementary_train_output_).abs().max()
    print_result(
        "gpu_one_factor", rows=n, two_factors_s=seconds_two, one_factor_s=seconds_one,
        peak_gib=peak / 2**30, outputs=float(outputs),
        confidences=float((one.label_distributions_ - two.label_distributions_).abs().max()),
    )  # fmt: skip


def landmarks(options):
    """A million rows with 500 landmarks."""
    n = min(1_000_000, 10 * options.max_rows)
    X, sets = make(n, 64, 100)
    model = PLCL(n_landmarks=500, max_iter=ITERATIONS, tol=0, random_state=0)
    _, seconds, peak, parts = fit(model, X, sets, options)
    print_result(
        "gpu_landmarks", rows=n, landmarks=500, seconds=seconds, peak_gib=peak / 2**30, **parts
    )


if __name__ == "__main__":
    main()
