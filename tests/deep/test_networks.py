"""Networks of features, and the heads on them."""

from functools import partial

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from ambilearn.deep import networks  # noqa: E402
from ambilearn.deep.augment import identity  # noqa: E402
from ambilearn.deep.networks import MLP, ResNet9, ResNet18, add_heads, choose_features, choose_width  # noqa: E402
from ambilearn.deep.rows import DeepRows  # noqa: E402


@pytest.mark.parametrize(
    ("shape", "kind", "width"),
    [
        ((4,), MLP, 260),
        ((1, 8, 8), ResNet9, 512),
        ((3, 1, 5), ResNet9, 512),
        ((3, 64, 9), ResNet9, 512),
        ((3, 65, 40), ResNet18, 512),
        ((1, 40, 65), ResNet18, 512),
    ],
)
def test_auto(shape, kind, width):
    features = choose_features("auto", shape)
    assert isinstance(features, kind)
    images = [weights for weights in features.parameters() if weights.ndim == 4]
    assert all(w.is_contiguous(memory_format=torch.channels_last) for w in images)
    assert features.eval()(torch.zeros(2, *shape)).shape == (2, width)


def test_a_network_for_a_cpu_is_narrow():
    assert choose_width((3, 32, 32), torch.device("cpu")) == 16
    widths = [choose_width((1, side, 3), torch.device("cuda")) for side in (4, 20, 60)]
    assert widths == [16, 40, 64]
    assert choose_features("auto", (3, 9, 9), 16).eval()(torch.zeros(2, 3, 9, 9)).shape[1] == 128


def test_an_instance_is_copied_and_a_callable_called():
    given = nn.Linear(3, 2)
    copied = choose_features(given, (3,))
    assert copied is not given
    assert torch.equal(copied.weight, given.weight)
    assert isinstance(choose_features(nn.Flatten, (3,)), nn.Flatten)
    assert choose_features(partial(nn.Linear, 3, 4), (3,)).out_features == 4


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (nn.Linear, "module=.*Linear.*without arguments.*partial"),
        (dict, "module must make a torch.nn.Module, but .* returned a dict"),
    ],
)
def test_a_callable_that_makes_no_module_is_rejected(module, message):
    with pytest.raises(TypeError, match=message):
        choose_features(module, (3,))


class _Returns(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (
            nn.Conv2d(3, 4, 1),
            r"module must return .* returned torch.float32 of shape \(2, 4, 6, 6\)",
        ),
        (nn.Linear(5, 2), r"module cannot take a batch of shape \(2, 3, 6, 6\): mat1 and mat2"),
        (_Returns(lambda x: (x, x)), "module must return .* returned a tuple"),
        (_Returns(lambda x: x.flatten(1)[:1]), r"module must return .* of shape \(1, 108\)"),
        (_Returns(lambda x: x.flatten(1).long()), "module must return .* torch.int64"),
        (_Returns(lambda x: x.flatten(1)[:, :0]), r"module must return .* of shape \(2, 0\)"),
    ],
)
def test_a_wrong_output_is_rejected_with_the_name_of_the_parameter(module, message):
    with pytest.raises(ValueError, match=message):
        add_heads(module, torch.randn(2, 3, 6, 6), 4)


def test_frozen_layers_stay_in_evaluation_mode():
    plain = nn.BatchNorm1d(4, affine=False)  # without weights that could be frozen
    frozen = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), plain).requires_grad_(False)
    network = add_heads(
        nn.Sequential(frozen, nn.BatchNorm1d(4), nn.Dropout()), torch.randn(2, 3), 2
    )
    network.train()
    assert not any(layer.training for layer in network.features[0])
    assert network.features[1].training
    assert network.features[2].training
    network.eval()
    assert not any(layer.training for layer in network.modules())


def test_all_labels_are_equal_at_first():
    network = add_heads(nn.Linear(3, 4), torch.randn(2, 3), 2)
    for logits in network(torch.randn(5, 3)):
        assert (logits == 0).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_features_of_another_precision(dtype):
    network = add_heads(_Returns(lambda x: x.to(dtype)), torch.randn(2, 3), 4)
    assert [logits.dtype for logits in network(torch.randn(5, 3))] == [torch.float32] * 2


@pytest.fixture
def case():
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        x = torch.randn(7, 2, 4, 5)
        features = nn.Sequential(nn.Conv2d(2, 3, 3), nn.Flatten(), nn.Dropout())
        network = add_heads(features, x[:2], 4)
        for head in (network.ordinary, network.complementary):  # which start at zero
            nn.init.normal_(head.weight)
        yield network.eval(), DeepRows(tuple(x.shape), x)


@pytest.mark.parametrize("mirror", [True, False])
def test_outputs_are_averaged_over_mirror_images(case, mirror, monkeypatch):
    monkeypatch.setattr(networks, "BATCH", 3)
    network, rows = case
    with torch.no_grad():
        heads = [network(x) for x in (rows.held, rows.held.flip(3))[: 1 + mirror]]
    ordinary = torch.stack([f.softmax(1) for f, _ in heads]).mean(0)
    complementary = torch.stack([f.sigmoid() for _, f in heads]).mean(0)
    network.train()  # it predicts in evaluation mode
    found = networks.compute_outputs(network, rows, identity, mirror=mirror)
    assert found[0].dtype == torch.float64
    torch.testing.assert_close(found[0].float(), ordinary)
    torch.testing.assert_close(found[1].float(), complementary)


def test_features(case, monkeypatch):
    monkeypatch.setattr(networks, "BATCH", 3)
    network, rows = case
    with torch.no_grad():
        expected = network.features(rows.held)
    found = networks.compute_features(network, rows, identity)
    torch.testing.assert_close(found, expected)


def test_large_images_have_smaller_batches():
    sizes = []

    def prepare(x):
        sizes.append(len(x))
        return x

    features = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    network = add_heads(features, torch.zeros(2, 3, 4, 4), 2)
    for n, side in ((1500, 4), (20, 224), (20, 512)):
        rows = DeepRows((n, 3, side, side), torch.zeros(1, 3, 1, 1).expand(n, 3, side, side))
        networks.compute_features(network, rows, prepare)
    assert sizes == [1024, 476, 20, 16, 4]


def test_an_output_that_is_not_finite_is_reported_with_its_row(case, monkeypatch):
    monkeypatch.setattr(networks, "BATCH", 3)
    network, rows = case
    rows.held[4] = torch.inf
    for compute in (partial(networks.compute_outputs, mirror=False), networks.compute_features):
        with pytest.raises(ValueError, match="output of the network for row 4 of X is not finite"):
            compute(network, rows, identity)


@pytest.mark.parametrize(
    ("output", "described"),
    [
        (lambda x: (x, x), "a tuple"),  # as torchvision's GoogLeNet, which has further outputs
        (lambda x: x[:, :2], r"torch\.float32 of shape \(5, 2\)"),
    ],
)
def test_another_output_in_training_mode(output, described):
    module = _Returns(lambda x: output(x) if module.training else x)
    network = add_heads(module, torch.randn(2, 3), 4).train()
    with pytest.raises(ValueError, match=rf"\(rows, 3\), also in training .* returned {described}"):
        network(torch.randn(5, 3))
