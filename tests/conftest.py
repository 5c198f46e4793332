"""Fixtures that several test modules share."""

import gc
import os
import signal
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from tiny_models import picture_model, text_model, transformers  # noqa: F401, fixtures

os.environ["MPLBACKEND"] = "Agg"  # figures without a screen
# Wishes of whoever runs the tests that would change what is written or where data come from.
for _name in ("FORCE_COLOR", "CLICOLOR_FORCE", "PYTHONWARNINGS", "AMBILEARN_MIRROR"):
    os.environ.pop(_name, None)

# Same examples on every run: a red test is reproducible, and no run takes longer than another.
settings.register_profile("default", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("default")

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def pytest_configure(config):
    """Give each parallel worker one thread, unless told otherwise: together they fill the cores.

    Here, in the process that starts the workers: they read it when they import NumPy.
    """
    if config.getoption("numprocesses", None) and not any(name in os.environ for name in THREADS):
        os.environ.update(OMP_NUM_THREADS="1", VECLIB_MAXIMUM_THREADS="1")


def pytest_collection_modifyitems(items):
    """Mark tests of other array libraries and networks, and two slow examples in docstrings."""
    for item in items:
        if {"library", "torch"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.array_library)
        if "deep" in item.path.parts or "deepplcl" in item.name.lower():
            item.add_marker(pytest.mark.deep)
        if item.name.endswith((".DistributedPLCL", ".CandidateSearchCV")):
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish():
    """Exclude the collected tests, half a million objects, from the garbage collections to come."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def ctrl_c_interrupts():
    """SIGINT raises KeyboardInterrupt, also if the tests were started with it ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def real_data_dir() -> Path:
    """Folder with the paper's data files, which are never part of the project."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("AMBILEARN_DATA", beside))
    if not (folder / "lost.mat").exists():
        pytest.skip("needs the paper's data files: point AMBILEARN_DATA at their folder")
    return folder


@pytest.fixture(scope="session")
def real_split(real_data_dir):
    """Function (name, seed) → X, mask and labels of a 50/50 split, z-scored over all rows."""
    from scipy.stats import zscore

    from ambilearn.datasets import load_dataset

    @cache
    def scaled(name):
        data = load_dataset(name, data_home=real_data_dir, download=False)
        X = np.nan_to_num(zscore(data.X))  # constant features become 0
        return X, data.candidates.to_mask().astype(int), data.y

    def split(name, seed=0):
        X, Y, y = scaled(name)
        order = np.random.default_rng(seed).permutation(len(X))
        train, test = order[: len(X) // 2], order[len(X) // 2 :]
        return X[train], Y[train], y[train], X[test], y[test]

    return split


@pytest.fixture
def people():
    """A small table of people, with names that may be theirs."""
    from people import make_people

    return make_people()


@pytest.fixture
def people_csv(people, tmp_path):
    """The same as a file."""
    path = tmp_path / "people.csv"
    people.to_csv(path, index=False)
    return path


class ArrayLibrary:
    """An array library other than NumPy, and the device on which tests create its arrays."""

    def __init__(self, name):
        self.name = name
        if name.startswith("array_api_strict"):
            import array_api_strict

            # numpy.asarray cannot convert arrays on the second device, as with a GPU.
            device = name.partition("-")[2]
            self.xp = array_api_strict
            self.device = array_api_strict.Device(device) if device else None
        else:
            self.xp = pytest.importorskip("torch", reason="needs the extra torch")
            self.device = name.partition("-")[2]
            if self.device == "cuda" and not self.xp.cuda.is_available():
                pytest.skip("needs a GPU")

    def to_device(self, array):
        return self.xp.asarray(np.asarray(array), device=self.device)

    @staticmethod
    def to_host(array):
        from ambilearn.backend.arrays import to_numpy

        return to_numpy(array)

    def holds(self, array):
        """Whether an array is of this library."""
        return type(array).__module__.partition(".")[0] == self.xp.__name__


_array_library = cache(ArrayLibrary)  # the same object in all tests, which may be a key of a cache


@pytest.fixture(params=["array_api_strict-device1", "torch-cpu", "torch-cuda"])
def library(request):
    """An array library other than NumPy: array_api_strict, PyTorch, PyTorch on a GPU if present."""
    return _array_library(request.param)


@pytest.fixture(scope="session")
def torch():
    """PyTorch, or a skip if it is not installed."""
    return pytest.importorskip("torch", reason="needs the extra torch")


@pytest.fixture
def dispatch(monkeypatch):
    """scikit-learn's dispatch on arrays of other libraries, turned on."""
    import sklearn

    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    with sklearn.config_context(array_api_dispatch=True):
        yield


@pytest.fixture
def count_work(monkeypatch):
    """Counter of the kernels, factorizations, neighbor searches and graphs that are computed."""
    counts = Counter()

    def count(kind, module, name):
        function = getattr(module, name)

        def call(*arguments, **options):
            counts[kind] += 1
            return function(*arguments, **options)

        monkeypatch.setattr(module, name, call)

    from ambilearn import rows
    from ambilearn.kernel import landmarks, primal

    count("kernel", rows, "train_kernel")
    count("factorization", rows, "DualRidge")
    count("factorization", primal, "PrimalRidge")
    count("geometry", rows, "LocalGeometry")
    count("graph", rows, "initial_graph")
    count("neighbors", rows, "find_neighbors")
    count("features", landmarks, "landmark_features")
    of = primal.Moments.of
    monkeypatch.setattr(primal.Moments, "of", lambda *rows: counts.update(["moments"]) or of(*rows))
    return counts
