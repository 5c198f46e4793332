"""Images of a table: recognised, found from the page, embedded, or refused."""

import base64
import io
from pathlib import Path
from urllib.parse import urljoin, urlsplit
from urllib.request import url2pathname

import pytest
from PIL import Image

from ambilearn.review.images import MAX_EMBEDDED_SIDE, Images, find_image_column, looks_like_image


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "table" / "pics").mkdir(parents=True)
    (tmp_path / "page").mkdir()
    Image.new("RGB", (20, 10), "teal").save(tmp_path / "table" / "pics" / "a.png")
    return tmp_path


def images(folder, embed=False):
    return Images(folder / "table", folder / "page", embed=embed)


def found_from(page_folder, address):
    """The file that a browser opens for an address in a page."""
    url = urljoin((page_folder / "p.html").as_uri(), address)
    return Path(url2pathname(urlsplit(url).path))


@pytest.mark.parametrize(
    "text",
    [
        "a.jpg",
        "A.JPEG",
        " b/c.png ",
        "C:\\pics\\d.webp",
        "https://example.org/e.gif",
        "HTTP://example.org/f.svg?size=2#top",
        "data:image/png;base64,AAAA",
        "/g.avif",
        "file:///h.bmp",
    ],
)
def test_what_looks_like_an_image(text):
    assert looks_like_image(text)


@pytest.mark.parametrize(
    "text",
    ["", " ", "a.txt", "png", ".png", "https://example.org/a", "https://example.org/?f=a.png",
     "3.5", "data:text/html,<b>", "javascript:alert(1)", "http://[broken"],
)  # fmt: skip
def test_what_does_not(text):
    assert not looks_like_image(text)


def test_image_column_is_the_first_with_mostly_images():
    columns = {
        "id": ["1", "2", "3"],
        "some": ["a.png", "note", "other"],
        "photo": ["a.png", "", "b.jpg"],
        "second": ["c.png", "d.png", "e.png"],
    }
    assert find_image_column(columns) == "photo"
    assert find_image_column({"id": ["1"], "empty": ["", " "]}) is None


@pytest.mark.parametrize("name", ["pics/a.png", "pics/../pics/a.png", " pics/a.png "])
def test_paths_begin_at_the_table_and_are_found_from_the_page(folder, name):
    made = images(folder)
    address = made.address(name)
    assert address == "../table/pics/a.png"
    assert found_from(folder / "page", address).is_file()
    assert made.missing == []


def test_absolute_paths_and_file_addresses(folder):
    path = folder / "table" / "pics" / "a.png"
    for cell in (str(path), path.as_uri()):
        assert found_from(folder / "page", images(folder).address(cell)) == path


@pytest.mark.parametrize(
    "name", ["a b#1?.png", "50%25.png", "ä:ö.png", "javascript:1.png", "'\"<.png"]
)
def test_any_file_name_is_quoted(folder, name):
    try:
        Image.new("RGB", (2, 2)).save(folder / "table" / name)
    except OSError:
        pytest.skip("no file can have this name here")
    made = images(folder)
    address = made.address(name)
    assert found_from(folder / "page", address) == folder / "table" / name
    assert not set(address) & set("#?:<>\"'")
    assert made.missing == []


def test_addresses_on_the_network_stay(folder):
    made = images(folder, embed=True)
    for address in (
        "https://example.org/a.png?x=1",
        "http://example.org/b",
        "data:image/gif;base64,AA",
    ):
        assert made.address(address) == address
    assert made.missing == []


@pytest.mark.parametrize(
    "cell",
    ["javascript:alert(1)", " JavaScript:alert(1)//a.png", "java\nscript:alert(1)", "vbscript:x",
     "data:text/html,<script>alert(1)</script>", "ftp://example.org/a.png",
     "x" * 5000 + ":y", "a:\0b"],
)  # fmt: skip
def test_other_addresses_are_refused(folder, cell):
    made = images(folder)
    address = made.address(cell)
    assert address is None or urlsplit(address).scheme == ""
    assert made.missing == [cell.strip()]


@pytest.mark.parametrize("embed", [False, True])
@pytest.mark.parametrize(
    "cell", ["a long comment " * 400, "null\0byte.png", "file:///" + "x" * 5000]
)
def test_names_that_the_system_does_not_accept_are_missing(folder, cell, embed):
    made = images(folder, embed)
    made.address(cell)
    assert made.missing == [cell.strip()]


def test_missing_files_are_counted_and_empty_cells_are_not(folder):
    made = images(folder)
    assert made.address("gone.png") == "../table/gone.png"  # it may come later
    assert made.address("") is None
    assert made.address("  ") is None
    assert made.missing == ["gone.png"]


def embedded(address):
    media_type, content = address.removeprefix("data:").split(";base64,")
    return media_type, base64.b64decode(content)


def test_embedded_small_image_is_the_file_itself(folder):
    media_type, content = embedded(images(folder, embed=True).address("pics/a.png"))
    assert media_type == "image/png"
    assert content == (folder / "table" / "pics" / "a.png").read_bytes()


def test_embedded_large_image_is_made_smaller_and_upright(folder):
    large = Image.new("RGB", (2000, 1000), "teal")
    exif = large.getexif()
    exif[0x0112] = 6  # turned by 90 degrees
    large.save(folder / "table" / "large.jpg", exif=exif)
    media_type, content = embedded(images(folder, embed=True).address("large.jpg"))
    assert media_type == "image/webp"
    with Image.open(io.BytesIO(content)) as image:
        assert image.size == (MAX_EMBEDDED_SIDE // 2, MAX_EMBEDDED_SIDE)
        assert not image.getexif()


def test_embedding_keeps_transparency_and_reads_what_browsers_do_not(folder):
    Image.new("RGBA", (1000, 10), (0, 0, 0, 0)).save(folder / "table" / "clear.png")
    Image.new("L", (8, 8), 200).save(folder / "table" / "scan.tif")
    made = images(folder, embed=True)
    with Image.open(io.BytesIO(embedded(made.address("clear.png"))[1])) as image:
        assert image.convert("RGBA").getextrema()[3] == (0, 0)
    assert embedded(made.address("scan.tif"))[0] == "image/webp"


def test_embedding_takes_nothing_but_images(folder):
    (folder / "table" / "secret").write_text("password")
    (folder / "table" / "fake.png").write_text("password")
    made = images(folder, embed=True)
    for name in ("secret", "fake.png", "gone.png", "pics"):
        assert made.address(name) is None
    assert made.missing == ["secret", "fake.png", "gone.png", "pics"]


def test_embedded_svg_is_an_image_not_a_document(folder):
    (folder / "table" / "a.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    assert images(folder, embed=True).address("a.svg").startswith("data:image/svg+xml;base64,")
