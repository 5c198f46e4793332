import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambilearn._utils.csv_lines import CsvLines


def written(rows):
    text = io.StringIO()
    csv.writer(CsvLines(text.write), lineterminator=CsvLines.terminator).writerows(rows)
    return text.getvalue()


@pytest.mark.parametrize("cell", ["\r", "a\rb", "a\r", "\ra", "\n", "a\nb", "\r\n", "a\r\n"])
def test_line_breaks_are_in_quotes(cell):
    """A lone carriage return was not, before Python 3.13."""
    assert written([[cell, "x"]]) == f'"{cell}",x\n'
    assert written([["x", cell]]) == f'x,"{cell}"\n'


def test_other_cells_are_unchanged():
    assert written([["a", "", 1, 2.5, None], ['"', ","]]) == 'a,,1,2.5,\n"""",","\n'


@given(st.lists(st.lists(st.text(st.sampled_from('\r\n", a')), min_size=1), min_size=1))
def test_the_reader_of_the_standard_library_reads_it_back(rows):
    assert list(csv.reader(io.StringIO(written(rows), newline=""))) == rows
