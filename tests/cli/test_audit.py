"""The command `audit`: a page, or a report with a calibrated table."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from ambilearn.cli.main import main
from ambilearn.tables.corrections import write_corrections


@pytest.fixture
def cleaned(tmp_path, monkeypatch):
    """400 rows with labels, some of them wrong."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    score = rng.random(400).round(6)
    truth = np.where(rng.random(400) < score, "anna", "bob")
    frame = pd.DataFrame({"x": range(400), "names": "anna|bob", "label": "anna", "score": score})
    frame = frame.assign(confidence="", review_rank=1, truth=truth)
    frame.to_csv("cleaned.csv", index=False)
    return frame


def run(*arguments):
    result = CliRunner().invoke(main, ["audit", *map(str, arguments)])
    return result.exit_code, " ".join(result.output.split())


def test_with_a_column_of_true_labels(cleaned):
    status, output = run("cleaned.csv", "--truth", "truth", "--out", "out.csv")
    assert status == 0
    share = (cleaned["truth"] == "anna").mean()
    assert "cleaned.csv: 400 rows, 100 of them drawn at random and checked" in output
    low, high = re.search(r"95% interval: ([\d.]+)% to ([\d.]+)%", output).groups()
    assert float(low) / 100 < share < float(high) / 100
    [further] = re.findall(r"check about (\d+) further rows", output)
    assert f"--rows {100 + int(further)}" in output
    out = pd.read_csv("out.csv")
    assert list(out) == list(cleaned)
    assert out["confidence"].notna().all()
    assert out["confidence"].corr(out["score"]) > 0.8


def test_page_and_its_labels_are_the_same_as_the_column(cleaned):
    options = ["--rows", 60, "--seed", 7, "--candidates", "names"]
    status, output = run("cleaned.csv", *options, "--exclude", "truth")
    assert status == 0
    assert "wrote audit.html: 60 rows of 400, drawn at random" in output
    [command] = re.findall(r"ambilearn (audit cleaned.csv .* cleaned-audited.csv)", output)
    with open("audit.html", encoding="utf-8") as file:
        [data] = re.findall(
            r'<script type="application/json" id="data">(.*?)</script>', file.read()
        )
    data = json.loads(data)
    assert data["blind"]
    assert data["columns"] == ["x"]
    rows = data["numbers"]
    lines = [f'{row},"anna|bob",{cleaned["truth"][row]}' for row in rows]
    with open("cleaned-audit.csv", "w", encoding="utf-8") as file:
        file.write("\n".join(["row,candidates,label", *lines]))
    words = shlex.split(command)
    assert words[-4:] == ["--checked", "cleaned-audit.csv", "--out", "cleaned-audited.csv"]
    by_page = run(*words[1:-1], "a.csv")
    by_column = run("cleaned.csv", *options, "--truth", "truth", "--out", "b.csv")
    assert by_page[0] == by_column[0] == 0
    assert by_page[1].replace("a.csv", "b.csv") == by_column[1]
    assert pd.read_csv("a.csv").equals(pd.read_csv("b.csv"))


def test_without_candidates_the_labels_tell_whether_the_files_belong_together(cleaned):
    run("cleaned.csv", "--rows", 20)
    with open("audit.html", encoding="utf-8") as file:
        numbers = json.loads(re.findall(r'"numbers":(\[[^\]]*\])', file.read())[0])
    with open("l.csv", "w", encoding="utf-8") as file:
        file.write("\n".join(["row,candidates,label", *(f"{row},anna,cleo" for row in numbers)]))
    status, output = run("cleaned.csv", "--rows", 20, "--checked", "l.csv")
    assert status == 0
    assert "0.0% of the labels are correct" in output
    cleaned.assign(label="eve").to_csv("other.csv", index=False)
    status, output = run("other.csv", "--rows", 20, "--checked", "l.csv")
    assert status == 1
    assert "were made for another table" in output


def test_labels_of_rows_that_were_not_drawn(cleaned):
    with open("l.csv", "w", encoding="utf-8") as file:
        file.write("\n".join(["row,candidates,label", *(f"{row},anna,anna" for row in range(400))]))
    status, output = run("cleaned.csv", "--rows", 20, "--checked", "l.csv")
    assert status == 0
    assert "380 of 400 true labels are not used, because their rows were not drawn" in output
    assert "not used" not in run("cleaned.csv", "--rows", 20, "--truth", "truth")[1]


def test_drawn_rows_without_a_label_come_before_further_rows(cleaned):
    cleaned.assign(truth=cleaned["truth"].where(cleaned["x"] > 100)).to_csv("t.csv", index=False)
    status, output = run("t.csv", "--truth", "truth")
    assert status == 0
    assert re.search(r"\d+ drawn rows without a true label. If these are the difficult", output)
    [checked] = re.findall(r"400 rows, (\d+) of them", output)
    [(further, rows)] = re.findall(r"check about (\d+) further rows: --rows (\d+)", output)
    assert int(rows) == int(checked) + int(further)
    cleaned.assign(truth=cleaned["label"].where(cleaned["x"] > 200)).to_csv("t.csv", index=False)
    output = run("t.csv", "--truth", "truth", "--rows", 200)[1]
    assert "drawn rows without a true label" in output
    assert "To halve" not in output


@pytest.mark.parametrize(
    "prefix",
    [["--prefix", "p_"], ["--label", "p_label"], ["--label", "p_label", "--score", "p_score"]],
)
def test_columns_with_a_prefix(cleaned, prefix):
    own = cleaned.rename(columns=lambda c: f"p_{c}" if c not in ("x", "truth") else c)
    own.assign(confidence="my own").to_csv("p.csv", index=False)
    options = ["p.csv", *prefix, "--rows", 20]
    assert run(*options, "--candidates", "p_names")[0] == 0
    with open("audit.html", encoding="utf-8") as file:
        page = file.read()
    assert '"columns":["x","truth","confidence"]' in page.replace(" ", "")
    assert run(*options, "--truth", "truth", "--out", "out.csv")[0] == 0
    out = pd.read_csv("out.csv")
    assert (out["confidence"] == "my own").all()
    assert out["p_confidence"].notna().all()


def test_a_prefix_for_the_confidence_of_other_labels(cleaned):
    options = ["--label", "names", "--score", "score", "--prefix", "n_", "--truth", "truth"]
    assert run("cleaned.csv", *options, "--out", "out.csv")[0] == 0
    assert list(pd.read_csv("out.csv")) == [*cleaned, "n_confidence"]


def test_diagram(cleaned):
    pytest.importorskip("matplotlib", reason="needs the extra paper")
    status, output = run("cleaned.csv", "--truth", "truth", "--diagram", "d.svg")
    assert status == 0
    assert "wrote d.svg" in output
    assert Path("d.svg").read_text("utf-8").startswith("<?xml")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--truth", "truth", "--checked", "cleaned.csv"], "cannot be combined"),
        (["--diagram", "d.png"], "--diagram needs true labels"),
        (["--out", "out.csv"], "without --checked or --truth a page is written"),
        (["--truth", "truth", "--diagram", "d.txt"], "d.txt: a diagram is written to .svg, .png"),
        (["--exclude", "nobody"], "no column 'nobody'"),
        (["--truth", "truth", "--out", "out.html"], "Error: out.html: tables are written to .csv"),
        (["--truth", "truth", "--out", "cleaned.csv"], "would overwrite an input file"),
    ],
)
def test_rejects(cleaned, options, message):
    status, output = run("cleaned.csv", *options)
    assert status != 0
    assert message in output


def test_compare_with_labels_of_other_methods(cleaned):
    rng = np.random.default_rng(1)
    better = cleaned.assign(label=cleaned["truth"].where(rng.random(400) < 0.9, "bob"))
    better.assign(score=0.5).to_csv("better.csv", index=False)
    cleaned.assign(label=cleaned["label"].where(rng.random(400) < 0.98, "bob")).to_csv(
        "alike.csv", index=False
    )
    options = ["--truth", "truth", "--compare", "better.csv", "--compare", "alike.csv"]
    status, output = run("cleaned.csv", *options)
    assert status == 0
    pattern = r"better.csv: [\d.]+% of the labels are correct \(95% interval: .*?\), \+([\d.]+)% "
    assert float(re.search(pattern, output).group(1)) > 20
    assert "These rows decide which of the two has more correct labels." in output
    assert re.search(r"alike.csv: .* These rows do not decide", output)
    status, output = run("cleaned.csv", "--compare", "better.csv")
    assert (status, "--compare needs true labels" in output) == (2, True)


def test_random_rows_of_a_served_review_count(cleaned):
    """Of the reviewed rows only those that were drawn at random are a sample."""
    labels = cleaned["truth"].to_dict()
    write_corrections("checked.csv", labels, ["anna|bob"] * 400, random=range(0, 400, 4))
    options = ["--candidates", "names", "--checked", "checked.csv"]
    status, output = run("cleaned.csv", *options)
    assert status == 0
    assert "400 rows, 100 of them drawn at random and checked" in output
    share = (cleaned["truth"] == "anna")[::4].mean()
    assert f"{share:.1%} of the labels are correct" in output
    write_corrections("checked.csv", labels, ["anna|bob"] * 400)
    assert "100 of them drawn" in run("cleaned.csv", *options)[1]
