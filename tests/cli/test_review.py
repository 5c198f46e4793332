"""``ambilearn review`` as a user runs it."""

import json
import os
import re
import shlex
import threading

import pandas as pd
import pytest
from annotators import make_crowd, write_crowd
from click.testing import CliRunner
from PIL import Image

from ambilearn.cli.main import main
from ambilearn.tables import clean_table, read_candidate_table

QUICK = ["--candidates", "names", "--method", "plknn"]  # where the method does not matter


@pytest.fixture
def table(groups, tmp_path):
    """The rows of two groups, with an id and a photo each."""
    frame = pd.read_csv(groups)
    frame.insert(0, "id", [f"p{i}" for i in range(20)])
    frame.insert(3, "photo", [f"pics/{i % 4}.png" for i in range(20)])
    frame.to_csv(groups, index=False)
    (tmp_path / "pics").mkdir()
    for i in range(3):
        Image.new("RGB", (4, 4)).save(tmp_path / "pics" / f"{i}.png")
    return groups


def run(*arguments, ok=True, **options):
    result = CliRunner().invoke(main, ["review", *map(str, arguments)], **options)
    assert (result.exit_code == 0) is ok, result.output
    assert "Traceback" not in result.output
    return result.output


def data_in(path):
    html = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', html, re.DOTALL).group(1))


def test_page_has_the_confidences_of_clean(table, tmp_path):
    out = tmp_path / "pages" / "review.html"
    out.parent.mkdir()
    output = run(table, "--candidates", "names", "--exclude", "id", "--out", out)
    assert f"wrote {out}: 20 rows; open it in a browser" in output
    command = f"ambilearn clean {shlex.quote(str(table))} --candidates names --exclude id"
    assert f"  {command} --checked people-corrections.csv" in output
    data = data_in(out)
    read = read_candidate_table(table, candidates="names", exclude=["id", "photo"])
    cleaned = clean_table(read)
    for i, row in enumerate(data["rows"]):
        labels, shares = zip(*cleaned.candidates(i), strict=True)
        assert row[1] == read.texts[i]
        assert [data["classes"][j] for j in row[2]] == list(labels)
        assert row[3] == pytest.approx(shares, abs=1e-6)


def test_images_are_found_embedded_or_left_out(table, tmp_path):
    out = tmp_path / "review.html"
    output = run(table, *QUICK, "--out", out)
    assert "images: column 'photo'" in output
    assert "5 images cannot be shown (not found), the first is 'pics/3.png'" in output
    assert data_in(out)["rows"][1][4] == "pics/1.png"
    run(table, *QUICK, "--image", "photo", "--embed-images", "--out", out)
    assert data_in(out)["rows"][0][4].startswith("data:image/png;base64,")
    assert "images:" not in run(table, *QUICK, "--no-images", "--out", out)
    assert {row[4] for row in data_in(out)["rows"]} == {None}


def test_damaged_and_forbidden_images_are_named_and_the_page_is_written(table, tmp_path):
    (tmp_path / "pics" / "1.png").write_bytes(b"no image")
    inner, out = tmp_path / "inner", tmp_path / "review.html"
    inner.mkdir()
    text = table.read_text().replace("pics/", "../pics/").replace("../pics/1", "1")
    (inner / "people.csv").write_text(text)
    (tmp_path / "pics" / "1.png").rename(inner / "1.png")
    arguments = [inner / "people.csv", *QUICK, "--embed-images", "--out", out]
    output = " ".join(run(*arguments).split())
    assert "5 images cannot be shown (cannot be read), the first is '1.png'." in output
    assert "(outside the allowed folders), the first is '../pics/0.png'. Allow" in output
    problems = [(row[4], row[7]) for row in data_in(out)["rows"][:2]]
    assert problems == [(None, "outside the allowed folders"), (None, "cannot be read")]
    assert "outside" not in run(*arguments, "--image-folder", tmp_path / "pics")
    assert data_in(out)["rows"][0][4].startswith("data:image/png;base64,")


def test_standard_input_and_another_method(table, tmp_path):
    out = tmp_path / "review.html"
    content = table.read_bytes().replace(b"|", b" or ")
    options = ["--sep", " or ", "--method", "plknn", "--set", "n_neighbors=3", "--no-images"]
    output = run("-", "--candidates", "names", *options, "--out", out, input=content)
    command = "ambilearn clean - --candidates names --sep ' or ' --method plknn --set n_neighbors=3"
    assert f"{command} --checked" in output
    html = out.read_text(encoding="utf-8")
    assert "scores by PLKNN" in html
    assert data_in(out)["separator"] == " or "


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_table_in_a_pipe_is_read_from_its_beginning(table, tmp_path):
    """The test for a journal took the first bytes."""
    pipe, out = tmp_path / "pipe.csv", tmp_path / "review.html"
    os.mkfifo(pipe)
    threading.Thread(target=pipe.write_bytes, args=(table.read_bytes(),), daemon=True).start()
    run(pipe, *QUICK, "--out", out)
    assert data_in(out)["columns"] == ["photo", "id", "town", "size"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--candidates", "names", "--image", "foto"],
            "has no column 'foto'. Did you mean 'photo'?",
        ),
        (["--candidates", "names", "--image", "photo", "--no-images"], "cannot be combined"),
        (["--candidates", "names", "--image-folder", "no"], "Directory 'no' does not exist"),
        (["--candidates", "names", "--out", "people.csv"], "use a name that ends in .html"),
        (["--candidates", "names", "--features", "photo"], "no column is left as a feature"),
        ([], "Missing option '--candidates'"),
    ],
)
def test_mistakes_end_in_a_message(table, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    before = table.read_bytes()
    assert message in " ".join(run("people.csv", *arguments, ok=False).split())
    assert table.read_bytes() == before
    assert not list(tmp_path.glob("*.html"))


def test_the_truth_is_reported_and_not_shown(table, tmp_path):
    truth = ["secret", *(["bob", "anna"][i % 2] for i in range(1, 20))]
    pd.read_csv(table).assign(truth=truth).to_csv(table, index=False)
    out = tmp_path / "r.html"
    output = run(table, *QUICK, "--truth", "truth", "--no-images", "--out", out)
    assert "of the 20 rows with a known label are right" in output
    assert "5.0% of them have a known label that is not a candidate (1 row)" in output
    assert "secret" not in out.read_text(encoding="utf-8")
    assert "truth" not in data_in(out)["columns"]


@pytest.fixture
def votes(tmp_path):
    """Answers of seven annotators to sixty items, a column each, and the truth."""
    X, truth, answers = make_crowd(n=60, lots=3)
    wide = answers.pivot(index="item", columns="annotator", values="label").fillna("-1")
    items = pd.DataFrame(X, columns=["x", "y", "z"], index=sorted(wide.index)).assign(truth=truth)
    path = tmp_path / "votes.csv"
    items.join(wide).to_csv(path, index=False)
    return path


VOTES = ["--candidates", "[ar]?", "--no-answer", "-1", "--truth", "truth", "--method", "plknn"]


def test_a_suggestion_that_the_judging_found_is_one_of_the_labels(tmp_path):
    """Row 9 has one answer, a wrong one: the label that the judging found can be chosen."""
    truth = "ab" * 10
    rows = [f"{i % 2 * 5 + i / 20},{t},{t},{'ab'[i % 3 == 0]}" for i, t in enumerate(truth)]
    rows[9] = "5.45,,,a"
    path, page = tmp_path / "votes.csv", tmp_path / "review.html"
    path.write_text("\n".join(["x,A,B,C", *rows]) + "\n")
    options = ["--candidates", "[ABC]", "--method", "plknn", "--set", "n_neighbors=3"]
    run(path, *options, "--out", page)
    data = data_in(page)
    assert {data["classes"][j] for j in data["rows"][9][2]} == {"a", "b"}
    assert {row[6] for row in data["rows"]} == {None}


def test_a_row_without_answers_can_be_settled(votes, tmp_path):
    frame = pd.read_csv(votes)
    frame.loc[4, frame.columns[-7:]] = "-1"
    frame.to_csv(votes, index=False)
    page, corrections = tmp_path / "review.html", tmp_path / "c.csv"
    run(votes, *VOTES, "--out", page)
    assert data_in(page)["rows"][4][1] == ""
    corrections.write_text("row,candidates,label\n4,,emu\n")
    run(votes, *VOTES, "--checked", corrections, "--out", page)
    data = data_in(page)
    _, _, labels, shares, _, decision, *_ = data["rows"][4]
    assert (data["classes"][labels[0]], shares[0], decision) == ("emu", 1, "emu")
    assert {data["classes"][j] for j in labels} == {"cat", "dog", "emu"}


def test_answers_in_long_form(tmp_path):
    answers, form = write_crowd(tmp_path)
    output = run(answers, *form, "--out", tmp_path / "review.html", "--method", "plknn")
    assert "6 annotators judged by their answers and the features" in output
    assert " --item item --annotator annotator --answer label --features-from " in output
    data = data_in(tmp_path / "review.html")
    assert len(data["rows"]) == 40
    given = pd.read_csv(answers).groupby("item")["label"].agg(set)
    assert [set(row[1].split("|")) for row in data["rows"]] == given.tolist()
