"""Fixtures of the tests of networks."""

import pytest


@pytest.fixture
def flat_network():
    """Class of a network that flattens images by a method that depends on the memory layout."""
    from torch import nn

    class Flat(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Conv2d(3, 6, 3)

        def forward(self, x):
            return self.layer(x).view(len(x), -1)

    return Flat
