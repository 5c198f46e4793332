"""Tables of hostile cells through ``clean``, ``predict`` and ``review``, and corrections."""

import csv
import io
import json
import re
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pandas as pd
from hypothesis import strategies as st

from ambilearn._utils.labels import is_missing
from ambilearn.datasets.frames import read_frame
from ambilearn.tables import read_candidate_table
from torture.commands import run_command
from torture.hostile import byte_edits, edit_bytes, encodable_texts, json_values, words
from torture.oracle import REJECTED, Defect, attempt, check_canary
from torture.samples import HEADING, ROWS, csv_bytes, excel_bytes, model_bytes, table_bytes
from torture.target import Target

NEW = {
    "clean": ["label", "score", "confidence", "margin", "doubt", "suggestion", "review_rank"],
    "predict": ["label", "score", "confidence", "margin"],
}

tame_candidates = st.lists(st.sampled_from("abc"), min_size=1, max_size=2).map("|".join)
candidates = st.lists(words | encodable_texts, min_size=1, max_size=3).map("|".join)


@st.composite
def table_cases(draw: Any) -> dict[str, Any]:
    """Table with candidates in ``names``, mostly ordinary features and some hostile columns."""
    n = draw(st.integers(1, 6))
    format = draw(st.sampled_from(["csv", "csv", "csv16", "tsv", "jsonl", "parquet", "xlsx"]))
    anything = json_values if format == "jsonl" else encodable_texts

    def column(tame: Any, hostile: Any) -> list[Any]:
        # Half of the columns are ordinary, because a single invalid cell rejects a table.
        cells = tame if draw(st.booleans()) else tame | hostile
        return draw(st.lists(cells, min_size=n, max_size=n))

    columns = {"x": column(st.integers(-3, 3).map(str), anything)}
    for name in draw(st.lists(encodable_texts, max_size=2)):
        columns[name] = column(words, anything)
    columns["town"] = column(words, anything)
    columns["names"] = column(tame_candidates, candidates if format != "jsonl" else json_values)
    return {
        "command": draw(st.sampled_from(["clean", "clean", "predict"])),
        "format": format,
        "out": draw(st.sampled_from([_written(format), "csv", "jsonl", "parquet"])),
        "heading": list(columns),
        "rows": [list(row) for row in zip(*columns.values(), strict=True)],
        "options": draw(
            st.lists(
                st.sampled_from(["--fast", "--na-is-label", "--prefix=p_", "--tune"]),
                max_size=2,
                unique=True,
            )
        ),
    }


def _written(format: str) -> str:
    """File extension of the result for a table format; Excel and UTF-16 are only read."""
    return "csv" if format in ("csv16", "xlsx") else format


def make_table(format: str, heading: list[str], rows: list[list[Any]]) -> bytes:
    """A table in one of the formats."""
    if format == "csv16":
        return csv_bytes(heading, rows).decode().encode("utf-16")
    if format == "xlsx":
        return excel_bytes(heading, rows)
    if format in ("csv", "tsv"):
        return csv_bytes(heading, rows, "," if format == "csv" else "\t")
    if format == "jsonl":
        lines = (json.dumps(dict(zip(heading, row, strict=True))) for row in rows)
        return "\n".join(lines).encode()
    return pd.DataFrame(rows, columns=heading, dtype=str).to_parquet(index=False)


def check_table(case: dict[str, Any], folder: Path) -> bool:
    """A command labels the rows and keeps every cell in its output file, or rejects the table."""
    table = folder / f"table.{case['format'].removesuffix('16')}"
    table.write_bytes(make_table(case["format"], case["heading"], case["rows"]))
    return _check_command(case, table, folder / f"out.{case['out']}")


def _check_command(case: dict[str, Any], table: Path, out: Path) -> bool:
    options = list(case["options"])
    if case["command"] == "clean":
        ended = run_command("clean", table, "--candidates", "names", "--out", out, "--method",
                            "plknn", "--set", "n_neighbors=2", *options)  # fmt: skip
    else:
        model = out.with_name("people.model")
        model.write_bytes(model_bytes())
        options = [option for option in options if option.startswith("--prefix")]
        ended = run_command("predict", model, table, "--out", out, *options)
    check_canary()
    if not ended.done:
        if out.exists():
            raise Defect("wrong", "a command that failed left its output")
        return False
    check_written(table, out, case["command"], "p_" if "--prefix=p_" in options else "")
    return True


def check_written(table: Path, out: Path, command: str, prefix: str = "") -> None:
    """The output has all cells of the input, and valid labels."""
    before, after = read_frame(table), read_frame(out)
    new = [prefix + name for name in NEW[command]]
    kept = [name for name in after.columns if name not in new or name in before.columns]
    if kept != list(before.columns) or len(after) != len(before):
        raise Defect("wrong", f"columns {list(before.columns)} became {kept}", "other columns")
    if table.suffix == out.suffix or {table.suffix, out.suffix} == {".csv", ".xlsx"}:
        for name in before.columns:
            cells = [_cells(frame[name].to_list()) for frame in (before, after)]
            if cells[0] != cells[1]:
                raise Defect("wrong", f"column {name!r}: {cells}", "other cells")
    if {table.suffix, out.suffix} == {".csv"}:
        with open(out, encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        if rows[1:] != after.to_numpy().tolist() and len(after.columns) > 1:
            raise Defect("wrong", f"the csv module reads {rows[1:]}", "csv module")
    if command == "clean" and table.suffix in (".csv", ".xlsx"):
        sets = read_candidate_table(table, candidates="names", na_is_label=True).candidates
        for row, label in zip(sets, after[f"{prefix}label"].to_list(), strict=True):
            if str(label) not in set(map(str, row)):
                raise Defect("wrong", f"label {label!r} of candidates {row}", "outside")
    score = after[f"{prefix}score"].astype(float)
    if not score.between(0, 1).all():
        raise Defect("wrong", f"scores {score.to_list()}", "score")


def _cells(cells: list[Any]) -> list[Any]:
    """The cells; a missing key in a line of JSON is a missing value, as is null."""
    return [None if is_missing(cell) else cell for cell in cells]


# Bytes of a valid table with some edits.
byte_cases = st.fixed_dictionaries(
    {
        "format": st.sampled_from(["csv", "csv", "csv16", "jsonl", "parquet", "xlsx"]),
        "edits": byte_edits,
        "command": st.sampled_from(["clean", "predict"]),
        "options": st.just(["--fast"]),
    }
)


def check_table_bytes(case: dict[str, Any], folder: Path) -> bool:
    """A damaged file is rejected, or is another valid table."""
    table = folder / f"table.{case['format'].removesuffix('16')}"
    table.write_bytes(edit_bytes(table_bytes(case["format"]), case["edits"]))
    return _check_command(case, table, folder / f"out.{_written(case['format'])}")


# A part of an Excel file with some edits and updated checksums.
excel_cases = st.fixed_dictionaries(
    {
        "part": st.sampled_from(
            [
                "xl/worksheets/sheet1.xml",
                "xl/worksheets/sheet1.xml",
                "xl/sharedStrings.xml",
                "xl/styles.xml",
                "xl/workbook.xml",
                "xl/_rels/workbook.xml.rels",
                "[Content_Types].xml",
            ]
        ),
        "edits": byte_edits,
        "command": st.sampled_from(["clean", "predict"]),
        "options": st.just(["--fast"]),
    }
)


def check_excel_part(case: dict[str, Any], folder: Path) -> bool:
    """A modified Excel file is rejected, or is another valid table."""
    table = folder / "table.xlsx"
    with ZipFile(io.BytesIO(table_bytes("xlsx"))) as old, ZipFile(table, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(
                name, edit_bytes(content, case["edits"]) if name == case["part"] else content
            )
    return _check_command(case, table, folder / "out.csv")


# Labels in several Unicode forms.
LABELS = ("Zo\u00eb", "\u00c5sa B", "bob", "\u0928\u0940\u200d\u0932", "\ud55c\uae00")
FORMS = ("NFC", "NFD", "\u200b", "\u2060", "\ufeff", "\u00a0")


def write_form(label: str, form: str, place: int) -> str:
    """Label in another Unicode form that looks the same."""
    if form in ("NFC", "NFD"):
        return unicodedata.normalize(form, label)
    if form == "\u00a0":
        return f"{form}{label.replace(' ', form)}{form}"
    place %= len(label) + 1
    return label[:place] + form + label[place:]


written_labels = st.tuples(st.sampled_from(LABELS), st.sampled_from(FORMS), st.integers(0, 9))
form_cases = st.fixed_dictionaries(
    {
        "rows": st.lists(st.lists(written_labels, min_size=1, max_size=3), min_size=3, max_size=6),
        "no answer": st.lists(written_labels, max_size=1),
        "correction": written_labels,
    }
)


def check_label_forms(case: dict[str, Any], folder: Path) -> bool:
    """Labels that look the same are equal in all file formats."""
    sets = []
    for write in (lambda label, form, place: label, write_form):
        cells = ["|".join(write(*label) for label in row) for row in case["rows"]]
        correction = [["0", cells[0], write(*case["correction"])]]
        table = attempt(
            read_candidate_table,
            pd.DataFrame({"x": [i / 7 for i in range(len(cells))], "names": cells}),
            candidates="names",
            no_answer=[write(*label) for label in case["no answer"]],
            checked=io.BytesIO(csv_bytes(["row", "candidates", "label"], correction)),
        )
        sets.append(None if table is REJECTED else table.candidates.to_sets())
    if sets[0] != sets[1]:
        raise Defect("wrong", f"{sets[0]} became {sets[1]}", "label forms")
    return sets[0] is not None


correction_cases = st.fixed_dictionaries(
    {
        "heading": st.sampled_from([["row", "candidates", "label"]] * 4 + [["row", "label"]]),
        "rows": st.lists(
            st.tuples(
                st.integers(-1, 9).map(str) | encodable_texts,
                st.sampled_from([row[2] for row in ROWS] + [""]) | encodable_texts,
                words | encodable_texts,
            )
            | st.integers(0, 7).flatmap(
                lambda i: st.tuples(st.just(str(i)), st.just(ROWS[i][2]), words | encodable_texts)
            ),
            max_size=3,
        ),
        "edits": st.just([]) | byte_edits,
    }
)


def check_corrections(case: dict[str, Any], folder: Path) -> bool:
    """Corrections are rejected, or each corrected row has only the chosen label."""
    width = len(case["heading"])
    content = csv_bytes(case["heading"], [list(row[:width]) for row in case["rows"]])
    content = edit_bytes(content, case["edits"]) if case["edits"] else content
    table = attempt(
        read_candidate_table,
        io.BytesIO(table_bytes()),
        candidates="names",
        format="csv",
        checked=io.BytesIO(content),
    )
    check_canary()
    if table is REJECTED:
        return False
    for row, label in table.corrections.labels.items():
        if set(list(table.candidates)[row]) != {label}:
            raise Defect("wrong", f"row {row} was not corrected to {label!r}", "not corrected")
    return True


class _Page(HTMLParser):
    """Executable content of a page: scripts and event attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.active: list[Any] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "iframe", "object", "embed"):
            self.scripts.append(f"{tag} {sorted(name for name, _ in attrs)}")
        for name, value in attrs:
            if name.startswith("on") or re.match(r"\s*javascript:", value or "", re.I):
                self.active.append((tag, name))


def check_page(case: dict[str, Any], folder: Path) -> bool:
    """The review page of a hostile table has no more scripts than other pages."""
    table, out = folder / "table.csv", folder / "review.html"
    pages = []
    for heading, rows in ((HEADING, ROWS), (case["heading"], case["rows"])):
        table.write_bytes(csv_bytes(heading, rows))
        ended = run_command("review", table, "--candidates", "names", "--out", out, "--method",
                            "plknn", "--set", "n_neighbors=2", "--fast")  # fmt: skip
        if not ended.done:
            return False
        pages.append(_Page(out.read_text("utf-8")))
    check_canary()
    if pages[0].scripts != pages[1].scripts or pages[0].active != pages[1].active:
        raise Defect("executed", f"the page has {pages[1].scripts} {pages[1].active}", "page")
    return True


page_cases = table_cases().filter(lambda case: case["format"] == "csv")

TARGETS = [
    Target("tables", "inputs", table_cases(), check_table, share=11),
    Target("table-bytes", "inputs", byte_cases, check_table_bytes, share=10),
    Target("excel-parts", "inputs", excel_cases, check_excel_part, share=5),
    Target("label-forms", "inputs", form_cases, check_label_forms, share=2),
    Target("corrections", "inputs", correction_cases, check_corrections, share=6),
    Target("pages", "inputs", page_cases, check_page, share=4),
]
