"""Values of parameters for given rows and a given machine."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from ambilearn.deep import options  # noqa: E402
from ambilearn.deep.augment import CropFlip, Noise, StrongImageView, SwapFeatures, identity  # noqa: E402
from ambilearn.deep.rows import DeepRows, check_rows  # noqa: E402

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("n", "size"), [(2, 32), (900, 32), (5_000, 128), (50_000, 512), (10**7, 512)]
)
def test_batch_size(n, size):
    assert options.choose_batch_size(None, (n, 20)) == size
    assert options.choose_batch_size(7, (n, 20)) == 7


@pytest.mark.parametrize(("side", "size"), [(32, 512), (64, 512), (96, 256), (224, 64), (2000, 32)])
def test_large_images_have_smaller_batches(side, size):
    assert options.choose_batch_size(None, (10**6, 3, side, side)) == size


def test_device():
    assert options.choose_device("cpu") == CPU
    assert options.choose_device("auto").type in ("cpu", "cuda", "mps")


@pytest.mark.parametrize("name", ["cuda:77", "nonsense", "xla", "meta"])
def test_an_unavailable_device(name):
    with pytest.raises(ValueError, match=f"device='{name}' cannot be used on this machine"):
        options.choose_device(name)


ROWS = {n: DeepRows((n, 3), torch.zeros(n, 3)) for n in (60, 320, 6_400)}


@pytest.mark.parametrize(("n", "expected"), [(60, 1500), (320, 150), (6_400, 100)])
def test_epochs(n, expected):
    assert options.choose_epochs(None, ROWS[n], 32, CPU) == expected


def test_fewer_epochs_of_images_on_a_cpu():
    images = DeepRows((6_400, 1, 1, 1), torch.zeros(6_400, 1, 1, 1))
    assert options.choose_epochs(None, images, 32, CPU) == 25
    assert options.choose_epochs(None, images, 32, torch.device("cuda")) == 100


def test_few_steps_give_a_warning():
    with pytest.warns(UserWarning, match=r"epochs=30 are 30 steps of 32 rows.*Use epochs=1500"):
        assert options.choose_epochs(30, ROWS[60], 32, CPU) == 30
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert options.choose_epochs(60, ROWS[320], 32, CPU) == 60


IMAGES = [DeepRows((2, c, 4, 4), torch.zeros(2, c, 4, 4)) for c in (1, 3)]
MATRIX = DeepRows((2, 3), torch.zeros(2, 3))


@pytest.mark.parametrize(
    ("augment", "rows", "strong", "expected"),
    [
        ("auto", IMAGES[0], True, (CropFlip(False), StrongImageView(False))),
        ("auto", IMAGES[1], True, (CropFlip(True), StrongImageView(True))),
        ("auto", MATRIX, True, (Noise(), SwapFeatures())),
        ("auto", MATRIX, False, (Noise(), None)),
        (None, MATRIX, True, (identity, None)),
        ((None, abs), MATRIX, True, (identity, abs)),
        ((abs, None), MATRIX, True, (abs, None)),
    ],
)
def test_views(augment, rows, strong, expected):
    assert options.choose_views(augment, rows, strong) == expected


@pytest.mark.parametrize("augment", [(abs,), (abs, 3), [1, 2]])
def test_wrong_views_are_rejected(augment):
    with pytest.raises(ValueError, match="augment must be 'auto', None, or a pair"):
        options.choose_views(augment, MATRIX, True)


def standardized(X, normalize="auto"):
    X = np.asarray(X)
    rows = check_rows(X) if X.ndim > 2 else DeepRows(X.shape, torch.from_numpy(X))
    standardizer = options.Standardizer.of(rows, normalize)
    held = standardizer.apply(rows)
    return standardizer.prepare(held, CPU)(held.batch(torch.arange(len(X)), CPU)).numpy()


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_images_are_standardized_by_channel(dtype):
    X = np.random.default_rng(0).integers(256, size=(50, 4, 5, 3)).astype(dtype)
    found = standardized(X)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.mean((0, 2, 3)), 0, atol=1e-5)
    np.testing.assert_allclose(found.std((0, 2, 3)), 1, atol=1e-5)


def test_a_matrix_is_standardized_in_full_precision():
    X = 1e9 + np.random.default_rng(0).normal(size=(50, 3))
    X[:, 2] = 5.0  # constant
    found = standardized(X)
    np.testing.assert_allclose(found[:, :2].std(0), 1, atol=1e-5)
    assert not found[:, 2].any()


def test_given_means_and_scales():
    X = np.full((2, 4, 4, 3), 51, dtype=np.uint8)  # .2 of the range
    found = standardized(X, ([0.1, 0.2, 0.3], 0.5))
    np.testing.assert_allclose(found[0, :, 0, 0], [0.2, 0.0, -0.2], atol=1e-6)
    np.testing.assert_allclose(standardized(X, None), 0.2, rtol=1e-6)
    for other in (float, int):  # its own unit
        np.testing.assert_allclose(standardized(X.astype(other), None), 51)
        np.testing.assert_allclose(standardized(X.astype(other), (50, 2)), 0.5)


@pytest.mark.parametrize("value", [0.1, 100.7, 1e-200, -3e5])
def test_the_scale_of_a_constant_is_one(value):
    X = np.full((100, 1), value)
    standardizer = options.Standardizer.of(DeepRows(X.shape, torch.from_numpy(X)), "auto")
    assert standardizer.scale == 1


def test_few_large_images_are_enough_for_mean_and_scale():
    rows = DeepRows((3000, 3, 400, 500), read=lambda index: torch.zeros(len(index), 1))
    assert len(options.sample_rows(rows)) == 2**25 // 600_000
    assert len(options.sample_rows(DeepRows((9000, 3, 32, 32), read=rows.read))) == 4096
