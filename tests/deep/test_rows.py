"""Forms of rows other than files."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from PIL import Image  # noqa: E402

from ambilearn.deep import DeepPLCL  # noqa: E402
from ambilearn.deep.rows import check_rows, is_matrix  # noqa: E402

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("shape", "stored"),
    [
        ((4, 6, 5), (4, 1, 6, 5)),
        ((4, 6, 5, 3), (4, 3, 6, 5)),
        ((4, 3, 6, 5), (4, 3, 6, 5)),
        ((4, 6, 5, 1), (4, 1, 6, 5)),
        ((4, 1, 6, 5), (4, 1, 6, 5)),
        ((4, 12, 20, 20), (4, 12, 20, 20)),
        ((4, 5, 6, 5), (4, 5, 5, 6)),  # of dimensions of equal size, the last has the channels
    ],
)
@pytest.mark.parametrize("dtype", ["uint8", "float64", "float32", "int64", "bool"])
def test_arrays_of_images(shape, stored, dtype):
    X = (np.arange(np.prod(shape)).reshape(shape) % 200).astype(dtype)
    for form in (X, torch.from_numpy(X), X.tolist()):
        rows = check_rows(form)
        assert rows.shape == stored
        assert rows.are_images
    rows = check_rows(X)
    assert rows.held.dtype == (torch.uint8 if "int" in dtype else torch.float32)
    channels_last = len(shape) == 4 and shape[3] <= shape[1]
    expected = X.transpose(0, 3, 1, 2) if channels_last else X.reshape(stored)
    np.testing.assert_array_equal(rows.batch(torch.tensor([2, 0]), CPU), expected[[2, 0]])


@pytest.mark.filterwarnings("error")
def test_arrays_that_must_not_be_written_are_taken():
    X = np.zeros((2, 3, 3), dtype=np.uint8)
    X.flags.writeable = False
    assert check_rows(X).shape == (2, 1, 3, 3)
    assert check_rows(_Items(X)).shape == (2, 1, 3, 3)
    assert check_rows(_Items(X[0])).shape == (3, 3)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((2, 3, 3, 3, 3)), r"X has shape \(2, 3, 3, 3, 3\)"),
        (np.zeros((0, 3, 3)), r"at least one image\.$"),
        ([], r"X has shape \(0,\): images are arrays"),
        (np.zeros((3, 3)), r"X has shape \(3, 3\): .* Pass \[X\] if X is a single image"),
        ([np.zeros((3, 3)), np.zeros((3, 2))], r"Row 1 of X .* \(3, 2\), but row 0 .* \(3, 3\)"),
        ([np.zeros((2, 1)), [[1.0], [2.0, 3.0]]], r"Row 1 of X is not an image: .*inhomogeneous"),
        (
            [np.zeros((3, 3)), np.zeros((3, 3), np.uint8)],
            r"Row 1 of X is an image of type uint8, but row 0 has type float64\. Convert",
        ),
        ([np.zeros((3, 3)), None], r"Row 1 of X is not an image, but None\.$"),
        ([np.zeros((3, 3)), "cat"], r"Row 1 of X is not an image, but 'cat'\.$"),
        ([torch.zeros(3, 3), torch.zeros(3)], r"Row 1 of X is an image of shape \(3,\)"),
        (np.full((2, 3, 3), "a"), "images consist of numbers"),
        (np.ma.masked_greater(np.ones((2, 3, 3)), 0), "X is a masked array with 18 of 18 entries"),
        (np.array([[[0.0]], [[1.0]], [[np.nan]]]), "row 2 has such an entry"),
        (np.array([[[0.0]], [[1e300]]]), "too large for float32: row 1 has such an entry"),
        (1e9 + np.arange(48.0).reshape(2, 4, 6), "fewer than 100 distinct values"),
        (10**9 + np.arange(48).reshape(2, 4, 6), "fewer than 100 distinct values"),
        (1e-300 * np.arange(48.0).reshape(2, 4, 6), "fewer than 100 distinct values"),
        ([np.ones((4, 6), int), np.ones((4, 6))], "Row 1 of X is an image of type float64, but"),
    ],
)
def test_wrong_arrays_are_rejected(X, message):
    with pytest.raises(ValueError, match=message):
        check_rows(X)


@pytest.mark.parametrize("value", [-1, 256])
def test_integers_that_are_not_bytes_are_read_as_floats(value):
    X = np.full((2, 3, 3), value)
    np.testing.assert_array_equal(check_rows(X).held, X[:, None].astype(np.float32))


def test_images_in_an_object_array():
    images = np.empty(2, dtype=object)
    images[:] = [np.zeros((3, 2)), np.ones((3, 2))]
    rows = check_rows(images)
    assert rows.shape == (2, 1, 3, 2)
    np.testing.assert_array_equal(rows.held[1], 1)
    images[1] = np.ones((2, 3))
    with pytest.raises(ValueError, match=r"Row 1 of X is an image of shape \(2, 3\)"):
        check_rows(images)


def test_matrices_images_and_files_are_distinguished():
    assert is_matrix([[1.0, 2.0]])
    assert is_matrix(np.zeros((2, 2)))
    assert is_matrix([[1.0], [1.0, 2.0]])
    assert is_matrix([])
    assert is_matrix([(1.0, np.float64(2))])
    assert is_matrix([()])
    assert is_matrix(np.zeros(2, dtype=object))
    assert not is_matrix(np.zeros((2, 2, 2)))
    assert not is_matrix([np.zeros((2, 2)), np.zeros((3, 2))])
    assert not is_matrix([[[1.0]], [[2.0]]])
    assert not is_matrix(["a.png", "b.png"])
    assert check_rows([[np.zeros(3), np.zeros(3)]] * 4).shape == (4, 1, 2, 3)  # rows of an image
    assert not is_matrix(torch.utils.data.TensorDataset(torch.zeros(2, 2)))


class _Items(torch.utils.data.Dataset):
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


@pytest.mark.parametrize(
    ("item", "shape"),
    [
        (np.arange(5.0), (5,)),
        (torch.zeros(3, 6, 5), (3, 6, 5)),
        (np.zeros((6, 5, 3), dtype=np.uint8), (3, 6, 5)),
        ((torch.zeros(6, 5), 7), (1, 6, 5)),
        ((np.zeros(5), 7), (5,)),
        ([torch.zeros(3, 6, 5), 7], (3, 6, 5)),
        ([np.zeros(5), np.zeros(2)], (5,)),
        ([Image.new("RGB", (5, 6)), 7], (3, 6, 5)),
        ((Image.new("RGB", (5, 6)), 7), (3, 6, 5)),
        (np.zeros((5, 6, 5)), (5, 5, 6)),
        (torch.zeros(5, dtype=torch.bfloat16, requires_grad=True), (5,)),
    ],
)
def test_datasets(item, shape):
    items = [item] * 3
    if isinstance(item, (tuple, list)):  # a fold of scikit-learn
        assert not is_matrix(items)
        assert check_rows(items).shape == (3, *shape)
    rows = check_rows(_Items(items))
    assert rows.shape == (3, *shape)
    assert rows.batch(torch.tensor([1]), CPU).shape == (1, *shape)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([], "0 items"),
        ([torch.zeros(2), torch.zeros(3)], r"Item 1 of the dataset .* shape \(3,\), but item 0"),
        (
            [torch.zeros(2), torch.zeros(2, dtype=torch.uint8)],
            r"Item 1 .* torch.uint8 .* item 0 is",
        ),
        ([torch.zeros(1, 2, 2, 2)], r"Item 0 .* shape \(1, 2, 2, 2\): items must be"),
        ([torch.zeros(0)], r"Item 0 .* shape \(0,\): items must be"),
        ([torch.zeros(2), torch.tensor([0.0, torch.inf])], "row 1 has such an entry"),
        ([np.zeros(3, complex)], "Item 0 of the dataset has entries of type complex128"),
    ],
)
def test_wrong_datasets_are_rejected(items, message):
    with pytest.raises(ValueError, match=message):
        check_rows(_Items(items))


class _Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter([torch.zeros(2)])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (_Stream(), "an IterableDataset: pass a dataset with __len__"),
        (
            torch.utils.data.DataLoader(_Items([torch.zeros(2)] * 4)),
            "a DataLoader: pass its dataset",
        ),
        ("a.png", r"a single path, 'a\.png'\. Pass a list of file"),
    ],
)
def test_forms_of_pytorch_and_single_files_are_rejected(X, message):
    fitted = DeepPLCL(epochs=1, device="cpu").fit([[0.0], [1.0]], ["a", "b"])
    for use in (lambda: DeepPLCL().fit(X, ["a"] * 4), lambda: fitted.predict(X)):
        with pytest.raises(TypeError, match=f"X is {message}"):
            use()


def test_files_may_be_a_column_of_pyarrow(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    Image.new("L", (6, 4)).save(tmp_path / "a.png")
    column = pyarrow.array([str(tmp_path / "a.png")] * 2)
    assert not is_matrix(column)
    assert check_rows(column).shape == (2, 1, 4, 6)


def test_rows_that_do_not_fit_in_memory_are_read_when_needed(monkeypatch):
    monkeypatch.setattr("ambilearn.deep.rows._fits_in_memory", lambda n_bytes: False)
    rows = check_rows(_Items([torch.full((2,), float(i)) for i in range(4)]))
    assert rows.held is None
    assert rows.to(CPU) is rows
    assert rows.batch(torch.tensor([3, 1]), CPU)[:, 0].tolist() == [3.0, 1.0]


@pytest.mark.parametrize(
    ("mode", "shape"), [("P", (3, 4, 6)), ("RGBA", (3, 4, 6)), ("L", (1, 4, 6)), ("LA", (1, 4, 6))]
)
@pytest.mark.parametrize("wrap", [list, _Items], ids=["list", "dataset"])
def test_pillow_images_have_the_colors_that_they_show(mode, shape, wrap):
    gray = np.arange(24, dtype=np.uint8).reshape(4, 6)
    image = Image.fromarray(gray)
    if mode == "P":  # index i shows the gray value 255 - i
        image = Image.fromarray(255 - gray)
        image.putpalette(np.repeat(255 - np.arange(256, dtype=np.uint8), 3).tobytes())
    else:
        image = image.convert(mode)
    rows = check_rows(wrap([image, image]))
    assert rows.shape == (2, *shape)
    pixels = rows.batch(torch.tensor([1]), CPU)[0]
    assert torch.equal(pixels, torch.from_numpy(gray).expand(shape))


@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_a_transparent_color_is_white_in_files_and_objects(mode, tmp_path):
    path = tmp_path / "a.png"
    image = Image.new(mode, (6, 4), (7, 7, 7) if mode == "RGB" else 7)
    image.save(path, transparency=(7, 7, 7) if mode == "RGB" else 7)
    with Image.open(path) as opened:
        for X in ([path, path], [opened, opened]):
            assert (check_rows(X).batch(torch.tensor([1]), CPU) == 255).all()


def test_items_of_a_dataset_may_have_another_byte_order():
    rows = check_rows(_Items([np.arange(3, dtype=">f8")]))
    assert rows.batch(torch.tensor([0]), CPU).tolist() == [[0.0, 1.0, 2.0]]
