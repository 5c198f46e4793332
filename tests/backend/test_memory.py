import numpy as np
import pytest

from ambilearn.backend import memory as device_memory
from ambilearn.backend.memory import (
    bytes_besides_kernel,
    bytes_of_fit,
    has_memory,
    require_memory,
)

SIZES = {"n_labels": 3, "n_pairs": 120, "n_neighbors": 5}
BESIDE = bytes_besides_kernel(50, 3, 120, 5)
SQUARE = 8 * 50**2
X = np.zeros((50, 2))


@pytest.fixture
def free(monkeypatch):
    """Sets the bytes that are free."""
    return lambda n: monkeypatch.setattr(device_memory, "free_memory", lambda X: n)


@pytest.mark.parametrize("n_matrices", [0, 1, 2, 3])
def test_every_matrix_of_an_exact_fit_is_counted(n_matrices):
    found = bytes_of_fit(50, **SIZES, rank=None, n_matrices=n_matrices)
    assert found == BESIDE + n_matrices * SQUARE


def test_landmarks_need_no_square():
    assert bytes_of_fit(50, **SIZES, rank=4, n_matrices=2) == BESIDE + 2 * 8 * 50 * 4


def test_a_method_without_a_kernel_needs_all_but_the_kernel():
    assert bytes_of_fit(50, **SIZES, rank=0) == BESIDE


def test_memory_besides_the_kernel_grows_with_the_rows():
    assert bytes_besides_kernel(10**6, 100, 3 * 10**6, 10) > 5 * bytes_besides_kernel(
        10**5, 100, 3 * 10**5, 10
    )


def test_memory_for_all_and_not_a_byte_more(free):
    free(1000)
    assert has_memory(X, 1000)
    assert not has_memory(X, 1001)
    require_memory(X, 1000)


def test_an_error_that_names_the_landmarks(free):
    free(2**30)
    with pytest.raises(MemoryError, match=r"50 rows needs about 2 GiB .* but only 1 GiB are free"):
        require_memory(X, 2**31)
    with pytest.raises(MemoryError, match=r"Set n_landmarks for a kernel of low rank"):
        require_memory(X, 2**31)


def test_who_has_landmarks_is_told_to_take_fewer(free):
    free(0)
    with pytest.raises(MemoryError, match="Lower n_landmarks"):
        require_memory(X, 1, low_rank=True)


def test_where_nobody_tells_there_is_enough():
    require_memory(X, 2**60)
