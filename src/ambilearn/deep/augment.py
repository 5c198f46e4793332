"""Random views of a batch, made on its device without a loop over rows.

Values are standardized (mean 0, variance 1) before a view is made.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

View = Callable[[Tensor], Tensor]


class ImageView:
    """Base of the views of images: a function of the batch and of uniform random numbers.

    The function itself has no random state.
    """

    n_random: int  # numbers per image

    def __call__(self, x: Tensor) -> Tensor:
        """One view of each image of the batch, shape (b, c, h, w)."""
        return self.apply(x, torch.rand(len(x), self.n_random, device=x.device))

    def apply(self, x: Tensor, u: Tensor) -> Tensor:
        """The view for random numbers from 0 to 1, shape (b, n_random)."""
        raise NotImplementedError


@dataclass(frozen=True)
class CropFlip(ImageView):
    """Weak view of images: a shifted crop and, with probability one half, the mirror image.

    Parameters
    ----------
    flip : bool, default=True
        Whether images are mirrored. Digits and letters must not be.
    shift : float, default=0.125
        Largest shift, as share of the side. Uncovered pixels are filled by reflection.
    """

    flip: bool = True
    shift: float = 0.125
    n_random = 3

    def apply(self, x: Tensor, u: Tensor) -> Tensor:
        """The view for random numbers from 0 to 1."""
        b, c, h, w = x.shape
        rows, columns = (_shifted(u[:, i], side, self.shift) for i, side in ((0, h), (1, w)))
        if self.flip:
            columns = torch.where(u[:, 2:] < 0.5, columns.flip(1), columns)
        images = torch.arange(b, device=x.device)[:, None, None, None]
        channels = torch.arange(c, device=x.device)[:, None, None]
        return x[images, channels, rows[:, None, :, None], columns[:, None, None, :]]


def _steps(u: Tensor, side: int, share: float) -> Tensor:
    """Random numbers as shifts by whole pixels."""
    most = min(round(share * side), side - 1)
    return torch.floor(u * (2 * most + 1)).clamp(max=2 * most) - most


def _shifted(u: Tensor, side: int, share: float) -> Tensor:
    """Pixels along one side after a shift, reflected at the ends; shape (b, side)."""
    start = _steps(u, side, share).long()[:, None]
    position = (start + torch.arange(side, device=u.device)).abs()
    return side - 1 - (side - 1 - position).abs()


@dataclass(frozen=True)
class StrongImageView(ImageView):
    """Strong view of images: an affine map, other colors, and a square hole.

    The map shifts and mirrors as the weak view does and, with probability .7, rotates by up to .35,
    scales by .8 to 1.2 and shears by up to .2. With probability .8, contrast changes by .6 to
    1.4, saturation by .2 to 1.8 and brightness by up to .4 standard deviations. The side of the
    hole is up to half that of the image.

    Parameters
    ----------
    flip : bool, default=True
        Whether images are mirrored.
    """

    flip: bool = True
    n_random = 14

    def apply(self, x: Tensor, u: Tensor) -> Tensor:
        """The view for random numbers from 0 to 1."""
        maps = _affine_maps(u[:, :7], x.shape[2], x.shape[3], self.flip)
        grid = affine_grid(maps, list(x.shape), align_corners=False)
        x = grid_sample(x, grid, padding_mode="reflection", align_corners=False)
        return _cut_hole(_recolor(x, u[:, 7:11]), u[:, 11:])


def _affine_maps(u: Tensor, h: int, w: int, flip: bool) -> Tensor:
    """Maps of the positions in the view to those in the image, shape (b, 2, 3)."""
    down = 2 * _steps(u[:, 0], h, 0.125) / h
    right = 2 * _steps(u[:, 1], w, 0.125) / w
    side = torch.where(u[:, 2] < 0.5, -1.0, 1.0) if flip else torch.ones_like(u[:, 2])
    chosen = (u[:, 3] < 0.7).to(u.dtype)
    angle = 0.7 * (u[:, 4] - 0.5) * chosen
    scale = 1 + 0.4 * (u[:, 5] - 0.5) * chosen
    shear = 0.4 * (u[:, 6] - 0.5) * chosen
    cosine, sine = angle.cos() * scale, angle.sin() * scale
    first = torch.stack([side * cosine, side * (shear - sine), right], 1)
    return torch.stack([first, torch.stack([sine, cosine, down], 1)], 1)


def _recolor(x: Tensor, u: Tensor) -> Tensor:
    """Change contrast, saturation (of color images) and brightness."""
    u = u[:, :, None, None, None]
    chosen = (u[:, 0] < 0.8).to(x.dtype)
    contrast = 1 + 0.8 * (u[:, 1] - 0.5) * chosen
    saturation = 1 + 1.6 * (u[:, 2] - 0.5) * chosen
    gray = x.mean(1, keepdim=True)
    center = gray.mean((2, 3), keepdim=True)
    lift = center * (1 - contrast) + 0.8 * (u[:, 3] - 0.5) * chosen
    return contrast * (saturation * x + (1 - saturation) * gray) + lift


def _cut_hole(x: Tensor, u: Tensor, share: float = 0.27) -> Tensor:
    """Set a square to the mean."""
    h, w = x.shape[2:]
    reach = torch.floor(u[:, :1] * (round(share * min(h, w)) + 1))
    hit = []
    for i, side in ((1, h), (2, w)):
        center = torch.floor(u[:, i : i + 1] * side)
        hit.append((torch.arange(side, device=x.device) - center).abs() < reach)
    return x.masked_fill((hit[0][:, :, None] & hit[1][:, None, :])[:, None], 0.0)


@dataclass(frozen=True)
class Noise:
    """Weak view of a matrix: normal noise on every feature.

    Parameters
    ----------
    scale : float, default=0.1
        Standard deviation of the noise, in standard deviations of the features.
    """

    scale: float = 0.1

    def __call__(self, x: Tensor) -> Tensor:
        """One view of each row of the batch, shape (b, d)."""
        return x + self.scale * torch.randn_like(x)


@dataclass(frozen=True)
class SwapFeatures:
    """Strong view of a matrix: some features of a row are those of another row of the batch.

    Parameters
    ----------
    share : float, default=0.2
        Share of the features that are replaced.
    scale : float, default=0.1
        Standard deviation of the noise on every feature.
    """

    share: float = 0.2
    scale: float = 0.1

    def __call__(self, x: Tensor) -> Tensor:
        """One view of each row of the batch, shape (b, d)."""
        others = x[torch.randperm(len(x), device=x.device)]
        swapped = torch.where(torch.rand_like(x) < self.share, others, x)
        return Noise(self.scale)(swapped)


def identity(x: Tensor) -> Tensor:
    """The batch as it is."""
    return x
