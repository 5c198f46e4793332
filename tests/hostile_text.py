"""Text that breaks tables, and the readers of others that must read it all the same."""

import csv
import io
import re

import pandas as pd
import polars as pl
from hypothesis import strategies as st

from ambilearn.datasets.frames import read_frame

# Quotes, separators, everything that is a line break to somebody, marks, formulas, words that
# stand for nothing; pandas before 3.0 ends a cell at a zero.
SIGNS = "\"',;|\t \r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029\ufeff\u200b\x1a\x1b\\#=+-@%aé😀0"
SIGNS += "\0" if int(pd.__version__.partition(".")[0]) >= 3 else ""
WORDS = ["NA", "NaN", "null", "None", "", "007", "-1.5", "1e5", "true", "2020-01-01", "\r", "\r\n"]
WORDS += ['"', '""', '"\r"', "=cmd|'/c calc'!A0", "\ufeff", "\\N", "#N/A", "a\rb", "a\r", "\ra"]

texts = (
    st.sampled_from(WORDS)
    | st.text(st.sampled_from(SIGNS), max_size=6)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
)


@st.composite
def tables(draw, headings=texts):
    """Rows of text under different headings."""
    names = draw(st.lists(headings, min_size=1, max_size=4, unique=True))
    row = st.lists(texts, min_size=len(names), max_size=len(names))
    return pd.DataFrame(draw(st.lists(row, min_size=1, max_size=4)), columns=names, dtype=object)


def _ours(content, delimiter):
    frame = read_frame(io.BytesIO(content), format="csv", delimiter=delimiter)
    return [frame.columns.to_list(), *frame.to_numpy().tolist()]


def _pandas(content, delimiter):
    # The heading as a row, because pandas gives other names to empty and repeated ones.
    options = {"header": None, "dtype": str, "keep_default_na": False}
    return pd.read_csv(io.BytesIO(content), sep=delimiter, **options).to_numpy().tolist()


def _polars(content, delimiter):
    frame = pl.read_csv(content, separator=delimiter, has_header=False, infer_schema_length=0)
    return [list(row) for row in frame.fill_null("").rows()]


def _standard_library(content, delimiter):
    return list(csv.reader(io.StringIO(content.decode(), newline=""), delimiter=delimiter))


def _spreadsheet(content, delimiter):
    """RFC 4180 in its strictest reading; every line break outside of quotes ends a row."""
    cell = re.compile(rf'(?:"((?:[^"]|"")*)"|([^"\r\n{re.escape(delimiter)}]*))', re.DOTALL)
    text, rows, position = content.decode(), [[]], 0
    while position < len(text):
        found = cell.match(text, position)
        quoted, plain = found.groups()
        rows[-1].append(plain if quoted is None else quoted.replace('""', '"'))
        position = found.end()
        end = re.compile(rf"{re.escape(delimiter)}|\r\n|\r|\n").match(text, position)
        assert end, f"a quote in the middle of a cell: {text[position - 9 : position + 9]!r}"
        position = end.end()
        if end.group() != delimiter:
            rows.append([])
    return rows[:-1]


READERS = {
    "ours": _ours,
    "pandas": _pandas,
    "polars": _polars,
    "standard library": _standard_library,
    "spreadsheet": _spreadsheet,
}
