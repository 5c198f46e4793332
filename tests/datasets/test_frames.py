import io
import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from loopback import serve
from pyarrow import parquet

from ambilearn.datasets import InvalidFileError
from ambilearn.datasets.frames import check_columns, read_frame


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize("name", ["t.csv", "T.CSV"])
def test_the_file_extension_determines_the_format(write, name):
    assert list(read_frame(write(name, "a,b\n1,2\n"))) == ["a", "b"]


def test_byte_order_mark_and_unicode(write):
    path = write("t.csv", "\ufeffnäme,b\nØrsted,1\n".encode())
    assert read_frame(path).to_dict("list") == {"näme": ["Ørsted"], "b": ["1"]}


WIDE = ["utf-16", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]


def with_mark(text, encoding):
    """Text with a byte-order mark, which Python writes for utf-16 alone."""
    return text.encode(encoding) if encoding == "utf-16" else f"\ufeff{text}".encode(encoding)


@pytest.mark.parametrize("encoding", WIDE)
def test_wide_encodings_are_detected_by_their_mark(write, encoding):
    text = "näme;b\r\nØrsted;1\r\n𝄞;2\r\n"
    frame = read_frame(write("t.csv", with_mark(text, encoding)), delimiter=";")
    assert frame.to_dict("list") == {"näme": ["Ørsted", "𝄞"], "b": ["1", "2"]}
    text = '{"a": "Ø\\n𝄞"}\n\n{"a": 2}\n'
    assert read_frame(write("t.jsonl", with_mark(text, encoding)))["a"].to_list() == ["Ø\n𝄞", 2]


def test_text_in_another_encoding(write):
    path = write("t.csv", "näme;b\nØrsted;1\n".encode("cp1252"))
    frame = read_frame(path, delimiter=";", encoding="cp1252")
    assert frame.to_dict("list") == {"näme": ["Ørsted"], "b": ["1"]}
    with pytest.raises(InvalidFileError, match=r"It is probably cp1252: .*--encoding cp1252"):
        read_frame(path, delimiter=";")
    with pytest.raises(ValueError, match="There is no encoding 'latin-99'"):
        read_frame(path, encoding="latin-99")


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_damaged_wide_text(write, format):
    content = with_mark("a,b\n1,2\n", "utf-16-le") + b"\x00\xdc"  # half a character
    with pytest.raises(InvalidFileError, match=r"is not UTF-16 text .*.*Save it as UTF-8"):
        read_frame(write(f"t.{format}", content))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b\n\xff\xfe,1\n", "not UTF-8"),
        (b"", "is empty: it has no rows and no column names. Check that"),
        (b"\n \n", "is empty"),
        (b"a,b\n", "no rows, only a heading: 'a', 'b'. Add rows; .* column names above"),
        (b"a,b\n1,2\n1,2,3\n", "not a valid CSV.*line 3"),
        (b"a,b\n1,2,3\n4,5,6\n", "not a valid CSV.*line 2, saw 3.*into quotes"),
        (b'a,b\n"1,2\n', "not a valid CSV"),
        (
            b"a;b\n1,5;x\n2;y\n",
            "cannot be read. It seems to be separated by ';' .heading: 'a;b'.. Use --delimiter "
            "';', and --decimal , for decimal commas.$",
        ),
        (b"a\tb\n1,5\tx\n2\ty\n", r"Use --delimiter '\\t'\.$"),
        (b"a,b,a\n1,2,3\n", "column 'a' occurs more than once"),
        (b"a,b\nJ\xfcrgen,1\n", "not UTF-8"),
    ],
)
def test_bad_csv(write, content, message):
    path = write("t.csv", content)
    with pytest.raises(InvalidFileError, match=message) as caught:
        read_frame(path)
    assert str(path) in str(caught.value)


def test_json_lines(write):
    path = write("t.jsonl", '{"a": 1, "c": ["x", "y"]}\n\n{"a": 2.5, "c": ["z"], "more": null}\n')
    frame = read_frame(path)
    assert frame["a"].to_list() == [1.0, 2.5]
    assert frame["c"].to_list() == [["x", "y"], ["z"]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": 1}\n{"a": \n', "line 2: not JSON"),
        ("[1, 2]\n", "line 1: expected an object .* found list"),
        ('"text"\n', "found str"),
        ("[" * 100_000 + "\n", "line 1: not JSON"),
        ('{"a": ' + "9" * 5000 + "}\n", "line 1: not JSON"),
        (b'{"a": "\xfc"}\n', r"not UTF-8 text .*probably cp1252: use encoding='cp1252'"),
        ("", "is empty: it has no rows and no column names. Check that"),
        ("\n\n", "is empty"),
        ("{}\n", "is empty"),
    ],
)
def test_bad_json_lines(write, content, message):
    with pytest.raises(InvalidFileError, match=message):
        read_frame(write("t.jsonl", content))


def test_parquet_with_metadata_that_pandas_cannot_read(tmp_path):
    """Arrow's own lists: pandas writes such a file, and then does not understand its data type."""
    frame = pd.DataFrame(
        {"l": pd.Series([["a"], ["b", "c"]], dtype=pd.ArrowDtype(pa.list_(pa.string())))}
    )
    frame.to_parquet(tmp_path / "t.parquet", index=False)
    back = read_frame(tmp_path / "t.parquet")
    assert [list(cell) for cell in back["l"]] == [["a"], ["b", "c"]]


@pytest.mark.parametrize(
    "kind",
    [
        pa.timestamp("s"),
        pa.timestamp("ms", "UTC"),
        pa.timestamp("us"),
        pa.date32(),
        pa.duration("s"),
        pa.list_(pa.timestamp("s")),
        pa.struct([("when", pa.timestamp("s"))]),
    ],
    ids=str,
)
def test_times_outside_of_the_calendar_are_named(tmp_path, kind):
    """Parquet has years up to 292 277 026 596, Python up to 9999."""
    times = pa.array([0, 2**30 if kind == pa.date32() else 2**50], pa.int64())
    if kind == pa.timestamp("us"):
        times = pa.array([0, 2**62], pa.int64())
    inner = pa.timestamp("s") if kind.num_fields else kind
    width = pa.int32() if inner == pa.date32() else pa.int64()
    values = times.cast(width).view(inner)
    if pa.types.is_list(kind):
        values = pa.ListArray.from_arrays([0, 1, 2], values)
    elif pa.types.is_struct(kind):
        values = pa.StructArray.from_arrays([values], ["when"])
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"x": [1, 2], "z": values}), path, store_schema=True)
    with pytest.raises(InvalidFileError, match=r"t\.parquet, column 'z', row 1: a date or time"):
        read_frame(path)


def test_times_within_it_are_read(tmp_path):
    times = pa.array([-62135596800, 0, 253402300799, None], pa.timestamp("s"))
    parquet.write_table(pa.table({"z": times, "n": [None] * 4}), tmp_path / "t.parquet")
    first, *_, last, missing = read_frame(tmp_path / "t.parquet")["z"].to_list()
    assert (first.year, last.year) == (1, 9999)
    assert pd.isna(missing)


def test_parquet_that_needs_too_much_memory_is_rejected(tmp_path):
    """Ten million equal numbers fit in a few kilobytes of file, but not in the memory allowed."""
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": np.zeros(10_000_000)}), path)
    assert path.stat().st_size < 100_000
    with pytest.raises(InvalidFileError, match="80000000 bytes in memory, more than max_bytes"):
        read_frame(path, max_bytes=10**7)
    assert len(read_frame(path)) == 10_000_000


def test_parquet_with_one_huge_row_is_rejected(tmp_path):
    """A list has more items than its table has rows."""
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": [np.zeros(1_000_000)]}), path)
    assert path.stat().st_size < 100_000
    with pytest.raises(InvalidFileError, match="bytes in memory, more than max_bytes"):
        read_frame(path, max_bytes=10**6)
    assert len(read_frame(path)["a"][0]) == 1_000_000


# Arrow ends the whole process for some: in one of its own, so that this one goes on.
DAMAGED_EVERYWHERE = """
import io
import pyarrow
from pyarrow import parquet
from ambilearn.datasets import InvalidFileError
from ambilearn.datasets.frames import read_frame

file = io.BytesIO()
table = {"x": ["1", "2"], "v": [[1.0, 2.0], [3.0]], "n": [1, 2]}
parquet.write_table(pyarrow.table(table), file)
content, rejected = file.getvalue(), 0
for position in range(len(content)):
    damaged = bytearray(content)
    damaged[position] = (damaged[position] + 34) % 256
    try:
        read_frame(io.BytesIO(damaged), format="parquet")
    except InvalidFileError:
        rejected += 1
print(rejected)
"""


@pytest.mark.slow
def test_parquet_damaged_in_any_byte_is_rejected_or_read():
    ran = subprocess.run([sys.executable, "-c", DAMAGED_EVERYWHERE], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) > 100


@pytest.mark.parametrize("damage", ["cut", "flip", "text", "empty"])
def test_bad_parquet(tmp_path, damage):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": list(range(1000)), "b": ["x"] * 1000}), path)
    content = path.read_bytes()
    path.write_bytes(
        {
            "cut": content[: len(content) // 2],
            "flip": content[:-40] + bytes(b ^ 255 for b in content[-40:-8]) + content[-8:],
            "text": b"a,b\n1,2\n",
            "empty": b"",
        }[damage]
    )
    with pytest.raises(InvalidFileError, match=r"not a valid Parquet"):
        read_frame(path)


def test_parquet_without_pyarrow_names_the_extra(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    message = r"^Reading Parquet files needs pyarrow: pip install 'ambilearn\[parquet\]'$"
    with pytest.raises(ImportError, match=message):
        read_frame(write("t.parquet", b""))


@pytest.mark.parametrize("kind", [io.StringIO, lambda text: io.BytesIO(text.encode())])
def test_open_files(kind):
    assert read_frame(kind("a,b\n1,2\n"), format="csv")["b"].to_list() == ["2"]
    assert read_frame(kind('{"a": 1}\n'), format="jsonl")["a"].to_list() == [1]


def test_a_pipe_can_be_read():
    table = pa.BufferOutputStream()
    parquet.write_table(pa.table({"a": [1, 2]}), table)
    for format, content in {
        "csv": b"a,b\n1,2\n2,3\n",
        "jsonl": b'{"a": 1}\n{"a": 2}\n',
        "json": b'[{"a": 1}, {"a": 2}]',
        "parquet": bytes(table.getvalue()),
    }.items():
        read_end, write_end = os.pipe()
        with os.fdopen(write_end, "wb") as sink:
            sink.write(content)
        with os.fdopen(read_end, "rb") as source:
            assert list(map(int, read_frame(source, format=format)["a"])) == [1, 2]


@pytest.mark.parametrize("name", ["t.pkl", "t.npy", "t.xls", "t", "t.xlsx.gz"])
def test_other_formats_are_rejected(write, name):
    with pytest.raises(InvalidFileError, match=r"tables are read from .csv.*never read"):
        read_frame(write(name, "a,b\n1,2\n"))


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "parquet", "xlsx"])
def test_pickles_are_never_executed(tmp_path, format):
    class Payload:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "executed"),)

    path = tmp_path / f"t.{format}"
    path.write_bytes(pickle.dumps(Payload()))
    with pytest.raises(InvalidFileError):
        read_frame(path)
    assert not (tmp_path / "executed").exists()


def test_addresses_are_not_fetched(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with serve(tmp_path) as server:
        with pytest.raises(OSError, match=r"t\.csv"):
            read_frame(f"{server.url}/t.csv")
        assert server.requests == []


def test_duplicate_column_raises(write):
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    path = write("t.parquet", b"")
    parquet.write_table(table, path)
    with pytest.raises(InvalidFileError, match="'a'"):
        read_frame(path)


def test_csv_keeps_every_cell_and_heading(write):
    path = write("t.csv", b'\xef\xbb\xbf,a,"b,c"\r\n007,1.50,"x ""y"""\r\n,NA,\r\n1\r\n')
    frame = read_frame(path)
    assert list(frame) == ["", "a", "b,c"]
    assert frame.to_numpy().tolist() == [["007", "1.50", 'x "y"'], ["", "NA", ""], ["1", "", ""]]
    assert isinstance(frame.index, pd.RangeIndex)


def test_columns_that_are_missing():
    frame = pd.DataFrame({"weight": [1], "heigth": [2]})
    check_columns("t.csv", frame, ["weight"])
    # Not the other column that is wanted, although its name is nearer.
    with pytest.raises(InvalidFileError, match=r"t.csv has no column 'height'.*mean 'heigth'\?"):
        check_columns("t.csv", frame, ["height", "weight"])
    with pytest.raises(InvalidFileError, match=r"'weight,heigth'\. Name each column separately"):
        check_columns("t.csv", frame, ["weight,heigth"])
    with pytest.raises(InvalidFileError, match=r"separated by ';' \(heading: 'a;b'\)\. Use"):
        check_columns("t.csv", pd.DataFrame({"a;b": [1]}), ["b"])


def test_all_columns_that_are_missing_are_named():
    frame = pd.DataFrame({"Weight": [1], "height_cm": [2], "hair": ["red"]})
    with pytest.raises(InvalidFileError) as caught:
        check_columns("t.csv", frame, ["height_c", "hair", "shoes", "weight", "shoes"])
    assert str(caught.value) == (
        "t.csv has no columns 'height_c', 'shoes', 'weight'. Did you mean 'height_cm' for "
        "'height_c', 'Weight' for 'weight'? It has: Weight, height_cm, hair."
    )
    with pytest.raises(InvalidFileError, match=r"no columns 'x', 'y'\. It has: Weight"):
        check_columns("t.csv", frame, ["x", "y"])


def test_named_index_of_parquet_is_a_column(tmp_path):
    """It was lost; an index without a name is none."""
    frame = pd.DataFrame({"a": [1.0, 2.5]})
    for index in (pd.Index([10, 20], name="id"), pd.RangeIndex(3, 7, 2, name="id")):
        frame.set_axis(index).to_parquet(tmp_path / "t.parquet")
        back = read_frame(tmp_path / "t.parquet")
        assert back["id"].to_list() == index.to_list()
    frame.set_axis([10, 20]).to_parquet(tmp_path / "t.parquet")
    assert list(read_frame(tmp_path / "t.parquet")) == ["a"]


@pytest.mark.parametrize(
    "metadata",
    [[1], "abc", {"index_columns": None}, {"index_columns": [{"name": "a", "start": 0}]}],
)
def test_invalid_metadata_of_pandas(metadata, tmp_path):
    table = pa.table({"x": [1]}).replace_schema_metadata({"pandas": json.dumps(metadata)})
    parquet.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(InvalidFileError, match=r"t\.parquet has invalid metadata of pandas"):
        read_frame(tmp_path / "t.parquet")


@pytest.mark.parametrize("nested", [False, True])
def test_repeated_text_in_parquet_counts_in_full(nested, tmp_path):
    """47 kB unpacked to 400 MB: a dictionary has a long text once."""
    cell = "x" * 10_000
    rows = pa.array([[cell], [cell, None], [None]] * 1000 if nested else [cell, None] * 1000)
    for column in (rows,) if nested else (rows, rows.dictionary_encode()):
        parquet.write_table(pa.table({"a": column}), tmp_path / "t.parquet")
        assert (tmp_path / "t.parquet").stat().st_size < 50_000
        with pytest.raises(InvalidFileError, match=r"needs \d+ bytes in memory, more than max_by"):
            read_frame(tmp_path / "t.parquet", max_bytes=10**7)
        back = read_frame(tmp_path / "t.parquet", max_bytes=10**8)["a"]
        assert [list(each) for each in back] == rows.to_pylist() if nested else back[0] == cell


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_text_in_parquet_may_be_stored_as_changes(encoding, tmp_path):
    """Such text cannot be read as a dictionary, and the file was called invalid."""
    cells = [["x" * 10_000, f"y{i}"] for i in range(2000)]
    table = pa.table({"a": cells, "index": ["é", None] * 1000})
    options = {"use_dictionary": False, "compression": "zstd"}
    encodings = {"a.list.element": encoding, "index": encoding}
    parquet.write_table(table, tmp_path / "t.parquet", column_encoding=encodings, **options)
    back = read_frame(tmp_path / "t.parquet")
    assert [list(each) for each in back["a"]] == cells
    assert back["index"].isna().tolist() == [False, True] * 1000
    with pytest.raises(InvalidFileError, match="bytes in memory, more than max_bytes"):
        read_frame(tmp_path / "t.parquet", max_bytes=10**6)


def test_views_of_text_in_parquet(tmp_path):
    pytest.importorskip("pyarrow", minversion="20")  # earlier versions cannot write them
    parquet.write_table(pa.table({"a": pa.array(["x", None], pa.string_view())}), tmp_path / "t.pq")
    assert read_frame(tmp_path / "t.pq")["a"].fillna("").to_list() == ["x", ""]


def test_long_values_of_fixed_length_in_parquet_count_in_full(tmp_path):
    rows = pa.array([b"x" * 10_000] * 1000, pa.binary(10_000))
    parquet.write_table(pa.table({"a": rows}), tmp_path / "t.parquet")
    with pytest.raises(InvalidFileError, match="more than max_bytes"):
        read_frame(tmp_path / "t.parquet", max_bytes=10**6)


def test_a_repeated_key_in_json_is_rejected():
    """The last one was taken without a word."""
    with pytest.raises(InvalidFileError, match="line 2: the key 'a' occurs more than once"):
        read_frame(io.StringIO('{"a": 1}\n{"a": 1, "b": 2, "a": 3}\n'), format="jsonl")
