"""The command `clean`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ambilearn.cli.commands import Command, reject_options
from ambilearn.cli.console import Console, user_console
from ambilearn.cli.fit import save, write_model
from ambilearn.cli.judging import FAST, clean_answers, correct_labels
from ambilearn.cli.options import (
    COMMON,
    OUTPUT,
    candidate_options,
    image_options,
    method_options,
    output_options,
    trust_option,
    votes_options,
)
from ambilearn.cli.outputs import table_writer
from ambilearn.cli.plan import choose_method, clean_as_requested, make_plan
from ambilearn.cli.request import Request
from ambilearn.cli.summary import describe_cleaned

if TYPE_CHECKING:
    from ambilearn.tables.candidate_table import CandidateTable


@click.command(
    cls=Command,
    common=(*COMMON, "truth", "tune", "model_out"),
    epilog="Example: ambilearn clean people.csv --candidates names --out cleaned.csv",
)
@click.argument("table")
@candidate_options
@votes_options
@image_options
@method_options
@trust_option
@output_options
@OUTPUT.file("--model-out", help="Also save the model, for `predict`.")
def clean(table: str, out: Path, prefix: str, model_out: Path | None, **options: Any) -> None:
    """Choose one of the candidate labels of each row of a table.

    Writes TABLE (CSV, Excel, Parquet or JSON; - is standard input) with new columns at its end: the
    chosen label, how certain it is, whether the true label is perhaps not a candidate, and which
    rows to check first. All other cells stay unchanged.

    The new columns are label, its score from 0 to 1, its confidence (the probability that it is
    correct; empty if scores cannot be calibrated), doubt (the probability that no candidate is
    correct), the most likely other label as suggestion if doubt is above 0.5, and review_rank,
    which is 1 for the row to check first: that whose label is most probably wrong. Excel files can
    be read, not written.

    With --given-label, each row has one label, and some are wrong: label is the corrected label,
    score and confidence are the probability that it is correct, doubt is the probability that the
    given label is wrong, and suggestion is the most likely other label if doubt is above 0.5.

    If several annotators answered, in one column each or in long form (one answer per row), the
    reliability of each annotator is estimated, too. Their answers need no features: without any,
    labels are chosen by the answers alone (Dawid and Skene).
    """
    with user_console() as console:
        request = Request.from_options(table, options, votes_alone=True)
        request.check(console, out, model_out=model_out)
        console.show("reading the table")  # before the imports, which take a while
        write_results(console, request, request.read(), out, model_out, prefix=prefix)


def write_results(
    console: Console,
    request: Request,
    table: "CandidateTable",
    out: Path | None,
    model_out: Path | None = None,
    *,
    prefix: str = "",
) -> None:
    """Clean a table and write the result, the fitted model, or both; describe them.

    ``request`` is what the table was read by; corrections of the table count.
    """
    if out is None:
        if model_out is not None:
            plan = make_plan(console, request, table, new_rows=True)
            write_model(console, request, plan, model_out)
        return
    write = table_writer(
        console,
        request.table.source,
        out,
        request.table.file,
        sep=table.sep,
        escape_formulas=request.escape_formulas,
    )
    labels = [f"{prefix}label", f"{prefix}suggestion"]
    if not table.features.columns:
        judged = () if request.weight_annotators else ("weight_annotators",)
        reject_options(
            ("method", "settings", "tune", "device", "min_votes", "model_out", *judged),
            "requires features, but the table has none: its labels are chosen by the annotators' "
            "answers alone. Add columns, or name a table with --features-from.",
        )
        chosen = clean_answers(console, request, table, prefix)
        write(chosen.frame, [*table.candidate_columns, *labels])
        describe_cleaned(console, chosen)
        return
    if request.table.given_label:
        _check_given_label_options(request, model_out is not None)
        corrected = correct_labels(console, request, table, prefix)
        write(corrected.frame, [*table.candidate_columns, *labels])
        if model_out is not None:
            plan = choose_method(console, request, corrected.table)
            write_model(console, request, plan, model_out)
        return
    new_rows = model_out is not None
    cleaned = clean_as_requested(console, request, table, prefix=prefix, new_rows=new_rows)
    write(cleaned.frame, [*cleaned.table.candidate_columns, *labels])
    describe_cleaned(console, cleaned)
    if model_out is not None:
        save(console, cleaned.model, model_out, request, cleaned.table)


def _check_given_label_options(request: Request, has_model: bool) -> None:
    """Raise an error for options that have no effect on given labels."""
    if request.fast:
        raise click.UsageError(FAST)
    if has_model:
        return
    if request.tune:
        raise click.UsageError(
            "--tune and --given-label cannot be combined: --tune chooses parameters of a fit, and "
            "--given-label fits no method."
        )
    if request.method is None and request.settings:
        raise click.UsageError("With --given-label, parameters of a method require --method.")
