"""The commands as a user runs them; the last tests use separate processes."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from sentences import make_sentences, make_vectors

from ambilearn.cli.console import Console
from ambilearn.cli.main import main
from ambilearn.datasets.frames import read_frame
from ambilearn.tables import load_model, write_table

CLEAN = ["--candidates", "names", "--exclude", "truth"]
QUICK = [*CLEAN, "--method", "plknn"]  # where the method does not matter


@pytest.mark.parametrize("command", ["clean", "fit", "predict"])
def test_help_fits_the_terminal_and_explains(run, command):
    out, _ = run.succeeds(command, "--help")
    assert all(len(line) <= 80 for line in out.splitlines())
    assert "--out FILE" in out
    assert f"ambilearn {command} people" in out


def test_clean(run, people_csv, people):
    status, out, _ = run("clean", people_csv, *CLEAN, "--out", "cleaned.csv")
    assert (status, out) == (0, "")
    cleaned = pd.read_csv("cleaned.csv", dtype=str, keep_default_na=False)
    new = ["label", "score", "confidence", "margin", "doubt", "suggestion", "review_rank"]
    assert list(cleaned) == [*people, *new]
    assert cleaned[list(people)].to_numpy().tolist() == people.to_numpy().tolist()
    assert (cleaned["label"] == people["truth"]).mean() > 0.9
    assert sorted(cleaned["review_rank"].astype(int)) == list(range(1, 61))


@pytest.mark.parametrize(
    ("command", "out", "stage"),
    [
        ("clean", "out.csv", "calibrating"),
        ("clean", "out.csv", "looking for rows"),
        ("fit", "out.model", "calibrating"),
        ("review", "out.html", "looking for rows"),
    ],
)
def test_control_c_after_the_fit_writes_its_results(run, people, monkeypatch, command, out, stage):
    single = people.assign(names=people["names"].where(np.arange(60) >= 30, people["truth"]))
    single.to_csv("people.csv", index=False)
    show = Console.stage

    def press(console, text):
        show(console, text)
        if text.startswith(stage):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Console, "stage", press)
    status, _, err = run(command, "people.csv", *QUICK, "--out", out)
    assert status == 130
    empty = "interrupted, and the scores" if stage == "calibrating" else "doubt and suggestion stay"
    assert empty in err
    if command == "clean":
        assert pd.read_csv(out)["label"].notna().all()
    elif command == "fit":
        assert "confidence of `predict` is empty: the computation was interrupted." in err
        assert load_model(out).was_interrupted
    else:
        assert Path(out).exists()


def test_the_summary_is_on_stderr(run, people_csv):
    err = run("clean", people_csv, "--candidates", "names", "--label", "truth")[2]
    assert "60 rows, 3 labels, 1." in err
    assert "5 features: number: height, weight; category: town; truth value: member" in err
    assert "left out: 'id' is text with 60 different values in 60 rows" in err
    assert re.search(r"(9\d\.\d|100\.0)% of the 60 rows with a known label are right", err)
    assert re.search(r"\d+ rows with several candidates, among them \d+ close calls?", err)
    shown = err.partition("Check these rows first")[2]
    assert shown.splitlines()[1].split()[:4] == ["row", "margin", "doubt", "suggestion"]
    assert len(shown.splitlines()[2:]) == 10
    assert "estimated share" not in err  # it cannot be estimated


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_two_rows_have_the_columns_of_doubt_empty(run, format):
    Path("two.csv").write_text("x,names\n1,a\n2,a|b\n")
    out = f"cleaned.{format}"
    _, err = run.succeeds("clean", "two.csv", "--candidates", "names", "--out", out)
    assert "Warning: two.csv: two rows are too few to compute doubt" in err
    cleaned = read_frame(out)
    assert list(cleaned)[-3:] == ["doubt", "suggestion", "review_rank"]
    cells = [*cleaned["doubt"].to_list(), *cleaned["suggestion"].to_list()]
    assert all(pd.isna(cell) or cell == "" for cell in cells)


def test_without_doubt_rows_come_by_their_margin(run, people_csv):
    out, err = run.succeeds("clean", people_csv, *CLEAN, "--no-doubt")
    assert "doubt" not in out
    assert "none of their candidates" not in err
    shown = err.partition("Check these rows first")[2]
    margins = [float(line.split()[1]) for line in shown.splitlines()[2:12]]
    assert margins == sorted(margins)
    assert len(margins) == 10


def test_without_out_the_table_goes_to_stdout(run, people_csv):
    out, _ = run.succeeds("clean", people_csv, *QUICK)
    assert run("clean", people_csv, *QUICK, "--out", "-")[1] == out
    run("clean", people_csv, *QUICK, "--out", "cleaned.csv")
    with open("cleaned.csv", encoding="utf-8") as file:
        assert file.read() == out


def test_clean_of_what_clean_wrote_needs_a_prefix(run, people_csv):
    run("clean", people_csv, *QUICK, "--out", "once.csv")
    err = run.fails("clean", "once.csv", *QUICK)
    assert "once.csv has a column 'label' already" in err
    assert "--prefix" in err
    arguments = [*QUICK, "--exclude", "label", "--exclude", "score", "--exclude", "confidence"]
    arguments += ["--exclude", "margin", "--exclude", "review_rank", "--prefix", "second_"]
    out, _ = run.succeeds("clean", "once.csv", *arguments)
    twice = pd.read_csv(io.StringIO(out))
    assert (twice["label"] == twice["second_label"]).all()


PAPER = "use --method plcl for the method of the paper"
STACK = f"method: PLStacking (default up to 10 000 rows); {PAPER}\n"


@pytest.mark.parametrize("command", ["clean", "fit", "review"])
def test_without_a_method_the_default_is_used_and_reported(run, people_csv, command):
    out = {"clean": "o.csv", "fit": "o.model", "review": "o.html"}[command]
    err = run(command, people_csv, *CLEAN, "--out", out)[2]
    assert STACK in err
    assert "fitting PLStacking to 60 rows" in err
    named = run(command, people_csv, *CLEAN, "--method", "plcl", "--out", out)[2]
    assert "method:" not in named
    assert "fitting PLCL to 60 rows" in named
    assert "By default plstacking" in run(command, "--help")[1].replace("\n" + 34 * " ", " ")


def test_the_default_is_what_naming_it_gives(run, people_csv):
    default = run("clean", people_csv, *CLEAN)[1]
    assert run("clean", people_csv, *CLEAN, "--method", "plstacking")[1] == default
    assert run("clean", people_csv, *CLEAN, "--method", "plcl")[1] != default


def test_a_parameter_of_plcl_means_plcl(run, people_csv):
    options = ["--set", "reg=0.1", "--out", "m.model"]
    err = run("fit", people_csv, *CLEAN, *options)[2]
    assert "method: PLCL (default where its parameter reg is given)\n" in err
    assert load_model("m.model").method.reg == 0.1
    run("fit", people_csv, *CLEAN, "--set", "passthrough=false", "--out", "m.model")
    assert load_model("m.model").method.passthrough is False


@pytest.mark.parametrize("name", ["pra", "PRA"])
def test_a_removed_method_is_rejected_with_its_replacement(run, people_csv, name):
    err = run.fails("clean", people_csv, *CLEAN, "--method", name, status=2)
    assert "PLStacking(estimators=[('plaggd', PLAGGD())]" in " ".join(err.split())


def test_a_large_table_is_for_plcl(run, people_csv, monkeypatch):
    monkeypatch.setattr("ambilearn.tables.default_method.MAX_STACKED_ROWS", 59)
    err = run("clean", people_csv, *CLEAN)[2]
    assert "method: PLCL (default above 59 rows)\n" in err
    assert "fitting PLCL to 60 rows" in err


@pytest.mark.slow
def test_the_default_selects_too(run, people_csv):
    _, err = run.succeeds("fit", people_csv, *CLEAN, "--select", "--out", "m.model")
    chosen = re.search(r"chosen without true labels: passthrough=(\w+) \([\d.]+% of", err)
    assert str(load_model("m.model").method.passthrough) == chosen.group(1)


def test_select_set_seed_and_landmarks(run, people_csv):
    arguments = ["fit", people_csv, *CLEAN, "--out", "m.model"]
    _, _, err = run(*arguments, "--method", "plknn", "--select")
    assert re.search(r"chosen without true labels: n_neighbors=\d+ \([\d.]+% of", err)
    assert f"n_neighbors={load_model('m.model').method.n_neighbors} " in err
    run(*arguments, "--set", "n_neighbors=4", "--set", "graph=false", "--seed", "5")
    method = load_model("m.model").method
    assert (method.n_neighbors, method.graph, method.random_state) == (4, False, 5)
    _, _, err = run(*arguments, "--n-landmarks", "15")
    assert load_model("m.model").method.n_landmarks == 15
    assert "landmarks" not in err  # the user set the number


def test_a_large_table_uses_landmarks_and_reports_it(run, people_csv, monkeypatch):
    monkeypatch.setattr("ambilearn.tables.methods.MAX_EXACT_ROWS", 60)
    monkeypatch.setattr("ambilearn.tables.methods.DEFAULT_N_LANDMARKS", 25)
    err = run("clean", people_csv, *CLEAN)[2]
    assert "the kernel of 60 rows is approximated by 25 landmarks" in err
    assert "--n-landmarks" in err
    assert "landmarks" not in run("clean", people_csv, *CLEAN, "--set", "n_landmarks=none")[2]


def test_codes_are_categories_with_an_option(run, people):
    people.assign(code=[str(i % 3) for i in range(60)]).to_csv("t.csv", index=False)
    err = run("clean", "t.csv", *CLEAN, "--categorical", "code")[2]
    assert "category: town, code" in err
    assert "number: height, weight, code" not in err
    err = run.fails("clean", "t.csv", *CLEAN, "--categorical", "cod")
    assert "Did you mean 'code'?" in err


def test_corrections_change_what_is_learned(run, people_csv, people):
    row = next(i for i, text in enumerate(people["names"]) if "|" in text)
    with open("corrections.csv", "w", encoding="utf-8") as file:
        file.write(f"row,candidates,label\n{row},{people['names'][row]},zoë\n")
    arguments = [people_csv, *CLEAN, "--corrections", "corrections.csv"]
    out, err = run.succeeds("clean", *arguments)
    assert pd.read_csv(io.StringIO(out))["label"][row] == "zoë"
    assert "1 row corrected by a person" in err
    assert "labels that occur only in the corrections: zoë" in err
    assert run("fit", *arguments, "--out", "m.model")[0] == 0
    assert "zoë" in load_model("m.model").classes


def test_several_annotators(run):
    with open("votes.csv", "w", encoding="utf-8") as file:
        file.write("x,ann1,ann2,ann3\n")
        file.writelines(
            f"{i % 2 * 9 + i / 7},{'ab'[i % 2]},{'ab'[i % 3 % 2]},\n" for i in range(20)
        )
    columns = [part for i in (1, 2, 3) for part in ("--candidates", f"ann{i}")]
    out, err = run.succeeds("clean", "votes.csv", *columns)
    assert pd.read_csv(io.StringIO(out))["label"].to_list() == ["a", "b"] * 10
    assert "number: x" in err
    assert "1 feature: number: x\n" in err
    assert "fitting PLStacking to 20 rows and 1 feature …" in err


def test_annotators_who_never_agree(run):
    with open("votes.csv", "w", encoding="utf-8") as file:
        file.write("x,ann1,ann2\n1,a,a\n2,a,b\n8,b,b\n9,b,b\n")
    options = ["--candidates", "ann1", "--candidates", "ann2", "--min-votes", "2"]
    err = run.fails("clean", "votes.csv", *options)
    assert "In row 1 no label has 2 votes ('a': 1, 'b': 1)" in err
    assert "--fallback union" in err
    options += ["--fallback", "union", "--set", "n_neighbors=1"]
    out, _ = run.succeeds("clean", "votes.csv", *options)
    assert pd.read_csv(io.StringIO(out))["label"].to_list() == ["a", "a", "b", "b"]


@pytest.mark.parametrize("command", ["clean", "fit", "review"])
def test_select_chooses_how_many_votes_make_a_candidate(run, command):
    """Two are always right, the third answers at random: one vote is not enough."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 60)
    right = np.array(list("pqr"))[truth]
    frame = pd.DataFrame({"x": truth + rng.normal(size=60) / 9, "a": right, "b": right})
    frame["c"], frame["truth"] = rng.choice(list("pqr"), 60), right
    frame.loc[7, ["a", "b", "c", "truth"]] = ["p", "p", "r", "q"]  # a truth without a vote
    frame.to_csv("votes.csv", index=False)
    options = [part for name in "abc" for part in ("--candidates", name)]
    options += ["--label", "truth", "--method", "plknn", "--select", "--set", "n_neighbors=25"]
    options += ["--no-skills"]
    out = {"clean": "o.csv", "fit": "o.model", "review": "o.html"}[command]
    _, err = run.succeeds(command, "votes.csv", *options, "--out", out)
    assert "chosen without true labels: min_votes=" in err
    assert "1.7% of them have a known label that is not a candidate (1 row)" in err


def test_all_formats_in_and_out(run, people, people_csv):
    run("clean", people_csv, *QUICK, "--out", "a.parquet")
    run("clean", people_csv, *QUICK, "--out", "a.jsonl")
    run("clean", people_csv, *QUICK, "--out", "a.tsv")
    table = parquet.read_table("a.parquet").to_pandas()
    with open("a.jsonl", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    tsv = pd.read_csv("a.tsv", sep="\t")
    labels = tsv["label"].to_list()
    assert table["label"].to_list() == [line["label"] for line in lines] == labels
    assert table["height"].dtype.kind == "f"
    assert lines[0]["weight"] is None
    run("fit", people_csv, *CLEAN, "--method", "plknn", "--out", "m.model")
    for name in ("a.parquet", "a.jsonl", "a.tsv"):
        assert run("predict", "m.model", name, "--prefix", "p_", "--out", "out.csv")[0] == 0
        predicted = pd.read_csv("out.csv")["p_score"].to_list()
        assert (
            predicted
            == pd.read_csv(io.StringIO(run("predict", "m.model", people_csv)[1]))["score"].to_list()
        )


def test_list_candidates_of_parquet_come_back_as_lists(run, people):
    frame = people.assign(names=people["names"].str.split("|"))
    frame.to_parquet("in.parquet", index=False)
    assert run("clean", "in.parquet", *QUICK, "--out", "out.parquet")[0] == 0
    back = parquet.read_table("out.parquet")
    assert back["names"].to_pylist() == frame["names"].to_list()
    assert run("clean", "in.parquet", *QUICK, "--out", "out.csv")[0] == 0
    assert pd.read_csv("out.csv")["names"].to_list() == people["names"].to_list()


def test_sentences_become_features_and_are_reported(run):
    frame = make_sentences()
    frame.to_csv("t.csv", index=False)
    options = ["--candidates", "mood", "--label", "truth"]
    _, err = run.succeeds("fit", "t.csv", *options, "--out", "m.model")
    assert "1 feature: text: review\n" in err
    assert "method: PLCL (default for sentences)\n" in err
    assert "left out: 'id' is text with 120 different values in 120 rows" in err
    assert re.search(r"fitting PLCL to 120 rows and \d\d+ features", err)
    assert [(c.name, c.kind) for c in load_model("m.model").columns] == [("review", "text")]
    out = run("predict", "m.model", "t.csv")[1]
    assert (pd.read_csv(io.StringIO(out))["label"] == frame["truth"]).mean() > 0.9


@pytest.mark.parametrize("name", ["t.parquet", "t.jsonl"])
def test_embeddings_become_features_and_are_reported(run, name):
    frame = make_vectors(length=12)
    write_table(frame.assign(embedding=frame["embedding"].map(list)), name)
    options = ["--candidates", "sets", "--label", "truth"]
    _, err = run.succeeds("clean", name, *options, "--out", "out.parquet")
    assert "1 feature: vector: embedding (12 numbers)\n" in err
    assert "fitting PLStacking to 40 rows and 12 features" in err
    back = pd.read_parquet("out.parquet")
    assert back["embedding"].map(len).to_list() == [12] * 40
    assert (back["label"] == back["truth"]).mean() > 0.9


def test_an_embedding_of_another_length_is_rejected_in_one_line(run):
    frame = make_vectors(length=512)
    cells = [vector.tolist() for vector in frame["embedding"]]
    write_table(frame.assign(embedding=[*cells[:-1], cells[-1][:7]]), "t.jsonl")
    err = run.fails("clean", "t.jsonl", "--candidates", "sets", "--label", "truth")
    assert "column 'embedding', row 39: a list of 7 numbers, where 512 are expected" in err
    assert len(err) < 400


def test_unusual_but_valid_csv(run):
    lines = ['\ufeff"grö,ße";Namen;Notiz']
    lines += [f'"{i % 2 * 9 + i / 7:.3f}";"Ann, ""A""/Bob";x' for i in range(10)]
    lines += [f'"{i % 2 * 9 + i / 7:.3f}";{["Bob", "Çem"][i % 2]};y' for i in range(10)]
    with open("odd.csv", "w", encoding="utf-8", newline="") as file:
        file.write("\r\n".join(lines) + "\r\n")
    arguments = ["--candidates", "Namen", "--sep", "/", "--delimiter", ";"]
    out, _ = run.succeeds("clean", "odd.csv", *arguments)
    cleaned = pd.read_csv(io.StringIO(out), sep=";")
    assert list(cleaned)[:3] == ["grö,ße", "Namen", "Notiz"]
    assert set(cleaned["label"]) <= {'Ann, "A"', "Bob", "Çem"}
    assert cleaned["Namen"][0] == 'Ann, "A"/Bob'


def test_labels_cannot_control_the_terminal(run):
    evil = "\x1b[31m[bold]evil[/bold]"
    rows = [f"{i % 2 * 9 + i / 7},{evil}|b" for i in range(10)] + ["1,b", "8," + evil]
    with open("t.csv", "w", encoding="utf-8") as file:
        file.write("x,names\n" + "\n".join(rows) + "\n")
    out, err = run.succeeds("clean", "t.csv", "--candidates", "names")
    assert evil in out  # the data stay as they are
    assert "\x1b" not in err
    assert "[bold]evil" in err


def bad(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path.name


TABLE = "x,names\n1,a|b\n2,b\n3,a\n"


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        (TABLE, ["--candidates", "nmes"], "no column 'nmes'. Did you mean 'names'?"),
        (TABLE, ["--candidates", "names", "--exclude", "y"], "no column 'y'"),
        (TABLE, ["--candidates", "names", "--exclude", "x"], "no column is left as a feature"),
        (TABLE, ["--candidates", "names", "--set", "k=5"], "no parameter 'k'"),
        (TABLE, ["--candidates", "names", "--set", "k"], "NAME=VALUE"),
        (TABLE, ["--candidates", "names", "--set", "n_neighbors=0"], "'n_neighbors' parameter"),
        (TABLE, ["--candidates", "names", "--set", "kernel=precomputed"], "kernel"),
        (TABLE, ["--candidates", "names", "--out", "no/t.csv"], "the folder no does not exist"),
        (TABLE, ["--candidates", "names", "--out", "t.xlsx"], "tables are written to .csv"),
        (TABLE, ["--candidates", "names", "--sep", ""], "sep must not be empty"),
        (TABLE, ["--candidates", "names", "--format", "parquet"], "not a valid Parquet file"),
        (
            TABLE,
            ["--candidates", "names", "--corrections", "t.csv"],
            "no columns 'row', 'candidates', 'label'",
        ),
        (TABLE.replace(",", ";"), ["--candidates", "names"], "Use --delimiter ';'"),
        ("x,names\n", ["--candidates", "names"], "no rows"),
        ("", ["--candidates", "names"], "t.csv is empty: it has no rows and no column names"),
        ("x,names\n1,\n2,a\n", ["--candidates", "names"], "Row 0 has no candidate"),
        ("x,names\n1,a\n", ["--candidates", "names"], "has only one row"),
        ("x,names\ninf,a\n2,b\n3,a\n", ["--candidates", "names"], "not a finite number"),
        ("x,names\nJürgen,a\n".encode("cp1252"), ["--candidates", "names"], "not UTF-8"),
        (TABLE.encode("utf-16")[:-1], ["--candidates", "names"], "not UTF-16"),
        ("x,names\n1,2,3\n", ["--candidates", "names"], "not a valid CSV"),
        (b"\x80\x04\x95", ["--candidates", "names"], "not UTF-8"),
        (TABLE, ["--candidates", "names", "--min-votes", "2"], "'names' is one column"),
        (
            "a;names\n1,5;x|y\n2;x\n",
            ["--candidates", "names"],
            "Use --delimiter ';', and --decimal ,",
        ),
        (TABLE, ["--candidates", "names", "--select"], "Leave out --select"),
        (
            TABLE,
            ["--candidates", "names", "--set", "reg=0.1", "--set", "reg=0.2"],
            "'reg' is given twice",
        ),
        (
            TABLE,
            ["--candidates", "names", "--set", "n_landmarks=50", "--n-landmarks", "60"],
            "'n_landmarks' is given twice",
        ),
    ],
)
def test_errors_of_the_user_are_one_line(run, tmp_path, content, arguments, message):
    name = bad(tmp_path, "t.csv", content)
    status, out, err = run("clean", name, *arguments)
    assert status == 1
    assert out == ""
    errors = [line for line in err.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1
    assert message in errors[0]
    assert err.splitlines()[-1] == errors[0]


@pytest.mark.parametrize(
    "arguments",
    [
        ["clean", "t.csv"],
        ["clean", "nowhere.csv", "--candidates", "names"],
        ["clean", "t.csv", "--candidates", "names", "--delimiter", ";;"],
        ["clean", "t.csv", "--candidates", "names", "--method", "svm"],
        ["clean", "t.csv", "--candidates", "names", "--corrections", "nowhere.csv"],
        ["fit", "t.csv", "--candidates", "names"],
        ["predict", "nowhere.model", "t.csv"],
        ["predict", "t.csv", "t.csv"],
        ["clean", "t.txt", "--candidates", "names"],
    ],
)
def test_wrong_use(run, tmp_path, arguments):
    bad(tmp_path, "t.csv", TABLE)
    bad(tmp_path, "t.txt", TABLE)
    status, out, err = run(*arguments)
    assert status in (1, 2)
    assert out == ""
    assert err.splitlines()[-1].startswith("Error: ")


def test_a_failed_run_leaves_the_old_file(run, tmp_path):
    bad(tmp_path, "t.csv", "x,names\n1,a\n2,\n")
    bad(tmp_path, "out.csv", "old")
    assert run("clean", "t.csv", "--candidates", "names", "--out", "out.csv")[0] == 1
    assert (tmp_path / "out.csv").read_text() == "old"


def test_warnings_are_lines_too(run, tmp_path):
    bad(tmp_path, "t.csv", TABLE)
    _, err = run.succeeds("clean", "t.csv", "--candidates", "names")
    assert "Warning: n_neighbors=10 but there are only 3 rows" in err
    assert "UserWarning" not in err


def test_too_little_memory_is_an_error_with_advice(run, people_csv, monkeypatch):
    def greedy(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr("ambilearn.tables.clean.fit_table", greedy)
    err = run.fails("clean", people_csv, *CLEAN)
    assert "Error: There is not enough memory. Use --n-landmarks" in err


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
def test_a_reader_that_leaves_early_is_no_error(people_csv):
    command = [sys.executable, "-m", "ambilearn", "clean", str(people_csv), *QUICK]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.close()
    errors = child.stderr.read()
    child.wait()
    assert b"Traceback" not in errors
    assert b"people.csv: 60 rows" in errors


@pytest.mark.slow
def test_a_terminal_shows_what_is_being_done(terminal, people_csv):
    status, screen = terminal("clean", people_csv, *CLEAN, "--out", "c.csv")
    assert status == 0
    expected = ["reading the table", "fitting PLStacking to 60 rows", "writing the table"]
    expected += ["wrote c.csv: 60 rows, 15 columns", "Check these rows first"]
    places = [screen.index(text) for text in expected]
    assert places == sorted(places)


@pytest.mark.slow
def test_a_table_on_the_terminal_is_not_mixed_with_the_spinner(terminal, people_csv):
    status, screen = terminal("clean", people_csv, *CLEAN)
    assert status == 0
    table = screen.partition("id,height,weight")[2].partition("rows with several")[0]
    assert len(table.splitlines()) == 62  # the heading, 60 rows, and the next message
    assert "\x1b" not in table


@pytest.mark.parametrize("candidates", ["names", "label"])
def test_columns_of_clean_are_not_features(run, people_csv, candidates):
    """Nor are the candidates, if the cleaned labels are the candidates."""
    assert run("clean", people_csv, *QUICK, "--out", "cleaned.csv")[0] == 0
    options = ["--candidates", candidates, "--exclude", "truth", "--out", "model"]
    _, err = run.succeeds("fit", "cleaned.csv", *options)
    used = {column.name for column in load_model("model").columns}
    assert not used & {"label", "score", "confidence", "margin", "review_rank", "names", "truth"}
    assert "each was written by ambilearn" in err
    if candidates == "label":
        assert "'names' holds candidate labels" in err


def test_another_separator_is_suggested(run, people_csv):
    _, err = run.succeeds("clean", people_csv, *QUICK, "--sep", ";")
    assert "taken as one label" in err
    assert "sep='|'" in err


def test_a_cell_with_a_word_for_missing_is_an_error_with_advice(run, people):
    people.loc[[3, 8], "names"] = ["NA", "null"]
    people.to_csv("t.csv", index=False)
    status, out, err = run("clean", "t.csv", *QUICK)
    assert (status, out) == (1, "")
    assert "t.csv, candidates in 'names': Rows 3, 8 have no candidate label at all" in err
    assert "--na-is-label" in err
    out, _ = run.succeeds("clean", "t.csv", *QUICK, "--na-is-label")
    labels = pd.read_csv(io.StringIO(out), keep_default_na=False)["label"]
    assert labels[[3, 8]].to_list() == ["NA", "null"]


def test_decimal_commas_are_noticed(run, people):
    people["height"] = people["height"].str.replace(".", ",")
    people.to_csv("t.csv", index=False)
    _, err = run.succeeds("clean", "t.csv", *QUICK)
    example = people["height"][0]
    assert f"Warning: t.csv, column 'height': numbers with commas, such as '{example}'" in err
    assert "(--decimal ',')" in err
    assert "Warning" not in run("clean", "t.csv", *QUICK, "--exclude", "height")[2]


def test_warnings_about_the_table_come_before_the_fit(run, people):
    people["height"] = people["height"].str.replace(".", ",")
    people["photo_id"] = [str(7 * i % 61) for i in range(len(people))]
    people.loc[:40, "names"] = "anna|robert"
    people.loc[41, "names"] = "anna;robert"
    people.loc[42, "names"] = "Robert"
    people.to_csv("t.csv", index=False)
    for command in ("clean", "fit", "review"):
        out = {"clean": "out.csv", "fit": "out.model", "review": "out.html"}[command]
        _, err = run.succeeds(command, "t.csv", *CLEAN, "--method", "plknn", "--out", out)
        before, fitting, after = err.partition("fitting PLKNN")
        assert fitting
        assert "numbers with commas" in before
        assert "'anna;robert' (row 41)" in before
        assert "'Robert' for 'robert' (row 42)" in before
        assert "left out: 'id', 'height': each is text" in before
        assert "'photo_id' looks like an id" in before
        assert after.count("Warning") == after.count("chosen in no row")  # a result of the fit


def test_a_table_with_semicolons_and_decimal_commas(run, people, people_csv):
    numbers = people.copy()
    numbers[["height", "weight"]] = numbers[["height", "weight"]].replace(r"\.", ",", regex=True)
    numbers.to_csv("t.csv", index=False, sep=";")
    reading = ["--delimiter", ";", "--decimal", ","]
    fit = ["--method", "plknn", "--out"]
    assert run("fit", people_csv, *CLEAN, *fit, "a.model")[0] == 0
    _, err = run.succeeds("fit", "t.csv", *CLEAN, *reading, *fit, "b.model")
    assert "Warning" not in err
    assert "5 features: number: height, weight" in err
    plain, _ = run.succeeds("predict", "a.model", people_csv)
    out, _ = run.succeeds("predict", "b.model", "t.csv", *reading)
    labels = pd.read_csv(io.StringIO(plain))["label"]
    written = pd.read_csv(io.StringIO(out), sep=";", dtype=str, keep_default_na=False)
    assert written["label"].to_list() == labels.to_list()
    assert written["height"].to_list() == numbers["height"].to_list()  # cells stay as they are
    err = run.fails("predict", "b.model", "t.csv", "--delimiter", ";")
    assert "is not a number. For a decimal comma use decimal=',' (--decimal ',')" in err


def test_an_excel_file(run, people, people_csv):
    people.to_excel("people.xlsx", index=False)
    expected, _ = run.succeeds("clean", people_csv, *CLEAN, "--method", "plknn")
    status, out, err = run("clean", "people.xlsx", *CLEAN, "--method", "plknn")
    assert (status, out) == (0, expected)
    assert err.startswith("people.xlsx: 60 rows, 3 labels")
    content = Path("people.xlsx").read_bytes()
    piped = run("clean", "-", "--format", "xlsx", *CLEAN, "--method", "plknn", input=content)
    assert piped[:2] == (0, expected)
    err = run.fails("clean", "people.xlsx", *CLEAN, "--out", "cleaned.xlsx")
    assert "cleaned.xlsx: tables are written to .csv, .tsv, .parquet, .pq, .jsonl" in err
    run("fit", "people.xlsx", *CLEAN, "--method", "plknn", "--out", "m.model")
    out, _ = run.succeeds("predict", "m.model", "people.xlsx", "--out", "labeled.parquet")
    assert pd.read_parquet("labeled.parquet")["height"].dtype.kind == "f"


def test_text_in_utf_16(run, people, people_csv):
    people.to_csv("t.csv", index=False, encoding="utf-16")
    expected = run("clean", people_csv, *CLEAN, "--method", "plknn")[1]
    assert run("clean", "t.csv", *CLEAN, "--method", "plknn")[:2] == (0, expected)


def test_a_huge_number_is_named_with_its_column(run, people, people_csv):
    run("fit", people_csv, *CLEAN, "--method", "plknn", "--out", "m.model")
    people.loc[5, "weight"] = "1e200"
    people.to_csv("t.csv", index=False)
    for command in (["clean", "t.csv", *CLEAN], ["predict", "m.model", "t.csv"]):
        status, out, err = run(*command)
        assert (status, out) == (1, "")
        assert "Error: t.csv, column 'weight', row 5: '1e200' is too large" in err


def test_one_row_is_singular(run, people, people_csv):
    run("fit", people_csv, *CLEAN, "--method", "plknn", "--out", "m.model")
    people.head(1).to_csv("t.csv", index=False)
    err = run("predict", "m.model", "t.csv", "--out", "out.csv")[2]
    first, second, third = err.splitlines()
    assert first == "t.csv: 1 row labeled by plknn"
    assert second.startswith("confidence is empty: only 16 rows with a single candidate")
    assert third == "wrote out.csv: 1 row, 12 columns"


@pytest.mark.parametrize("name", ["plknn", "PLKNN", "PL-KNN", "pl-knn"])
def test_a_method_by_any_of_its_names(run, people_csv, name):
    _, err = run.succeeds("clean", people_csv, *CLEAN, "--method", name)
    assert "fitting PLKNN to" in err
    assert run("review", people_csv, *CLEAN, "--method", name)[0] == 0


def test_no_such_method(run, people_csv):
    err = run.fails("clean", people_csv, *CLEAN, "--method", "PL-XY", status=2)
    assert "'PL-XY' is not one of 'deepplcl', 'ipal', 'lalo'" in " ".join(err.split())


def test_a_device(run, people_csv, torch):
    here = run("clean", people_csv, *CLEAN)[1]
    there, err = run.succeeds("clean", people_csv, *CLEAN, "--device", "cpu")
    assert "method: PLStacking (default up to 10 000 rows)" in err
    labels = [pd.read_csv(io.StringIO(out))["label"].to_list() for out in (here, there)]
    assert labels[0] == labels[1]
    assert run("fit", people_csv, *CLEAN, "--device", "cpu", "--out", "people.model")[0] == 0
    for device in ([], ["--device", "cpu"]):
        status, out, _ = run("predict", "people.model", people_csv, *device)
        assert (status, len(out.splitlines())) == (0, 61)


@pytest.mark.parametrize("command", ["clean", "fit", "review"])
def test_the_help_explains_that_a_device_uses_all_rows(run, command):
    assert "with --device always all rows" in " ".join(run(command, "--help")[1].split())


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


@pytest.mark.parametrize(
    ("command", "out"), [("fit", "people.model"), ("review", "review.html"), ("clean", "out.csv")]
)
def test_a_byte_that_is_no_text_in_the_name_of_the_table(run, people_csv, command, out):
    """The error was that the table is damaged, or that of a codec."""
    try:
        odd = Path(people_csv).rename(os.fsdecode(b"caf\xff.csv"))
    except OSError:
        pytest.skip("this file system takes no such name")
    options = ["--candidates", "names", "--exclude", "truth", "--method", "plknn", "--out", out]
    status, _, err = run(command, odd, *options)
    assert (status, err[:10]) == (0, "caf\N{REPLACEMENT CHARACTER}.csv: ")


def test_given_labels_are_corrected(run, wrong_labels):
    options = ["--given-label", "said", "--label", "truth", "--prefix", "new_"]
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
    options = ["--given-label", "said", "--label", "truth", "--method", "plknn"]
    _, err = run.succeeds("fit", "said.csv", *options, "--out", "said.model")
    assert "labels changed" in err
    assert err.count("with a known label") == 1
    assert "candidate" not in err
    out, _ = run.succeeds("predict", "said.model", "said.csv")
    predicted = pd.read_csv(io.StringIO(out))
    assert np.mean(predicted["label"] == predicted["truth"]) > 0.95


def test_a_label_that_a_person_corrected_counts_as_changed(run, wrong_labels):
    said = wrong_labels["said"][0]
    Path("corrections.csv").write_text(f"row,candidates,label\n0,{said},maybe\n")
    options = ["--given-label", "said", "--label", "truth", "--corrections", "corrections.csv"]
    _, err = run.succeeds("clean", "said.csv", *options, "--out", "cleaned.csv")
    cleaned = pd.read_csv("cleaned.csv")
    assert cleaned["label"][0] == "maybe"
    assert f"{(cleaned['label'] != cleaned['said']).sum()} of 80 labels changed" in err
    before = np.mean(cleaned["said"] == cleaned["truth"])
    assert f"{before:.1%} were given the right one" in " ".join(err.split())


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        ("clean", ["--candidates", "said"], "cannot be combined with --candidates"),
        ("clean", ["--item", "x"], "cannot be combined with --candidates"),
        ("clean", ["--no-doubt"], "--no-doubt and --given-label cannot be combined"),
        ("review", ["--no-doubt"], "--no-doubt and --given-label cannot be combined"),
        ("review", ["--serve"], "--given-label and --serve cannot be combined"),
        ("clean", ["--select"], "--select and --given-label cannot be combined"),
        ("clean", ["--set", "reg=1"], "require --method"),
        ("clean", ["--skills"], "no annotators to judge"),
        ("clean", ["--annotators-out", "a.csv"], "no annotators to judge"),
        ("clean", ["--min-votes", "2"], "counts votes over several columns"),
        ("clean", ["--label", "said"], "cannot be the column of true labels"),
    ],
)
def test_options_that_do_not_fit_given_labels_are_rejected(
    run, wrong_labels, command, options, message
):
    status, _, err = run(command, "said.csv", "--given-label", "said", *options)
    assert status != 0
    assert message in " ".join(err.split())


def test_one_candidate_in_every_row_gives_a_hint(run, wrong_labels):
    options = ["--method", "plknn", "--exclude", "truth", "--no-doubt"]
    err = run("clean", "said.csv", "--candidates", "said", *options)[2]
    assert "use --given-label" in " ".join(err.split())
    wrong_labels.loc[0, "said"] = "no|yes"
    wrong_labels.to_csv("said.csv", index=False)
    err = run("clean", "said.csv", "--candidates", "said", *options)[2]
    assert "--given-label" not in err


def test_the_delimiter_of_the_input_is_not_that_of_another_format(people_csv, tmp_path):
    path = tmp_path / "semicolons.csv"
    path.write_text(people_csv.read_text(encoding="utf-8").replace(",", ";"), encoding="utf-8")
    options = ["--candidates", "names", "--method", "plknn", "--delimiter", ";", "--no-doubt"]
    for name, mark in (("out.tsv", "\t"), ("out.csv", ";")):
        found = CliRunner().invoke(
            main, ["clean", str(path), *options, "--out", str(tmp_path / name)]
        )
        assert found.exit_code == 0, found.output
        heading = (tmp_path / name).read_text(encoding="utf-8").splitlines()[0]
        assert mark in heading
        assert (";" in heading) == (mark == ";")
