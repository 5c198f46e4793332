"""Small valid files, which are then damaged: a table, a model, a store, an experiment."""

import csv
import io
import re
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import openpyxl
import pandas as pd
from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

from ambilearn.tables import fit_table, read_candidate_table
from ambilearn.tables.model_file import save_model
from torture.commands import run_command

_TIME = re.compile(rb"\d{4}-\d\d-\d\dT[\d:.]+Z")
HEADING = ["x", "town", "names"]
ROWS = [
    [f"{(i % 3) * 2 + i / 10:.1f}", ("Rome", "Oslo", "")[i % 3], names]
    for i, names in enumerate(
        ["anna|bob", "bob", "cleo|anna", "anna", "bob|cleo", "cleo", "anna|cleo", "bob|anna"]
    )
]
SPEC = """title = "Mine"
data = ["iris"]
methods = ["PL-KNN", {method = "PL-KNN", label = "five", params = {n_neighbors = 5}}]
runs = 4
[protocol]
rows = 30
[quick]
runs = 1
[[candidates]]
group = "I"
title = "p varies"
vary = "p"
values = [0.3, 0.7]
[[show]]
kind = "table"
name = "mine"
title = "Mine"
metric = "accuracy"
"""


def csv_bytes(heading: list[str], rows: list[list[str]], delimiter: str = ",") -> bytes:
    """Table as CSV, quoted by the csv module."""
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows([heading, *rows])
    return text.getvalue().encode("utf-8", "surrogatepass")


def excel_bytes(heading: list[str], rows: list[list[str]]) -> bytes:
    """Table as an Excel file of text cells, with reproducible bytes."""
    book = openpyxl.Workbook()
    for i, row in enumerate([heading, *rows], start=1):
        for j, text in enumerate(row, start=1):
            cell = book.active.cell(i, j, ILLEGAL_CHARACTERS_RE.sub("", text))
            cell.data_type = "s"  # including cells that look like formulas
    saved, fixed = io.BytesIO(), io.BytesIO()
    book.save(saved)
    with ZipFile(saved) as archive, ZipFile(fixed, "w", ZIP_DEFLATED) as same:
        for name in archive.namelist():
            content = _TIME.sub(b"2026-01-01T00:00:00Z", archive.read(name))
            same.writestr(ZipInfo(name), content, ZIP_DEFLATED)
    return fixed.getvalue()


@cache
def table_bytes(format: str = "csv") -> bytes:
    """The sample table; ``csv16`` is CSV in UTF-16 with a byte-order mark."""
    if format == "csv":
        return csv_bytes(HEADING, ROWS)
    if format == "csv16":
        return csv_bytes(HEADING, ROWS).decode().encode("utf-16")
    if format == "xlsx":
        return excel_bytes(HEADING, ROWS)
    frame = pd.DataFrame(ROWS, columns=HEADING)
    if format == "jsonl":
        return frame.to_json(orient="records", lines=True).encode()
    return frame.to_parquet(index=False)


@cache
def model_bytes(method: str = "plknn") -> bytes:
    """Model of the sample table, with reproducible bytes except for ZIP metadata."""
    table = read_candidate_table(io.BytesIO(table_bytes()), candidates="names", format="csv")
    model = fit_table(table, method, {"epochs": 2} if method == "deepplcl" else {"n_neighbors": 2})
    fixed = replace(model, about=model.about | {"created": "2026-01-01T00:00:00+00:00"})
    with tempfile.TemporaryDirectory() as folder:
        save_model(fixed, Path(folder, "model"))
        return Path(folder, "model").read_bytes()


@cache
def store_bytes() -> bytes:
    """A store with all results of the sample experiment."""
    with tempfile.TemporaryDirectory() as folder:
        spec, store = Path(folder, "mine.toml"), Path(folder, "store.sqlite")
        spec.write_text(SPEC)
        ended = run_command("paper", "run", spec, "--jobs", 1, "--store", store)
        assert ended.done, ended
        assert not list(Path(folder).glob("*-wal")), "the store was not closed"
        return store.read_bytes()


def write_samples(folder: Path) -> None:
    """The sample table, model, experiment and store, in a folder."""
    (folder / "table.csv").write_bytes(table_bytes())
    (folder / "people.model").write_bytes(model_bytes())
    (folder / "mine.toml").write_text(SPEC)
    (folder / "store.sqlite").write_bytes(store_bytes())
