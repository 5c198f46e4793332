import numpy as np
import pytest

from ambilearn.confidence import ReliabilityDisplay

pytest.importorskip("matplotlib")


def test_points_are_shares_of_the_checked_rows():
    score = np.linspace(0, 1, 100)
    rows = np.arange(0, 100, 5)
    display = ReliabilityDisplay.from_checked(score, score**2, rows, rows >= 60)
    top, bottom = display.figure_.axes
    points = [container[0].get_xydata()[0] for container in top.containers]
    assert [y for _, y in points] == [0, 0, 0, 1, 1]
    np.testing.assert_allclose([x for x, _ in points], score.reshape(5, 20).mean(axis=1))
    diagonal, line = top.get_lines()[:2]
    np.testing.assert_array_equal(line.get_ydata(), score**2)
    assert diagonal.get_xydata().tolist() == [[0, 0], [1, 1]]
    assert sum(patch.get_height() for patch in bottom.patches) == 100
    assert display._repr_png_().startswith(b"\x89PNG")
