import numpy as np
import pytest

from ambilearn.kernel import device_memory
from ambilearn.kernel.device_memory import bytes_beside_kernel, check_memory

SIZES = {"n_labels": 3, "n_pairs": 120, "n_neighbors": 5}
BESIDE = bytes_beside_kernel(50, 3, 120, 5)
SQUARE = 8 * 50**2


def check(monkeypatch, free, **options):
    monkeypatch.setattr(device_memory, "free_memory", lambda X: free)
    options = {"n_landmarks": None, "n_factors": 2} | options
    return check_memory(np.zeros((50, 2)), **SIZES, **options)


def test_two_factors_where_both_fit(monkeypatch):
    assert not check(monkeypatch, BESIDE + 2 * SQUARE)


def test_one_factor_where_two_do_not_fit(monkeypatch):
    assert check(monkeypatch, BESIDE + 2 * SQUARE - 1)
    assert check(monkeypatch, BESIDE + SQUARE)


def test_an_error_that_names_the_landmarks_where_one_does_not_fit(monkeypatch):
    with pytest.raises(MemoryError, match=r"A fit of 50 rows needs about .* GiB .* n_landmarks"):
        check(monkeypatch, BESIDE + SQUARE - 1)


def test_a_kernel_that_is_kept_takes_its_place(monkeypatch):
    assert not check(monkeypatch, BESIDE + 3 * SQUARE, keeps_kernel=True)
    assert check(monkeypatch, BESIDE + 3 * SQUARE - 1, keeps_kernel=True)


def test_landmarks_need_no_square(monkeypatch):
    assert not check(monkeypatch, BESIDE + 2 * 8 * 50 * 4, n_landmarks=4)
    with pytest.raises(MemoryError, match="Lower n_landmarks"):
        check(monkeypatch, BESIDE, n_landmarks=4)


def test_where_nobody_tells_there_is_enough():
    assert not check_memory(np.zeros((50, 2)), **SIZES, n_landmarks=None, n_factors=2)


def test_what_stands_beside_the_kernel_grows_with_the_rows():
    assert bytes_beside_kernel(10**6, 100, 3 * 10**6, 10) > 5 * bytes_beside_kernel(
        10**5, 100, 3 * 10**5, 10
    )
