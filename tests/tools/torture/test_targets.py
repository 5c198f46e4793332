"""What is tortured: cases can be kept, right ones are accepted, wrong ones are found out."""

import ast
import json
import sys
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings

if sys.platform == "win32":
    pytest.skip("the campaign forks and kills as Unix does", allow_module_level=True)

from torture.command_lines import check_command_line
from torture.estimators import FORMS, WRAPPERS, check_candidate_sets, check_estimator
from torture.experiments import check_spec, check_store, to_toml
from torture.layouts import FORMS as LAYOUTS
from torture.layouts import check_layout
from torture.mat_files import check_mat
from torture.models import check_rewritten
from torture.oracle import Defect
from torture.pictures import _check_images, check_picture
from torture.samples import HEADING, ROWS, csv_bytes
from torture.tables import (
    _Page,
    check_excel_part,
    check_label_forms,
    check_table,
    check_written,
)
from torture.targets import all_targets, find_target

from ambilearn import PLKNN
from ambilearn.registry import METHODS


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


@pytest.mark.parametrize("form", FORMS)
def test_plain_sets_are_accepted_in_every_form(form, folder):
    accepted = check_candidate_sets({"form": form, "sets": [["a", "b"], ["b"], ["a"]]}, folder)
    assert accepted is (form not in ("broken csr", "masked array", "generator"))


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


def test_results_that_depend_on_the_layout_are_found(folder, monkeypatch):
    from ambilearn.methods.plknn import PLKNN

    fit = PLKNN._fit

    def depends_on_the_layout(self, rows, candidates):
        X = rows.X
        if not X.flags.c_contiguous:
            X = X + np.arange(X.size).reshape(X.shape)
        return fit(self, self._training_rows(X), candidates)

    monkeypatch.setattr(PLKNN, "_fit", depends_on_the_layout)
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
    "predicted on": "dense",
}


MORE_ROWS = {
    "rows": [[0, 1], [1, 0], [5, 5], [0, 0], [6, 5], [5, 6]],
    "sets": [["a"], ["a", "b"], ["b"], ["a"], ["b"], ["b", "a"]],
    "row weights": [1, 2, 0.5, 1, 1, 0],
    "saved": True,
}


@pytest.mark.parametrize("kind", ["nothing", *WRAPPERS])
def test_a_method_with_weights_is_fitted_inside_other_estimators(kind, folder):
    assert check_estimator(ESTIMATOR | MORE_ROWS | {"inside": kind}, folder)
    rejected = MORE_ROWS | {"inside": kind, "row weights": [1, 1, 1, 1, 1, -1]}
    assert not check_estimator(ESTIMATOR | rejected, folder)


class TakesTheNewWidth(PLKNN):
    def fit(self, X, y, sample_weight=None):
        try:
            return super().fit(X, y, sample_weight)
        except ValueError:
            self.n_features_in_ = X.shape[1]
            raise


class ScoresVectorsOnly(PLKNN):
    def score(self, X, y, sample_weight=None):
        return super().score(X, y, sample_weight) if np.ndim(y) == 1 else 0.0


@pytest.mark.parametrize(
    ("planted", "what"),
    [(TakesTheNewWidth, "changes the model"), (ScoresVectorsOnly, "the scores")],
)
def test_defects_of_estimators_are_detected(planted, what, folder, monkeypatch):
    monkeypatch.setitem(METHODS, "plknn", SimpleNamespace(make=planted))
    with pytest.raises(Defect, match=what):
        check_estimator(ESTIMATOR, folder)


TABLE = {
    "command": "clean",
    "format": "csv",
    "out": "csv",
    "heading": HEADING,
    "rows": ROWS,
    "options": ["--fast"],
}


def test_a_table_is_cleaned_or_rejected(folder):
    assert check_table(TABLE, folder)
    (folder / "out.csv").unlink()
    assert not check_table(TABLE | {"rows": [["1", "Rome", ""]] * 3}, folder)


def test_a_part_of_an_excel_file_is_read_or_rejected(folder):
    case = {"command": "clean", "options": ["--fast"], "part": "xl/worksheets/sheet1.xml"}
    assert check_excel_part(case | {"edits": []}, folder)
    (folder / "out.csv").unlink()
    assert not check_excel_part(case | {"edits": [("cut", 500_000, 0)]}, folder)


def test_distinct_labels_that_look_the_same_are_detected(folder):
    rows = [[("Zo\u00eb", "NFD", 0)], [("bob", "\u200b", 1), ("Zo\u00eb", "NFC", 0)]]
    case = {"rows": [*rows, [("\u00c5sa B", "\u00a0", 0)]], "no answer": []}
    case["correction"] = ("bob", "\ufeff", 3)
    assert check_label_forms(case, folder)
    with pytest.raises(Defect, match="became"):
        check_label_forms(case | {"correction": ("bob", "\u200d", 1)}, folder)  # a joiner stays


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ("anna|bob", "anna", "column "),
        ("Rome", "Oslo", "column "),
        ("x,town", "x,village", "became"),
        (",anna,", ",cleo,", "label 'cleo' of candidates"),
        (",0.75", ",1.75", "scores"),
    ],
)
def test_a_changed_table_is_detected(before, after, what, folder):
    labels = [row[2].split("|")[0] for row in ROWS]
    rows = [[*row, label, "0.75", "", "0.5"] for row, label in zip(ROWS, labels, strict=True)]
    table, out = folder / "table.csv", folder / "out.csv"
    table.write_bytes(csv_bytes(HEADING, ROWS))
    right = csv_bytes([*HEADING, "label", "score", "confidence", "margin"], rows)
    out.write_bytes(right)
    check_written(table, out, "clean")
    out.write_bytes(right.replace(before.encode(), after.encode(), 1))
    with pytest.raises(Defect, match=what):
        check_written(table, out, "clean")


def test_a_script_in_a_page_is_detected():
    plain = _Page("<script>1</script><p title='onclick'>&lt;script&gt;</p>")
    assert plain.scripts == ["script []"]
    assert not plain.active
    assert _Page("<p onclick=alert(1)>").active
    assert _Page("<a href=' javascript:alert(1)'>").active


PICTURE = {
    "format": "PNG",
    "mode": "RGB",
    "size": (700, 5),
    "ending": "",
    "edits": [],
    "outside": "../secret.svg",
    "other": "gone.png",
}


@pytest.mark.parametrize("outside", ["link.svg", "links/secret.svg", "file://{outside}/secret.svg"])
def test_truncated_and_outside_pictures_are_rejected(outside, folder):
    case = PICTURE | {"edits": [("cut", 500_000, 0)], "outside": outside}
    assert not check_picture(case, folder)


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([[None, "cannot be read"], [None, "cannot be read"]], "a good picture is"),
        ([[None, None], ["data:image/png;base64,", None]], "neither shown nor rejected"),
        ([["x", None], ["data:image/png;base64,", None], ["data:,", None]], "outside the folder"),
    ],
)
def test_a_page_with_wrong_pictures_is_detected(rows, what):
    right = [["x", None], ["data:image/png;base64,", None], [None, "outside the allowed folders"]]
    rows = [*rows, *right[len(rows) :], [None, None]]
    data = {"rows": [[0] * 4 + [address, 0, 0, problem] for address, problem in rows]}
    with pytest.raises(Defect, match=what):
        _check_images(f'<script id="data">{json.dumps(data)}</script>')


@pytest.mark.slow
def test_a_model_is_loaded_or_rejected(folder):
    right = {"method": "plknn", "about": [], "schema": [], "array": None}
    assert check_rewritten(right, folder)
    evil = {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode"}
    assert not check_rewritten(right | {"schema": [([0], "replace", evil)]}, folder)


def test_a_mat_file_is_read_or_rejected(folder):
    right = {"data": [[1, 2], [3, 4]], "partial_target": [[1, 0], [1, 1]], "target": None}
    right |= {"kind": "dense", "compressed": True, "edits": []}
    assert check_mat(right, folder)
    assert not check_mat(right | {"kind": "text"}, folder)


def test_toml_round_trips():
    import tomllib

    value = {"a": [1, 2.5, 'x\n"y'], "b c": {"d": True}}
    assert tomllib.loads(to_toml(value)) == value


@pytest.mark.slow
def test_experiments_and_stores_are_used_or_rejected(folder):
    assert check_spec({"edits": [], "quick": False}, folder)
    assert not check_spec({"bytes": [("cut", 100_000, 0)], "quick": False}, folder)
    store = {"changes": [], "statement": "", "edits": [], "command": "tables"}
    assert check_store(store, folder)
    assert not check_store(store | {"edits": [("cut", 500_000, 0)]}, folder)


@pytest.mark.slow
def test_a_command_line_is_accepted_or_rejected(folder):
    clean = ["clean", "table.csv", "--candidates", "names", "--method", "plknn"]
    assert check_command_line([*clean, "--out", "out.csv"], folder)


def test_only_outputs_may_be_replaced(folder, tmp_path, monkeypatch):
    fit = ["fit", "table.csv", "--candidates", "names", "--method", "plknn", "--out"]
    assert check_command_line([*fit, "people.model"], folder)

    def spoil(*arguments, stdin):
        Path("people.model").write_bytes(b"")
        return SimpleNamespace(done=True)

    monkeypatch.setattr("torture.command_lines.run_command", spoil)
    (other := tmp_path / "other").mkdir()
    with pytest.raises(Defect, match=r"people\.model has changed"):
        check_command_line(["predict", "people.model", "table.csv", "--out", "out.csv"], other)
