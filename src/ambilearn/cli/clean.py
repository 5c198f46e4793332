"""The command `clean`."""

from pathlib import Path
from typing import Any

import click

from ambilearn.cli.console import Console, user_console
from ambilearn.cli.help_sections import SectionedCommand
from ambilearn.cli.outputs import table_writer
from ambilearn.cli.plan import Request
from ambilearn.cli.table_options import (
    calibration_option,
    candidate_options,
    doubt_option,
    image_options,
    method_options,
    output_options,
    votes_options,
)


@click.command(
    cls=SectionedCommand,
    epilog="Example: ambilearn clean people.csv --candidates names --out cleaned.csv",
)
@click.argument("table")
@candidate_options
@votes_options
@image_options
@method_options
@calibration_option
@doubt_option
@output_options
def clean(table: str, no_doubt: bool, out: Path, prefix: str, **options: Any) -> None:
    """Choose one of the candidate labels of each row of a table.

    Writes TABLE (CSV, Excel, Parquet or JSON lines; - is standard input) with seven new columns:
    label, its score from 0 to 1, its confidence (the probability that it is correct; empty if
    scores cannot be calibrated), its margin over the score of the second-best candidate, doubt
    (above 0 if another label scores higher than all candidates), that other label as suggestion if
    doubt is above 0, and review_rank, which is 1 for the row to check first. All other cells stay
    unchanged. Excel files can be read, not written.

    If several annotators answered, in one column each or in long form (one answer per row), the
    reliability of each annotator is estimated, too.
    """
    with user_console() as console:
        request = Request.from_options(table, options)
        request.check(console, out)
        write_cleaned(console, request, out, no_doubt=no_doubt, prefix=prefix)


def write_cleaned(
    console: Console, request: Request, out: Path, *, no_doubt: bool = False, prefix: str = ""
) -> None:
    """Clean the table of a request, describe the result and write it."""
    console.show("reading the table")  # before the imports, which take a while
    from ambilearn.cli.result_summary import (
        describe_accuracy,
        describe_calibration,
        describe_cleaned,
        describe_model,
    )
    from ambilearn.tables.clean import clean_table

    write = table_writer(
        console,
        request.source,
        out,
        format=request.reading["format"],
        delimiter=request.reading["delimiter"],
        sep=request.reading["sep"],
        escape_formulas=request.escape_formulas,
    )
    plan = request.plan(console, request.read())
    cleaned = clean_table(
        **plan._asdict(), doubt=not no_doubt, prefix=prefix, progress=console.stage
    )
    describe_model(console, cleaned.model, plan.params)
    describe_calibration(console, cleaned.model.calibration)
    describe_accuracy(console, cleaned.table, cleaned.choices.labels)
    labels = [f"{prefix}label", f"{prefix}suggestion"]
    write(cleaned.frame, [*cleaned.table.candidate_columns, *labels])
    describe_cleaned(console, cleaned)
