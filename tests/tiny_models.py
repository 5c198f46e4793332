"""Fixtures: tiny models with random weights, in the folders of real ones."""

import os

import pytest

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] a the cat dog good bad film very".split()  # noqa: SIM905
SIZE = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16}


@pytest.fixture(scope="session")
def transformers():
    pytest.importorskip("sentence_transformers", reason="needs the extra embed")
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    import transformers

    torch.manual_seed(0)
    transformers.utils.logging.disable_progress_bar()
    return transformers


@pytest.fixture(scope="session")
def text_model(transformers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("text")
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    config = transformers.BertConfig(vocab_size=len(WORDS), intermediate_size=16, **SIZE)
    transformers.BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def picture_model(transformers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    config = transformers.Dinov2Config(image_size=28, patch_size=14, mlp_ratio=1, **SIZE)
    transformers.Dinov2Model(config).save_pretrained(folder)
    size = {"height": 28, "width": 28}
    transformers.BitImageProcessorPil(size={"shortest_edge": 28}, crop_size=size).save_pretrained(
        folder
    )
    return folder
