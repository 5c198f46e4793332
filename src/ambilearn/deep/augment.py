"""Random views of a batch, made on its device without a loop over rows.

Values are standardized (mean 0, variance 1) before a view is made.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True)
class CropFlip:
    """Weak view of images: a shifted crop and, with probability one half, the mirror image.

    Parameters
    ----------
    flip : bool, default=True
        Whether images are mirrored. Digits and letters must not be.
    shift : float, default=0.125
        Largest shift, as share of the side. What a shift uncovers is filled by reflection.
    """

    flip: bool = True
    shift: float = 0.125

    def __call__(self, x: Tensor) -> Tensor:
        """One view of each image of the batch, shape (b, c, h, w)."""
        b, c, h, w = x.shape
        rows = self._positions(b, h, x.device)
        columns = self._positions(b, w, x.device)
        if self.flip:
            mirrored = torch.rand(b, 1, device=x.device) < 0.5
            columns = torch.where(mirrored, columns.flip(1), columns)
        images = torch.arange(b, device=x.device)[:, None, None, None]
        channels = torch.arange(c, device=x.device)[:, None, None]
        return x[images, channels, rows[:, None, :, None], columns[:, None, None, :]]

    def _positions(self, b: int, side: int, device: torch.device) -> Tensor:
        pad = min(round(self.shift * side), side - 1)
        start = torch.randint(-pad, pad + 1, (b, 1), device=device)
        position = (start + torch.arange(side, device=device)).abs()  # reflect at the first pixel
        return side - 1 - (side - 1 - position).abs()  # and at the last


@dataclass(frozen=True)
class StrongImageView:
    """Strong view of images: the weak one, then color, an affine map and a square hole.

    Parameters
    ----------
    flip : bool, default=True
        Whether images are mirrored.
    """

    flip: bool = True

    def __call__(self, x: Tensor) -> Tensor:
        """One view of each image of the batch, shape (b, c, h, w)."""
        return _cut_hole(_bend(_recolor(CropFlip(self.flip)(x))))


def _uniform(x: Tensor, low: float, high: float, *shape: int) -> Tensor:
    return torch.empty(len(x), *shape, device=x.device, dtype=x.dtype).uniform_(low, high)


def _recolor(x: Tensor, probability: float = 0.8) -> Tensor:
    """Change brightness, contrast and, of color images, saturation."""
    chosen = torch.rand(len(x), 1, 1, 1, device=x.device) < probability
    center = x.mean((1, 2, 3), keepdim=True)
    new = (x - center) * _uniform(x, 0.6, 1.4, 1, 1, 1) + center + _uniform(x, -0.4, 0.4, 1, 1, 1)
    if x.shape[1] > 1:
        gray = new.mean(1, keepdim=True)
        new = (new - gray) * _uniform(x, 0.2, 1.8, 1, 1, 1) + gray
    return torch.where(chosen, new, x)


def _bend(x: Tensor, probability: float = 0.7) -> Tensor:
    """Rotate by up to .35, scale by .8 to 1.2 and shear by up to .2."""
    chosen = (torch.rand(len(x), device=x.device) < probability).to(x.dtype)
    angle = _uniform(x, -0.35, 0.35) * chosen
    scale = 1 + _uniform(x, -0.2, 0.2) * chosen
    shear = _uniform(x, -0.2, 0.2) * chosen
    cosine, sine, zero = angle.cos() * scale, angle.sin() * scale, torch.zeros_like(angle)
    maps = torch.stack([cosine, shear - sine, zero, sine, cosine, zero], 1).view(-1, 2, 3)
    grid = F.affine_grid(maps, list(x.shape), align_corners=False)
    return F.grid_sample(x, grid, padding_mode="reflection", align_corners=False)


def _cut_hole(x: Tensor, share: float = 0.27) -> Tensor:
    """Set a square of up to about half the side to the mean."""
    b, _, h, w = x.shape
    reach = torch.randint(0, max(1, round(share * min(h, w))) + 1, (b, 1), device=x.device)
    hit = []
    for side in (h, w):
        center = torch.randint(0, side, (b, 1), device=x.device)
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
