"""A table, and how it looks in a terminal, as Markdown, CSV and LaTeX."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ambilearn._utils.optional import requires_extra
from ambilearn.experiments.task import Content

_LATEX = {"±": r"$\pm$", "●": r"$\bullet$", "○": r"$\circ$", "†": r"$\dagger$", "ε": r"$\epsilon$"}
_LATEX |= {"α": r"$\alpha$", "β": r"$\beta$", "γ": r"$\gamma$", "μ": r"$\mu$", "λ": r"$\lambda$"}
_LATEX |= {"–": "--", "&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "Δ": r"$\Delta$"}
_LATEX |= {"≥": r"$\ge$", "→": r"$\to$", "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}"}


@dataclass
class Table:
    """Text of a table, and its numbers as records for a CSV file."""

    name: str
    title: str
    header: list[str]
    rows: list[list[str]]
    records: list[Content]
    notes: list[str] = field(default_factory=list)


def to_rich(table: Table) -> Any:
    """Rich table for the terminal."""
    with requires_extra("cli", purpose="A table in the terminal"):
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text

    # As Text, because Rich would interpret brackets as markup.
    title, notes = Text(table.title), Text("\n".join(table.notes))
    shown = RichTable(title=title, caption=notes, box=box.SIMPLE_HEAD)
    shown.title_style, shown.caption_style = "bold", "dim"
    shown.title_justify = shown.caption_justify = "left"
    for i, heading in enumerate(table.header):
        shown.add_column(Text(heading), style="bold" if i == 0 else None, justify="left")
    for row in table.rows:
        shown.add_row(*(Text(cell) for cell in row))
    return shown


def to_markdown(table: Table) -> str:
    """Markdown, with title and notes."""
    lines = [f"**{table.title}**", "", _pipe(table.header), _pipe(["---"] * len(table.header))]
    lines += [_pipe(row) for row in table.rows]
    return "\n".join([*lines, "", *(f"{note}\n" for note in table.notes)])


def _pipe(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def to_csv(table: Table) -> str:
    """CSV with the numbers of the table at full precision, one record per cell."""
    import pandas as pd

    # As objects, so that a column of numbers with empty cells stays one of whole numbers.
    return pd.DataFrame(table.records, dtype=object).to_csv(index=False, lineterminator="\n")


def to_latex(table: Table) -> str:
    """LaTeX table that requires only the package booktabs."""
    lines = [r"\begin{table}", r"\centering", rf"\caption{{{_escape(table.title)}}}"]
    lines += [rf"\begin{{tabular}}{{l{'l' * (len(table.header) - 1)}}}", r"\toprule"]
    lines += [_row(table.header), r"\midrule", *(_row(row) for row in table.rows)]
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\footnotesize {_escape(note)}" for note in table.notes]
    return "\n".join([*lines, r"\end{table}", ""])


def _row(cells: list[str]) -> str:
    return " & ".join(map(_escape, cells)) + r" \\"


def _escape(text: str) -> str:
    return "".join(_LATEX.get(sign, sign) for sign in text)


WRITERS = {"md": to_markdown, "csv": to_csv, "tex": to_latex}


def table_files(tables: list[Table], folder: Path) -> list[tuple[Path, bytes]]:
    """Files of the tables, in every format, with their content."""
    return [
        (folder / f"{table.name}.{ending}", write(table).encode())
        for table in tables
        for ending, write in WRITERS.items()
    ]
