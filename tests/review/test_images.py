"""Images of a table: recognized, found from the page, embedded, or rejected."""

from pathlib import Path
from urllib.parse import urljoin, urlsplit
from urllib.request import url2pathname

import pytest
from PIL import Image

from ambilearn.review.images import Images, Problem


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
