"""Views keep the shape, are random per row, and are what they are said to be."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from ambilearn.deep.augment import (  # noqa: E402
    CropFlip,
    Noise,
    StrongImageView,
    SwapFeatures,
    _affine_maps,
    identity,
)


@pytest.fixture(autouse=True)
def _seed():
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        yield


@pytest.mark.parametrize("shape", [(5, 3, 32, 32), (4, 1, 8, 8), (3, 3, 9, 17), (2, 1, 1, 1)])
@pytest.mark.parametrize("view", [CropFlip(), StrongImageView(), StrongImageView(flip=False)])
def test_views_of_images_keep_the_shape(view, shape):
    x = torch.randn(shape)
    before = x.clone()
    found = view(x)
    assert found.shape == x.shape
    assert found.dtype == x.dtype
    assert torch.isfinite(found).all()
    assert torch.equal(x, before)


@pytest.mark.parametrize("flip", [True, False])
def test_the_weak_view_is_a_crop_of_the_reflected_image(flip):
    x = torch.randn(60, 2, 8, 16)
    found = CropFlip(flip)(x).numpy()
    n_mirrored = 0
    for image, view in zip(x.numpy(), found, strict=True):
        padded = np.pad(image, ((0, 0), (1, 1), (2, 2)), mode="reflect")
        crops = [padded[:, i : i + 8, j : j + 16] for i in range(3) for j in range(5)]
        straight = any(np.array_equal(view, crop) for crop in crops)
        mirrored = any(np.array_equal(view, crop[:, :, ::-1]) for crop in crops)
        assert straight or mirrored
        n_mirrored += mirrored
    assert (n_mirrored > 0) == flip


def test_each_row_has_a_view_of_its_own():
    x = torch.randn(1, 3, 32, 32).repeat(40, 1, 1, 1)
    for view in (CropFlip(), StrongImageView()):
        assert len({tuple(row.flatten()[:50].tolist()) for row in view(x)}) > 20


def test_views_of_a_matrix():
    x = torch.randn(2000, 10)
    for view in (Noise(), SwapFeatures(share=0.0)):
        assert (view(x) - x).std() == pytest.approx(0.1, rel=0.05)
    swapped = SwapFeatures(share=0.2, scale=0.0)(x)
    changed = swapped != x
    assert changed.float().mean() == pytest.approx(0.2, abs=0.02)
    for j in range(10):
        assert torch.isin(swapped[:, j], x[:, j]).all()
    assert identity(x) is x


@pytest.mark.parametrize("n_channels", [1, 3])
def test_the_strong_view_without_its_parts_is_the_image(n_channels):
    x = torch.randn(3, n_channels, 8, 8)
    u = torch.full((3, StrongImageView.n_random), 0.5)  # no shift, turn or change of color
    u[:, 2] = 0.9  # not mirrored
    u[:, 11] = 0.0  # no hole
    torch.testing.assert_close(StrongImageView().apply(x, u), x, atol=1e-5, rtol=0)
    u[:, 2] = 0.1
    torch.testing.assert_close(StrongImageView().apply(x, u), x.flip(3), atol=1e-5, rtol=0)
    u[:, 0] = 0.99  # by one pixel of eight
    shifted = np.pad(x.flip(3).numpy(), ((0, 0), (0, 0), (0, 1), (0, 0)), mode="symmetric")[
        :, :, 1:
    ]
    torch.testing.assert_close(
        StrongImageView().apply(x, u), torch.from_numpy(shifted), atol=1e-5, rtol=0
    )


@pytest.mark.parametrize("changed", [True, False])
def test_the_map_of_the_strong_view(changed):
    """The largest shift and, with probability .7, the largest angle, scale and shear."""
    u = torch.tensor([[0.99, 0.99, 0.1, 0.69 if changed else 0.71, 1.0, 1.0, 1.0]])
    angle, scale, shear = (0.35, 1.2, 0.2) if changed else (0.0, 1.0, 0.0)
    cosine, sine = scale * np.cos(angle), scale * np.sin(angle)
    # Of 16 rows and 8 columns, by two rows and a column; coordinates are from -1 to 1.
    expected = [[-cosine, -(shear - sine), 2 / 8], [sine, cosine, 2 * 2 / 16]]
    np.testing.assert_allclose(_affine_maps(u, 16, 8, flip=True)[0], expected, atol=1e-6)
    expected[0][:2] = cosine, shear - sine
    np.testing.assert_allclose(_affine_maps(u, 16, 8, flip=False)[0], expected, atol=1e-6)


@pytest.mark.parametrize("changed", [True, False])
def test_colors_change_as_documented(changed):
    x = torch.randn(1, 3, 4, 4)
    u = torch.full((1, StrongImageView.n_random), 0.5)
    u[:, 2], u[:, 11] = 0.9, 0.0
    u[:, 7] = 0.79 if changed else 0.81
    u[:, 8:11] = torch.tensor([1.0, 0.0, 1.0])  # contrast 1.4, saturation .2, brightness .4
    m = x.mean()
    contrasted = (x - m) * 1.4 + m + 0.4
    gray = contrasted.mean(1, keepdim=True)
    expected = (contrasted - gray) * 0.2 + gray if changed else x
    torch.testing.assert_close(StrongImageView().apply(x, u), expected, atol=1e-5, rtol=0)


def test_the_hole_is_a_square_of_zeros():
    x = torch.ones(1, 1, 20, 20)
    u = torch.full((1, StrongImageView.n_random), 0.5)
    u[:, 2], u[:, 3], u[:, 7], u[:, 11] = 0.9, 0.9, 0.9, 0.99  # the largest hole: 2 · 5 − 1
    found = StrongImageView().apply(x, u)
    assert (found == 0).sum() == 81
