"""Columns of a table that a pretrained network converts: in Python, model files, commands."""

import shutil
import subprocess
import sys

import click
import numpy as np
import pandas as pd
import pooch
import pytest
from click.testing import CliRunner

from ambilearn.cli.main import main
from ambilearn.features import PretrainedFeatures
from ambilearn.tables import (
    InvalidModelError,
    clean_table,
    fit_table,
    load_model,
    read_candidate_table,
    save_model,
)

NAMES = ["x", "y", "x|y", "y|x"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A table with sentences and pictures, and a cache of its own."""
    from PIL import Image

    monkeypatch.setattr(pooch, "os_cache", lambda name: str(tmp_path / "cache"))
    (tmp_path / "photos").mkdir()
    rows = []
    for i in range(24):
        color = (10 * i, 250 - 10 * i, 100)
        Image.new("RGB", (30, 30), color).save(tmp_path / "photos" / f"{i}.png")
        words = ["a good film", "the bad dog"][i % 2] + " cat" * (i % 5)
        rows.append((i, words, f"photos/{i}.png", NAMES[i % 4]))
    frame = pd.DataFrame(rows, columns=["age", "words", "photo", "names"])
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path


def read(folder, **options):
    return read_candidate_table(folder / "t.csv", candidates="names", **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"embed": {"word": "m"}}, "no column 'word'"),
        ({"embed": {"names": "m"}}, "Column 'names' cannot be embedded"),
        ({"embed": {"words": "m"}, "exclude": "words"}, "Column 'words' cannot be embedded"),
        ({"embed": {"words": "m"}, "features": "age"}, "Column 'words' cannot be embedded"),
        ({"embed": {"words": "m"}, "image": "photo"}, "cannot be combined with image"),
    ],
)
def test_columns_that_cannot_be_embedded(folder, options, message):
    with pytest.raises(ValueError, match=message):
        read(folder, **options)


def test_the_kind_follows_from_the_cells(folder):
    table = read(folder, embed={"words": "one", "photo": "two"})
    found = {column.name: column for column in table.features.columns}
    assert found["words"][1:] == ("embedded text", 1, "one")
    assert found["photo"][1:] == ("embedded image", 1, "two")
    assert table.X["photo"][0] == str(folder / "photos" / "0.png")


def test_pictures_outside_the_folder_are_refused(folder):
    content = (folder / "t.csv").read_text().replace("photos/3.png", "/etc/passwd")
    (folder / "t.csv").write_text(content)
    with pytest.raises(ValueError, match=r"row 3: .* outside the allowed folders"):
        _ = read(folder, embed={"photo": "two"}).X


@pytest.mark.parametrize("text", ["words", "words=", "=model"])
def test_an_option_without_column_or_model(folder, text):
    done = CliRunner().invoke(
        main, ["clean", str(folder / "t.csv"), "--candidates", "names", "--embed", text]
    )
    assert done.exit_code == 2
    assert "must be COLUMN=MODEL" in done.output


@pytest.mark.deep
def test_a_table_is_cleaned_by_texts_and_pictures(folder, text_model, picture_model):
    models = {"words": str(text_model), "photo": str(picture_model)}
    table = read(folder, embed=models)
    cleaned = clean_table(table, "plknn", {"n_neighbors": 3})
    singles = cleaned.frame[cleaned.frame["names"].isin(["x", "y"])]
    assert (singles["label"] == singles["names"]).all()
    assert (folder / "cache" / "embeddings.sqlite").is_file()


@pytest.mark.deep
def test_a_model_file_has_the_hash_of_the_weights(folder, text_model, picture_model, tmp_path):
    models = {"words": str(text_model), "photo": str(picture_model)}
    table = read(folder, embed=models)
    model = fit_table(table, "plcl", {"n_neighbors": 3})
    expected = model.predict(table.frame, table.name)
    save_model(model, tmp_path / "m.model")
    assert (tmp_path / "m.model").stat().st_size < 200_000  # no weights
    loaded = load_model(tmp_path / "m.model")
    pd.testing.assert_frame_equal(loaded.predict(table.frame, table.name), expected)

    moved = tmp_path / "moved"
    shutil.copytree(text_model, moved)
    loaded.use_models({"words": str(moved)})
    pd.testing.assert_frame_equal(loaded.predict(table.frame, table.name), expected)
    (moved / "vocab.txt").write_text("changed")
    with pytest.raises(ValueError, match="are not those of the fit"):
        loaded.predict(table.frame, table.name)
    with pytest.raises(ValueError, match=r"'age' has no pretrained network .* 'words', 'photo'"):
        loaded.use_models({"age": "m"})


@pytest.mark.deep
@pytest.mark.parametrize(
    ("name", "value"),
    [("model_hash_", "0"), ("model_hash_", None), ("n_features_out_", "16")],
)
def test_a_model_file_with_another_content_is_refused(
    folder,
    text_model,
    tmp_path,
    name,
    value,
):
    model = fit_table(read(folder, embed={"words": str(text_model)}), "plknn", {"n_neighbors": 3})
    step = model.pipeline[0].named_transformers_["embedding of words"]
    setattr(step, name, value)
    save_model(model, tmp_path / "m.model")
    with pytest.raises(InvalidModelError):
        load_model(tmp_path / "m.model")


@pytest.mark.deep
def test_a_model_file_cannot_choose_where_vectors_are_written(folder, text_model, tmp_path):
    model = fit_table(read(folder, embed={"words": str(text_model)}), "plknn", {"n_neighbors": 3})
    step = model.pipeline[0].named_transformers_["embedding of words"]
    step.set_params(cache=str(tmp_path / "elsewhere"), folder="/", batch_size=10**9)
    save_model(model, tmp_path / "m.model")
    loaded = load_model(tmp_path / "m.model")
    made = loaded.pipeline[0].named_transformers_["embedding of words"]
    assert made.get_params() == PretrainedFeatures(str(text_model)).get_params()
    loaded.predict(pd.DataFrame({"words": ["something new"], "age": [1], "photo": ["a.png"]}))
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.deep
def test_commands(folder, text_model, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")  # restored after the test
    options = ["--candidates", "names", "--embed", f"words={text_model}", "--exclude", "photo"]
    run = CliRunner().invoke
    done = run(main, ["fit", "t.csv", *options, "--method", "plcl", "--out", "m.model"])
    assert done.exit_code == 0, done.output
    done = run(main, ["predict", "m.model", "t.csv", "--offline", "--out", "p.csv"])
    assert done.exit_code == 0, done.output
    assert set(pd.read_csv("p.csv")["label"]) <= {"x", "y"}
    done = run(main, ["predict", "m.model", "t.csv", "--embed", "words=./no", "--out", "q.csv"])
    assert done.exit_code == 1
    assert "There is no folder './no'" in done.output
    done = run(main, ["clean", "t.csv", *options, "--out", "c.csv"])
    assert done.exit_code == 0, done.output
    assert np.isfinite(pd.read_csv("c.csv")["score"]).all()
    done = run(main, ["review", "t.csv", *options, "--method", "plcl", "--out", "r.html"])
    assert done.exit_code == 0, done.output

    out = ["--out", "again.csv", "--model-out", "again.model"]
    program = f"""
import sys, pooch
from ambilearn.cli.main import main
pooch.os_cache = lambda name: {str(folder / "cache")!r}
main({["clean", "t.csv", *options, *out]}, standalone_mode=False)
print("torch" in sys.modules)
"""
    again = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert again.stdout.endswith("False\n"), again.stderr  # vectors that are stored need no PyTorch
    assert (folder / "again.csv").read_text() == (folder / "c.csv").read_text()


@pytest.mark.deep
@pytest.mark.parametrize(
    ("start", "name", "options"),
    [
        (".", "t.csv", []),
        (".", "./t.csv", []),
        (".", "u.csv", ["--image-folder", "photos"]),
        ("photos", "../t.csv", []),
        ("..", "{folder}/t.csv", []),
    ],
)
def test_commands_find_the_pictures_of_a_relative_table(
    folder, picture_model, monkeypatch, start, name, options
):
    content = (folder / "t.csv").read_text()
    (folder / "u.csv").write_text(content.replace("photos/", ""))
    monkeypatch.chdir(folder / start)
    table = name.format(folder=folder.name)
    learn = ["--candidates", "names", "--embed", f"photo={picture_model}", "--features", "photo"]
    model, cleaned, labeled = (str(folder / each) for each in ("m.model", "c.csv", "p.csv"))

    def run(*arguments):
        done = CliRunner().invoke(main, [*arguments, *options])
        assert done.exit_code == 0, done.output

    run("clean", table, *learn, "--method", "plknn", "--out", cleaned)
    run("fit", table, *learn, "--method", "plknn", "--out", model)
    run("predict", model, table, "--out", labeled)
    expected = read(folder, embed={"photo": str(picture_model)}, features="photo")
    scores = clean_table(expected, "plknn").frame["score"]
    np.testing.assert_allclose(pd.read_csv(cleaned)["score"], scores, atol=1e-6)
    assert set(pd.read_csv(labeled)["label"]) <= {"x", "y"}


@pytest.mark.deep
def test_pictures_of_data_frames_are_in_the_working_directory(folder, picture_model, monkeypatch):
    monkeypatch.chdir(folder)
    options = {"candidates": "names", "embed": {"photo": str(picture_model)}}
    scores = [
        clean_table(read_candidate_table(source, **options), "plknn").frame["score"]
        for source in (pd.read_csv("t.csv"), "t.csv", folder / "t.csv")
    ]
    assert scores[0].tolist() == scores[1].tolist() == scores[2].tolist()


@pytest.mark.deep
@pytest.mark.parametrize("shown", [[], ["--image", "photo"]])
def test_a_page_shows_pictures_and_its_order_follows_from_them(
    folder, picture_model, monkeypatch, shown
):
    monkeypatch.chdir(folder)
    pages = []
    monkeypatch.setattr("ambilearn.review.page.write_review", lambda page, out: pages.append(page))
    options = ["--candidates", "names", "--embed", f"photo={picture_model}", "--features", "photo"]
    options += [*shown, "--method", "plknn", "--out", "r.html"]
    done = CliRunner().invoke(main, ["review", "t.csv", *options])
    assert done.exit_code == 0, done.output
    assert [row.image for row in pages[0].rows] == [f"photos/{i}.png" for i in range(24)]
    embedded = read(folder, embed={"photo": str(picture_model)}, features="photo")
    order = np.argsort([row.rank for row in pages[0].rows])
    assert order.tolist() == clean_table(embedded, "plknn").order.tolist()


def test_a_served_review_learns_from_the_pictures_that_it_shows(folder, monkeypatch):
    monkeypatch.chdir(folder)
    started = []

    def start(console, request, options, process, table, image, journal):
        started.append((image, {column.name: column.kind for column in table.features.columns}))
        raise click.Abort

    monkeypatch.setattr("ambilearn.cli.serve._start_session", start)
    options = ["--candidates", "names", "--embed", "photo=m", "--method", "plknn", "--no-browser"]
    done = CliRunner().invoke(main, ["review", "t.csv", *options])
    kinds = {"words": "category", "photo": "embedded image"}
    assert started == [("photo", kinds)], done.output
