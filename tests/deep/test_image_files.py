"""Lists of image files."""

import struct
import warnings
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image")

from ambilearn.deep.image_files import ImageFiles, is_list_of_files  # noqa: E402


def save(path, size=(6, 4), mode="RGB", value=100, **options):
    color = (value, value // 2, 0) if mode == "RGB" else value
    Image.new(mode, size, color).save(path, **options)
    return path


def test_which_lists_are_files():
    pandas = pytest.importorskip("pandas")
    for X in (["a.png"], [Path("a.png")], np.array(["a.png", "b"]), pandas.Series(["a.png"])):
        assert is_list_of_files(X)
    assert is_list_of_files(pandas.DataFrame({"image": ["a.png"]}))
    assert is_list_of_files([None, "a.png"])
    pyarrow = pytest.importorskip("pyarrow")
    assert is_list_of_files(pyarrow.array([None, "a.png"]))
    assert not is_list_of_files(pyarrow.array([1.0]))
    for X in ([], [1.0], [[1.0]], np.zeros(3), np.array([["a", "b"]]), "a.png"):
        assert not is_list_of_files(X)


def test_files_of_one_size_are_read_as_they_are(tmp_path):
    pixels = np.random.default_rng(0).integers(256, size=(2, 4, 6, 3), dtype=np.uint8)
    paths = [tmp_path / "a.png", tmp_path / "b.png"]
    for path, image in zip(paths, pixels, strict=True):
        Image.fromarray(image).save(path)
    files = ImageFiles.of(paths)
    assert files.image_shape == (3, 4, 6)
    np.testing.assert_array_equal(files.read([1, 0]), pixels[[1, 0]].transpose(0, 3, 1, 2))


def test_files_of_different_sizes_get_the_median_of_their_shorter_sides(tmp_path):
    sizes = [(10, 20), (30, 14), (40, 40)]
    paths = [save(tmp_path / f"{i}.jpg", size) for i, size in enumerate(sizes)]
    files = ImageFiles.of(paths)
    assert files.image_shape == (3, 14, 14)
    assert files.read([0, 1, 2]).shape == (3, 3, 14, 14)
    assert ImageFiles.of(paths, image_size=9).image_shape == (3, 9, 9)
    assert ImageFiles.of(paths, image_size=(9, 5)).image_shape == (3, 9, 5)
    assert ImageFiles.of(paths, (1, 7, 8)).read([2]).shape == (1, 1, 7, 8)


def test_large_images_are_made_smaller(tmp_path):
    assert ImageFiles.of([save(tmp_path / "a.png", (500, 300))]).image_shape == (3, 224, 224)


def test_images_of_16_bits_are_read_with_8_bits(tmp_path):
    pixels = np.random.default_rng(0).integers(256, size=(4, 6), dtype=np.uint8)
    Image.fromarray(pixels.astype(np.uint16) * 257).save(tmp_path / "a.png")
    np.testing.assert_array_equal(ImageFiles.of([tmp_path / "a.png"]).read([0])[0, 0], pixels)


def test_transparent_images_have_a_white_background(tmp_path):
    image = Image.new("RGBA", (2, 1), (0, 0, 0, 0))
    image.putpixel((1, 0), (10, 20, 30, 255))
    image.save(tmp_path / "a.png")
    read = ImageFiles.of([tmp_path / "a.png"]).read([0])[0, :, 0]
    np.testing.assert_array_equal(read, [[255, 10], [255, 20], [255, 30]])


def test_gray_images_have_one_channel_and_are_named_among_color_images(tmp_path):
    gray = [save(tmp_path / f"{i}.png", mode="L") for i in range(2)]
    assert ImageFiles.of(gray).image_shape == (1, 4, 6)
    color = save(tmp_path / "c.png")
    with pytest.warns(UserWarning, match=r"1 of 2 are gray, .* row 1 \(.*0\.png\)"):
        files = ImageFiles.of([color, gray[0]])
    assert files.read([1])[0, :, 0, 0].tolist() == [100, 100, 100]


def test_an_image_is_turned_as_its_camera_says(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    path = save(tmp_path / "a.jpg", (8, 4), exif=exif)
    files = ImageFiles.of([path])
    assert files.image_shape == (3, 8, 4)
    assert files.read([0]).shape == (1, 3, 8, 4)


def damaged(suffix):
    def make(folder):
        path = folder / f"damaged{suffix}"
        pixels = np.random.default_rng(0).integers(256, size=(40, 60, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path)
        path.write_bytes(path.read_bytes()[:-500])
        return path

    return make


def of_numbers(pixels):
    def make(folder):
        Image.fromarray(pixels).save(folder / "a.tif")
        return folder / "a.tif"

    return make


def no_image(content):
    def make(folder):
        (folder / "notes.jpg").write_text(content)
        return folder / "notes.jpg"

    return make


@pytest.mark.filterwarnings("ignore:X has color and gray")
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (damaged(".jpg"), r"Row 1: the image .*jpg cannot be read: .*truncated.*\. Replace"),
        (damaged(".png"), r"Row 1: the image .*png cannot be read: .*truncated.*\. Replace"),
        (of_numbers(np.full((4, 6), 0.5, np.float32)), "Row 1: .* pixels are floating-point"),
        (of_numbers(np.full((4, 6), 65536, np.int32)), "Row 1: .* pixels have more than 16 bits"),
        (of_numbers(np.full((4, 6), 200, np.int32)), "Row 1: .* pixels have more than 16 bits"),
        (
            no_image("no image"),
            r"Row 1: .*notes\.jpg cannot be read: it is damaged, or of a format",
        ),
        (
            no_image("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"),
            "Row 1: .*of a format that",
        ),
        (lambda folder: folder / "none.jpg", r"Row 1: the image .*none\.jpg cannot be read: No "),
        (lambda folder: folder, r"Row 1: the image .* cannot be read: Is a directory"),
        (lambda folder: "", "Row 1 of X is '', which is not the name of a file"),
        (lambda folder: "http://a/b", "Row 1: the image http://a/b cannot be read: No such file"),
        (lambda folder: 7, "Row 1 of X is 7, which is not the name of a file"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_its_row(make, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        ImageFiles.of([save(tmp_path / "a.jpg", (60, 40)), make(tmp_path)]).read([0, 1])


def test_several_files_that_cannot_be_read_are_listed(tmp_path):
    good, bad = save(tmp_path / "a.jpg", (60, 40)), damaged(".jpg")(tmp_path)
    missing = [tmp_path / f"{i}.png" for i in range(7)]
    also = r"6 further rows of X cannot be read: 2, 3, 4, 5, 6 and 1 more\.$"
    with pytest.raises(ValueError, match=rf"^Row 1: .*0\.png .* {also}"):
        ImageFiles.of([good, *missing])
    files = ImageFiles.of([good, bad, good, bad])
    with pytest.raises(ValueError, match=r"^Row 3: .* 1 further row of X cannot be read: 1\.$"):
        files.read([3, 2, 1])


def test_an_image_with_too_many_pixels_is_named_with_its_row(tmp_path, monkeypatch):
    path = save(tmp_path / "a.png", (60, 40))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(ValueError, match=r"Row 0: the image .*a.png .*2400 pixels.*[^.]\.$"):
        ImageFiles.of([path])


def test_a_lack_of_memory_is_not_a_problem_of_the_file(tmp_path, monkeypatch):
    path = save(tmp_path / "a.png", (60, 40))

    def fail(image):
        raise MemoryError

    monkeypatch.setattr(Image.Image, "getexif", fail)
    with pytest.raises(MemoryError):
        ImageFiles.of([path])


@pytest.mark.parametrize("size", [(1, 2, 3), "large", (0, 4), (16.5, 8)])
def test_a_wrong_size_is_rejected(size, tmp_path):
    with pytest.raises(ValueError, match="image_size must be"):
        ImageFiles.of([save(tmp_path / "a.png")], image_size=size)


@pytest.mark.parametrize(("largest", "is_dark"), [(255, True), (4095, True), (4096, False)])
def test_images_of_16_bits_that_do_not_use_them_give_a_warning(largest, is_dark, tmp_path):
    paths = []
    for i, value in enumerate((0, largest)):
        paths.append(tmp_path / f"{i}.png")
        Image.fromarray(np.full((4, 6), value, np.uint16)).save(paths[-1])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        files = ImageFiles.of(paths)
        ImageFiles.of(paths[:1], files.image_shape)  # new images may be dark
    messages = [str(warning.message) for warning in caught]
    expected = (
        f"The largest value in the 16-bit images (2) is {largest}, so they are read as almost"
    )
    assert [text.startswith(expected) for text in messages] == [True] * is_dark


def test_a_tiff_file_of_signed_16_bits_is_read(tmp_path):
    """Pillow has the same mode for it as for 32 bits, and cannot write it."""
    width, height, start = 6, 4, 200
    tags = {256: width, 257: height, 258: 16, 259: 1, 262: 1, 273: start, 277: 1}
    tags |= {278: height, 279: 2 * width * height, 339: 2}  # SampleFormat 2: signed
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags.items())
    content = b"II*\0" + struct.pack("<IH", 8, len(tags)) + entries + bytes(4)
    pixels = np.full((height, width), 257 * 90, "<i2")
    path = tmp_path / "signed.tif"
    path.write_bytes(content.ljust(start, b"\0") + pixels.tobytes())
    assert (ImageFiles.of([path]).read([0]) == 90).all()
