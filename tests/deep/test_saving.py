"""DeepPLCL in copies, pickles and model files."""

import copy
import pickle
import zipfile

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

torch = pytest.importorskip("torch", reason="needs the extra deep")

from ambilearn import DeepPLCL, PLVoting  # noqa: E402
from ambilearn.deep import saving  # noqa: E402
from ambilearn.deep.networks import add_heads, choose_features  # noqa: E402
from ambilearn.tables import InvalidModelError, load_model, save_model  # noqa: E402

X, Y = load_digits(return_X_y=True)
X, Y = X[:60], Y[:60]
ROWS = {"matrix": X, "images": X.reshape(-1, 8, 8).astype(np.uint8)}


@pytest.fixture(scope="module", params=ROWS)
def fitted(request):
    rows = ROWS[request.param]
    return DeepPLCL(epochs=2, device="cpu", random_state=0).fit(rows, Y), rows


@pytest.fixture
def path(tmp_path):
    return tmp_path / "my.model"


def test_a_model_file_predicts_the_same(fitted, path):
    model, rows = fitted
    save_model(model, path)
    back = load_model(path)
    assert back.get_params() == model.get_params()
    assert back.history_ == model.history_
    assert not back.module_.training
    np.testing.assert_array_equal(back.predict_proba(rows), model.predict_proba(rows))
    np.testing.assert_array_equal(back.transform(rows), model.transform(rows))
    np.testing.assert_array_equal(back.label_distributions_, model.label_distributions_)


@pytest.mark.slow
def test_a_model_of_large_images_comes_back(path):
    images = np.random.default_rng(0).integers(256, size=(4, 66, 70, 3), dtype=np.uint8)
    model = DeepPLCL(epochs=1, device="cpu", random_state=0).fit(images, ["a", "b", "a", "b"])
    save_model(model, path)
    np.testing.assert_array_equal(
        load_model(path).predict_proba(images), model.predict_proba(images)
    )


def test_a_model_file_holds_arrays_and_plain_objects(fitted, path):
    save_model(fitted[0], path)
    with zipfile.ZipFile(path) as archive, archive.open("pipeline.skops") as content:
        names = zipfile.ZipFile(content).namelist()
    assert {name.rpartition(".")[2] for name in names} == {"json", "npy"}


def test_a_loaded_model_can_be_fitted_further(fitted, path):
    model, rows = fitted
    save_model(model, path)
    back = load_model(path).set_params(warm_start=True)
    before = back.module_.ordinary.weight.clone()
    back.fit(rows, Y)
    assert not torch.equal(before, back.module_.ordinary.weight)


def test_models_inside_of_others(path):
    deep = DeepPLCL(epochs=1, device="cpu", random_state=0)
    for model in (make_pipeline(StandardScaler(), deep), PLVoting(estimators=[("deep", deep)])):
        save_model(model.fit(X, Y), path)
        np.testing.assert_array_equal(load_model(path).predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_and_pickles(fitted, copied):
    model, rows = fitted
    np.testing.assert_array_equal(copied(model).predict_proba(rows), model.predict_proba(rows))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"module": torch.nn.Linear(64, 4)},
            "only if its module was 'auto' or a name.*with safetensors",
        ),
        ({"augment": (None, torch.tanh)}, r"functions in augment.*set_params\(augment='auto'\)"),
        ({"callbacks": [print]}, r"functions in callbacks.*set_params\(callbacks=\(\)\)"),
    ],
)
def test_parameters_that_a_model_file_cannot_hold(parameters, message, path):
    model = DeepPLCL(epochs=1, device="cpu", **parameters).fit(X, Y)
    with pytest.raises(TypeError, match=message):
        save_model(model, path)
    assert not path.exists()


def test_a_network_of_the_user_stays_one_if_the_parameter_changes(path):
    model = DeepPLCL(module=torch.nn.Linear(64, 4), epochs=1, device="cpu").fit(X, Y)
    model.set_params(module="auto")
    with pytest.raises(TypeError, match="only if its module was 'auto' or a name in fit"):
        save_model(model, path)
    back = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("mean", [torch.zeros(64), np.zeros(64), 0.0])
def test_paths_and_tensors_are_saved_as_plain_values(mean, path):
    checkpoint = path.with_name("run")
    given = {"checkpoint": checkpoint, "normalize": (mean, 1), "image_size": torch.tensor([6, 6])}
    model = DeepPLCL(epochs=1, device="cpu", **given)
    save_model(model.fit(X, Y), path)
    back = load_model(path)
    assert back.image_size == [6, 6]
    assert back.checkpoint == str(checkpoint)
    assert back.normalize == (np.asarray(mean).tolist(), 1)
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))


def test_a_model_for_a_device_that_is_not_here_is_loaded(fitted, path):
    model = copy.deepcopy(fitted[0]).set_params(device="cuda:99")
    save_model(model, path)
    assert load_model(path).device == "cuda:99"


def _weights(change):
    return lambda state: state | {"_weights": change(dict(state["_weights"]))}


HOSTILE = {
    "no weights": _weights(lambda weights: {}),
    "a weight is missing": _weights(lambda w: {k: v for k, v in w.items() if "ordinary" not in k}),
    "an unknown weight": _weights(lambda w: w | {"evil": np.zeros(3, np.float32)}),
    "another shape": _weights(lambda w: w | {"ordinary.bias": np.zeros(3, np.float32)}),
    "another type": _weights(lambda w: w | {"ordinary.bias": np.zeros(10)}),
    "text": _weights(lambda w: w | {"ordinary.bias": np.array(["a"] * 10)}),
    "no array": _weights(lambda w: w | {"ordinary.bias": [0.0] * 10}),
    "no dictionary": lambda state: state | {"_weights": [1]},
    "no network": lambda state: state | {"_weights": None},
    "no name": lambda state: {k: v for k, v in state.items() if k != "_fitted_module"},
    "no shape": lambda state: state | {"_row_shape": ()},
    "an endless shape": lambda state: state | {"_row_shape": (10**15,)},
    "a negative shape": lambda state: state | {"_row_shape": (-64,)},
    "a shape of texts": lambda state: state | {"_row_shape": ("64",)},
    "fewer labels": lambda state: state | {"classes_": np.arange(3)},
    "no scale": lambda state: state | {"_standardizer": (np.zeros(1),)},
    "another scale": lambda state: state | {"_standardizer": (np.zeros(7), np.ones(7))},
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE)
def test_parts_that_do_not_fit_are_rejected(fitted, change, path, monkeypatch):
    plain = saving.plain_state
    monkeypatch.setattr(saving, "plain_state", lambda state: change(plain(state)))
    try:
        save_model(fitted[0], path)
    finally:
        monkeypatch.undo()
    with pytest.raises(InvalidModelError, match=r"my\.model"):
        load_model(path)


@pytest.mark.parametrize("side", [60_000, 10**9])
def test_a_shape_that_needs_too_much_memory(side, path, monkeypatch):
    """The network is the same for all sizes of images, so only the size is wrong."""
    small = saving.choose_features
    monkeypatch.setattr(saving, "choose_features", lambda *_: small("auto", (1, 8, 8)))
    model = DeepPLCL(epochs=1, device="cpu").fit(ROWS["images"], Y)
    model._row_shape = (1, side, side)
    save_model(model, path)
    with pytest.raises(InvalidModelError, match=r"rows of shape|damaged"):
        load_model(path)


def test_a_file_that_ends_early_or_was_changed(fitted, path):
    save_model(fitted[0], path)
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], content[:-30], b"", _flip(content)):
        path.write_bytes(damaged)
        with pytest.raises(InvalidModelError, match=r"my\.model.*(damaged|empty|checksum)"):
            load_model(path)


def _flip(content):
    place = len(content) // 2
    return content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :]


@pytest.mark.parametrize(
    ("shape", "expected"), [((5,), 64.471323), ((1, 8, 8), 118.474277), ((3, 12, 10), 99.382441)]
)
def test_networks_of_model_files_stay_as_they_are(shape, expected):
    """If this fails, older model files predict something else: raise FORMAT_VERSION, too."""
    network = add_heads(choose_features("auto", shape, 16), torch.zeros(2, *shape), 2).eval()
    with torch.no_grad():
        for weights in network.parameters():
            values = torch.arange(weights.numel()).mul(1.7).sin().reshape(weights.shape)
            weights.copy_(2 * values / weights[0].numel() ** 0.5)
        rows = torch.linspace(0, 1, 2 * int(np.prod(shape))).reshape(2, *shape)
        outputs = torch.stack(network(rows)).double().abs().sum((1, 2))
    np.testing.assert_allclose(outputs, expected, rtol=1e-4)
