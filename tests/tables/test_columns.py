import datetime
import re
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from ambilearn.datasets import InvalidFileError
from ambilearn.tables.columns import Column, find_features, parse_features


def kind_of(*cells):
    frame = pd.DataFrame({"x": pd.Series(list(cells), dtype=object)})
    return find_features("t.csv", frame, ["x"], keep_all=True).columns[0].kind


def values_of(kind, *cells):
    frame = pd.DataFrame({"x": pd.Series(list(cells), dtype=object)})
    return parse_features("t.csv", frame, [Column("x", kind)])["x"].to_list()


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2.5", "-3e4"], "number"),
        (["1", "", "NA", "?", " 7 "], "number"),
        ([1, None, 2.5, np.nan], "number"),
        ([Decimal("1.5"), Decimal("2")], "number"),
        (["True", "false", ""], "truth value"),
        ([True, False, None], "truth value"),
        (["2020-01-01", "", "NA", "2021-05-03"], "date"),
        (["2020-01-01T10:30", "2020-01-01 10:30:01.5+02:00"], "date"),
        ([datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 2), pd.NaT], "date"),
        (["red", "blue"], "category"),
        (["1", "red"], "category"),
        (["1_000", "2"], "category"),
        (["2020-13-41", "2021-01-01"], "category"),
        ([1, "red", True], "category"),
        (["true", "2"], "category"),
    ],
)
def test_the_cells_determine_the_kind(cells, kind):
    assert kind_of(*cells) == kind


def kind_or_reason(cells, **options):
    frame = pd.DataFrame(
        {"x": pd.Series(list(cells), dtype=object), "y": np.arange(len(cells)) / 7}
    )
    found = find_features("t.csv", frame, ["x", "y"], **options)
    return found.left_out.get("x") or found.columns[0].kind


WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
SENTENCES = [f"{a} or {b}, number {i}" for i, a in enumerate(WORDS) for b in WORDS]


def test_sentences_are_text():
    assert kind_or_reason(SENTENCES) == "text"
    assert kind_or_reason([*SENTENCES, "", None, "short", 5]) == "text"
    assert kind_or_reason(SENTENCES, keep_all=True) == "text"
    assert kind_or_reason(SENTENCES, categorical=["x"]) == "category"


REVIEWS = [
    "The room was clean and quiet.",
    "Nobody answered our calls!",
    "Breakfast ends much too early",
    "We will come back next year.",
]


def test_a_few_sentences_are_text_whatever_the_number_of_rows():
    assert kind_or_reason(REVIEWS) == "text"  # no word recurs
    assert kind_or_reason(REVIEWS[:2]) == "text"
    assert kind_or_reason([*REVIEWS, "", None, "fine"]) == "text"
    assert kind_or_reason([*SENTENCES[:20], SENTENCES[0]]) == "text"
    assert kind_or_reason(REVIEWS, categorical=["x"]) == "category"


@pytest.mark.parametrize(
    "cells",
    [
        ["New York", "San Jose", "New York", "Rome"],
        ["New York", "San Jose", "Los Angeles", "Rome"],
        ["Anna Maria Smith", "Bob van Dyke", "Eve Jane Doe"],
        [*REVIEWS, REVIEWS[0]],  # one recurs among five
        [REVIEWS[0], "", ""],  # whether there is a text is all that it tells
        ["/a b c/the one.png", "/a b c/the other.png"],
        ["a b c d", "e f g h"],  # letters are no words
    ],
)
def test_other_text_of_a_few_values_is_a_category(cells):
    assert kind_or_reason(cells) == "category"


@pytest.mark.parametrize(
    "cells",
    [
        [f"x{i:03d}" for i in range(60)],
        [f"img/a{i}.png" for i in range(60)],
        [f"/home/some of us/the film {WORDS[i % 10]}/a {i}.png" for i in range(60)],
        [f"https://example.org/{i}/some" for i in range(60)],
        [f"{WORDS[i % 10]} smith{i}" for i in range(60)],  # names
        [f"patient record {i}" for i in range(60)],  # the same words everywhere
        [f"a{i} b{i} c{i} d{i}" for i in range(60)],  # words of their own
    ],
)
def test_ids_names_and_paths_are_left_out_as_ever(cells):
    assert kind_or_reason(cells) == "is text with 60 different values in 60 rows"


def test_a_name_that_numpy_would_shorten_is_rejected():
    frame = pd.DataFrame({"x\0": ["1", "2"], "a\0b": ["3", "4"]})
    with pytest.raises(InvalidFileError, match=r"column 'x\\x00': its name ends in a NUL"):
        find_features("t.csv", frame, ["x\0", "a\0b"])
    assert find_features("t.csv", frame, ["a\0b"], keep_all=True).columns == (
        Column("a\0b", "number"),
    )


def test_texts_that_recur_are_categories():
    assert kind_or_reason(SENTENCES[:10] * 5) == "category"
    assert kind_or_reason(SENTENCES[:30] * 3) == "category"


def test_missing_texts_are_empty():
    assert values_of("text", "Good film", " so ", "", None, np.nan, 5) == [
        "Good film",
        "so",
        "",
        "",
        "",
        "5",
    ]


def test_numbers_truth_values_and_dates_become_floats():
    np.testing.assert_array_equal(
        values_of("number", "1", " 2.5 ", "", "NA", None, pd.NA), [1, 2.5] + [np.nan] * 4
    )
    np.testing.assert_array_equal(
        values_of("truth value", "TRUE", "false", True, "1", ""), [1, 0, 1, 1, np.nan]
    )
    np.testing.assert_array_equal(
        values_of(
            "date",
            "1970-01-03",
            "1970-01-01T12:00",
            "1970-01-01T02:00+02:00",
            "",
            datetime.date(1970, 1, 2),
            pd.Timestamp("1970-01-02T06:00"),
            pd.NaT,
        ),
        [2, 0.5, 0, np.nan, 1, 1.25, np.nan],
    )


def test_categories_are_normalized_text():
    assert values_of("category", "br\u00fcn", "bru\u0308n", " br\u00fcn ") == ["br\u00fcn"] * 3
    assert values_of("category", " a ", 1, 1.0, 2.5, True) == ["a", "1", "1", "2.5", "True"]
    assert all(value != value for value in values_of("category", "", "  ", None, np.nan, pd.NA))


@pytest.mark.skipif(
    pd.DataFrame({"x": np.array(["a"], dtype=object)})["x"].dtype == object,
    reason="this pandas stores texts as they are; writing the table reports the character",
)
def test_half_a_character_is_named_with_its_row():
    with pytest.raises(ValueError, match=r"column 'x', row 1 has an invalid character .*'half '"):
        values_of("category", "good", "half \ud800")


def test_a_category_may_look_missing():
    assert values_of("category", "NA", "None", "?") == ["NA", "None", "?"]


def test_columns_of_parquet(tmp_path):
    frame = pd.DataFrame(
        {
            "i": pd.array([1, None, 3], dtype="Int64"),
            "b": pd.array([True, None, False], dtype="boolean"),
            "t": pd.to_datetime(["2020-01-01", None, "2020-02-01"]),
            "c": pd.Categorical(["u", None, "v"]),
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    from ambilearn.datasets.frames import read_frame

    back = read_frame(tmp_path / "t.parquet")
    columns = find_features("t", back, list("ibtc")).columns
    assert [column.kind for column in columns] == ["number", "truth value", "date", "category"]
    values = parse_features("t", back, columns)
    assert values["i"].isna().tolist() == [False, True, False]
    assert values["t"].to_list()[0] == 18262
    assert values["c"].to_list()[2] == "v"


def left_out(n=60, **columns):
    frame = pd.DataFrame({"fine": np.arange(n) % 7, **columns})
    found = find_features("t.csv", frame, list(frame.columns))
    assert "fine" in [column.name for column in found.columns]
    return found.left_out


def test_columns_that_cannot_help_are_left_out_with_the_reason():
    n = 60
    assert left_out(
        empty=[""] * n,
        none=[None] * n,
        same=["5"] * n,
        gaps=["5", ""] * (n // 2),
        path=[f"img/{i}.png" for i in range(n)],
        row=[str(i + 1) for i in range(n)],
    ) == {
        "empty": "is empty",
        "none": "is empty",
        "same": "has the same value everywhere",
        "gaps": "has the same value everywhere",
        "path": "is text with 60 different values in 60 rows",
        "row": "counts the rows",
    }


def test_what_may_help_stays():
    n = 60
    assert not left_out(
        town=[f"town {i % 30}" for i in range(n)],
        member=["yes", ""] * (n // 2),  # missing is a category
        year=[str(1960 + i // 2) for i in range(n)],
        price=[f"{i * 1.5}" for i in range(n)],
    )


def test_numbers_that_are_codes():
    frame = pd.DataFrame({"code": ["007", "08", "007"], "n": ["1", "2", "3"]})
    columns = find_features("t", frame, ["code", "n"], categorical=["code"]).columns
    assert [column.kind for column in columns] == ["category", "number"]
    assert parse_features("t", frame, columns)["code"].to_list() == ["007", "08", "007"]


def test_no_feature_at_all():
    frame = pd.DataFrame({"a": ["", ""], "b": ["1", "1"]})
    with pytest.raises(InvalidFileError, match=r"t.csv: no column is left.*'a' is empty, 'b' has"):
        find_features("t.csv", frame, ["a", "b"])
    with pytest.raises(InvalidFileError, match=r"no column is left as a feature\."):
        find_features("t.csv", frame, [])
    with pytest.raises(InvalidFileError, match=r"t.csv has only one row.*Add rows\."):
        find_features("t.csv", frame[:1], ["a", "b"])
    images = pd.DataFrame({"photo": [f"{i}.jpg" for i in range(30)]})
    message = (
        r"'photo' is text.*\. To learn from the images in 'photo', name .*photo=M.*--image photo"
    )
    with pytest.raises(InvalidFileError, match=message):
        find_features("t.csv", images, ["photo"])
    frame = pd.DataFrame({f"x{i}": ["", ""] for i in range(512)})
    with pytest.raises(InvalidFileError, match=r"'x4' is empty and 507 more\.$"):
        find_features("t.csv", frame, list(frame))


@pytest.mark.parametrize("cell", [[1, 2], {"a": 1}, b"bytes", datetime.timedelta(1)])
def test_nested_values_are_no_features(cell):
    with pytest.raises(InvalidFileError, match=r"t.csv, column 'x', row 1: .* is a .*exclude"):
        kind_of("fine", cell)


@pytest.mark.parametrize(
    ("kind", "cell"),
    [
        ("number", "tall"),
        ("number", True),
        ("number", "1_000"),
        ("truth value", "perhaps"),
        ("truth value", "2"),
        ("date", "1.2.2020"),
        ("date", 5),
        ("category", ["a"]),
    ],
)
def test_a_cell_of_another_kind_is_named(kind, cell):
    with pytest.raises(InvalidFileError, match=rf"t.csv, column 'x', row 1: .* is not a {kind}"):
        values_of(kind, None, cell)


@pytest.mark.parametrize("cell", ["inf", "-Infinity", float("inf"), "1e999"])
def test_infinity_is_rejected(cell):
    with pytest.raises(InvalidFileError, match=r"column 'x', row 1: .* is not a finite number"):
        values_of("number", "1", cell)


@pytest.mark.parametrize("cell", ["1e200", -1e76, "-1E+99"])
def test_a_number_whose_square_overflows_is_rejected(cell):
    with pytest.raises(InvalidFileError, match=r"t.csv, column 'x', row 1: .* is too large.*unit"):
        values_of("number", "1", cell, "2")


@pytest.mark.parametrize(
    "cells",
    [
        ["3,14", "2,7"],
        ["", "-3,14", "2", "NA"],
        ["1,234", "1,234,567", "12"],
        ["1,234.5", "7.5"],
        ["1.234,5", "7,5"],
        [" +3,5 ", None],
    ],
)
def test_numbers_with_commas_are_text_with_a_warning(cells):
    example = next(i for i, cell in enumerate(cells) if cell and "," in cell)
    what = f"t.csv, column 'x': numbers with commas, such as {cells[example]!r} in row {example}, "
    with pytest.warns(UserWarning, match="^" + re.escape(what)) as caught:
        assert kind_of(*cells) == "category"
    assert len(caught) == 1
    assert re.search(r"as text.*--decimal ','.*thousands.*--categorical", str(caught[0].message))


@pytest.mark.parametrize("cells", [["3,14", "red"], ["a,b"], ["1,", "2,"], ["1, 2"], ["1,23,4"]])
def test_other_text_with_commas_is_just_text(cells):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kind_of(*cells, "other") == "category"
        assert kind_of(*cells, *cells, "") == "category"


def test_many_columns_of_numbers_with_commas_are_one_warning():
    frame = pd.DataFrame({f"x{i}": ["red", "blue"] if i == 1 else ["1,5", "2"] for i in range(9)})
    with pytest.warns(UserWarning, match="columns 'x0', 'x2', 'x3' and 5 more: numbers") as caught:
        find_features("t.csv", frame, list(frame))
    assert len(caught) == 1


def comma_values(*cells):
    frame = pd.DataFrame({"x": pd.Series(list(cells), dtype=object)})
    (column,) = find_features("t.csv", frame, ["x"], keep_all=True, decimal=",").columns
    return column.kind, parse_features("t.csv", frame, [column], ",")["x"].to_list()


def test_numbers_with_a_decimal_comma():
    cells = ["3,14", "-0,5", "2", " 7,25 ", "1e3", "1,5e3", 2.5, "0.125", ",5"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind, values = comma_values(*cells, "", "NA", None)
    assert kind == "number"
    assert values[:9] == [3.14, -0.5, 2, 7.25, 1000, 1500, 2.5, 0.125, 0.5]
    assert np.isnan(values[9:]).all()


@pytest.mark.parametrize("odd", ["1.234", "-12.345.678", "1.234,5", "1,234.5", "1,234,567"])
def test_with_a_decimal_comma_nothing_else_is_guessed(odd):
    with pytest.warns(UserWarning, match=rf"numbers with points, such as '{odd}' in row 1.*leave"):
        assert comma_values("3,14", odd)[0] == "category"
    frame = pd.DataFrame({"x": ["1,5", odd]})
    with pytest.raises(InvalidFileError, match=r"row 1: .* is not a number\. Write nothing"):
        parse_features("t.csv", frame, [Column("x", "number")], ",")


def test_a_number_with_a_comma_for_a_model_of_numbers():
    with pytest.raises(InvalidFileError, match=r"'1,5' is not a number\. For a decimal comma"):
        values_of("number", "1", "1,5")


@pytest.mark.parametrize(
    "cells",
    [
        ["1", "2.5", "-3e4", " 7 ", "1e400", "-0"],
        ["1", "", "2"],
        ["1", " ", "2"],
        ["1", "NA", "nan", "NaN", "?"],
        [1, 2.5, float("nan"), float("inf")],
        [1, None, 2.5],
        [Decimal("1.5"), 2],
    ],
)
def test_columns_of_plain_numbers_are_read_as_their_cells_are(cells):
    one_by_one = [values_of("number", cell)[0] for cell in cells if abs(_float(cell)) < 1e75]
    together = values_of("number", *(cell for cell in cells if abs(_float(cell)) < 1e75))
    np.testing.assert_array_equal(together, one_by_one)
    assert kind_of(*cells, 3.5 if isinstance(cells[0], float) else "3.5") == "number"


def _float(cell):
    try:
        return float(cell)
    except (TypeError, ValueError):
        return 0.0


@pytest.mark.parametrize("sign", [1, -1])
def test_whole_numbers_of_hundreds_of_digits_are_too_large_as_they_are_in_text(sign):
    """JSON has them as numbers, CSV as text."""
    large = sign * 10**400
    for cells in ([1, large, 3], ["1", str(large), "3"]):
        frame = pd.DataFrame({"x": pd.Series(cells, dtype=object)})
        found = find_features("t", frame, ["x"])
        assert found.columns == (Column("x", "number"),)
        with pytest.raises(InvalidFileError, match=r"column 'x', row 1: .* is not a finite number"):
            parse_features("t", frame, found.columns)
    frame = pd.DataFrame({"x": pd.Series([large, large + 1] * 5, dtype=object)})
    found = find_features("t", frame, ["x"], categorical=["x"])
    assert found.columns == (Column("x", "category"),)


@pytest.mark.parametrize("as_text", [True, False])
def test_ids_of_many_digits_are_not_constant(as_text):
    ids = [1790000000000000000 + i for i in range(40)]
    cells = [str(each) for each in ids] if as_text else ids
    assert kind_or_reason(cells) == "has numbers with too many digits, such as ids"
    assert kind_or_reason(["1.0", "1"]) == "has the same value everywhere"


def test_a_column_named_like_a_number_of_a_list_is_rejected():
    """It overwrote the feature."""
    frame = pd.DataFrame({"x": [[1.0, 2.0], [3.0, 5.0]], "x[0]": [7.0, 8.0]})
    with pytest.raises(InvalidFileError, match=r"column 'x\[0\]': a number of the list .* 'x'"):
        find_features("t", frame, ["x", "x[0]"])
