"""Outputs of a network for many rows."""

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from ambilearn.deep import prediction  # noqa: E402
from ambilearn.deep.augment import identity  # noqa: E402
from ambilearn.deep.networks import add_heads  # noqa: E402
from ambilearn.deep.rows import Rows  # noqa: E402


@pytest.fixture
def case():
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        x = torch.randn(7, 2, 4, 5)
        features = nn.Sequential(nn.Conv2d(2, 3, 3), nn.Flatten(), nn.Dropout())
        network = add_heads(features, x[:2], 4)
        for head in (network.ordinary, network.complementary):  # which start at zero
            nn.init.normal_(head.weight)
        yield network.eval(), Rows(tuple(x.shape), x)


@pytest.mark.parametrize("mirror", [True, False])
def test_outputs_are_averaged_over_mirror_images(case, mirror, monkeypatch):
    monkeypatch.setattr(prediction, "BATCH", 3)
    network, rows = case
    with torch.no_grad():
        heads = [network(x) for x in (rows.held, rows.held.flip(3))[: 1 + mirror]]
    ordinary = torch.stack([f.softmax(1) for f, _ in heads]).mean(0)
    complementary = torch.stack([f.sigmoid() for _, f in heads]).mean(0)
    network.train()  # it predicts in evaluation mode
    found = prediction.compute_outputs(network, rows, identity, mirror=mirror, bf16=False)
    assert found[0].dtype == torch.float64
    torch.testing.assert_close(found[0].float(), ordinary)
    torch.testing.assert_close(found[1].float(), complementary)


def test_features(case, monkeypatch):
    monkeypatch.setattr(prediction, "BATCH", 3)
    network, rows = case
    with torch.no_grad():
        expected = network.features(rows.held)
    found = prediction.compute_features(network, rows, identity, bf16=False)
    torch.testing.assert_close(found, expected)


def test_large_images_have_smaller_batches():
    sizes = []

    def prepare(x):
        sizes.append(len(x))
        return x

    features = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    network = add_heads(features, torch.zeros(2, 3, 4, 4), 2)
    for n, side in ((1500, 4), (20, 224), (20, 512)):
        rows = Rows((n, 3, side, side), torch.zeros(1, 3, 1, 1).expand(n, 3, side, side))
        prediction.compute_features(network, rows, prepare, bf16=False)
    assert sizes == [1024, 476, 20, 16, 4]


def test_an_output_that_is_not_finite_is_reported_with_its_row(case, monkeypatch):
    monkeypatch.setattr(prediction, "BATCH", 3)
    network, rows = case
    rows.held[4] = torch.inf
    with pytest.raises(ValueError, match=r"output of the network for row 4 of X is not finite"):
        prediction.compute_outputs(network, rows, identity, mirror=False, bf16=False)
    with pytest.raises(ValueError, match=r"output of the network for row 4 of X is not finite"):
        prediction.compute_features(network, rows, identity, bf16=False)
