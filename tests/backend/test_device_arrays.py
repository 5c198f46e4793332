import os

import array_api_strict as strict
import numpy as np
import pytest
import sklearn

from ambilearn._utils import limits
from ambilearn.backend import HOST, choose_backend, device_arrays
from ambilearn.backend.arrays import to_numpy
from ambilearn.backend.device_arrays import (
    check_device_array,
    computing_on,
    describe_device,
    on_same_device,
    to_device_of,
)

pytestmark = pytest.mark.array_library


def test_double_precision_is_taken_as_it_is(library):
    X = library.to_device(np.ones((3, 2)))
    assert check_device_array(X) is X


def test_single_precision_is_widened(library):
    X = check_device_array(library.to_device(np.ones((3, 2), dtype=np.float32)))
    assert library.to_host(X).dtype == np.float64


def test_to_numpy_and_back(library):
    array = np.arange(6.0).reshape(2, 3)
    moved = to_device_of(array, library.to_device(np.zeros(1)))
    assert library.holds(moved)
    np.testing.assert_array_equal(to_numpy(moved), array)


def test_texts_stay(library):
    texts = np.array(["a", "b"])
    assert to_device_of(texts, library.to_device(np.zeros(1))) is texts


def test_an_array_that_must_not_be_written_is_copied(library):
    array = np.arange(3.0)
    array.flags.writeable = False
    assert library.to_host(to_device_of(array, library.to_device(np.zeros(1)))).tolist() == [
        0,
        1,
        2,
    ]


def test_places(library):
    here, other = np.ones(1), library.to_device(np.ones(1))
    assert on_same_device(here, here)
    assert on_same_device(other, library.to_device(np.zeros(2)))
    assert not on_same_device(here, other)
    assert not on_same_device(None, other)
    assert describe_device(here) == "NumPy"
    assert describe_device(other).startswith(library.xp.__name__)


def test_devices_of_one_library_differ():
    near, far = strict.ones(1), strict.ones(1, device=strict.Device("device1"))
    assert not on_same_device(near, far)
    assert to_numpy(far).tolist() == [1.0]


def test_computes_on_a_device_by_its_name(monkeypatch, torch):
    monkeypatch.delenv("SCIPY_ARRAY_API", raising=False)
    with computing_on("cpu") as move:
        assert sklearn.get_config()["array_api_dispatch"]
        assert isinstance(move(np.ones(2)), torch.Tensor)
    assert "SCIPY_ARRAY_API" not in os.environ
    assert not sklearn.get_config()["array_api_dispatch"]


def test_the_stored_environment_is_reported(monkeypatch, torch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "0")
    with computing_on("cpu"):
        assert os.environ["SCIPY_ARRAY_API"] == "1"
    assert os.environ["SCIPY_ARRAY_API"] == "0"


@pytest.mark.parametrize("name", ["nonsense", "cuda:99"])
def test_a_device_that_is_not_here(name, torch):
    with (
        pytest.raises(ValueError, match=f"Device '{name}' is not available"),
        computing_on(name),
    ):
        pass


def test_without_pytorch_the_extra_is_named(monkeypatch):
    import builtins

    known = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
        return known(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'ambilearn\[torch\]'"), computing_on("cpu"):
        pass


def test_blocks_are_larger_on_a_device(library, monkeypatch):
    monkeypatch.setattr(limits, "LIMIT", 4)
    monkeypatch.setattr(device_arrays, "ON_DEVICE", 40)
    X = np.ones((25, 2))
    on_device = library.to_device(X)
    assert len(list(HOST.blocks(X, 2))) == 13
    backend = choose_backend(on_device)
    assert list(backend.blocks(on_device, 2)) == [slice(0, 20), slice(20, 25)]
    assert len(list(backend.blocks(on_device, 1000))) == 25
