"""Results that are the same but for rounding, which not every BLAS repeats to the bit."""

import pytest


def assert_alike(first, second):
    """Compare numbers to ten digits, and everything else exactly, however deep it is nested."""
    if isinstance(first, float) and isinstance(second, float):
        assert first == pytest.approx(second, rel=1e-10, abs=1e-12, nan_ok=True)
    elif isinstance(first, dict) and isinstance(second, dict):
        assert first.keys() == second.keys()
        for key in first:
            assert_alike(first[key], second[key])
    elif isinstance(first, (list, tuple)) and isinstance(second, (list, tuple)):
        assert len(first) == len(second)
        for ours, theirs in zip(first, second, strict=True):
            assert_alike(ours, theirs)
    else:
        assert first == second
