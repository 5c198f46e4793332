import pytest

from ambilearn.cli.own_data_options import method_parameters, source_and_format


@pytest.mark.parametrize(
    ("table", "format", "expected"),
    [
        ("t.csv", None, "csv"),
        ("folder/T.PARQUET", None, "parquet"),
        ("t.txt", "tsv", "tsv"),
        ("t.txt", None, ""),
        ("t.csv", "jsonl", "jsonl"),
    ],
)
def test_the_format_of_a_file(table, format, expected):
    assert source_and_format(table, format) == (table, expected)


@pytest.mark.parametrize(("format", "expected"), [(None, "csv"), ("parquet", "parquet")])
def test_standard_input_is_csv_unless_told(format, expected):
    source, found = source_and_format("-", format)
    assert hasattr(source, "read")
    assert found == expected


def test_landmarks_are_given_once():
    assert method_parameters(("reg=1",), 7) == {"reg": 1, "n_landmarks": 7}
    assert method_parameters(("reg=1", "n_landmarks=5"), None) == {"reg": 1, "n_landmarks": 5}
    with pytest.raises(ValueError, match="'n_landmarks' is given twice: leave one out"):
        method_parameters(("reg=1", "n_landmarks=5"), 7)
    assert method_parameters((), None) == {}
