"""The command `clean`."""

from pathlib import Path
from typing import Any

import click

from ambilearn.cli.console import Console, user_console
from ambilearn.cli.help_sections import SectionedCommand
from ambilearn.cli.outputs import table_writer
from ambilearn.cli.plan import NO_DOUBT, Request
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

    With --given-label, each row has one label, and some are wrong: label is the corrected label,
    score and confidence are the probability that it is correct, doubt (above 0 if the other labels
    together are more likely) is in the given label, and suggestion is the most likely other label
    of changed and doubtful rows.

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
        decimal=request.reading["decimal"],
        sep=request.reading["sep"],
        escape_formulas=request.escape_formulas,
    )
    labels = [f"{prefix}label", f"{prefix}suggestion"]
    if request.given_label:
        _check_given_label_options(request, no_doubt)
        corrected = request.correct(console, request.read(), prefix)
        write(corrected.frame, [request.given_label, *labels])
        return
    plan = request.plan(console, request.read())
    cleaned = clean_table(
        **plan._asdict(), doubt=not no_doubt, prefix=prefix, progress=console.stage
    )
    describe_model(console, cleaned.model, plan.params)
    describe_calibration(console, cleaned.model.calibration)
    describe_accuracy(console, cleaned.table, cleaned.choices.labels)
    write(cleaned.frame, [*cleaned.table.candidate_columns, *labels])
    describe_cleaned(console, cleaned)


def _check_given_label_options(request: Request, no_doubt: bool) -> None:
    """Raise an error for options that have no effect on given labels."""
    if no_doubt:
        raise click.UsageError(NO_DOUBT)
    if request.select:
        raise click.UsageError(
            "--select and --given-label cannot be combined: --select chooses parameters of a fit, "
            "and --given-label fits no method."
        )
    if request.method is None and (request.settings or request.n_landmarks is not None):
        raise click.UsageError("With --given-label, parameters of a method require --method.")
