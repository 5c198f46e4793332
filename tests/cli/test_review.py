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

TOWNS = ["Rome", "Oslo"]
QUICK = ["--candidates", "names", "--method", "plknn"]  # where the method does not matter


@pytest.fixture
def table(tmp_path):
    """Twenty rows of two groups, with false candidates."""
    lines = ["id,size,town,photo,names"]
    for i in range(20):
        own, other = ("anna", "bob") if i % 2 else ("bob", "anna")
        names = {0: own, 1: f"{own}|{other}", 2: f"{other}|{own}|cleo"}[i % 3]
        lines.append(f"p{i},{i % 2 * 5 + i / 20},{TOWNS[i % 2]},pics/{i % 4}.png,{names}")
    path = tmp_path / "people.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "pics").mkdir()
    for i in range(3):
        Image.new("RGB", (4, 4)).save(tmp_path / "pics" / f"{i}.png")
    return path


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


def test_images_are_found_and_missing_ones_counted(table, tmp_path):
    output = run(table, *QUICK, "--out", tmp_path / "review.html")
    assert "images: column 'photo'" in output
    assert "5 images cannot be shown (not found), the first is 'pics/3.png'" in output
    assert data_in(tmp_path / "review.html")["rows"][1][4] == "pics/1.png"


def test_images_can_be_named_embedded_or_left_out(table, tmp_path):
    out = tmp_path / "review.html"
    run(table, *QUICK, "--image", "photo", "--embed-images", "--out", out)
    assert data_in(out)["rows"][0][4].startswith("data:image/png;base64,")
    assert "images:" not in run(table, *QUICK, "--no-images", "--out", out)
    assert {row[4] for row in data_in(out)["rows"]} == {None}


def test_damaged_and_forbidden_images_are_named_and_the_page_is_written(table, tmp_path):
    (tmp_path / "pics" / "1.png").write_bytes(b"no image")
    other = tmp_path / "other"
    other.mkdir()
    (other / "secret.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "pics").rename(inner / "pics")
    table = table.rename(inner / "people.csv")
    table.write_text(table.read_text().replace("pics/2.png", "../other/secret.svg"))
    out = tmp_path / "review.html"
    arguments = [table, *QUICK, "--embed-images", "--out", out]
    output = " ".join(run(*arguments).split())
    assert "5 images cannot be shown (cannot be read), the first is 'pics/1.png'." in output
    assert "(outside the allowed folders), the first is '../other/secret.svg'. Allow" in output
    rows = data_in(out)["rows"]
    assert rows[0][4].startswith("data:image/png;base64,")
    problems = ["cannot be read", "outside the allowed folders", "not found"]
    assert [(row[4], row[7]) for row in rows[1:4]] == [(None, problem) for problem in problems]
    output = run(*arguments, "--image-folder", other)
    assert "outside" not in output
    assert data_in(out)["rows"][2][4].startswith("data:image/svg+xml;base64,")


def test_corrections_come_with_the_page(table, tmp_path):
    corrections = tmp_path / "c.csv"
    corrections.write_text("row,candidates,label\n1,anna|bob,dora\n2,anna|bob|cleo,bob\n")
    out = tmp_path / "review.html"
    output = run(table, *QUICK, "--checked", corrections, "--out", out)
    assert "2 rows corrected by a person" in output
    data = data_in(out)
    assert [row[5] for row in data["rows"][:4]] == [None, "dora", "bob", None]
    assert len(data["rows"][1][2]) == 2
    assert "dora" in data["classes"]


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


def test_same_command_same_page(table, tmp_path):
    pages = [tmp_path / "a.html", tmp_path / "b.html"]
    for page in pages:
        run(table, "--candidates", "names", "--out", page)
    assert pages[0].read_bytes() == pages[1].read_bytes()


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
    lines = table.read_text(encoding="utf-8").splitlines()
    truths = ["truth", *(["bob", "anna"][i % 2] for i in range(20))]
    truths[1] = "secret"
    with_truth = "\n".join(f"{line},{truth}" for line, truth in zip(lines, truths, strict=True))
    table.write_text(with_truth + "\n", encoding="utf-8")
    out = tmp_path / "r.html"
    output = run(table, *QUICK, "--truth", "truth", "--no-images", "--out", out)
    assert "of the 20 rows with a known label are right" in output
    assert "5.0% of them have a known label that is not a candidate (1 row)" in output
    assert "secret" not in out.read_text(encoding="utf-8")
    assert "truth" not in data_in(out)["columns"]


def test_the_next_command_has_all_options_of_the_table(table, tmp_path):
    text = table.read_text().replace(",", "\t").replace("|", "/").replace("id", "i d", 1)
    path = tmp_path / "people.txt"
    heading, *rows = text.splitlines()
    path.write_text("\n".join([f"{heading}\tsecond", *(f"{row}\tanna" for row in rows)]) + "\n")
    options = ["--candidates", "names", "--candidates", "second", "--sep", "/"]
    options += ["--min-votes", "2", "--fallback", "union", "--na-is-label"]
    options += ["--exclude", "i d", "--exclude", "photo", "--categorical", "size"]
    options += ["--format", "csv", "--delimiter", "\\t", "--seed", "3"]
    options += ["--set", "n_landmarks=5"]
    output = run(path, *options, "--no-images", "--out", tmp_path / "r.html")
    command = next(line for line in output.splitlines() if line.startswith("  ambilearn clean"))
    words = shlex.split(command)
    assert words[:3] == ["ambilearn", "clean", str(path)]
    assert sorted(words[3:-4]) == sorted(options)
    assert words[-4::2] == ["--checked", "--out"]
    words[-3] = str(tmp_path / "c.csv")
    (tmp_path / "c.csv").write_text("row,candidates,label\n")
    again = CliRunner().invoke(main, words[1:])
    assert again.exit_code == 0, again.output
    assert words[-1] == str(tmp_path / "people-cleaned.csv")
    assert (tmp_path / "people-cleaned.csv").exists()


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


def invoke_clean(*arguments):
    result = CliRunner().invoke(main, ["clean", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.output


def test_annotators_are_judged_as_by_clean(votes, tmp_path):
    page, cleaned = tmp_path / "review.html", tmp_path / "cleaned.csv"
    output = run(votes, *VOTES, "--out", page)
    assert "7 annotators judged by their answers and the features" in output
    by_clean = invoke_clean(votes, *VOTES, "--out", cleaned)
    [right] = re.findall(r".*rows with a known label are right", output)
    assert right in by_clean
    [ahead] = re.findall(r".* in which probably no answer is correct", output)
    assert ahead in by_clean
    data, wanted = data_in(page), pd.read_csv(cleaned)
    first = [(data["classes"][row[2][0]], row[3][0]) for row in data["rows"]]
    assert [label for label, _ in first] == wanted["label"].to_list()
    assert [share for _, share in first] == pytest.approx(wanted["score"].to_list(), abs=1e-5)
    for row in data["rows"]:  # answers that were overruled can still be chosen
        assert set(row[1].split("|")) <= {data["classes"][j] for j in row[2]}
        assert min(row[3]) > 0
        assert sum(row[3]) <= 1 + 1e-4  # the rest is the confidence of other labels


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


def test_annotators_have_equal_weights_without_skills(votes, tmp_path):
    output = run(votes, *VOTES, "--no-weight-annotators", "--out", tmp_path / "review.html")
    assert "judged" not in output
    assert "--no-answer -1 --no-weight-annotators --method plknn --checked" in " ".join(
        output.split()
    )


def test_answers_in_long_form(tmp_path):
    answers, form = write_crowd(tmp_path)
    output = run(answers, *form, "--out", tmp_path / "review.html", "--method", "plknn")
    assert "6 annotators judged by their answers and the features" in output
    assert " --item item --annotator annotator --answer label --features-from " in output
    data = data_in(tmp_path / "review.html")
    assert len(data["rows"]) == 40
    given = pd.read_csv(answers).groupby("item")["label"].agg(set)
    assert [set(row[1].split("|")) for row in data["rows"]] == given.tolist()
