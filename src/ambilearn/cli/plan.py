"""How a command learns from a table: its method, and the weights of its annotators."""

from typing import TYPE_CHECKING

import click

from ambilearn.cli.console import Console
from ambilearn.cli.judging import NO_ANNOTATORS, correct_labels, judge_annotators
from ambilearn.cli.request import Plan, Request
from ambilearn.cli.summary import (
    describe_accuracy,
    describe_calibration,
    describe_model,
    describe_table,
    hint_at_given_label,
)
from ambilearn.registry import METHODS

if TYPE_CHECKING:
    from ambilearn.tables.candidate_table import CandidateTable
    from ambilearn.tables.clean import CleanedTable


def clean_as_requested(
    console: Console,
    request: Request,
    table: "CandidateTable",
    *,
    prefix: str | None,
    new_rows: bool = False,
) -> "CleanedTable":
    """Clean a table, and describe the model and its accuracy; without a prefix for a page."""
    from ambilearn.tables.clean import clean_table

    plan = make_plan(console, request, table, new_rows=new_rows)
    cleaned = clean_table(
        **plan._asdict(),
        trust_candidates=request.trust_candidates,
        prefix=prefix,
        progress=console.stage,
    )
    describe_model(console, cleaned.model, plan.params)
    describe_calibration(console, cleaned.model.calibration, page=prefix is None)
    describe_accuracy(console, cleaned.table, cleaned.choices.labels)
    return cleaned


def make_plan(
    console: Console, request: Request, table: "CandidateTable", *, new_rows: bool = False
) -> Plan:
    """Describe the table, choose the method if none is named, and judge any annotators.

    ``new_rows``: the model is for new rows, so their confidences are calibrated.
    """
    image = request.table.image
    if request.table.given_label:
        table = correct_labels(console, request, table).table
    else:
        describe_table(console, table)
        hint_at_given_label(console, table)
    if not (image is None or image in request.table.embed or request.learns_from_images):
        console.say(
            f"images: only shown. --embed {image}=MODEL makes features of {image} by a "
            "pretrained network; --method deepplcl trains a network on the images alone"
        )
    plan = choose_method(console, request, table)
    if not _should_judge(console, request, table):
        return plan
    return judge_annotators(console, request, plan, new_rows and not plan.fast)


def choose_method(console: Console, request: Request, table: "CandidateTable") -> Plan:
    """Learn from a table with the given method, or with the one that is best for the table."""
    from ambilearn.tables.methods import choose_default

    params, method = request.parameters(), request.method
    if method is None:
        method, reason = choose_default(table, params, tune=request.tune)
        other = "" if method == "plcl" else "; use --method plcl for the method of the paper"
        console.say(f"method: {METHODS[method].name} (default {reason}){other}")
    return Plan(table, method, params, request.tune, request.seed, request.device, request.fast)


def _should_judge(console: Console, request: Request, table: "CandidateTable") -> bool:
    """Whether to judge annotators; an error if options need it and it is impossible."""
    wanted, out = request.weight_annotators, request.annotators_out
    if table.votes is None and (wanted or out):
        raise click.UsageError(NO_ANNOTATORS)
    if wanted is None:
        wanted = table.votes is not None and request.table.min_votes is None
        if wanted and request.method == "deepplcl":
            wanted = False
            console.say(
                "All annotators have the same weight: estimating their reliability trains many "
                "networks. Use --weight-annotators to do it anyway.",
                style="yellow",
            )
    if out and not wanted:
        raise click.UsageError("--annotators-out requires --weight-annotators.")
    return wanted
