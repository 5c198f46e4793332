"""Images of a table: recognized, found from the page, embedded, or rejected."""

import base64
import io
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urljoin, urlsplit
from urllib.request import url2pathname

import pytest
from PIL import Image

from ambilearn.review import images as embedding
from ambilearn.review.images import MAX_EMBEDDED_SIDE, ImageCache, Images, Problem, embed_image


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "table" / "pics").mkdir(parents=True)
    (tmp_path / "page").mkdir()
    Image.new("RGB", (20, 10), "teal").save(tmp_path / "table" / "pics" / "a.png")
    return tmp_path


def images(folder, embed=False, other_folders=()):
    return Images(folder / "table", folder / "page", embed, other_folders)


def found_from(page_folder, address):
    """The file that a browser opens for an address in a page."""
    url = urljoin((page_folder / "p.html").as_uri(), address)
    return Path(url2pathname(urlsplit(url).path))


@pytest.mark.parametrize("name", ["pics/a.png", "pics/../pics/a.png", " pics/a.png "])
def test_paths_begin_at_the_table_and_are_found_from_the_page(folder, name):
    made = images(folder)
    address, problem = made.find(name)
    assert address == "../table/pics/a.png"
    assert found_from(folder / "page", address).is_file()
    assert problem is None
    assert made.problems == []


def test_absolute_paths_and_file_addresses(folder):
    path = folder / "table" / "pics" / "a.png"
    for cell in (str(path), path.as_uri()):
        assert found_from(folder / "page", images(folder).find(cell).address) == path


@pytest.mark.parametrize(
    "name", ["a b#1?.png", "50%25.png", "ä:ö.png", "javascript:1.png", "'\"<.png"]
)
def test_any_file_name_is_quoted(folder, name):
    try:
        Image.new("RGB", (2, 2)).save(folder / "table" / name)
    except OSError:
        pytest.skip("no file can have this name here")
    made = images(folder)
    address = made.find(name).address
    assert found_from(folder / "page", address) == folder / "table" / name
    assert not set(address) & set("#?:<>\"'")
    assert made.problems == []


def test_addresses_on_the_network_stay(folder):
    made = images(folder, embed=True)
    for address in (
        "https://example.org/a.png?x=1",
        "http://example.org/b",
        "data:image/gif;base64,AA",
    ):
        assert made.find(address) == (address, None)
    assert made.problems == []


@pytest.mark.parametrize(
    "cell",
    ["javascript:alert(1)", " JavaScript:alert(1)//a.png", "java\nscript:alert(1)", "vbscript:x",
     "data:text/html,<script>alert(1)</script>", "ftp://example.org/a.png",
     "x" * 5000 + ":y", "a:\0b"],
)  # fmt: skip
def test_other_addresses_are_rejected(folder, cell):
    made = images(folder)
    address, problem = made.find(cell)
    assert address is None or urlsplit(address).scheme == ""
    assert problem is Problem.NOT_FOUND
    assert made.problems == [(cell.strip(), problem)]


@pytest.mark.parametrize("embed", [False, True])
@pytest.mark.parametrize("cell", ["a long comment " * 400, "null\0byte.png", "x" * 5000 + ".png"])
def test_names_that_the_system_does_not_accept_are_missing(folder, cell, embed):
    made = images(folder, embed)
    assert made.find(cell).problem is Problem.NOT_FOUND
    assert made.problems == [(cell.strip(), Problem.NOT_FOUND)]


def test_missing_files_are_counted_and_empty_cells_are_not(folder):
    made = images(folder)
    assert made.find("gone.png") == ("../table/gone.png", Problem.NOT_FOUND)  # it may come later
    assert made.find("") == made.find("  ") == (None, None)
    assert made.problems == [("gone.png", Problem.NOT_FOUND)]


def test_a_file_that_cannot_be_embedded_has_no_address(folder):
    (folder / "table" / "fake.png").write_text("password")
    made = images(folder, embed=True)
    assert made.find("pics/a.png").address.startswith("data:image/png;base64,")
    assert made.find("fake.png") == (None, Problem.UNREADABLE)
    assert made.find("gone.png") == made.find("pics") == (None, Problem.NOT_FOUND)
    assert [cell for cell, _ in made.problems] == ["fake.png", "gone.png", "pics"]


@pytest.fixture
def outside(folder):
    """Pictures beside the folder of the table, and links to them in it."""
    (folder / "other").mkdir()
    Image.new("RGB", (4, 4)).save(folder / "other" / "b.png")
    (folder / "other" / "c.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    return folder / "other"


def forbidden(folder, outside):
    """Cells that name the pictures outside the folder of the table."""
    return ["../other/b.png", "pics/../../other/b.png", "../other/c.svg", str(outside / "b.png"),
            (outside / "b.png").as_uri(), (outside / "c.svg").as_uri(), "../table2/x.png",
            f"{(folder / 'table').as_uri()}/../other/b.png", "../other/gone.png"]  # fmt: skip


@pytest.mark.parametrize("embed", [False, True])
def test_images_outside_the_folder_of_the_table_are_rejected(folder, outside, embed):
    made = images(folder, embed)
    cells = forbidden(folder, outside)
    assert {made.find(cell) for cell in cells} == {(None, Problem.OUTSIDE)}
    assert made.problems == [(cell, Problem.OUTSIDE) for cell in cells]


@pytest.mark.parametrize("embed", [False, True])
def test_links_out_of_the_folder_are_followed_and_rejected(folder, outside, embed):
    try:
        (folder / "table" / "link.png").symlink_to(outside / "b.png")
        (folder / "table" / "links").symlink_to(outside)
        (folder / "table" / "loop.png").symlink_to(folder / "table" / "loop.png")
        (folder / "table" / "inner.png").symlink_to(folder / "table" / "pics" / "a.png")
    except OSError:
        pytest.skip("no symbolic links here")
    made = images(folder, embed)
    for cell in ("link.png", "links/b.png"):
        assert made.find(cell) == (None, Problem.OUTSIDE)
    assert made.find("loop.png").problem is Problem.NOT_FOUND
    assert made.find("inner.png").problem is None
    allowed = images(folder, embed, [outside])
    for cell in ("link.png", "links/b.png"):
        assert allowed.find(cell).problem is None


@pytest.mark.parametrize("embed", [False, True])
def test_another_folder_can_be_allowed(folder, outside, embed):
    made = images(folder, embed, [outside])
    for cell in [*forbidden(folder, outside)[:6], "b.png"]:
        address, problem = made.find(cell)
        assert problem is None, cell
        if not embed:
            assert found_from(folder / "page", address).parent == outside
    assert made.find("pics/a.png").problem is None
    assert made.find("../page/x.png") == (None, Problem.OUTSIDE)


def test_the_folder_of_the_table_is_searched_first(folder, outside):
    Image.new("RGB", (4, 4)).save(folder / "table" / "b.png")
    assert images(folder, other_folders=[outside]).find("b.png").address == "../table/b.png"


def test_a_table_in_a_linked_folder_has_its_images(folder):
    try:
        (folder / "linked").symlink_to(folder / "table")
    except OSError:
        pytest.skip("no symbolic links here")
    made = Images(folder / "linked", folder / "page")
    assert made.find("pics/a.png") == ("../linked/pics/a.png", None)
    assert made.find(str(folder / "table" / "pics" / "a.png")).problem is None


# --- images in the page: unchanged, reduced, converted, or rejected -------------------------------


def embedded(path):
    """Media type and content of an embedded image."""
    address, problem = embed_image(path)
    assert problem is None
    media_type, content = address.removeprefix("data:").split(";base64,")
    return media_type, base64.b64decode(content)


@pytest.mark.parametrize("ending", ["png", "jpg", "gif", "webp", "bmp"])
def test_a_small_image_is_the_file_itself(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    Image.new("RGB", (20, 10), "teal").save(path)
    media_type, content = embedded(path)
    assert media_type == f"image/{ending.replace('jpg', 'jpeg')}"
    assert content == path.read_bytes()


def test_a_large_image_is_reduced_and_upright(tmp_path):
    large = Image.new("RGB", (2000, 1000), "teal")
    exif = large.getexif()
    exif[0x0112] = 6  # turned by 90 degrees
    large.save(tmp_path / "large.jpg", exif=exif)
    media_type, content = embedded(tmp_path / "large.jpg")
    assert media_type == "image/webp"
    with Image.open(io.BytesIO(content)) as image:
        assert image.size == (MAX_EMBEDDED_SIDE // 2, MAX_EMBEDDED_SIDE)
        assert not image.getexif()


def test_a_file_of_many_bytes_is_reduced(tmp_path, monkeypatch):
    monkeypatch.setattr(embedding, "MAX_EMBEDDED_BYTES", 1000)
    path = tmp_path / "a.bmp"
    Image.new("RGB", (20, 20)).save(path)
    assert embedded(path)[0] == "image/webp"


def test_transparency_is_kept(tmp_path):
    Image.new("RGBA", (1000, 10), (0, 0, 0, 0)).save(tmp_path / "clear.png")
    with Image.open(io.BytesIO(embedded(tmp_path / "clear.png")[1])) as image:
        assert image.convert("RGBA").getextrema()[3] == (0, 0)


@pytest.mark.parametrize("name", ["scan.tif", "scan.png"])
def test_what_browsers_do_not_show_is_converted_whatever_its_name(tmp_path, name):
    Image.new("L", (8, 8), 200).save(tmp_path / name, "TIFF")
    assert embedded(tmp_path / name)[0] == "image/webp"


def test_nothing_but_images_is_embedded(tmp_path):
    for name in ("secret", "fake.png"):
        (tmp_path / name).write_text("password")
        assert embed_image(tmp_path / name) == (None, Problem.UNREADABLE)
    assert embed_image(tmp_path) == (None, Problem.UNREADABLE)


def save(format, size=(700, 20)):
    """Bytes of an image that must be decoded to be embedded, since it is large."""
    buffer = io.BytesIO()
    Image.new("RGBA" if format == "DDS" else "RGB", size, "teal").save(buffer, format)
    return buffer.getvalue()


def damaged():
    """Files for which Pillow raises errors of different classes: name and content, by error."""
    png, dds = bytearray(save("PNG")), bytearray(save("DDS"))
    at = png.index(b"IDAT")
    png[at - 4 : at] = (3).to_bytes(4, "big")  # its length
    dds[80:88] = (4).to_bytes(4, "little") + b"ABCD"  # a compression that does not exist
    return {
        "SyntaxError": ("a.png", bytes(png)),
        "NotImplementedError": ("a.dds", bytes(dds)),
        "DecompressionBombError": ("a.ppm", b"P6 90000 90000 255\n"),
        "OSError": ("a.jpg", save("JPEG")[:300]),
    }


@pytest.mark.parametrize("error", damaged())
def test_a_damaged_image_is_unreadable_whatever_pillow_raises(tmp_path, error):
    name, content = damaged()[error]
    (tmp_path / name).write_bytes(content)
    assert embed_image(tmp_path / name) == (None, Problem.UNREADABLE)


def test_postscript_is_not_run(tmp_path):
    """Pillow would start Ghostscript for it."""
    Image.new("RGB", (8, 8)).save(tmp_path / "a.eps")
    assert embed_image(tmp_path / "a.eps") == (None, Problem.UNREADABLE)


def test_pillow_warns_of_nothing(tmp_path):
    (tmp_path / "huge.ppm").write_bytes(b"P6 10000 10000 255\n")  # a decompression bomb, perhaps
    with warnings.catch_warnings(action="error"), embedding.without_pillow_warnings():
        assert embed_image(tmp_path / "huge.ppm").problem is Problem.UNREADABLE


DRAWING = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
<!-- by hand -->
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9">
  <defs><path id="p" d="M0 0h9" style="fill: url(#g)"/></defs>
  <use xlink:href="#p"/><image href="data:image/png;base64,AAAA"/>BODY
</svg>"""


def write_svg(folder, text):
    path = folder / "a.SVG"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_plain_drawing_is_embedded_unchanged(tmp_path):
    path = write_svg(tmp_path, DRAWING)
    assert embedded(path) == ("image/svg+xml", path.read_bytes())


def test_a_huge_drawing_is_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr(embedding, "MAX_EMBEDDED_BYTES", 100)
    assert embed_image(write_svg(tmp_path, DRAWING)) == (None, Problem.TOO_LARGE)


def test_an_image_that_was_not_complete_is_read_again(tmp_path):
    path, read = tmp_path.resolve() / "a.png", ImageCache()
    Image.new("RGB", (30, 30), "red").save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert read(path) is None
    path.write_bytes(whole)
    assert read(path).content == whole
    Image.new("RGB", (40, 40), "blue").save(path)
    assert read(path).content == path.read_bytes()


def test_images_are_kept_up_to_a_number_of_bytes(tmp_path, monkeypatch):
    paths = [tmp_path.resolve() / f"{i}.svg" for i in range(4)]
    for path in paths:
        path.write_bytes(b"x" * 100)
    seen, read = [], embedding.read_image
    monkeypatch.setattr(embedding, "read_image", lambda path: seen.append(path) or read(path))
    cache = ImageCache(max_bytes=250)
    for path in [*paths[:2], paths[0], paths[2], paths[0], paths[1], paths[3]]:
        assert len(cache(path).content) == 100
    assert [paths.index(path) for path in seen] == [0, 1, 2, 1, 3]
    assert cache._n_bytes == 200


def test_few_images_are_read_at_the_same_time(tmp_path, monkeypatch):
    paths = [tmp_path.resolve() / f"{i}.svg" for i in range(6)]
    for path in paths:
        path.write_bytes(b"x")
    lock, now, most, enough = threading.Lock(), [], [], threading.Event()

    def read(path):
        with lock:
            now.append(path)
            most.append(len(now))
            if len(now) == 3:
                enough.set()
        enough.wait(0.05)
        now.remove(path)
        return Problem.UNREADABLE

    monkeypatch.setattr(embedding, "read_image", read)
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(ImageCache(), paths))
    assert max(most) <= 2
    assert len(most) == 6


@pytest.mark.filterwarnings("default")
def test_threads_that_read_images_leave_warnings_alone(tmp_path):
    path = tmp_path / "a.png"
    Image.new("RGB", (300, 300)).save(path)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(embedding.read_image, [path] * 200))
    with pytest.warns(UserWarning, match="still shown"):
        warnings.warn("still shown", stacklevel=1)
    assert ("ignore", None, Warning, None, 0) not in warnings.filters


def test_warnings_about_images_are_not_shown():
    with warnings.catch_warnings(record=True) as caught, embedding.without_pillow_warnings():
        warnings.warn_explicit(
            "damaged", UserWarning, "TiffImagePlugin.py", 1, "PIL.TiffImagePlugin"
        )
    assert caught == []
