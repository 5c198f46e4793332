"""DeepPLCL with a pretrained network that is named: trained further or frozen, and saved."""

import copy
import shutil

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra deep")
pytest.importorskip("sentence_transformers", reason="needs the extra embed")

from PIL import Image  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

from ambilearn import DeepPLCL  # noqa: E402
from ambilearn.deep.networks import Pretrained  # noqa: E402
from ambilearn.features import PretrainedFeatures  # noqa: E402
from ambilearn.features.models import PretrainedModelError  # noqa: E402
from ambilearn.tables import load_model, save_model  # noqa: E402

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(256, size=(24, 28, 28, 3), dtype=np.uint8)
IMAGES[12:] //= 4
Y = 12 * ["light"] + 6 * [{"light", "dark"}, "dark"]


def make(folder, **parameters):
    parameters = {"module": folder, "epochs": 2, "batch_size": 8, "random_state": 0} | parameters
    return DeepPLCL(device="cpu", **parameters)


@pytest.fixture
def folder(picture_model, tmp_path):
    return shutil.copytree(picture_model, tmp_path / "network")


def backbone(model):
    features = model.module_.features
    return (features[0][0] if model.frozen else features).network.state_dict()


def test_features_are_those_of_the_network(picture_model, tmp_path):
    """The same normalization as its own, for color and for gray images."""
    Image.fromarray(IMAGES[0]).save(tmp_path / "color.png")
    Image.fromarray(IMAGES[0, ..., 0]).save(tmp_path / "gray.png")
    encoder = PretrainedFeatures(picture_model, folder=tmp_path, normalize=False, cache=None)
    color, gray = encoder.fit_transform(["color.png", "gray.png"])
    for images, expected in ((IMAGES, color), (IMAGES[..., 0], gray), (IMAGES / 255, color)):
        model = make(picture_model, lr=1e-12, weight_decay=0, epochs=1).fit(images, Y)
        np.testing.assert_allclose(model.transform(images)[0], expected, atol=1e-4)


@pytest.mark.parametrize("frozen", [False, True])
def test_weights_are_trained_unless_frozen(folder, frozen):
    model = make(folder, frozen=frozen).fit(IMAGES, Y)
    before, after = Pretrained(folder).network.state_dict(), backbone(model)
    changed = [name for name in before if not torch.equal(before[name], after[name])]
    assert not changed if frozen else len(changed) > len(before) / 2
    assert len(model.module_hash_) == 64
    assert model.transform(IMAGES).shape == (24, 272 if frozen else 16)
    np.testing.assert_allclose(model.train_output_, model.predict_proba(IMAGES), rtol=1e-4)


def test_frozen_features_are_computed_once():
    rows = []

    class Network(torch.nn.Flatten):
        def forward(self, x):
            rows.append(len(x))
            return super().forward(x)

    model = make(Network(), frozen=True, epochs=5).fit(IMAGES, Y)
    assert sum(rows) <= 24 + 3 * 2  # and the two rows with which a network is tried out
    assert model.predict(IMAGES).shape == (24,)
    with pytest.raises(ValueError, match="frozen=True needs a pretrained network"):
        make("auto", frozen=True).fit(IMAGES, Y)
    with pytest.raises(ValueError, match="warm_start and frozen cannot be combined"):
        model.set_params(warm_start=True).fit(IMAGES, Y)


@pytest.mark.parametrize("frozen", [False, True])
def test_a_model_file_has_the_hash_and_the_trained_weights(folder, frozen, tmp_path):
    model = make(folder, frozen=frozen).fit(IMAGES, Y)
    path = tmp_path / "my.model"
    save_model(model, path)
    for back in (load_model(path), copy.deepcopy(model)):
        np.testing.assert_allclose(
            back.predict_proba(IMAGES), model.predict_proba(IMAGES), rtol=1e-5
        )
    stored = model.__getstate__()["_weights"]
    assert any("network" in name for name in stored) != frozen
    weights = load_file(folder / "model.safetensors")
    weights = {name: 0.5 * values for name, values in weights.items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(
        PretrainedModelError, match=r"files of the model .* are not those of the fi"
    ):
        load_model(path)
    shutil.rmtree(folder)
    with pytest.raises(PretrainedModelError, match=r"There is no folder .*network' with a model"):
        load_model(path)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (IMAGES / 2, "of type uint8, or with values from 0 to 1; X has values from 0 to 127.5"),
        (IMAGES[:, 0, :, 0], r"network for images, but X has rows of shape \(28,\)"),
    ],
)
def test_rows_that_the_network_does_not_take(picture_model, rows, message):
    with pytest.raises(ValueError, match=message):
        make(picture_model).fit(rows, Y)


def test_a_network_for_texts_is_rejected(text_model):
    with pytest.raises(ValueError, match="is not a network for images"):
        make(text_model).fit(IMAGES, Y)
