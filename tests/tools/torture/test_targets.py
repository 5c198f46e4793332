"""What is tortured: cases can be kept, right ones are taken, wrong ones are found out."""

import ast
import sys
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings

if sys.platform == "win32":
    pytest.skip("the campaign forks and kills as Unix does", allow_module_level=True)

from torture.command_lines import check_command_line
from torture.damage import check_damage
from torture.estimators import FORMS, check_candidate_sets, check_estimator
from torture.experiments import check_spec, check_store, to_toml
from torture.layouts import FORMS as LAYOUTS
from torture.layouts import check_layout
from torture.mat_files import check_mat
from torture.models import check_rewritten
from torture.oracle import Defect
from torture.samples import HEADING, ROWS, csv_bytes
from torture.tables import _Page, check_corrections, check_table, check_written
from torture.targets import all_targets, find_target


@pytest.fixture(autouse=True)
def private_folder(tmp_path, monkeypatch):
    """Samples that are made once go there."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def folder(tmp_path):
    """An empty folder for a case."""
    (tmp_path / "case").mkdir()
    return tmp_path / "case"


@pytest.mark.slow
@pytest.mark.parametrize("name", all_targets())
def test_cases_are_kept_as_text_and_read_back(name):
    cases = find_target(name).cases

    def check(case):
        assert ast.literal_eval(repr(case)) == case

    if callable(cases):
        for number in range(5):
            check(cases(Random(number), number))
            assert cases(Random(number), number) == cases(Random(number), number)
    else:
        short = settings(max_examples=5, database=None, suppress_health_check=list(HealthCheck))
        seed(0)(short(given(cases)(check)))()


def test_an_unknown_target_is_named():
    with pytest.raises(SystemExit, match="nothing called 'kill' to torture"):
        find_target("kill")


@pytest.mark.parametrize("form", FORMS)
def test_plain_sets_are_taken_in_every_form(form, folder):
    taken = check_candidate_sets({"form": form, "sets": [["a", "b"], ["b"], ["a"]]}, folder)
    assert taken is (form not in ("broken csr", "masked array", "generator"))


def test_sets_without_a_candidate_are_refused(folder):
    assert not check_candidate_sets({"form": "sets", "sets": [["a"], []]}, folder)


LAYOUT = {
    "method": "plcl",
    "n_neighbors": 3,
    "seed": 0,
    "n rows": 20,
    "n features": 3,
    "copies": [2, 3, 4, 5, 6, 7, 8, 9, 11, 13],
    "multiples": [10],
    "zero rows": [12, 14],
    "form": "frame",
}


@pytest.mark.parametrize("form", LAYOUTS)
def test_rows_give_the_same_results_in_every_layout(form, folder):
    assert check_layout(LAYOUT | {"form": form}, folder)


def test_a_method_that_takes_no_other_library_is_not_asked(folder):
    assert check_layout(LAYOUT | {"method": "plda"}, folder)
    assert not check_layout(LAYOUT | {"method": "plda", "form": "array_api_strict"}, folder)


def test_results_that_depend_on_the_layout_are_found(folder, monkeypatch):
    from ambilearn.methods.plknn import PLKNN

    fit = PLKNN._fit
    monkeypatch.setattr(
        PLKNN,
        "_fit",
        lambda self, X, *rest: fit(
            self,
            X[:, ::-1] if X.flags.c_contiguous else X + np.arange(X.size).reshape(X.shape),
            *rest,
        ),
    )
    with pytest.raises(Defect, match="confidences differ"):
        check_layout(LAYOUT | {"method": "plknn", "form": "fortran"}, folder)


ESTIMATOR = {
    "method": "plknn",
    "params": {},
    "rows": [[0, 1], [1, 0], [5, 5]],
    "form": "lists",
    "sets": [["a"], ["a", "b"], ["b"]],
    "new": [[0, 0]],
    "fitted to": "dense",
    "asked on": "dense",
}


def test_a_method_is_fitted_or_refuses(folder):
    assert check_estimator(ESTIMATOR, folder)
    assert not check_estimator(ESTIMATOR | {"rows": [["nan", 1], [1, 0], [5, 5]]}, folder)


TABLE = {
    "command": "clean",
    "format": "csv",
    "out": "csv",
    "heading": HEADING,
    "rows": ROWS,
    "options": ["--no-doubt"],
}


def test_a_table_is_cleaned_or_refused(folder):
    assert check_table(TABLE, folder)
    (folder / "out.csv").unlink()
    assert not check_table(TABLE | {"rows": [["1", "Rome", ""]] * 3}, folder)


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ("anna|bob", "anna", "column "),
        ("Rome", "Oslo", "column "),
        ("x,town", "x,village", "became"),
        (",anna,", ",cleo,", "label 'cleo' of candidates"),
        (",0.75", ",1.75", "confidences"),
    ],
)
def test_a_table_that_was_changed_is_found_out(before, after, what, folder):
    labels = [row[2].split("|")[0] for row in ROWS]
    rows = [[*row, label, "0.75", "0.5"] for row, label in zip(ROWS, labels, strict=True)]
    table, out = folder / "table.csv", folder / "out.csv"
    table.write_bytes(csv_bytes(HEADING, ROWS))
    right = csv_bytes([*HEADING, "label", "confidence", "margin"], rows)
    out.write_bytes(right)
    check_written(table, out, "clean")
    out.write_bytes(right.replace(before.encode(), after.encode(), 1))
    with pytest.raises(Defect, match=what):
        check_written(table, out, "clean")


def test_corrections_are_taken_or_refused(folder):
    right = {"heading": ["row", "candidates", "label"], "rows": [("0", "bob|anna", "bob")]}
    assert check_corrections(right | {"edits": []}, folder)
    assert not check_corrections(right | {"rows": [("99", "bob", "bob")], "edits": []}, folder)


def test_a_script_in_a_page_is_seen():
    plain = _Page("<script>1</script><p title='onclick'>&lt;script&gt;</p>")
    assert plain.scripts == ["script []"]
    assert not plain.active
    assert _Page("<p onclick=alert(1)>").active
    assert _Page("<a href=' javascript:alert(1)'>").active


@pytest.mark.slow
def test_a_model_is_loaded_or_refused(folder):
    right = {"method": "plknn", "about": [], "schema": [], "array": None}
    assert check_rewritten(right, folder)
    evil = {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode"}
    assert not check_rewritten(right | {"schema": [([0], "replace", evil)]}, folder)


def test_a_mat_file_is_read_or_refused(folder):
    right = {"data": [[1, 2], [3, 4]], "partial_target": [[1, 0], [1, 1]], "target": None}
    right |= {"kind": "dense", "compressed": True, "edits": []}
    assert check_mat(right, folder)
    assert not check_mat(right | {"kind": "text"}, folder)


def test_toml_says_what_the_value_says():
    import tomllib

    value = {"a": [1, 2.5, 'x\n"y'], "b c": {"d": True}}
    assert tomllib.loads(to_toml(value)) == value


@pytest.mark.slow
def test_experiments_and_stores_are_used_or_refused(folder):
    assert check_spec({"edits": [], "quick": False}, folder)
    assert not check_spec({"bytes": [("cut", 100_000, 0)], "quick": False}, folder)
    store = {"changes": [], "statement": "", "edits": [], "command": "tables"}
    assert check_store(store, folder)
    assert not check_store(store | {"edits": [("cut", 500_000, 0)]}, folder)


@pytest.mark.slow
def test_a_command_line_is_understood_or_refused(folder):
    clean = ["clean", "table.csv", "--candidates", "names", "--method", "plknn"]
    assert check_command_line([*clean, "--out", "out.csv"], folder)


@pytest.mark.slow
def test_damage_is_seen(folder):
    assert check_damage({"file": "table.csv", "position": 13, "bits": 1}, folder)
    assert not check_damage({"file": "people.model", "position": 0, "bits": 1}, folder)
