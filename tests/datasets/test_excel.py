"""Excel files give what a CSV file of the sheet would give, or a reason why not."""

import datetime
import io
import warnings
from itertools import pairwise
from zipfile import ZIP_DEFLATED, ZipFile

import openpyxl
import openpyxl.chart
import pandas as pd
import pytest
from archives import edit_member
from openpyxl.styles import numbers

from ambilearn.datasets import InvalidFileError
from ambilearn.datasets.frames import read_frame


def workbook(*rows, **sheets):
    """A file with the rows in its first sheet, and further sheets."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for title, cells in sheets.items():
        book.create_sheet(title).append(cells)
    return book


def save(book):
    file = io.BytesIO()
    book.save(file)
    return io.BytesIO(file.getvalue())


def read(*rows, **options):
    return read_frame(save(workbook(*rows)), format="xlsx", **options)


def with_part(file, part, change):
    """The file with one of its parts changed: a function of its text."""
    changed = edit_member(file.getvalue(), part, lambda data: change(data.decode()))
    return io.BytesIO(changed)


SHEET = "xl/worksheets/sheet1.xml"


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_cells_are_text_as_in_a_csv_file():
    frame = read(
        ["näme", 2019, "when", "flag"],
        ["Zoë|bob", 1.5, datetime.date(2021, 2, 28), True],
        [" 007", 3.0, datetime.datetime(2021, 2, 28, 10, 30), False],
        [None, 10**15, datetime.time(10, 30), "NA"],
    )
    assert list(frame) == ["näme", "2019", "when", "flag"]
    assert frame.to_numpy().tolist() == [
        ["Zoë|bob", "1.5", "2021-02-28", "TRUE"],
        [" 007", "3", "2021-02-28 10:30:00", "FALSE"],
        ["", "1000000000000000", "10:30:00", "NA"],
    ]
    assert all(dtype == pd.StringDtype(na_value=float("nan")) for dtype in frame.dtypes)


def test_empty_cells_around_the_table_are_removed():
    frame = read([], [None, "a", "b"], [None, 1, None], [], [None, None, 2], [None], [])
    assert list(frame) == ["a", "b"]
    assert frame.to_numpy().tolist() == [["1", ""], ["", ""], ["", "2"]]


def test_the_first_of_several_sheets_is_read_and_named():
    file = save(workbook(["a"], [1], notes=["x"], more=["y"]))
    message = r"the sheet 'Sheet' is read, not 'notes', 'more'\. To read another sheet"
    with pytest.warns(UserWarning, match=message) as caught:
        frame = read_frame(file, format="xlsx")
    assert frame["a"].to_list() == ["1"]
    assert caught[0].filename == __file__


def test_a_sheet_is_read_by_its_name(tmp_path):
    path = tmp_path / "t.xlsx"
    workbook(["a"], [1], notes=["b"], more=["y"]).save(path)
    assert list(read_frame(path, sheet="notes", allow_empty=True)) == ["b"]
    with pytest.raises(InvalidFileError, match=r"no sheet 'x'\. It has: 'Sheet', 'notes', 'more'"):
        read_frame(path, sheet="x")
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(InvalidFileError, match="not an Excel file: leave out sheet"):
        read_frame(tmp_path / "t.csv", sheet="notes")


def test_a_hidden_sheet_is_not_the_first():
    book = workbook(["hidden"], [1], data=["a"])
    book.active.sheet_state = "hidden"
    book["data"].append([2])
    with pytest.warns(UserWarning, match="'data' is read, not 'Sheet'"):
        assert read_frame(save(book), format="xlsx")["a"].to_list() == ["2"]


def test_a_file_without_any_sheet_of_cells():
    book = openpyxl.Workbook()
    chart = openpyxl.chart.BarChart()
    chart.add_data(openpyxl.chart.Reference(book.active, min_col=1, min_row=1, max_row=2))
    book.create_chartsheet("chart").add_chart(chart)
    del book["Sheet"]
    with pytest.raises(InvalidFileError, match="has no sheet with cells"):
        read_frame(save(book), format="xlsx")


def test_merged_cells_are_rejected():
    book = workbook(["a", "b"], [1, 2], [None, 3])
    book.active.merge_cells("A2:A3")
    with pytest.raises(InvalidFileError, match=r"sheet 'Sheet': the cells A2:A3 are merged\. Unm"):
        read_frame(save(book), format="xlsx")


def test_a_formula_without_its_result_is_rejected():
    """What a program writes that computes nothing; a spreadsheet saves the result as well."""
    file = save(workbook(["a", "b"], [1, "=A2+1"]))
    with pytest.raises(InvalidFileError, match="cell B2: a formula without a saved result"):
        read_frame(file, format="xlsx")
    file = with_part(file, SHEET, lambda text: text.replace("<v></v>", "<v>2</v>").replace(
        "<v />", "<v>2</v>").replace("<v/>", "<v>2</v>"))  # fmt: skip
    assert read_frame(file, format="xlsx")["b"].to_list() == ["2"]


def test_a_formula_whose_result_is_empty_text():
    cell = '<c r="B2" t="str"><f>IF(A2,"","x")</f><v></v></c></row></sheetData>'
    file = save(workbook(["a", "b"], [1]))
    file = with_part(file, SHEET, lambda text: text.replace("</row></sheetData>", cell))
    assert read_frame(file, format="xlsx")["b"].to_list() == [""]


def test_a_date_outside_the_calendar_is_rejected():
    book = workbook(["a"], [10**9])
    book.active["A2"].number_format = numbers.FORMAT_DATE_YYYYMMDD2
    with pytest.raises(InvalidFileError, match="cell A2: the error #VALUE!"):
        read_frame(save(book), format="xlsx")


def test_wrong_dimensions_in_the_file_are_ignored():
    file = save(workbook(["a", "b"], [1, 2], [3, 4]))
    file = with_part(file, SHEET, lambda text: text.replace('ref="A1:B3"', 'ref="A1:A2"'))
    assert read_frame(file, format="xlsx").to_numpy().tolist() == [["1", "2"], ["3", "4"]]


# ---- hostile files


def test_a_file_that_needs_too_much_memory_is_rejected():
    """A hundred megabytes of blanks are a hundred kilobytes in the file."""
    blanks = " " * 10**7
    file = with_part(save(workbook(["a"], [1])), SHEET, lambda text: text + blanks)
    assert len(file.getvalue()) < 50_000
    with pytest.raises(InvalidFileError, match="bytes in memory, more than max_bytes=100000000"):
        read_frame(file, format="xlsx", max_bytes=10**8)


def test_one_text_in_many_cells():
    file = save(workbook(["a"], *[["x" * 30_000]] * 2000))
    assert len(file.getvalue()) < 100_000
    with pytest.raises(InvalidFileError, match="bytes in memory, more than max_bytes"):
        read_frame(file, format="xlsx", max_bytes=2 * 10**7)


@pytest.mark.parametrize("place", ["XFD1048576", "ZZZ1"])
def test_a_cell_far_away(place):
    row = place.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    more = f'<row r="{max(int(row), 3)}"><c r="{place}"><v>1</v></c></row></sheetData>'
    file = save(workbook(["a"], [1]))
    file = with_part(file, SHEET, lambda text: text.replace("</sheetData>", more))
    with pytest.raises(InvalidFileError, match=r"more than max_bytes|damaged Excel file"):
        read_frame(file, format="xlsx")


@pytest.mark.parametrize("number", ["1", "0", "-1", "99999999999", "x"])
def test_invalid_rows_raise(number):
    more = f'<row r="{number}"><c><v>1</v></c></row></sheetData>'
    file = save(workbook(["a"], [1]))
    file = with_part(file, SHEET, lambda text: text.replace("</sheetData>", more))
    with pytest.raises(InvalidFileError, match="damaged Excel file"):
        read_frame(file, format="xlsx")


def with_entity(definition):
    """A file with an entity as a cell."""

    def change(text):
        head, _, rest = text.rpartition("<worksheet")
        rest = rest.replace("<v>1</v>", "<is><t>&e;</t></is>").replace('t="n"', 't="inlineStr"')
        return f"{head}<!DOCTYPE x [{definition}]><worksheet{rest}"

    return with_part(save(workbook(["a"], [1])), SHEET, change)


def test_external_entities_are_not_read(tmp_path):
    (tmp_path / "secret.txt").write_text("password")
    uri = (tmp_path / "secret.txt").as_uri()
    with pytest.raises(InvalidFileError, match="damaged Excel file") as caught:
        read_frame(with_entity(f'<!ENTITY e SYSTEM "{uri}">'), format="xlsx")
    assert "password" not in str(caught.value)


def test_nested_entities_are_rejected():
    """A billion laughs."""
    definitions = [f'<!ENTITY {a} "{f"&{b};" * 10}">' for a, b in pairwise("efghijklmn")]
    file = with_entity(f'{"".join(definitions)}<!ENTITY n "{"ha" * 50}">')
    with pytest.raises(InvalidFileError, match="damaged Excel file"):
        read_frame(file, format="xlsx")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not an Excel file"),
        (b"a,b\n1,2\n", "is not an Excel file"),
        (bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 600, "an .xls file or has a password"),
        (save(workbook(["a"], [1])).getvalue()[:2000], "is not an Excel file"),
    ],
    ids=["empty", "csv", "xls", "cut"],  # a workbook contains the time
)
def test_other_files_are_not_excel_files(tmp_path, content, message):
    path = tmp_path / "t.xlsx"
    path.write_bytes(content)
    with pytest.raises(InvalidFileError, match=message) as caught:
        read_frame(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("part", [SHEET, "xl/workbook.xml", "xl/styles.xml", "[Content_Types].xml"])
def test_damaged_or_missing_parts_are_rejected(part):
    file = save(workbook(["a", "b"], ["x", 1]))
    with pytest.raises(InvalidFileError, match="damaged Excel file"):
        read_frame(with_part(file, part, lambda text: text[: len(text) // 2]), format="xlsx")


def test_any_damaged_file_is_rejected_or_read():
    content = save(workbook(["a", "b"], ["x", 1], ["y", 2.5])).getvalue()
    rejected = 0
    for position in range(0, len(content), 23):
        damaged = bytearray(content)
        damaged[position] ^= 0x55
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                read_frame(io.BytesIO(damaged), format="xlsx")
        except InvalidFileError:
            rejected += 1
    assert rejected > 50


def test_text_streams_are_rejected():
    with pytest.raises(InvalidFileError, match="open as text"):
        read_frame(io.StringIO("a"), format="xlsx")


def test_shared_texts_with_any_ending_are_counted(tmp_path):
    """The size of parts that do not end in .xml was not counted."""
    book = workbook(["a"], *[[f"{i}" + "x" * 1000] for i in range(300)])
    book.save(tmp_path / "t.xlsx")
    with ZipFile(tmp_path / "t.xlsx") as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with ZipFile(tmp_path / "t.xlsx", "w", ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            name, content = (
                each.replace(old, new)
                for each, old, new in (
                    (name, "sharedStrings.xml", "sharedStrings.png"),
                    (content, b"sharedStrings.xml", b"sharedStrings.png"),
                )
            )
            archive.writestr(name, content)
    assert len(read_frame(tmp_path / "t.xlsx")) == 300
    with pytest.raises(InvalidFileError, match=r"t\.xlsx needs \d+ bytes .* max_bytes=1000000"):
        read_frame(tmp_path / "t.xlsx", max_bytes=10**6)  # which is no damage


@pytest.mark.parametrize("error", ["#SPILL!", "#CALC!", "#REF!"])
def test_errors_are_known_by_the_type_of_the_cell(error):
    """A list of six words missed those of newer versions; the same words as text are text."""
    book = workbook(["a"], ["b"])
    book.active["A2"].value, book.active["A2"].data_type = error, "e"
    with pytest.raises(InvalidFileError, match=f"cell A2: the error {error}"):
        read_frame(save(book), format="xlsx")
    book.active["A2"].data_type = "s"
    assert read_frame(save(book), format="xlsx")["a"].to_list() == [error]
