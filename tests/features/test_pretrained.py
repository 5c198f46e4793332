"""Columns of texts and pictures as vectors; each different content is computed once."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from PIL import Image
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from ambilearn import PLCL
from ambilearn.features import PretrainedFeatures

TEXTS = ["a good film", "a bad film", "a good film", None, "the cat", ""]


class Letters:
    """A model that counts letters, and the texts that it was given."""

    def __init__(self):
        self.given = []

    def __call__(self, texts):
        self.given += texts
        return [[1 + text.count(letter) for letter in "abcdef"] for text in texts]

    def __deepcopy__(self, memo):  # clones share the counts
        return self


class Colors(Letters):
    """A model for pictures: the mean of each channel."""

    def __call__(self, pictures):
        assert {picture.mode for picture in pictures} == {"RGB"}
        self.given += [picture.size for picture in pictures]
        return [np.asarray(picture).mean(axis=(0, 1)) for picture in pictures]


@pytest.fixture
def pictures(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    Image.new("RGB", (6, 4), (255, 0, 0)).save(folder / "red.png")
    Image.new("RGB", (6, 4), (255, 0, 0)).save(folder / "same.png")
    Image.new("RGBA", (4, 4), (0, 0, 0, 0)).save(folder / "clear.png")
    Image.fromarray(np.full((4, 4), 257 * 100, dtype=np.uint16)).save(folder / "deep.png")
    turned = Image.new("RGB", (8, 2), (0, 0, 255))
    turned.getexif()[0x0112] = 6
    turned.save(folder / "turned.jpg", exif=turned.getexif(), quality=100)
    (folder / "text.png").write_text("not a picture")
    (folder / "cut.png").write_bytes((folder / "red.png").read_bytes()[:50])
    Image.new("L", (1, 1)).save(tmp_path / "outside.png")
    return folder


@pytest.mark.parametrize(
    "column",
    [
        TEXTS,
        np.array(TEXTS, dtype=object),
        np.array(TEXTS, dtype=object)[:, None],
        pd.Series(TEXTS),
        pd.Series(TEXTS, dtype="string"),
        pd.DataFrame({"words": TEXTS}),
    ],
)
def test_equal_texts_are_embedded_once(column):
    model = Letters()
    vectors = PretrainedFeatures(model, normalize=False).fit_transform(column)
    assert sorted(model.given) == ["", "a bad film", "a good film", "the cat"]
    expected = Letters()([text or "" for text in TEXTS])
    assert_array_equal(vectors, np.array(expected, dtype=np.float32))


def test_vectors_have_length_one():
    vectors = PretrainedFeatures(Letters()).fit_transform(TEXTS)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)
    zeros = PretrainedFeatures(lambda texts: np.zeros((len(texts), 2))).fit_transform(TEXTS)
    assert_array_equal(zeros, np.zeros((6, 2)))


def test_names_of_features():
    encoder = PretrainedFeatures(Letters()).fit(pd.DataFrame({"words": TEXTS}))
    assert encoder.get_feature_names_out()[[0, -1]].tolist() == ["words[0]", "words[5]"]
    assert encoder.get_feature_names_out(["other"])[0] == "other[0]"
    encoder.fit(TEXTS)
    assert encoder.get_feature_names_out()[0] == "pretrainedfeatures[0]"
    table = encoder.set_output(transform="pandas").transform(TEXTS)
    assert list(table.columns) == list(encoder.get_feature_names_out())


def test_a_cross_validation_embeds_each_row_once(tmp_path):
    texts = [f"{'a' * (i % 7)} {'b' * (i % 5)} {i}" for i in range(30)]
    table = pd.DataFrame({"words": texts, "age": range(30)})
    sets = [{"x", "y"} if i % 4 else {"x"} for i in range(30)]
    model = Letters()
    encoder = PretrainedFeatures(model, cache=tmp_path, name="letters")
    prepare = make_column_transformer((encoder, "words"), ("passthrough", ["age"]))
    pipeline = make_pipeline(prepare, PLCL(n_neighbors=3))
    scores = cross_val_score(clone(pipeline), table, np.array(sets, dtype=object), cv=5)
    assert len(scores) == 5
    assert sorted(model.given) == sorted(texts)
    pipeline.fit(table, sets)
    assert len(model.given) == 30
    renamed = clone(encoder).set_params(name="other").fit(texts)
    assert len(model.given) == 31
    assert_array_equal(renamed.transform(texts), encoder.fit_transform(texts))


def test_vectors_of_a_function_without_a_name_are_not_stored(tmp_path):
    model = Letters()
    encoder = PretrainedFeatures(model, cache=tmp_path)
    encoder.fit_transform(["a"])
    encoder.fit_transform(["a"])
    assert model.given == ["a", "a"]
    assert not list(tmp_path.iterdir())


def test_many_rows_are_embedded_in_parts(tmp_path):
    texts = [f"{'a' * (i % 11)}{i}" for i in range(200)]
    sizes = []

    def model(some):
        sizes.append(len(some))
        if len(sizes) == 5:
            raise KeyboardInterrupt
        return [[len(text), 1] for text in some]

    encoder = PretrainedFeatures(
        model, normalize=False, batch_size=2, cache=tmp_path, name="lengths"
    )
    with pytest.raises(KeyboardInterrupt):
        encoder.fit_transform(texts)
    vectors = encoder.fit_transform(texts)  # only what was not finished
    assert sum(sizes) == 200 + sizes[4]
    assert vectors[:, 0].tolist() == [len(text) for text in texts]


def test_pictures(pictures):
    model = Colors()
    encoder = PretrainedFeatures(model, folder=pictures, normalize=False)
    names = ["red.png", "clear.png", "deep.png", "same.png", "turned.jpg"]
    found = encoder.fit_transform(names)
    assert model.given == [(6, 4), (4, 4), (4, 4), (2, 8)]
    expected = [[255, 0, 0], [255] * 3, [100] * 3, [255, 0, 0], [0, 0, 255]]
    np.testing.assert_allclose(found, expected, atol=2)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (None, "Row 1 has no picture"),
        (" ", "Row 1 has no picture"),
        ("nowhere.png", r"Row 1: the picture 'nowhere\.png' is not found"),
        ("../outside.png", "Row 1: .* is outside the allowed folders"),
        ("text.png", r"Row 1: the image .*text\.png cannot be read: it is damaged"),
        ("cut.png", r"Row 1: the image .*cut\.png cannot be read"),
    ],
)
def test_a_picture_that_cannot_be_read(pictures, cell, message):
    encoder = PretrainedFeatures(Colors(), folder=pictures)
    with pytest.raises(ValueError, match=message):
        encoder.fit_transform(["red.png", cell])


def test_an_enormous_picture(pictures, monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    encoder = PretrainedFeatures(Colors(), folder=pictures)
    with pytest.raises(ValueError, match=r"Row 0: .*red\.png cannot be read: Image size"):
        encoder.fit_transform(["red.png"])


@pytest.mark.parametrize(
    ("found", "message"),
    [
        ([[1.0, 2.0]], r"one vector for each of 2 rows; .* shape \(1, 2\)"),
        ([1.0, 2.0], "one vector for each of 2 rows"),
        ([[1.0], [np.nan]], "NaN or infinity for row 1"),
        ([[np.inf], [1.0]], "NaN or infinity for row 0"),
    ],
)
def test_a_function_with_invalid_vectors(found, message):
    with pytest.raises(ValueError, match=message):
        PretrainedFeatures(lambda texts: found).fit_transform(["longer", "short"])


def test_a_lack_of_memory_names_batch_size():
    def model(texts):
        raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")

    with pytest.raises(MemoryError, match=r"reduce batch_size \(now 32\)"):
        PretrainedFeatures(model).fit_transform(["a", "b"])


@pytest.mark.parametrize("X", [pd.DataFrame({"a": ["x"], "b": ["y"]}), [["a", "b"]], "text", []])
def test_anything_but_one_column_is_refused(X):
    with pytest.raises(ValueError, match=r"one column|a column of texts|0 sample"):
        PretrainedFeatures(Letters()).fit(X if not isinstance(X, list) else np.array(X))


def test_a_message_names_the_extra(tmp_path, monkeypatch):
    import sys

    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    encoder = PretrainedFeatures(tmp_path, cache=None)
    with pytest.raises(ImportError, match=r"pip install 'ambilearn\[embed\]'"):
        encoder.fit(["a"])


@pytest.mark.deep
def test_a_text_model(text_model, tmp_path):
    from sentence_transformers import SentenceTransformer

    encoder = PretrainedFeatures(text_model, cache=tmp_path, device="cpu")
    vectors = encoder.fit_transform(TEXTS)
    plain = SentenceTransformer(str(text_model), device="cpu")
    expected = plain.encode([text or "" for text in TEXTS], normalize_embeddings=True)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    again = pickle.loads(pickle.dumps(encoder))
    assert_array_equal(again.transform(TEXTS), vectors)
    assert len(pickle.dumps(encoder)) < 2000  # no weights


@pytest.mark.deep
def test_a_picture_model(picture_model, pictures, tmp_path):
    from sentence_transformers import SentenceTransformer

    encoder = PretrainedFeatures(picture_model, folder=pictures, cache=tmp_path, device="cpu")
    vectors = encoder.fit_transform(["red.png", "deep.png", "same.png"])
    assert_array_equal(vectors[0], vectors[2])
    plain = SentenceTransformer(str(picture_model), device="cpu")
    expected = plain.encode(Image.open(pictures / "red.png"), normalize_embeddings=True)
    np.testing.assert_allclose(vectors[0], expected, atol=1e-5)


@pytest.mark.deep
def test_other_weights_are_refused_and_have_vectors_of_their_own(text_model, tmp_path):
    import shutil

    from safetensors.torch import load_file, save_file

    folder = tmp_path / "model"
    shutil.copytree(text_model, folder)
    encoder = PretrainedFeatures(folder, cache=tmp_path, device="cpu").fit(TEXTS)
    before = encoder.transform(TEXTS)
    weights = load_file(folder / "model.safetensors")
    changed = {name: 0.5 * values for name, values in weights.items()}
    save_file(changed, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=r"are not those of the fit: their hash is [0-9a-f]{64}"):
        encoder.transform(TEXTS)
    assert not np.array_equal(encoder.fit_transform(TEXTS), before)
