import io
import shlex
from pathlib import Path

import pandas as pd
import pytest
from core_methods import CORE_METHODS

from ambilearn.registry import installed_methods

CLEAN = ["--candidates", "names", "--exclude", "truth"]


@pytest.mark.parametrize("method", [*CORE_METHODS, *({"deepplcl"} & {*installed_methods()})])
def test_fit_and_predict_with_every_method(run, people_csv, people, method):
    status, out, err = run("fit", people_csv, *CLEAN, "--method", method, "--out", "m.model")
    assert (status, out) == (0, "")
    assert "saved m.model" in err
    assert f"ambilearn predict m.model {people_csv}" in err
    people.drop(columns=["names", "truth"]).to_csv("new.csv", index=False)
    out, err = run.succeeds("predict", "m.model", "new.csv")
    assert f"new.csv: 60 rows labeled by {method}" in err
    labeled = pd.read_csv(io.StringIO(out), dtype={"id": str})
    assert list(labeled) == [*people.columns[:-2], "label", "score", "confidence"]
    assert labeled["id"].to_list() == people["id"].to_list()
    assert (labeled["label"] == people["truth"]).mean() > 0.9


@pytest.mark.slow
@pytest.mark.heavy
def test_fit_in_one_process_and_predict_in_another(process, run, people_csv):
    status, out, err = process("fit", people_csv, *CLEAN, "--out", "m.model")
    assert (status, out) == (0, b""), err
    first = process("predict", "m.model", people_csv)
    second = process("predict", "m.model", "-", input=people_csv.read_bytes())
    assert first[0] == second[0] == 0
    assert first[1] == second[1] == run("predict", "m.model", people_csv)[1].encode()
    assert b"<stdin>: 60 rows labeled" in second[2]


def last_command(text):
    """The words of the last printed command, without ``ambilearn``."""
    return shlex.split([line for line in text.splitlines() if line.startswith("  ambilearn ")][-1])[
        1:
    ]


@pytest.mark.parametrize("column", ["names", "label", "score"])
def test_the_printed_command_can_be_run(run, people, column):
    """It has the options for reading the table, and a prefix if a name of a column is taken."""
    people = people.rename(columns={"names": column})
    people.to_csv("my people.txt", index=False, sep=";", encoding="cp1252")
    options = ["--format", "csv", "--delimiter", ";", "--encoding", "cp1252", "--fast"]
    options += ["--candidates", column, "--exclude", "truth", "--method", "plknn"]
    for command, *out in (("fit", "--out"), ("clean", "--prefix", "p_", "--model-out")):
        _, err = run.succeeds(command, "my people.txt", *options, *out, "my.model")
        labeled, _ = run.succeeds(*last_command(err))
        assert len(labeled.splitlines()) == 61


def test_commands_of_a_table_whose_given_labels_are_named_label(run, wrong_labels):
    wrong_labels.rename(columns={"said": "label"}).to_csv("given.csv", index=False)
    options = ["--given-label", "label", "--exclude", "truth", "--method", "plknn"]
    _, err = run.succeeds("fit", "given.csv", *options, "--out", "m.model")
    run.succeeds(*last_command(err))
    _, err = run.succeeds("review", "given.csv", *options, "--out", "page.html")
    words = last_command(err)
    said = wrong_labels["said"][0]
    Path(words[words.index("--checked") + 1]).write_text(f"row,candidates,label\n0,{said},no\n")
    run.succeeds(*words)
    cleaned = pd.read_csv("given-cleaned.csv")
    assert cleaned["label"].to_list() == wrong_labels["said"].to_list()
    assert cleaned["new_label"][0] == "no"


def test_a_model_does_not_go_to_stdout(run, people_csv):
    err = run.fails("fit", people_csv, *CLEAN, "--out", "-")
    assert "use --out FILE" in err
    assert not Path("-").exists()
