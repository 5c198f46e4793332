import io

import numpy as np
import pytest

from ambilearn.candidates import as_candidates
from ambilearn.datasets import InvalidFileError
from ambilearn.tables import Corrections
from ambilearn.tables.corrections import (
    apply_corrections,
    parse_new_label,
    read_corrections,
)

TEXTS = ["anna|bob", "bob", "cleo | anna", 'x,"y"\nz|anna']
CLASSES = np.array(["anna", "bob", "cleo"])


def read(text, texts=TEXTS, classes=CLASSES):
    return read_corrections(io.StringIO(text), texts, classes)


def test_labels_by_row():
    found = read(
        'row,candidates,label\n2,cleo | anna,cleo\n0,anna|bob, bob \n3,"x,""y""\nz|anna",z'
    )
    assert found.labels == {2: "cleo", 0: "bob", 3: "z"}
    assert found.new_labels == ["z"]


def test_candidates_in_another_order_are_the_same_candidates():
    assert read("row,candidates,label\n2,anna|cleo,cleo\n0,bob | anna,bob\n").labels == {
        2: "cleo",
        0: "bob",
    }
    texts = ["a|b;c", "a"]
    file = io.StringIO("row,candidates,label\n0,c;a|b,c\n")
    assert read_corrections(file, texts, CLASSES, sep=";").labels == {0: "c"}
    file = io.StringIO("row,candidates,label\n0,b;c|a,c\n")  # another order at the other sign
    with pytest.raises(InvalidFileError, match="another table"):
        read_corrections(file, texts, CLASSES, sep=";")


def test_a_corrected_row_leaves_the_weights_of_the_others():
    sets = as_candidates([{"anna": 3, "bob": 1}, {"bob": 2, "cleo": 1}])
    corrected = apply_corrections(sets, Corrections({1: "cleo"}))
    assert list(corrected) == [{"anna": 3.0, "bob": 1.0}, {"cleo": 1.0}]


def test_labels_that_are_numbers():
    found = read("row,candidates,label\n0,1|2,2\n1,3,7\n", ["1|2", "3"], np.array([1, 2, 3]))
    assert found.labels == {0: 2, 1: 7}
    assert found.new_labels == [7]
    assert type(found.labels[1]) is int
    with pytest.raises(
        InvalidFileError,
        match="'seven' cannot be a label, because the labels of the table are numbers",
    ):
        read("row,candidates,label\n1,3,seven\n", ["1|2", "3"], np.array([1, 2, 3]))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("4,anna|bob,bob", r"correction 1: there is no row 4, the table has the rows 0 to 3"),
        ("-1,anna|bob,bob", r"correction 1: '-1' is not the number of a row"),
        ("²,anna|bob,bob", r"'²' is not the number of a row"),
        ("1.0,bob,bob", r"'1.0' is not the number of a row"),
        (",bob,bob", r"'' is not the number of a row"),
        ("1,bob,bob", r"row 1 was corrected before"),
        ("0,bob,bob", r"row 0 of the table has the candidates 'anna\|bob', not 'bob'"),
        ("2,cleo|bob,cleo", r"row 2 of the table has the candidates 'cleo \| anna', not"),
        ("2,cleo|anna|bob,cleo", r"row 2 of the table has the candidates 'cleo \| anna', not"),
        ("0,anna|bob,", r"the label of row 0 is empty"),
        ("0,anna|bob,  ", r"the label of row 0 is empty"),
    ],
)
def test_corrections_of_other_rows_are_named(line, message):
    with pytest.raises(InvalidFileError, match=message) as caught:
        read(f"row,candidates,label\n1,bob,anna\n{line}\n")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["a,b\n1,2\n", "row,candidates\n1,bob\n", ""])
def test_files_that_are_no_corrections(text):
    with pytest.raises(InvalidFileError):
        read(text)


def test_a_corrected_row_has_one_candidate():
    sets = as_candidates([{"anna", "bob"}, {"bob"}, {"cleo", "anna"}])
    corrected = apply_corrections(sets, Corrections({0: "bob", 2: "zoe"}))
    assert corrected.to_sets() == [{"bob"}, {"bob"}, {"zoe"}]
    assert corrected.classes.tolist() == ["bob", "zoe"]
    assert apply_corrections(sets, Corrections()) is sets


@pytest.mark.parametrize("sparse_mask", [False, True])
def test_the_form_of_the_results_stays(sparse_mask):
    sets = as_candidates([{"anna", "bob"}, {"bob"}])
    if sparse_mask:
        sets = as_candidates(sets.to_sparse(), classes=sets.classes)
    assert apply_corrections(sets, Corrections({0: "bob"})).sparse_mask is sparse_mask


@pytest.mark.parametrize("row", ["3", "9" * 400, "9" * 5000])
def test_a_row_however_large_is_no_row_of_the_table(row):
    file = io.StringIO(f"row,candidates,label\n{row},a|b,a\n")
    with pytest.raises(InvalidFileError, match=f"there is no row {row[:20]}, the table has"):
        read_corrections(file, ["a|b"] * 3, np.array(["a", "b"]))


@pytest.mark.parametrize(
    ("classes", "text"),
    [
        ([1, 2], "9" * 20),
        ([1, 2], "1_000"),
        ([1.5, 2.5], "nan"),
        ([1.5, 2.5], "inf"),
        ([1.5, 2.5], "1e400"),
        ([True, False], "maybe"),
        ([True, False], "1"),
    ],
)
def test_new_labels_that_cannot_be_among_the_others(classes, text):
    with pytest.raises(InvalidFileError, match=r"^The answer: .* cannot be a label, because"):
        parse_new_label("The answer", text, np.array(classes))


def test_new_labels_have_the_type_of_the_others():
    assert parse_new_label("", "7", np.array([1, 2])) == 7
    assert parse_new_label("", "-1e3", np.array([1.5])) == -1000
    assert parse_new_label("", "false", np.array([True])) is False
    assert parse_new_label("", "nan", np.array(["a"])) == "nan"
