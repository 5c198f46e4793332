"""The folder of a model, its hash, and what is refused."""

import json
import shutil

import pytest

from ambilearn.features.models import check_model, find_model, hash_model, load_model


@pytest.fixture
def folder(tmp_path):
    """What a model's folder has, as far as it is looked at without PyTorch."""
    folder = tmp_path / "model"
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode": "mean"}')
    (folder / "README.md").write_text("read me")
    return folder


def test_the_hash_is_that_of_weights_and_preprocessing(folder):
    before = hash_model(folder)
    (folder / "README.md").write_text("something else")
    (folder / "onnx").mkdir()
    (folder / "onnx" / "config.json").write_text("[]")
    assert hash_model(folder) == before
    hashes = {before}
    for name in ("model.safetensors", "config.json", "1_Pooling/config.json"):
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content + b" ")
        hashes.add(hash_model(folder))
    (folder / "preprocessor_config.json").write_text("{}")
    hashes.add(hash_model(folder))
    assert len(hashes) == 5


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "weights.pkl"])
def test_pickled_weights_are_refused(folder, name):
    (folder / "2_Dense").mkdir()
    (folder / "2_Dense" / name).write_bytes(b"cos\nsystem\n(S'exit'\ntR.")
    with pytest.raises(ValueError, match=r"2_Dense.* are pickled.*safetensors"):
        check_model(folder)
    (folder / "2_Dense" / "model.safetensors").write_bytes(b"weights")  # which is preferred
    check_model(folder)


@pytest.mark.parametrize(
    ("lacking", "message"),
    [("config.json", "neither modules.json nor config.json"), ("model.safetensors", "no weights")],
)
def test_an_incomplete_folder_is_refused(folder, lacking, message):
    (folder / lacking).unlink()
    with pytest.raises(ValueError, match=message):
        check_model(folder)


@pytest.mark.parametrize("name", ["/no/such/folder", "./nowhere", "~/nowhere", "a/b/c", ""])
def test_a_folder_that_does_not_exist_is_named(name):
    with pytest.raises(ValueError, match="There is no folder"):
        find_model(name)


@pytest.mark.deep
def test_nothing_is_downloaded_offline(transformers, monkeypatch, tmp_path):
    import huggingface_hub

    asked = []

    def find_stored(name, *, local_files_only=False, **_):
        asked.append((name, local_files_only))
        raise FileNotFoundError(name)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", find_stored)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ValueError, match=r"nothing is downloaded offline .* Pass the folder"):
        find_model("all-MiniLM-L6-v2")
    assert asked == [("sentence-transformers/all-MiniLM-L6-v2", True)]
    monkeypatch.delenv("HF_HUB_OFFLINE")
    with pytest.raises(ValueError, match="cannot be downloaded: facebook/dino"):
        find_model("facebook/dino")
    assert asked[1:] == [("facebook/dino", True), ("facebook/dino", False)]


@pytest.mark.deep
def test_a_model_in_the_cache_of_hugging_face_is_found_by_name(text_model, tmp_path):
    """In a process of its own, because the place of the cache is read once."""
    import subprocess
    import sys

    stored = tmp_path / "hub" / "models--our--tiny"
    shutil.copytree(text_model, stored / "snapshots" / "abc")
    (stored / "refs").mkdir()
    (stored / "refs" / "main").write_text("abc")
    program = (
        "import sys; from ambilearn.features.models import find_model; "
        "print(find_model('our/tiny')); print('torch' in sys.modules)"
    )
    environment = {"HF_HUB_CACHE": str(tmp_path / "hub"), "HF_HUB_OFFLINE": "1"}
    found = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.splitlines() == [str(stored / "snapshots" / "abc"), "False"]


@pytest.mark.deep
@pytest.mark.parametrize("damaged", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_damaged_model_is_a_clear_error(text_model, tmp_path, damaged):
    folder = tmp_path / "model"
    shutil.copytree(text_model, folder)
    content = (folder / damaged).read_bytes()
    (folder / damaged).write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match=r"The model in .* cannot be loaded: "):
        load_model(folder, hash_model(folder), "cpu")


@pytest.mark.deep
def test_code_of_a_model_is_not_run(text_model, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(text_model, folder)
    (folder / "evil.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Evil:\n    pass\n"
    )
    modules = [{"idx": 0, "name": "0", "path": "", "type": "evil.Evil"}]
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ValueError, match="cannot be loaded"):
        load_model(folder, hash_model(folder), "cpu")
    assert not (tmp_path / "ran").exists()
