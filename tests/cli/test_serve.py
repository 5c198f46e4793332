"""``ambilearn review`` as a user runs it: a process, its address, its files."""

import base64
import http.client
import json
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from urllib.parse import urlsplit
from urllib.request import url2pathname, urlopen

import numpy as np
import pandas as pd
import pytest
from annotators import write_crowd
from click.testing import CliRunner

from ambilearn.cli.main import main
from ambilearn.review.server import ReviewServer
from ambilearn.tables import load_model

OPTIONS = ["--candidates", "names", "--method", "plknn", "--no-browser"]


@pytest.fixture
def table(groups):
    return groups


class Process:
    """The command in a separate process."""

    def __init__(self, *arguments):
        command = [sys.executable, "-m", "ambilearn", "review", *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        self.said = ""
        for line in self.process.stderr:
            self.said += line
            if found := re.search(r"http://127\.0\.0\.1:(\d+)/(\S+)/", line):
                self.port, self.token = int(found[1]), found[2]
                break

    def act(self, **action):
        post(f"http://127.0.0.1:{self.port}/{self.token}/", "act", action)

    def end(self, number):
        """Send a signal, that of Ctrl-C to all processes of the command as a terminal does."""
        (os.killpg if number == signal.SIGINT else os.kill)(self.process.pid, number)
        self.said += self.process.stderr.read()
        return self.process.wait(60)


def address_in(file):
    """The address to which a file that is opened in a browser redirects."""
    path = url2pathname(urlsplit(file).path)
    assert sys.platform == "win32" or stat.S_IMODE(os.stat(path).st_mode) == 0o600
    return re.search('url=(.+?)"', open(path).read())[1]


def post(address, what, content):
    """Post to a review as its page does."""
    url = urlsplit(address)
    connection = http.client.HTTPConnection(url.netloc, timeout=60)
    origin = {"Origin": f"http://{url.netloc}"}
    connection.request("POST", f"{url.path}{what}?tab=a", json.dumps(content), origin)
    reply = connection.getresponse()
    assert reply.status == 200, reply.read()
    connection.close()


def run(*arguments):
    return CliRunner().invoke(main, list(map(str, arguments)))


@pytest.mark.heavy
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
def test_a_killed_review_continues_and_writes_what_clean_and_fit_write(table, tmp_path):
    cleaned, corrections, model = (tmp_path / name for name in ("c.csv", "k.csv", "m.model"))
    outputs = ["--cleaned-out", cleaned, "--checked-out", corrections, "--model-out", model]
    first = Process(table, *OPTIONS, *outputs)
    first.act(id="x1", kind="answer", labels=[[3, "cleo"]])
    first.act(id="x2", kind="answer", labels=[[5, "zoe"], [7, "zoe"]])
    rejected = run("review", table, *OPTIONS)
    assert rejected.exit_code == 1
    assert "is in use by another `ambilearn review`" in rejected.output
    assert f"http://127.0.0.1:{first.port}/{first.token}/" in rejected.output
    first.end(signal.SIGKILL)
    assert not cleaned.exists()
    assert stat.S_IMODE(os.stat(f"{table}.journal.html").st_mode) == 0o600  # it has the token

    again = Process(table, *OPTIONS, *outputs)
    assert (again.port, again.token) == (first.port, first.token)  # a page that is open goes on
    assert "3 rows settled: " in again.said
    again.act(id="x2", kind="answer", labels=[[5, "zoe"], [7, "zoe"]])  # sent again
    again.act(id="x3", kind="undo", of="x2")
    again.act(id="x4", kind="answer", labels=[[5, "zoe"]])
    assert again.end(signal.SIGINT) == 0, again.said
    assert "Traceback" not in again.said
    assert "2 rows settled; the answers are in" in again.said
    assert corrections.read_text().splitlines()[1:] == [
        '3,"anna","cleo"',
        '5,"bob|anna|cleo","zoe"',
    ]
    assert not os.path.exists(f"{table}.journal.html")

    expected = tmp_path / "expected.csv"
    options = ["--candidates", "names", "--method", "plknn", "--checked", corrections]
    assert run("clean", table, *options, "--out", expected).exit_code == 0
    assert cleaned.read_bytes() == expected.read_bytes()
    predicted = run("predict", model, table)
    assert run("fit", table, *options, "--out", tmp_path / "e.model").exit_code == 0
    assert predicted.output == run("predict", tmp_path / "e.model", table).output

    other = table.with_name("other.csv")
    other.write_text(table.read_text().replace("Rome", "Oslo", 1))
    rejected = run("review", other, *OPTIONS, "--journal", f"{table}.journal")
    assert rejected.exit_code == 1
    assert "belongs to other rows: the column 'town' has changed" in rejected.output


@pytest.mark.parametrize("when", ["at once", "in the final fit"])
def test_a_second_ctrl_c_skips_the_final_fit_and_keeps_the_answers(
    table, tmp_path, monkeypatch, when
):
    def browse(file):
        address = address_in(file)
        url = urlsplit(address)
        connection = http.client.HTTPConnection(url.netloc, timeout=60)
        connection.request("GET", url.path)
        page = connection.getresponse().read().decode()
        connection.close()
        assert "The output files are written: c.csv, k.csv." in page
        post(address, "act", {"id": "x1", "kind": "answer", "labels": [[3, "cleo"]]})
        signal.raise_signal(signal.SIGINT)

    def press(*_, **__):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("webbrowser.open", browse)
    if when == "at once":
        close = ReviewServer.close
        monkeypatch.setattr(ReviewServer, "close", lambda server: (press(), close(server)))
    else:
        monkeypatch.setattr("ambilearn.cli.serve.write_results", press)
    cleaned, corrections = tmp_path / "c.csv", tmp_path / "k.csv"
    outputs = ["--cleaned-out", cleaned, "--checked-out", corrections]
    result = run("review", table, *OPTIONS[:-1], *outputs)
    assert result.exit_code == 130, result.output
    assert "The final fit was interrupted. The same command continues the review." in result.output
    assert corrections.read_text().splitlines()[1:] == ['3,"anna","cleo"']
    journal = (tmp_path / "people.csv.journal").read_text().splitlines()
    assert json.loads(journal[-1])["labels"] == {"3": "cleo"}
    assert not (tmp_path / "people.csv.journal.html").exists()
    assert not cleaned.exists()


@pytest.mark.heavy
@pytest.mark.usefixtures("opened", "ctrl_c_after_the_fit")
def test_ctrl_c_after_the_final_fit_writes_its_labels(table, tmp_path):
    """Labels without doubt, and the model of the same fit."""
    cleaned, model = tmp_path / "c.csv", tmp_path / "m.model"
    outputs = ["--cleaned-out", cleaned, "--model-out", model]
    result = run("review", table, *OPTIONS[:-1], *outputs)
    assert result.exit_code == 130, result.output
    assert "interrupted: doubt and suggestion stay empty." in result.output
    assert pd.read_csv(cleaned)["label"].notna().all()
    assert "anna" in load_model(model).classes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "8000"], "--port is for the page that learns: leave out --out."),
        (["--journal", "x.journal"], "--journal is for the page that learns"),
        (["--model-out", "x.model"], "--model-out is for the page that learns"),
    ],
)
def test_options_that_do_not_fit_are_rejected(table, arguments, message):
    result = run("review", table, "--candidates", "names", *arguments, "--out", "x.html")
    assert result.exit_code == 2
    assert message in result.output


@pytest.fixture
def opened(monkeypatch):
    """Addresses that are opened in the browser, which then ends the review."""
    addresses = []

    def browse(file):
        addresses.append(address_in(file))
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("webbrowser.open", browse)
    return addresses


def test_one_address_is_printed_and_opened(table, opened, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        result = run("review", table, *OPTIONS, "--port", port)
        assert f"Port {port} cannot be used" in result.output
    options = ["--port", port, "--journal", tmp_path / "my.journal"]
    result = run("review", table, *OPTIONS[:-1], *options)
    assert result.exit_code == 0, result.output
    (address,) = opened
    assert address.startswith(f"http://127.0.0.1:{port}/")
    assert result.output.count("http://") == 1
    assert address in result.output
    assert (tmp_path / "my.journal").exists()
    assert "repeat the command with --cleaned-out FILE" in result.output


@pytest.mark.usefixtures("opened")
def test_answers_in_long_form_are_served(tmp_path):
    answers, form = write_crowd(tmp_path)
    files = [*form, "--method", "plknn"]
    result = run("review", answers, *files, "--cleaned-out", tmp_path / "c.csv")
    assert result.exit_code == 0, result.output
    assert "6 annotators judged" in result.output
    assert run("clean", answers, *files, "--out", tmp_path / "e.csv").exit_code == 0
    assert (tmp_path / "c.csv").read_bytes() == (tmp_path / "e.csv").read_bytes()


def test_standard_input_cannot_be_served():
    result = run("review", "-", "--candidates", "names")
    assert result.exit_code == 2
    assert "A review needs a table in a file." in result.output


def test_outputs_are_checked_before_the_review(table, tmp_path):
    result = run("review", table, *OPTIONS, "--cleaned-out", table)
    assert "would overwrite an input file" in result.output
    result = run("review", table, *OPTIONS, "--model-out", tmp_path / "no" / "m.model")
    assert "does not exist" in result.output
    result = run("review", table, *OPTIONS, "--method", "forest", "--model-out", tmp_path / "m")
    assert "A model file cannot store --method forest" in result.output
    result = run("review", table, *OPTIONS, "--cleaned-out", tmp_path / "c.xlsx")
    assert result.exit_code == 1
    (tmp_path / "labels.csv").write_text(table.read_text().replace("town", "label", 1))
    out = tmp_path / "c.csv"
    result = run("review", tmp_path / "labels.csv", *OPTIONS, "--cleaned-out", out)
    assert "has a column 'label' already" in result.output
    assert not (tmp_path / "people.csv.journal").exists()


def test_a_table_with_a_column_score_is_cleaned_with_a_prefix(table, tmp_path, monkeypatch):
    """There was no option to name the new columns."""
    path, out = tmp_path / "scores.csv", tmp_path / "c.csv"
    path.write_text(table.read_text().replace("town", "score", 1))
    monkeypatch.setattr("webbrowser.open", lambda file: signal.raise_signal(signal.SIGINT))
    outputs = ["--cleaned-out", out, "--prefix", "new_"]
    result = run("review", path, *OPTIONS[:-1], *outputs)
    assert result.exit_code == 0, result.output
    assert {"score", "new_label", "new_score"} < set(pd.read_csv(out))


@pytest.mark.parametrize("name", ["same.csv", "same.csv.html"])
def test_the_journal_is_no_other_output(table, tmp_path, name):
    outputs = ["--journal", tmp_path / "same.csv", "--checked-out", tmp_path / name]
    found = run("review", table, *OPTIONS, *outputs)
    assert found.exit_code == 1
    assert f"{name} would be written twice" in found.output.replace("\n", "")
    assert not (tmp_path / "same.csv").exists()


def test_a_table_that_is_sorted_during_the_review_gets_the_answers_of_its_rows(
    table, tmp_path, monkeypatch
):
    """The table was read again at the end, and rows with the same candidates were mixed up."""
    before = table.read_text().splitlines()

    def browse(file):
        label = "bob" if "anna" in before[1].split(",")[2] else "anna"
        post(address_in(file), "act", {"id": "x", "kind": "answer", "labels": [[0, label]]})
        table.write_text("\n".join([before[0], *before[:0:-1]]) + "\n")
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("webbrowser.open", browse)
    cleaned = tmp_path / "c.csv"
    result = run("review", table, *OPTIONS[:-1], "--cleaned-out", cleaned)
    assert result.exit_code == 0, result.output
    lines = cleaned.read_text().splitlines()
    assert [line.split(",")[:3] for line in lines] == [line.split(",")[:3] for line in before]
    again = run("review", table, *OPTIONS)
    assert "belongs to other rows" in again.output
    answers, journal = tmp_path / "answers.csv", f"{table}.journal"
    assert run("review", journal, "--checked-out", answers).exit_code == 0
    assert answers.read_text().splitlines()[1].startswith("0,")
    rejected = run("review", journal)
    assert rejected.exit_code == 2
    assert "is a journal: name a file for its answers, --checked-out." in rejected.output
    assert "would overwrite" in run("review", journal, "--checked-out", journal).output


def test_a_journal_that_is_removed_is_written_again_at_the_end(table, monkeypatch):
    def browse(file):
        post(address_in(file), "act", {"id": "x", "kind": "skip", "row": 0})
        os.unlink(f"{table}.journal")
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("webbrowser.open", browse)
    result = run("review", table, *OPTIONS[:-1])
    assert "people.csv.journal was removed by another program, and written again" in result.output
    assert "skip" in (table.parent / "people.csv.journal").read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no modes")
@pytest.mark.usefixtures("opened")
def test_a_prepared_address_is_not_used(table):
    note = table.with_name("people.csv.journal.html")
    note.write_text('url=http://127.0.0.1:1/chosen-by-somebody-else/"')
    note.chmod(0o644)
    result = run("review", table, *OPTIONS[:-1])
    assert result.exit_code == 0, result.output
    assert "chosen-by-somebody-else" not in result.output


def test_an_invalid_character_is_reported_with_its_row(tmp_path):
    path = tmp_path / "people.jsonl"
    rows = [{"x": i % 3, "town": f"town {i % 2}", "names": ["anna", "bob"]} for i in range(9)]
    rows[4]["town"] = "half \ud800"
    path.write_text("\n".join(map(json.dumps, rows)))
    result = run("review", path, *OPTIONS, "--exclude", "town")
    assert result.exit_code == 1
    assert "Row 4 of the table has an invalid character" in result.output


def test_too_many_rows_are_rejected_before_the_fit(table, monkeypatch):
    monkeypatch.setattr("ambilearn.review.page.MAX_ROWS", 5)
    for arguments in (OPTIONS, [*OPTIONS[:4], "--out", table.with_name("page.html")]):
        result = run("review", table, *arguments)
        assert "holds at most 5 rows, not 20" in result.output
        assert "fitting" not in result.output


def test_given_labels_are_reviewed(tmp_path, monkeypatch):
    path, cleaned = tmp_path / "levels.csv", tmp_path / "c.csv"
    rows = [f"{x},{'low' if x < 10 else 'high'}" for x in range(20)]
    path.write_text("\n".join(["x,level", *rows, "3.5,high", "14.5,low"]) + "\n")

    def browse(file):
        address = address_in(file)
        with urlopen(address) as page:
            data = re.search('id="data">(.*?)</script>', page.read().decode())[1]
        assert [json.loads(data)["rows"][i][1] for i in (0, 20)] == ["low", "high"]
        with urlopen(f"{address}state?tab=a") as reply:
            state = json.loads(reply.read())
        order = np.frombuffer(base64.b64decode(state["order"]), "<i4")
        assert sorted(order) == list(range(22))
        post(address, "act", {"id": "x", "kind": "answer", "labels": [[20, "low"], [2, "mid"]]})
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("webbrowser.open", browse)
    options = ["--given-label", "level", "--cleaned-out", cleaned]
    result = run("review", path, *options)
    assert result.exit_code == 0, result.output
    assert pd.read_csv(cleaned)["label"].iloc[[0, 2, 20]].tolist() == ["low", "mid", "low"]
