"""Fixtures of the tests of networks."""

import pytest


@pytest.fixture
def torchvision():
    """The package, if its build fits that of PyTorch."""
    try:
        import torchvision
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"torchvision cannot be imported: {error}")
    return torchvision
