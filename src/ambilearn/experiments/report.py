"""Self-contained HTML report: tables, figures, comparison with published numbers, settings."""

import base64
from collections.abc import Sequence
from importlib.resources import files

from ambilearn._utils.optional import requires_extra
from ambilearn._utils.text import format_duration
from ambilearn.experiments.figures import build_figures, draw
from ambilearn.experiments.render import Table
from ambilearn.experiments.results import ExperimentResults
from ambilearn.experiments.run import environment
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

_SCALING = {
    "all": "z-score over all rows before the split, as in the code of the paper's methods",
    "train": "z-score over the training rows",
    "none": "none",
}


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
        version=environment()["versions"].get("ambilearn", ""),
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
        any("ConvergenceWarning" in text for text in result.details["warnings"])
        for result in results
    )
    here = {result.task["data"] for result in results}
    return {
        "name": spec.name,
        "title": spec.title,
        "reference": experiment.fixed_lines[0].label,
        "tables": _tables(experiment),
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


def _tables(experiment: ExperimentResults) -> list[Content]:
    shows = {show["name"]: show for show in experiment.spec.shows}
    return [
        _table(table, compare_with_best(experiment, shows[table.name]))
        if table.records and "line" in table.records[0]
        else _table(table, {})
        for table in build_tables(experiment)
    ]


def _table(table: Table, best: dict[tuple[str, str], str]) -> Content:
    """Cells with the published number and the difference, and marks of the best of each column."""
    rows = [[{"text": text} for text in row] for row in table.rows]
    notes = table.notes
    if table.records and "line" in table.records[0]:
        cells = iter(table.records)
        for row in rows:
            for cell, record in zip(row[1:], cells, strict=False):
                cell |= _compare_with_published(record)
                cell["rank"] = best.get((record["line"], record["column"]), "")
    if best:
        notes = [
            "Bold: the best mean of the column. ≈: not significantly worse than the best (paired "
            "t-test, 0.05).",
            *notes,
        ]
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
