"""The commands as a user runs them; the last tests use separate processes."""

import io
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from ambilearn.cli.console import Console
from ambilearn.cli.main import main
from ambilearn.tables import load_model

CLEAN = ["--candidates", "names", "--exclude", "truth"]
QUICK = [*CLEAN, "--method", "plknn"]  # where the method does not matter


def test_clean(run, people_csv, people):
    status, out, _ = run("clean", people_csv, *CLEAN, "--out", "cleaned.csv")
    assert (status, out) == (0, "")
    assert Path("cleaned.csv").read_text("utf-8") == run("clean", people_csv, *CLEAN)[1]
    cleaned = pd.read_csv("cleaned.csv", dtype=str, keep_default_na=False)
    new = ["label", "score", "confidence", "doubt", "suggestion", "review_rank"]
    assert list(cleaned) == [*people, *new]
    assert cleaned[list(people)].to_numpy().tolist() == people.to_numpy().tolist()
    assert (cleaned["label"] == people["truth"]).mean() > 0.9
    assert sorted(cleaned["review_rank"].astype(int)) == list(range(1, 61))


@pytest.mark.parametrize(
    ("command", "out", "n_single"),
    [
        ("clean", "out.csv", 30),
        ("clean", "out.csv", 10),
        ("fit", "out.model", 30),
        ("review", "out.html", 10),
    ],
)
@pytest.mark.usefixtures("ctrl_c_after_the_fit")
def test_control_c_after_the_fit_writes_its_results(run, people, command, out, n_single):
    """During calibration if enough rows have a single candidate, otherwise during doubt."""
    names = np.where(np.arange(60) < n_single, people["truth"], "anna|ben|cleo")
    single = people.assign(names=names)
    single.to_csv("people.csv", index=False)
    status, _, err = run(command, "people.csv", *QUICK, "--out", out)
    assert status == 130
    empty = "interrupted, and the scores" if n_single == 30 else "doubt and suggestion stay"
    assert empty in err
    if command == "clean":
        assert pd.read_csv(out)["label"].notna().all()
    elif command == "fit":
        assert "confidence of `predict` is empty: the computation was interrupted." in err
        assert load_model(out).about["interrupted"]
    else:
        assert Path(out).exists()


def test_the_summary_is_on_stderr(run, people_csv):
    err = run("clean", people_csv, "--candidates", "names", "--truth", "truth")[2]
    assert "60 rows, 3 labels, 1." in err
    assert re.search(r"(9\d\.\d|100\.0)% of the 60 rows with a known label are right", err)
    shown = err.partition("Check these rows first")[2]
    assert shown.splitlines()[1].split()[:3] == ["row", "doubt", "suggestion"]
    assert len(shown.splitlines()[2:]) == 10
    assert "estimated share" not in err  # it cannot be estimated


def test_the_model_is_that_of_the_same_fit(run, people_csv, monkeypatch):
    fits = []
    said = Console.stage
    monkeypatch.setattr(Console, "stage", lambda c, text: (fits.append(text), said(c, text)))
    options = [*QUICK, "--out", "cleaned.csv", "--model-out", "m.model"]
    run.succeeds("clean", people_csv, *options)
    assert [text for text in fits if text.startswith("fitting")] == [
        "fitting PLKNN to 60 rows and 8 features"
    ]
    labels = load_model("m.model").method.transduction_
    assert pd.read_csv("cleaned.csv")["label"].to_list() == labels.tolist()
    run.succeeds("fit", people_csv, *QUICK, "--out", "fit.model")
    one, other = (run.succeeds("predict", f, people_csv)[0] for f in ("m.model", "fit.model"))
    assert one == other


PAPER = "use --method plcl for the method of the paper"
STACK = f"method: PLStacking (default up to 10 000 rows); {PAPER}\n"


@pytest.mark.parametrize("command", ["clean", "fit", "review"])
def test_without_a_method_the_default_is_used_and_reported(run, people_csv, command):
    out = {"clean": "o.csv", "fit": "o.model", "review": "o.html"}[command]
    err = run(command, people_csv, *CLEAN, "--out", out)[2]
    assert STACK in err
    assert "fitting PLStacking to 60 rows" in err
    named = run(command, people_csv, *CLEAN, "--method", "PL-KNN", "--out", out)[2]
    assert "method:" not in named
    assert "fitting PLKNN to 60 rows" in named


def test_tune_set_seed_and_landmarks(run, people_csv):
    arguments = ["fit", people_csv, *CLEAN, "--out", "m.model"]
    _, _, err = run(*arguments, "--method", "plknn", "--tune")
    assert re.search(r"chosen without true labels: n_neighbors=\d+ \([\d.]+% of", err)
    assert f"n_neighbors={load_model('m.model').method.n_neighbors} " in err
    run(*arguments, "--set", "n_neighbors=4", "--set", "graph=false", "--seed", "5")
    method = load_model("m.model").method
    assert (method.n_neighbors, method.graph, method.random_state) == (4, False, 5)
    _, _, err = run(*arguments, "--method", "plcl", "--set", "n_landmarks=15")
    assert load_model("m.model").method.n_landmarks == 15
    assert "landmarks" not in err  # the user set the number


@pytest.mark.parametrize("name", ["forest", "boosting"])
def test_trees_clean_a_table_but_are_not_saved(run, people_csv, name):
    _, err = run.succeeds("clean", people_csv, *CLEAN, "--method", name, "--set", "max_iter=1")
    assert "fitting CandidateClassifier to 60 rows" in err
    saving = ["--method", name, "--model-out", "m.model"]
    err = run.fails("clean", people_csv, *CLEAN, *saving, status=2)
    assert "loading them can run any code" in " ".join(err.split())
    err = run.fails("fit", people_csv, *CLEAN, "--method", name, "--out", "m.model", status=2)
    assert f"cannot store --method {name}" in " ".join(err.split())


TABLE = "x,names\n1,a|b\n2,b\n3,a\n"


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (TABLE, ["--candidates", "nmes"], "no column 'nmes'. Did you mean 'names'?"),
        (TABLE, ["--candidates", "names", "--set", "reg=1", "--set", "reg=2"], "given twice"),
        (TABLE, ["--candidates", "names", "--out", "t.xlsx"], "tables are written to .csv"),
        (TABLE, ["--candidates", "names", "--checked", "t.csv"], "no columns 'row', 'candidates'"),
        (TABLE, ["--candidates", "names", "--tune"], "Leave out --tune"),
        ("a;names\n1,5;x|y\n2;x\n", ["--candidates", "names"], "--delimiter ';', and --decimal ,"),
    ],
)
def test_errors_of_the_user_are_one_line(run, tmp_path, content, arguments, message):
    """Mistakes of each kind of option; the readers' own tests have the others."""
    (tmp_path / "t.csv").write_text(content)
    (tmp_path / "out.csv").write_text("old")
    status, out, err = run("clean", "t.csv", "--out", "out.csv", *arguments)
    assert (status, out) == (1, "")
    assert (tmp_path / "out.csv").read_text() == "old"
    errors = [line for line in err.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1
    assert message in errors[0]
    assert err.splitlines()[-1] == errors[0]


@pytest.mark.parametrize(
    "arguments",
    [
        ["clean", "nowhere.csv", "--candidates", "names"],
        ["clean", "t.csv", "--candidates", "names", "--delimiter", ";;"],
        ["clean", "t.csv", "--candidates", "names", "--method", "svm"],
        ["clean", "t.csv", "--candidates", "names", "--embed", "x"],
        ["fit", "t.csv", "--candidates", "names"],
        ["predict", "t.csv", "t.csv"],
    ],
)
def test_wrong_use(run, tmp_path, arguments):
    (tmp_path / "t.csv").write_text(TABLE)
    status, out, err = run(*arguments)
    assert status in (1, 2)
    assert out == ""
    assert err.splitlines()[-1].startswith("Error: ")


CELLS = ["", "1", "-2.5", "inf", "1e400", "NA", "a", "b", "a|b", "|", "a|", " ", "é", '"', "x,y"]
CELLS += ["2020-01-01", "2020-02-30", "True", "007", "1_000", "\0", "\u202e", "9" * 40, "1e300"]


@pytest.mark.slow
@given(
    st.lists(st.sampled_from(["x", "y", "", "self", "names", "é"]), min_size=1, unique=True),
    st.lists(st.lists(st.sampled_from(CELLS), min_size=6, max_size=6), max_size=8),
)
def test_no_table_causes_a_traceback(columns, rows):
    frame = pd.DataFrame([row[: len(columns)] for row in rows], columns=columns)
    arguments = ["clean", "-", "--candidates", "names", "--method", "plknn"]
    result = CliRunner().invoke(main, arguments, input=frame.to_csv(index=False))
    if result.exit_code:
        assert isinstance(result.exception, SystemExit)
        assert result.stderr.splitlines()[-1].startswith("Error: ")
    else:
        assert len(pd.read_csv(io.StringIO(result.stdout))) == len(frame)


@pytest.mark.slow
def test_pipes(process, people_csv):
    status, out, _ = process("clean", "-", *QUICK, input=people_csv.read_bytes())
    assert status == 0
    assert len(out.splitlines()) == 61
    lines = b'{"x": 1, "names": ["a"]}\n{"x": 9, "names": ["b"]}\n{"x": 2, "names": ["a", "b"]}\n'
    arguments = ["clean", "-", "--candidates", "names", "--format", "jsonl"]
    status, out, _ = process(*arguments, "--set", "n_neighbors=1", input=lines)
    assert status == 0
    assert [json.loads(line)["label"] for line in out.splitlines()] == ["a", "b", "a"]


@pytest.mark.slow
def test_a_terminal_shows_what_is_being_done(terminal, people_csv):
    status, screen = terminal("clean", people_csv, *CLEAN, "--out", "c.csv")
    assert status == 0
    expected = ["reading the table", "fitting PLStacking to 60 rows", "writing the table"]
    expected += ["wrote c.csv: 60 rows, 14 columns", "Check these rows first"]
    places = [screen.index(text) for text in expected]
    assert places == sorted(places)


@pytest.mark.slow
def test_a_table_on_the_terminal_is_not_mixed_with_the_spinner(terminal, people_csv):
    status, screen = terminal("clean", people_csv, *CLEAN)
    assert status == 0
    table = screen.partition("id,height,weight")[2].partition("rows with several")[0]
    assert len(table.splitlines()) == 62  # the heading, 60 rows, and the next message
    assert "\x1b" not in table


def test_warnings_about_the_table_come_before_the_fit(run, people):
    people["height"] = people["height"].str.replace(".", ",")
    people["photo_id"] = [str(7 * i % 61) for i in range(len(people))]
    people.to_csv("t.csv", index=False)
    for command in ("clean", "fit", "review"):
        out = {"clean": "out.csv", "fit": "out.model", "review": "out.html"}[command]
        _, err = run.succeeds(command, "t.csv", *CLEAN, "--method", "plknn", "--out", out)
        before, fitting, after = err.partition("fitting PLKNN")
        assert fitting
        assert "numbers with commas" in before
        assert "left out: 'id', 'height': each is text" in before
        assert "features that look like ids: 'photo_id'" in before
        assert "Warning" not in after


def test_a_table_with_semicolons_and_decimal_commas(run, people, people_csv):
    numbers = people.copy()
    numbers[["height", "weight"]] = numbers[["height", "weight"]].replace(r"\.", ",", regex=True)
    numbers.to_csv("t.csv", index=False, sep=";")
    reading = ["--delimiter", ";", "--decimal", ","]
    _, err = run.succeeds("clean", "t.csv", *QUICK, *reading, "--out", "c.csv", "--model-out", "m")
    assert "5 features: number: height, weight" in err
    assert run("predict", "m", "t.csv", *reading, "--out", "p.csv")[0] == 0
    for name in ("c.csv", "p.csv"):
        written = pd.read_csv(name, sep=";", dtype=str, keep_default_na=False)
        assert written["height"].to_list() == numbers["height"].to_list()  # cells stay as they are
        assert not written["score"].str.contains(".", regex=False).any()
    run.succeeds("clean", "t.csv", *QUICK, *reading, "--out", "c.tsv")
    assert ";" not in Path("c.tsv").read_text("utf-8")  # the delimiter is that of the input


def test_a_device(run, people_csv, torch):
    options = [*CLEAN, "--device", "cpu", "--model-out", "m.model"]
    _, err = run.succeeds("clean", people_csv, *options, "--out", "c.csv")
    assert "method: PLStacking (default up to 10 000 rows)" in err
    here, _ = run.succeeds("predict", "m.model", people_csv)
    there, _ = run.succeeds("predict", "m.model", people_csv, "--device", "cpu")
    labels = [pd.read_csv(io.StringIO(out))["label"].to_list() for out in (here, there)]
    assert labels[0] == labels[1] == pd.read_csv("c.csv")["label"].to_list()


def device_commands():
    """Every command with a device, on files that it would reject if it read them."""
    Path("no.model").write_text("no model")
    learn = [*CLEAN, "--device", "abacus"]
    yield "clean", "no.csv", *learn
    yield "fit", "no.csv", *learn, "--out", "new.model"
    yield "review", "no.csv", *learn
    yield "predict", "no.model", "no.csv", "--device", "abacus"


def test_a_device_that_is_not_here_is_rejected_before_anything_is_read(run, torch):
    for command in device_commands():
        err = run.fails(*command)
        assert err.startswith("Error: Device 'abacus' is not available")


def test_a_device_without_pytorch_is_rejected_before_anything_is_read(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    message = "Error: A device needs torch: pip install 'ambilearn[torch]'\n"
    for command in device_commands():
        assert run(*command) == (1, "", message)


def test_a_byte_that_is_no_text_in_the_name_of_the_table(run, people_csv):
    """The error was that the table is damaged, or that of a codec."""
    try:
        odd = Path(people_csv).rename(os.fsdecode(b"caf\xff.csv"))
    except OSError:
        pytest.skip("this file system takes no such name")
    status, _, err = run("review", odd, *QUICK, "--out", "review.html")
    assert (status, err[:10]) == (0, "caf\N{REPLACEMENT CHARACTER}.csv: ")


def test_given_labels_are_corrected(run, wrong_labels):
    options = ["--given-label", "said", "--truth", "truth", "--prefix", "new_"]
    status, out, err = run("clean", "said.csv", *options, "--out", "cleaned.csv")
    assert (status, out) == (0, "")
    cleaned = pd.read_csv("cleaned.csv")
    assert cleaned["said"].to_list() == wrong_labels["said"].to_list()
    changed = cleaned["new_label"] != cleaned["said"]
    assert np.mean(cleaned["new_label"] == cleaned["truth"]) > 0.95
    assert f"{changed.sum()} of 80 labels changed" in err
    assert re.search(r"8\d\.\d% were given\s+the right one", err)
    shown = err.partition("Check these rows first")[2].splitlines()
    assert shown[1].split() == ["row", "doubt", "confidence", "given", "label", "suggestion"]
    assert "fitting" not in err


def test_a_model_is_fitted_to_corrected_labels(run, wrong_labels):
    options = ["--given-label", "said", "--truth", "truth", "--method", "plknn"]
    _, err = run.succeeds("fit", "said.csv", *options, "--out", "said.model")
    assert err.count("with a known label") == 1
    assert "candidate" not in err
    run.succeeds("clean", "said.csv", *options, "--out", "c.csv", "--model-out", "m.model")
    corrected = pd.read_csv("c.csv")["label"].to_list()
    for name in ("said.model", "m.model"):
        assert load_model(name).method.transduction_.tolist() == corrected


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        ("clean", ["--candidates", "said"], "cannot be combined with --candidates"),
        ("clean", ["--item", "x"], "cannot be combined with --candidates"),
        ("clean", ["--fast"], "--fast and --given-label cannot be combined"),
        ("clean", ["--trust-candidates"], "--trust-candidates and --given-label cannot be"),
        ("review", ["--fast"], "--fast and --given-label cannot be combined"),
        ("clean", ["--tune"], "--tune and --given-label cannot be combined"),
        ("clean", ["--set", "reg=1"], "require --method"),
        ("clean", ["--weight-annotators"], "no annotators to judge"),
        ("clean", ["--annotators-out", "a.csv"], "no annotators to judge"),
    ],
)
def test_options_that_do_not_fit_given_labels_are_rejected(
    run, wrong_labels, command, options, message
):
    status, _, err = run(command, "said.csv", "--given-label", "said", *options)
    assert status != 0
    assert message in " ".join(err.split())
