"""The promise of ``docs/stability.md``: same seed, same bits; other threads, the same to 1e-10."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from core_methods import CORE_CLASSES
from problems import ambiguous
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from ambilearn import PLCL, PLKNN
from ambilearn.crowd import CrowdClassifier, Votes

MODELS = {
    **{method.__name__: method() for method in CORE_CLASSES},
    "PLCL on landmarks": PLCL(n_landmarks=20, random_state=0),
    "linear PLCL": PLCL(kernel="linear"),
    "CrowdClassifier": CrowdClassifier(PLKNN(n_neighbors=5), cv=3, random_state=0),
}
CALL = "import sys, test_determinism; test_determinism.save_results(sys.argv[1])"
every_model = pytest.mark.parametrize("name", MODELS)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def results(name, threads=1, n=100):
    """What a model gives, all of it floating point or labels, by a number of threads."""
    X, mask, y = ambiguous(n=n, d=12, n_labels=5)
    X_new = X[: n // 2] + 0.25
    model = clone(MODELS[name])
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    if isinstance(model, CrowdClassifier):
        rng = np.random.default_rng(0)
        answers = np.where(rng.random((n, 6)) < 0.7, y[:, None], rng.integers(5, size=(n, 6)))
        mask = Votes.from_wide(answers)
    else:
        # Sets of text, whose order in Python changes from process to process.
        names = np.array(["ant", "bee", "cow", "dog", "emu"])
        mask = [set(names[row == 1].tolist()) for row in mask]
    with threadpool_limits(limits=threads):
        model.fit(X, mask)
        numbers = model.label_distributions_, model.predict_proba(X_new)
        labels = model.transduction_, model.predict(X_new)
    return *numbers, *labels


first_results = cache(results)


@every_model
def test_the_same_seed_gives_the_same_bits(name):
    for one, other in zip(first_results(name), results(name), strict=True):
        np.testing.assert_array_equal(one, other)


@every_model
def test_the_number_of_threads_changes_no_label_and_nothing_beyond_rounding(name):
    one, two = first_results(name), results(name, threads=2)
    for expected, found in zip(one[:2], two[:2], strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    for expected, found in zip(one[2:], two[2:], strict=True):
        np.testing.assert_array_equal(found, expected)


def save_results(path):
    """All results of all models in a file; also called in another process."""
    parts = {}
    for name in MODELS:
        parts |= {f"{name}: {i}": part for i, part in enumerate(results(name, n=40))}
    np.savez(path, **parts)


@pytest.mark.slow
def test_processes_agree_in_every_bit(tmp_path):
    # The other process has another hash seed, by which sets of text have another order.
    hash_seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    paths = tmp_path / "other.npz", tmp_path / "one.npz"
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CALL, str(paths[0])],
        env=os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        cwd=Path(__file__).parent,
        check=True,
    )
    save_results(paths[1])
    other, one = (dict(np.load(path)) for path in paths)
    assert len(one) == len(other) == 4 * len(MODELS)
    for key, expected in one.items():
        np.testing.assert_array_equal(other[key], expected, err_msg=key)
