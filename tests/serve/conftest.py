"""A served review."""

import pytest
from serve_review import Served


@pytest.fixture
def make_served(tmp_path):
    """Function that serves a review in a folder of its own."""
    opened = []

    def make(**options):
        opened.append(Served(tmp_path, **options))
        return opened[-1]

    yield make
    for served in opened:
        served.close()
