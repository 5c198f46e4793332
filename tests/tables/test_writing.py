import datetime
import io
import json
import sys

import numpy as np
import pandas as pd
import pytest
from hostile_text import READERS, tables
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from ambilearn.datasets import InvalidFileError
from ambilearn.datasets.frames import read_frame
from ambilearn.tables import write_table
from ambilearn.tables.cell_texts import escape_formula
from ambilearn.tables.writing import format_of_name

CSV = 'id,x,,say\n007,1.50,NA,"a ""b"", c"\n08,,é,"two\nlines"\n'


def written(frame, format, **options):
    file = io.BytesIO()
    write_table(frame, file, format=format, **options)
    return file.getvalue()


@pytest.mark.parametrize(("format", "mark"), [("csv", ","), ("tsv", "\t")])
def test_csv_comes_back_byte_for_byte(format, mark):
    text = CSV if format == "csv" else "id\tx\n007\t1.50\n08\t\n"
    frame = read_frame(io.StringIO(text), format=format)
    assert written(frame, format).decode() == text
    assert written(frame, format, delimiter=";").decode().splitlines()[0].count(";") >= 1


def test_json_lines_come_back():
    lines = [
        '{"i": 1, "f": 0.1234567890123456, "b": true, "l": ["p", "q"], "d": {"k": [1]}, "s": "é"}',
        '{"i": null, "f": 2.0, "b": null, "l": [], "d": null, "s": "\\u2028\\n\\""}',
    ]
    frame = read_frame(io.StringIO("\n".join(lines)), format="jsonl")
    back = written(frame, "jsonl").decode().strip().split("\n")
    assert [json.loads(line) for line in back] == [json.loads(line) for line in lines]
    assert "é" in back[0]
    assert back[0].startswith('{"i": 1,')  # no float because of the missing cell below it


def test_parquet_comes_back_with_its_types(tmp_path):
    frame = pd.DataFrame(
        {
            "i": pd.array([1, None], dtype="Int64"),
            "s": ["x", None],
            "l": [["a"], ["b", "c"]],
            "t": pd.to_datetime(["2020-01-01", None]),
            "c": pd.Categorical(["u", "v"]),
        }
    )
    frame.to_parquet(tmp_path / "in.parquet", index=False)
    raw = read_frame(tmp_path / "in.parquet")
    write_table(raw.assign(label=["p", "q"]), tmp_path / "out.parquet")
    first, second = (parquet.read_table(tmp_path / f"{name}.parquet") for name in ("in", "out"))
    assert second.drop(["label"]).to_pylist() == first.to_pylist()
    assert second.schema.types[:5] == first.schema.types
    assert second["label"].to_pylist() == ["p", "q"]


def test_pandas_reads_the_lists_that_were_written(tmp_path):
    """It rejected: "data type 'list<element: string>[pyarrow]' not understood"."""
    frame = pd.DataFrame({"l": [["a"], ["b", "c"]], "v": [[0.5, 1.0], [2.0, 3.0]], "i": [1, 2]})
    frame.to_parquet(tmp_path / "in.parquet", index=False)
    write_table(read_frame(tmp_path / "in.parquet"), tmp_path / "out.parquet")
    back = pd.read_parquet(tmp_path / "out.parquet")
    assert back["l"].map(list).to_list() == [["a"], ["b", "c"]]
    assert back["v"].map(list).to_list() == [[0.5, 1.0], [2.0, 3.0]]
    assert back["i"].dtype == np.int64


def test_csv_to_typed_formats_makes_numbers_of_numbers(tmp_path):
    text = "code,n,x,name,label\n007,1,0.5,,1\n08,,1e3,é,2\n"
    frame = read_frame(io.StringIO(text), format="csv")
    lines = written(frame, "jsonl", text_columns=["label"]).decode().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"code": "007", "n": 1, "x": 0.5, "name": "", "label": "1"},
        {"code": "08", "n": None, "x": 1000.0, "name": "é", "label": "2"},
    ]
    write_table(frame, tmp_path / "t.parquet", text_columns=["label"])
    table = parquet.read_table(tmp_path / "t.parquet")
    assert table["n"].to_pylist() == [1, None]
    assert table["x"].to_pylist() == [0.5, 1000.0]
    assert table["label"].to_pylist() == ["1", "2"]


def test_nested_values_in_csv():
    frame = pd.DataFrame(
        {"l": [["a", "b"], None], "d": [{"k": 1}, None], "t": [datetime.date(2020, 1, 2), None]}
    )
    assert written(frame, "csv", sep=";").decode().splitlines() == [
        "l,d,t",
        'a;b,"{""k"": 1}",2020-01-02',
        ",,",
    ]


def test_lists_of_labels_are_joined_and_embeddings_are_json_in_csv():
    frame = pd.DataFrame(
        {"l": [[1, 2], [3]], "m": [[1.5, 2.5], [2.5]], "v": [np.array([0.5, 1.0]), [2, -3]]}
    )
    expected = 'l,m,v\n1|2,1.5|2.5,"[0.5, 1.0]"\n3,2.5,"[2, -3]"\n'
    assert written(frame, "csv", text_columns=["l", "m"]).decode() == expected


def test_missing_numbers_in_json():
    frame = pd.DataFrame({"x": [np.nan, 1.5], "t": [pd.NaT, pd.Timestamp("2020-01-01")]})
    lines = [json.loads(line) for line in written(frame, "jsonl").splitlines()]
    assert lines[0] == {"x": None, "t": None}
    assert lines[1] == {"x": 1.5, "t": "2020-01-01 00:00:00"}


def test_what_parquet_cannot_hold_leaves_no_file(tmp_path):
    frame = pd.DataFrame({"x": pd.Series([1, "a"], dtype=object)})
    (tmp_path / "t.parquet").write_text("old")
    with pytest.raises(InvalidFileError, match=r"cannot be written as Parquet.* x "):
        write_table(frame, tmp_path / "t.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]
    assert (tmp_path / "t.parquet").read_text() == "old"


@pytest.mark.parametrize("name", ["t.xlsx", "t", "t.parquet.gz", "t.pkl"])
def test_other_endings_are_rejected(name):
    with pytest.raises(InvalidFileError, match=r"are written to \.csv, .*choose such a name"):
        format_of_name(name)


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    message = r"^Writing Parquet files needs pyarrow: pip install 'ambilearn\[parquet\]'$"
    with pytest.raises(ImportError, match=message):
        write_table(pd.DataFrame({"a": [1]}), tmp_path / "t.parquet")


def test_a_whole_number_that_parquet_cannot_hold_is_an_error(tmp_path):
    frame = pd.DataFrame({"x": pd.Series([1, 10**400], dtype=object)})
    with pytest.raises(InvalidFileError, match=r"cannot be written as Parquet: .*too large"):
        write_table(frame, tmp_path / "t.parquet")
    write_table(frame, tmp_path / "t.jsonl")
    assert read_frame(tmp_path / "t.jsonl")["x"].to_list() == [1, 10**400]


SIGNS = "=+-@\t\r\n＝＋－＠"


def read_back(cell):
    """As the guide says."""
    return cell.removeprefix("'")


@pytest.mark.parametrize(
    "cell",
    [
        "=cmd|'/c calc'!A0",
        "+cmd|'/c calc'!A0",
        "-2+3+cmd|'/c calc'!A0",
        "@SUM(1+1)*cmd|'/c calc'!A0",
        "\t=1+1",
        "\r=1+1",
        "\n=1+1",
        "  =1+1",
        "\x00=1+1",
        "\ufeff=1+1",
        "\u3000＝1＋1",
        '=HYPERLINK("http://example.org?x="&A1, "click")',
        "-1,5+2",
        "-inf",
        "-",
        "+49 30 1234",
        "-٣",
    ],
)
def test_what_a_spreadsheet_would_run_is_text(cell):
    assert escape_formula(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["-1", "+1", "-1.5", "-.5", "-5.", "+1e-9", "-2E+10", "-007"])
def test_numbers_stay_numbers(cell):
    assert escape_formula(cell) == cell


@pytest.mark.parametrize("cell", ["anna", "", "a=b", "1-2", "x@y", "é", 3, -1.5, None, True, ["="]])
def test_other_cells_stay_as_they_are(cell):
    assert escape_formula(cell) is cell


@given(st.text(st.sampled_from(f"{SIGNS}'a1. \0\ufeff") | st.characters()))
def test_nothing_begins_like_a_formula_and_nothing_is_lost(text):
    escaped = escape_formula(text)
    assert read_back(escaped) == text
    if escaped[:1] in tuple(SIGNS):
        float(escaped)  # a number, which runs nothing


def test_headings_lists_and_every_kind_of_text():
    frame = pd.DataFrame(
        {
            "=heading": ["=a", "b"],
            "category": pd.Categorical(["=a", "b"]),
            "list": [["=a", "b"], ["b"]],
            "number": [-1.5, 2.0],
            "mixed": pd.Series([-1, "=a"], dtype=object),
            "arrow": pd.Series(["=a", None], dtype="string[pyarrow]"),
        }
    )
    before = frame.copy(deep=True)
    file = io.BytesIO()
    write_table(frame, file, format="csv", escape_formulas=True)
    assert file.getvalue().decode().splitlines() == [
        "'=heading,category,list,number,mixed,arrow",
        "'=a,'=a,'=a|b,-1.5,-1,'=a",
        "b,b,b,2.0,'=a,",
    ]
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_different_texts_stay_different(format, tmp_path):
    """Versions, ids of many digits, and what is infinite as a number."""
    columns = {
        "version": ["1.1", "1.10", "1.2"],
        "id": ["100000000000000000.5", "100000000000000001.5", ""],
        "large": ["1e999", "1", "2"],
        "price": ["1.50", "2.25", ""],
    }
    frame = pd.DataFrame(columns, dtype="str")
    write_table(frame, tmp_path / f"t.{format}")
    back = read_frame(tmp_path / f"t.{format}")
    for column in ("version", "id", "large"):
        assert back[column].to_list() == columns[column]
    assert back["price"].to_list()[:2] == [1.5, 2.25]


def test_missing_and_infinite_numbers_in_lists_of_json():
    frame = pd.DataFrame({"v": [[1.5, np.nan], np.array([np.nan, 2.0])]})
    lines = [json.loads(line) for line in written(frame, "jsonl").splitlines()]
    assert lines == [{"v": [1.5, None]}, {"v": [None, 2.0]}]
    with pytest.raises(InvalidFileError, match="Row 1 of the table cannot be written as JSON"):
        written(pd.DataFrame({"x": [1.0, np.inf]}), "jsonl")


def test_new_numbers_have_the_decimal_sign_of_the_table():
    frame = pd.DataFrame({"x": ["1,5", "2.5"], "score": [0.25, 1.0]})
    file = io.BytesIO()
    write_table(frame, file, format="csv", delimiter=";", decimal=",")
    assert file.getvalue().decode().split() == ["x;score", "1,5;0,25", "2.5;1,0"]


@pytest.mark.parametrize("name", ["t.json", "t.csv.gz", "t.tsv.gz", "t.jsonl.gz"])
def test_what_is_written_is_read_again(name, tmp_path):
    frame = pd.DataFrame({"a": ["x", "é,\t"], "b": ["1", "2"]})
    for path in (tmp_path / name, tmp_path / f"again-{name}"):
        write_table(frame, path, text_columns=["a", "b"])
        assert read_frame(path).to_dict("list") == frame.to_dict("list")
    assert (tmp_path / name).read_bytes() == (tmp_path / f"again-{name}").read_bytes()


@settings(max_examples=100)
@given(table=tables(), delimiter=st.sampled_from(",;\t| "))
@example(table=pd.DataFrame({"a": ["x\ry"], "b": [""]}), delimiter=",")
@example(table=pd.DataFrame({"a\r": ["x"], "b": ["\r"]}), delimiter=",")
@example(table=pd.DataFrame({"": ["", "a", " "]}), delimiter=",")
@example(table=pd.DataFrame({"\ufeffa": ["\ufeff"], "b": ["c"]}), delimiter=",")
def test_every_reader_reads_what_was_written(table, delimiter):
    """A lone carriage return was written without quotes, and read back as two rows."""
    content = written(table, "csv", delimiter=delimiter)
    expected = [table.columns.to_list(), *table.to_numpy().tolist()]
    for name, read in READERS.items():
        assert read(content, delimiter) == expected, name


@settings(max_examples=50)
@given(table=tables())
def test_json_lines_hold_every_text(table):
    content = written(table, "jsonl", text_columns=table.columns)
    expected = table.to_dict("records")
    assert [json.loads(line) for line in content.decode().split("\n")[:-1]] == expected
    assert read_frame(io.BytesIO(content), format="jsonl").to_dict("records") == expected


@settings(max_examples=50)
@given(table=tables())
def test_parquet_holds_every_text(table):
    content = written(table, "parquet", text_columns=table.columns)
    back = read_frame(io.BytesIO(content), format="parquet")
    assert back.to_dict("records") == table.to_dict("records")


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_half_a_character_is_rejected_where_it_cannot_be(format, tmp_path):
    frame = read_frame(io.StringIO('{"a": "caf\\ud800"}'), format="jsonl")
    with pytest.raises(ValueError, match=r"an invalid character .* after '.*caf'.* Correct it"):
        write_table(frame, tmp_path / f"t.{format}")
    assert list(tmp_path.iterdir()) == []


def test_json_lines_hold_half_a_character():
    """JSON can name it, and did so in the table that was read."""
    line = '{"a": "caf\\ud800é"}\n'
    frame = read_frame(io.StringIO(line), format="jsonl")
    assert written(frame, "jsonl").decode() == line
