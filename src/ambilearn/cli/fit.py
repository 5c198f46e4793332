"""The command `fit`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ambilearn.cli.commands import Command
from ambilearn.cli.console import Console, user_console
from ambilearn.cli.options import (
    COMMON,
    OUTPUT,
    candidate_options,
    command_line,
    escape_formulas_option,
    free_prefix,
    image_options,
    method_options,
    votes_options,
)
from ambilearn.cli.plan import make_plan
from ambilearn.cli.predict import predict
from ambilearn.cli.request import Plan, Request
from ambilearn.cli.summary import describe_accuracy, describe_calibration, describe_model

if TYPE_CHECKING:
    from ambilearn.tables.candidate_table import CandidateTable
    from ambilearn.tables.model import TableModel

_PREDICTED = ("label", "score", "confidence")  # new columns of `predict`


@click.command(
    cls=Command,
    common=(*COMMON, "truth", "tune"),
    epilog="Example: ambilearn fit people.csv --candidates names --out people.model",
)
@click.argument("table")
@candidate_options
@votes_options
@image_options
@method_options
@OUTPUT.file("--out", help="Model file to write. Required.")
@escape_formulas_option
def fit(table: str, out: Path | None, **options: Any) -> None:
    """Learn from a table and save a model that labels new rows.

    TABLE is a CSV, Excel, Parquet or JSON file with candidate labels; - is standard input. Features
    can be numbers, categories, truth values, dates, sentences and lists of numbers, with missing
    cells; or images, for deepplcl. Loading a model never runs code from the file.
    """
    if out is None:
        raise click.UsageError("Missing option '--out': name the model file to write.")
    with user_console() as console:
        if str(out) == "-":
            raise click.ClickException(
                "A model cannot be written to standard output: use --out FILE."
            )
        request = Request.from_options(table, options)
        request.check(console, model_out=out)
        console.show("reading the table")  # before the imports, which take a while
        plan = make_plan(console, request, request.read(), new_rows=True)
        write_model(console, request, plan, out)


def write_model(console: Console, request: Request, plan: Plan, out: Path) -> None:
    """Fit a model to a table, describe the model and save it."""
    from ambilearn.tables.fit import fit_table

    model = fit_table(**plan._asdict(), progress=console.stage)
    describe_model(console, model, plan.params)
    describe_calibration(console, model.calibration, new_rows=True)
    if not request.table.given_label:  # else the share of right labels is shown with the correction
        describe_accuracy(console, plan.table, model.method.transduction_)
    save(console, model, out, request, plan.table)


def save(
    console: Console, model: "TableModel", out: Path, request: Request, table: "CandidateTable"
) -> None:
    """Save a model, and say how to use it for the table that it was fitted to."""
    from rich.filesize import decimal

    from ambilearn.tables.model_file import save_model

    console.show("saving the model")
    save_model(model, out)
    console.say(
        f"saved {out} ({decimal(out.stat().st_size)}). To label a table with the same features:"
    )
    context = click.get_current_context()
    command = command_line(
        context,
        predict,
        str(out),
        str(request.table.features_from or request.table.source),
        without=("out", "device", "escape_formulas"),
        prefix=free_prefix(table.frame, _PREDICTED, context.params.get("prefix", "")),
    )
    console.say(f"  {command}")
