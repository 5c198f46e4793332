"""Tables with a column of images: the commands, the model file, and doubt by folds."""

import json
import re
import signal
from urllib.request import urlopen

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

torch = pytest.importorskip("torch", reason="needs the extra deep")

from PIL import Image  # noqa: E402

from ambilearn import (  # noqa: E402
    CandidateSearchCV,
    DeepPLCL,
    PLVoting,
    find_doubtful,
)
from ambilearn._utils.rounds import listen_to_rounds  # noqa: E402
from ambilearn._utils.text import RoundProgress  # noqa: E402
from ambilearn.cli.main import main  # noqa: E402
from ambilearn.tables import clean_table, load_model, read_candidate_table  # noqa: E402

DEEP = ["--image", "photo", "--method", "deepplcl", "--set", "epochs=2", "--set", "image_size=8"]


def run(*arguments, status=0):
    done = CliRunner().invoke(main, [*map(str, arguments)])
    assert done.exit_code == status, done.output
    return done.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Forty pictures of two digits in different sizes, and a table."""
    folder = tmp_path_factory.mktemp("images")
    X, y = load_digits(n_class=2, return_X_y=True)
    rng = np.random.default_rng(0)
    rows = []
    for i in range(40):
        image = Image.fromarray((X[i].reshape(8, 8) * 15).astype(np.uint8))
        image.resize(tuple(map(int, rng.integers(6, 14, 2)))).save(folder / f"{i}.jpg")
        rows.append((f"{i}.jpg", "no|yes" if i % 3 else ("no", "yes")[y[i]], "ab"[i % 2]))
    pd.DataFrame(rows, columns=["photo", "names", "group"]).to_csv(folder / "t.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def model(folder):
    """A saved model, and what `fit` printed."""
    path = folder / "my.model"
    return path, run("fit", folder / "t.csv", "--candidates", "names", *DEEP, "--out", path)


def test_fit_describes_the_table(model):
    _, output = model
    assert "1 feature: image: photo" in output
    assert "left out: 'group' is ignored, because the network learns from the images only" in output
    assert "fitting DeepPLCL to 40 images" in output


def test_predict_takes_the_column_from_the_model(folder, model, tmp_path):
    out = tmp_path / "out.csv"
    run("predict", model[0], folder / "t.csv", "--out", out)
    found = pd.read_csv(out)
    files = [str(folder / f"{i}.jpg") for i in range(40)]
    assert found["label"].to_list() == load_model(model[0]).method.predict(files).tolist()


def test_predict_looks_into_further_folders(folder, model, tmp_path):
    table = tmp_path / "new.csv"
    table.write_text("photo\n3.jpg\n")
    assert "row 0: the image '3.jpg' is not found" in run("predict", model[0], table, status=1)
    assert "1 row labeled" in run("predict", model[0], table, "--image-folder", folder)


def test_doubt_is_computed_by_folds(folder):
    table = read_candidate_table(folder / "t.csv", candidates="names", image="photo")
    said = []
    cleaned = clean_table(table, params={"epochs": 1, "image_size": 8}, progress=said.append)
    assert said[1].startswith("fitting DeepPLCL to 40 images: epoch 1 of 1, loss ")
    assert sum(": fit " in text for text in said) == 2  # one for each half of the rows
    assert {"label", "doubt", "suggestion"} <= set(cleaned.frame.columns)
    sizes = table.candidates.sizes
    assert (cleaned.doubt.score[sizes == 2] == 0).all()
    assert (cleaned.doubt.score[sizes == 1] > 0).all()


def test_doubt_of_an_interrupted_training_stays_empty(folder, monkeypatch):
    table = read_candidate_table(folder / "t.csv", candidates="names", image="photo")

    def interrupt(text):
        if "epoch 1 of 3" in text:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted"):
        cleaned = clean_table(table, params={"epochs": 3, "image_size": 8}, progress=interrupt)
    assert cleaned.doubt is None
    assert cleaned.frame["label"].notna().all()
    assert cleaned.frame["suggestion"].isna().all()


@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: model,
        lambda model: CandidateSearchCV(model, {"lr": [0.1]}, cv=2),
        lambda model: GridSearchCV(model, {"lr": [0.1]}, cv=2),
        lambda model: PLVoting([("deep", model)]),
    ],
    ids=["alone", "search", "scikit-learn's search", "vote"],
)
def test_an_interrupted_fold_ends_the_search_for_doubt(wrap):
    X, y = load_digits(n_class=2, return_X_y=True)
    stages = []

    def interrupt(text):
        stages.append(text)
        if "epoch 1" in text:
            raise KeyboardInterrupt

    listener = RoundProgress("fold", interrupt)
    with listen_to_rounds(listener), pytest.raises(KeyboardInterrupt):
        find_doubtful(X[:20], y[:20], estimator=wrap(DeepPLCL(epochs=2, device="cpu")))
    assert len(stages) == 2


def test_a_served_review_learns_from_the_images_and_shows_them(folder, tmp_path, monkeypatch):
    shown = []

    def browse(file):  # that redirects to the page
        with urlopen(file) as reply:
            address = re.search('url=(.+?)"', reply.read().decode())[1]
        with urlopen(f"{address}image/0") as reply:
            shown.append(reply.headers["Content-Type"])
        with urlopen(f"{address}state?tab=a") as reply:
            state = json.load(reply)
            shown.append((state["problem"], state["has_update"]))
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("webbrowser.open", browse)
    options = [*DEEP, "--device", "cpu", "--journal", tmp_path / "j", "--cleaned-out"]
    table = [folder / "t.csv", "--candidates", "names"]
    output = run("review", *table, *options, tmp_path / "c.csv")
    assert shown == ["image/jpeg", (None, False)]
    assert "fitting DeepPLCL" in output
    expected = tmp_path / "e.csv"
    run("clean", *table, *DEEP, "--device", "cpu", "--out", expected)
    assert (tmp_path / "c.csv").read_bytes() == expected.read_bytes()


def test_an_own_device_is_not_saved(folder, model, tmp_path):
    path = tmp_path / "cpu.model"
    options = ["--candidates", "names", *DEEP, "--device", "cpu", "--out", path]
    run("fit", folder / "t.csv", *options)
    loaded = load_model(path)
    assert loaded.method.device == "auto"
    frame = pd.read_csv(folder / "t.csv")
    name = str(folder / "t.csv")
    found = [loaded.choices(frame, name, device=device).labels for device in (None, "cpu")]
    assert found[0].tolist() == found[1].tolist()


def test_annotators_are_judged_only_if_that_is_wanted(folder, tmp_path):
    frame = pd.read_csv(folder / "t.csv")[["photo"]]
    frame["a1"], frame["a2"] = ["yes", "no"] * 20, ["yes", "yes", "no", "no"] * 10
    frame.to_csv(folder / "votes.csv", index=False)
    options = ["--candidates", "a?", *DEEP, "--fast", "--out", tmp_path / "out.csv"]
    output = " ".join(run("clean", folder / "votes.csv", *options).split())
    assert "All annotators have the same weight: estimating their reliability trains" in output
    assert "Use --weight-annotators" in output
