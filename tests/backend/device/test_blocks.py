import numpy as np

from ambilearn._utils import blocks as host_blocks
from ambilearn.backend import HOST, choose_backend
from ambilearn.backend.device import blocks


def test_blocks_are_larger_on_a_device(library, monkeypatch):
    monkeypatch.setattr(host_blocks, "LIMIT", 4)
    monkeypatch.setattr(blocks, "ON_DEVICE", 40)
    X = np.ones((25, 2))
    on_device = library.to_device(X)
    assert len(list(HOST.blocks(X, 2))) == 13
    backend = choose_backend(on_device)
    assert list(backend.blocks(on_device, 2)) == [slice(0, 20), slice(20, 25)]
    assert len(list(backend.blocks(on_device, 1000))) == 25
