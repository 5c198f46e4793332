"""Tables in a terminal, as Markdown, CSV and LaTeX; and the report, a self-contained HTML page.

The report has tables, figures, the comparison with published numbers, and settings.
"""

import base64
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from ambilearn import __version__
from ambilearn._utils.text import format_duration, requires_extra
from ambilearn.experiments.figures import build_figures, draw
from ambilearn.experiments.results import ExperimentResults, Table
from ambilearn.experiments.store import Store
from ambilearn.experiments.tables import (
    build_tables,
    compare_with_best,
    count_verdicts,
    plus_minus,
    published_records,
    verdict,
)
from ambilearn.experiments.task import Content, default_params

_LATEX = {"±": r"$\pm$", "●": r"$\bullet$", "○": r"$\circ$", "†": r"$\dagger$", "ε": r"$\epsilon$"}
_LATEX |= {"α": r"$\alpha$", "β": r"$\beta$", "γ": r"$\gamma$", "μ": r"$\mu$", "λ": r"$\lambda$"}
_LATEX |= {"–": "--", "&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "Δ": r"$\Delta$"}
_LATEX |= {"≥": r"$\ge$", "→": r"$\to$", "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}"}


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


# --- the report ---------------------------------------------------------------------------------

_SCALING = {
    "all": "z-score over all rows before the split, as in the code of the paper's methods",
    "train": "z-score over the training rows",
    "none": "none",
}
_BEST_NOTE = (
    "Bold: the best mean of the column. ≈: not significantly worse than the best (paired t-test, "
    "0.05)."
)


def render_report(experiments: Sequence[ExperimentResults], store: Store) -> str:
    """Render the report as an HTML file without references to other files or the network.

    The experiments keep their order; the store describes the environments of the results.
    """
    with requires_extra("paper", purpose="The report"):
        from jinja2 import Environment, StrictUndefined

    jinja = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    template = jinja.from_string(files(__package__).joinpath("report.html.j2").read_text("utf-8"))
    return template.render(
        sections=[_section(experiment) for experiment in experiments],
        counts=count_verdicts(published_records(experiments)),
        environments=store.environments(),
        version=__version__,
    )


def _section(experiment: ExperimentResults) -> Content:
    spec = experiment.spec
    results = [
        result
        for line in experiment.lines
        for case in experiment.cases
        for result in experiment.results(line, case)
    ]
    unconverged = sum(
        any("ConvergenceWarning" in text for text in result.details.get("warnings", ()))
        for result in results
    )
    here = {result.task["data"] for result in results}
    return {
        "name": spec.name,
        "title": spec.title,
        "reference": experiment.fixed_lines[0].label,
        "tables": [_table(experiment, table) for table in build_tables(experiment)],
        "figures": [
            # Embedded as an image, so that ids of different figures do not collide.
            {"title": title, "svg": base64.b64encode(draw(figure, "svg")).decode()}
            for title, figure in build_figures(experiment).values()
        ],
        "settings": {
            "data": ", ".join(spec.data),
            "runs": spec.runs,
            "split": f"random, {spec.protocol.get('test_share', 0.5):.0%} test rows",
            "scaling": _SCALING[spec.protocol.get("scaling", "all")],
            "results": f"{len(results)}, of which {unconverged} stopped before convergence",
            "computing time": format_duration(sum(result.seconds for result in results)),
        }
        | ({"at most": f"{spec.protocol['rows']} rows"} if spec.protocol.get("rows") else {}),
        "methods": [
            {"label": m.label, "params": default_params(m.estimator) | m.params}
            for m in spec.methods
            if m.sweep is None
        ],
        "failures": [
            {"task": f"{r.task['method']} on {r.task['data']}, run {r.task['run']}", "why": r.error}
            for r in experiment.failures
        ],
        "unmeasured": [name for name in spec.data if name not in here],
    }


def _table(experiment: ExperimentResults, table: Table) -> Content:
    """Cells with the published number and the difference, and marks of the best of each column."""
    rows = [[{"text": text} for text in row] for row in table.rows]
    notes = table.notes
    if table.records and "line" in table.records[0]:
        shows = {show["name"]: show for show in experiment.spec.shows if show["kind"] == "table"}
        best = compare_with_best(experiment, shows[table.name])
        cells = iter(table.records)
        for row in rows:
            for cell, record in zip(row[1:], cells, strict=False):
                cell |= _compare_with_published(record)
                cell["rank"] = best.get((record["line"], record["column"]), "")
        if best:
            notes = [_BEST_NOTE, *notes]
    return {"title": table.title, "header": table.header, "rows": rows, "notes": notes}


def _compare_with_published(record: Content) -> dict[str, str]:
    """Published number below a measured cell, and the deviation."""
    if "published_mean" not in record:
        return {}
    printed = plus_minus(record["published_mean"], record["published_std"])
    found = {"published": f"{printed} {record['published_mark']}".rstrip()}
    if "deviation" in record:
        found["deviation"] = f"{record['deviation']:+.1f} σ".replace("-", "−")
        found["tone"] = verdict(record)
    return found
