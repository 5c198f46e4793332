"""A user's table on a device; in these tests, PyTorch tensors in host memory."""

import numpy as np
import pytest
from core_methods import CORE_METHODS
from scipy import sparse

from ambilearn.tables import clean_table, fit_table, load_model, save_model
from ambilearn.tables.devices import device_rows

pytest.importorskip("torch", reason="needs the extra torch")
pytestmark = pytest.mark.array_library
ON_DEVICE = [name for name, each in CORE_METHODS.items() if each.load()._computes_on_devices]


@pytest.mark.slow
@pytest.mark.parametrize("method", ON_DEVICE)
def test_a_model_comes_back_as_if_fitted_here(table, method):
    here = fit_table(table, method)
    there = fit_table(table, method, device="cpu")
    for name, value in vars(here.method).items():
        found = getattr(there.method, name)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert isinstance(found, np.ndarray), name
            np.testing.assert_allclose(found, value, atol=1e-7, err_msg=name)
    expected, found = here.choices(table.frame), there.choices(table.frame)
    assert found.labels.tolist() == expected.labels.tolist()
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("method", ON_DEVICE)
def test_predictions_on_the_device_equal_those_on_the_host(table, method):
    model = fit_table(table, method)
    here, there = (model.choices(table.frame, device=device) for device in (None, "cpu"))
    assert there.labels.tolist() == here.labels.tolist()
    np.testing.assert_allclose(there.scores, here.scores, atol=1e-6)
    assert isinstance(model.method.label_distributions_, np.ndarray)  # the model itself stays


@pytest.mark.slow
@pytest.mark.parametrize("method", ["plcl", "plknn", "plstacking"])
def test_a_model_fitted_on_a_device_is_saved_and_loaded(table, method, tmp_path):
    model = fit_table(table, method, device="cpu")
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    expected = model.predict(table.frame)["label"].to_list()
    assert loaded.predict(table.frame)["label"].to_list() == expected
    assert loaded.predict(table.frame, device="cpu")["label"].to_list() == expected


def test_cleans_on_the_device(table):
    here, there = (clean_table(table, device=device) for device in (None, "cpu"))
    for name in ("label", "suggestion"):
        assert there.frame[name].to_list() == here.frame[name].to_list()
    np.testing.assert_allclose(there.frame["doubt"], here.frame["doubt"], atol=2e-6)


def test_a_device_computes_exactly_whatever_the_number_of_rows(table, monkeypatch):
    monkeypatch.setattr("ambilearn.tables.methods.MAX_EXACT_ROWS", 10)
    assert fit_table(table, "plcl").method.n_landmarks == 2000
    assert fit_table(table, "plcl", device="cpu").method.n_landmarks is None


def test_a_search_is_rejected(table):
    with pytest.raises(ValueError, match="selected on the CPU"):
        fit_table(table, tune=True, device="cpu")


def test_sparse_features_are_rejected():
    with (
        pytest.raises(ValueError, match="The features are sparse"),
        device_rows(sparse.csr_array(np.eye(3)), "cpu"),
    ):
        pass


def test_methods_without_device_support_are_rejected(table):
    with pytest.raises(ValueError, match="does not support device arrays"):
        fit_table(table, "plda", device="cpu")
