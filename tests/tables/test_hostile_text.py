"""Hostile text is read back unchanged by every reader."""

import io
import json

import pandas as pd
import pytest
from hostile_text import READERS, tables
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ambilearn.datasets.frames import read_frame
from ambilearn.tables import write_table


def written(frame, format, **options):
    file = io.BytesIO()
    write_table(frame, file, format=format, **options)
    return file.getvalue()


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
