import pandas as pd
import pytest

from ambilearn.datasets import InvalidFileError
from ambilearn.tables import read_candidate_table
from ambilearn.tables.column_patterns import expand_patterns

FRAME = pd.DataFrame([["1", "a", "b", "a"]] * 3, columns=["x", "A1", "A2", "B*"])


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["A*"], ["A1", "A2"]),
        (["A2", "A*"], ["A2", "A1"]),
        (["A?"], ["A1", "A2"]),
        (["A[13]"], ["A1"]),
        (["B*"], ["B*"]),  # a column of that very name
        (["nowhere"], ["nowhere"]),  # for others to refuse
    ],
)
def test_patterns(names, expected):
    assert expand_patterns("t.csv", FRAME, names) == expected


def test_a_pattern_that_nothing_matches():
    with pytest.raises(InvalidFileError, match=r"t.csv: no column matches 'C\*'. .* has x, A1"):
        expand_patterns("t.csv", FRAME, ["C*"])


def test_a_table_by_pattern():
    votes = {"A1": list("aab"), "A2": list("abb"), "A3": list("aba")}
    frame = pd.DataFrame({"x": ["1", "2", "4"], **votes})
    table = read_candidate_table(frame, candidates="A*")
    assert table.candidate_columns == ("A1", "A2", "A3")
    assert table.candidates.to_dicts() == [{"a": 3}, {"a": 1, "b": 2}, {"a": 1, "b": 2}]
    assert [column.name for column in table.features.columns] == ["x"]
