"""Tables with hostile text that clean and predict write are read back unchanged."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from click.testing import CliRunner
from hostile_text import READERS, tables, texts
from hypothesis import given, settings
from hypothesis import strategies as st

from ambilearn._utils.labels import normalize_label
from ambilearn.cli.main import main

PLAIN = ["--features", "x", "--method", "plknn", "--set", "n_neighbors=1"]
NEW = {"label", "score", "confidence", "doubt", "suggestion", "review_rank", "x", "names"}
headings = texts.filter(lambda name: name not in NEW)
# NumPy, which holds the labels, drops zeros at their ends.
labels = texts.map(lambda text: normalize_label(text.replace("\0", ""))).filter(bool)


def run(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout_bytes


def write_json_lines(path, records):
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))


def rows_that_all_read_alike(content):
    first, *others = (read(content, ",") for read in READERS.values())
    assert all(other == first for other in others)
    return first


def check_kept(content, records):
    """The rows without what is new; every cell is what it was."""
    heading, *rows = rows_that_all_read_alike(content)
    assert heading[: len(records[0])] == list(records[0])
    for row, record in zip(rows, records, strict=True):
        kept = dict(zip(heading, row, strict=True))
        assert {name: kept[name] for name in record if name not in NEW} == {
            name: cell for name, cell in record.items() if name not in NEW
        }
        yield kept


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "t.csv").write_text("x,names\n1,anna|bob\n2,anna\n8,bob\n9,bob|anna\n")
    run("fit", folder / "t.csv", "--candidates", "names", *PLAIN, "--out", folder / "m.model")
    return folder / "m.model"


@pytest.mark.slow
@settings(max_examples=20)
@given(table=tables(headings))
def test_predict(model, table):
    records = [record | {"x": i} for i, record in enumerate(table.to_dict("records"))]
    with TemporaryDirectory() as folder:
        source, out, again = (Path(folder, name) for name in ("t.jsonl", "o.csv", "again.csv"))
        write_json_lines(source, records)
        run("predict", model, source, "--out", out)
        found = [row["label"] for row in check_kept(out.read_bytes(), records)]
        assert set(found) <= {"anna", "bob"}
        # The command reads what it wrote, and writes it as it was.
        run("predict", model, out, "--prefix", "new_", "--out", again)
        assert [row["new_label"] for row in check_kept(again.read_bytes(), records)] == found


@pytest.mark.slow
@settings(max_examples=20)
@given(
    table=tables(headings),
    names=st.lists(labels, min_size=2, max_size=2, unique=True),
)
def test_clean(table, names):
    """Labels are hostile, too; blanks around them are none of theirs."""
    cells = [table.iloc[i % len(table)].to_dict() for i in range(4)]
    sets = [names, names[:1], names[1:], names]
    records = [
        cell | {"x": 9 * (i > 1) + i, "names": candidates}
        for i, (cell, candidates) in enumerate(zip(cells, sets, strict=True))
    ]
    with TemporaryDirectory() as folder:
        source, out = Path(folder, "t.jsonl"), Path(folder, "o.csv")
        write_json_lines(source, records)
        run("clean", source, "--candidates", "names", "--na-is-label", *PLAIN, "--out", out)
        for row, candidates in zip(check_kept(out.read_bytes(), records), sets, strict=True):
            assert row["label"] in candidates


def test_formulas_are_escaped_on_request(model, tmp_path):
    source, out = tmp_path / "t.jsonl", tmp_path / "o.csv"
    write_json_lines(source, [{"=h": "=cmd|'/c calc'!A0", "n": "-1.5", "q": "'tis", "x": 1}])
    run("predict", model, source, "--out", out)
    assert out.read_text().startswith(
        "=h,n,q,x,label,score,confidence\n=cmd|'/c calc'!A0,-1.5,'tis,"
    )
    run("predict", model, source, "--escape-formulas", "--out", out)
    assert out.read_text().startswith("'=h,n,q,x,label,")
    assert out.read_text().splitlines()[1].startswith("'=cmd|'/c calc'!A0,-1.5,''tis,1,anna,")
    assert b'"=h": "=cmd' in run("predict", model, source, "--escape-formulas")  # JSON has types


def test_formulas_of_annotators_are_escaped_on_request(tmp_path):
    rows = [f"{i % 2 * 9 + i / 7},{['=a', 'b'][i % 2]},{['=a', 'b'][i % 2]}" for i in range(12)]
    (tmp_path / "t.csv").write_text("\n".join(["x,=ann,+ben", *rows, ""]))
    options = ["--candidates", "=ann", "--candidates", "+ben", "--method", "plknn"]
    for command, out in (("clean", "o.csv"), ("fit", "o.model")):
        whom = ["--annotators-out", tmp_path / "w.csv", "--out", tmp_path / out]
        run(command, tmp_path / "t.csv", *options, *whom, "--escape-formulas")
        cells = {
            cell
            for row in rows_that_all_read_alike((tmp_path / "w-confusions.csv").read_bytes())
            for cell in row
        }
        assert {"'=ann", "'+ben", "'=a", "b"} <= cells
        assert not {"=ann", "+ben", "=a"} & cells
