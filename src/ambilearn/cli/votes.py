"""Answers of annotators on the command line: how they are read, judged and reported."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click

from ambilearn._utils.text import pluralize
from ambilearn.cli.console import Console, printable
from ambilearn.cli.help_sections import section
from ambilearn.cli.table_options import (
    method_for_command,
    method_parameters,
    read_for_command,
    source_and_format,
)

_MAX_SHOWN_ANNOTATORS = 10

votes_option = section("Answers of annotators")
no_answer_option = votes_option(
    "--no-answer",
    multiple=True,
    metavar="CODE",
    help="What stands for no answer, such as -1. Repeat it for more.",
)
skills_option = votes_option(
    "--skills/--no-skills",
    default=None,
    help="Judge annotators by each other and by the features, and trust each accordingly. Done by "
    "default where several have answered, the extra crowd is installed, and --min-votes is not "
    "given.",
)


def votes_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of answers in long form, and of what annotators are worth."""
    options = (
        votes_option(
            "--item",
            metavar="COLUMN",
            help="TABLE has one answer a row (long form): the column that names what is labelled, "
            "here and in --features-from.",
        ),
        votes_option("--annotator", metavar="COLUMN", help="Long form: column of who answered."),
        votes_option("--answer", metavar="COLUMN", help="Long form: column of the label given."),
        votes_option(
            "--features-from",
            metavar="FILE",
            help="Long form: table with a row for each item and its features. The result has its "
            "rows.",
        ),
        no_answer_option,
        skills_option,
        votes_option(
            "--annotators-out",
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            help="Where to write who mixes what, one line for each annotator, right and given "
            "label: .csv, .tsv, .parquet or .jsonl.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def check_skills(skills: bool | None, min_votes: int | None) -> None:
    """Refuse options that exclude each other before any work is done."""
    if skills and min_votes is not None:
        raise click.UsageError(
            "--skills and --min-votes exclude each other: whoever judges annotators counts no "
            "votes. Leave one of them out."
        )


def read_votes_or_candidates(
    table: str,
    *,
    item: str | None,
    annotator: str | None,
    answer: str | None,
    features_from: str | None,
    no_answer: tuple[str, ...],
    candidates: tuple[str, ...],
    **reading: Any,
) -> Any:
    """The table that a command names: answers in long form, or rows with candidates."""
    long_form = {"--item": item, "--annotator": annotator, "--answer": answer}
    long_form["--features-from"] = features_from
    if not any(long_form.values()):
        return read_for_command(table, candidates=candidates, no_answer=no_answer, **reading)
    if not (item and annotator and answer and features_from):
        missing = [name for name, value in long_form.items() if not value]
        raise click.UsageError(
            f"Answers in long form also need {', '.join(missing)}: columns of TABLE with the item, "
            "who answered and the label, and a table with the features of the items."
        )
    if candidates:
        raise click.UsageError(
            "--candidates is for tables with a row for each thing to label, --item, --annotator "
            "and --answer are for answers in long form: give one or the other."
        )
    from ambilearn.tables.answers import read_answer_table

    given = reading.pop("format")
    source, format = source_and_format(table, given)
    features = reading.pop("features") or None
    return read_answer_table(
        source,
        features_from=features_from,
        item=item,
        annotator=annotator,
        answer=answer,
        no_answer=no_answer,
        features=features,
        format=given or format or None,
        **reading,
    )


class Plan(NamedTuple):
    """A table as it will be learned from, by which method, and how."""

    table: Any
    method: str
    params: dict[str, Any]
    select: bool


def plan_for_command(
    console: Console,
    table: Any,
    method: str | None,
    settings: tuple[str, ...],
    n_landmarks: int | None,
    *,
    select: bool,
    seed: int,
    **judging: Any,
) -> Plan:
    """Describe the table, choose the method if none is named, and judge annotators, if any."""
    from ambilearn.cli.table_summary import describe_table

    describe_table(console, table)
    params = method_parameters(settings, n_landmarks)
    method = method_for_command(console, method, table, params, select=select)
    return _judge(console, Plan(table, method, params, select), seed, **judging)


def _judge(
    console: Console,
    given: Plan,
    seed: int,
    *,
    skills: bool | None,
    min_votes: int | None,
    annotators_out: Path | None = None,
    escape_formulas: bool = False,
) -> Plan:
    """The plan as it was given, or as the judging of annotators leaves it."""
    table, method, params, select = given
    if table.votes is None:
        if skills or annotators_out:
            raise click.UsageError(
                "There are no annotators to judge: name several columns by --candidates, or give "
                "answers in long form by --item, --annotator and --answer."
            )
        return given
    if skills is None and (min_votes is not None or not _crowd_kit_is_there(console)):
        skills = False
    if skills is False:
        if annotators_out:
            raise click.UsageError("--annotators-out needs the annotators judged: --skills.")
        return given
    from ambilearn.tables.judging import judge_table
    from ambilearn.tables.writing import check_writable, format_of_name, write_table

    if annotators_out:
        check_writable(format_of_name(str(annotators_out)))
    judged = judge_table(
        table, method, params, select=select, random_state=seed, progress=console.stage
    )
    describe_annotators(console, judged)
    if annotators_out:
        frame = judged.annotators.confusion_frame()
        write_table(frame, annotators_out, escape_formulas=escape_formulas)
        console.say(f"wrote {annotators_out}: {pluralize(len(frame), 'row')}")
    return Plan(judged.table, method, params | judged.chosen, False)


def _crowd_kit_is_there(console: Console) -> bool:
    from ambilearn._utils.optional import requires_extra

    try:
        with requires_extra("crowd", purpose="To trust each accordingly"):
            import crowdkit  # noqa: F401
    except ImportError as error:
        console.say(f"All annotators count alike. {error}", style="yellow")
        return False
    return True


def describe_annotators(console: Console, judged: Any) -> None:
    """Who answered how much and agrees how often with the result, and who mixes what."""
    from rich.table import Table
    from rich.text import Text

    frame = judged.annotators.to_frame()
    chosen = "".join(
        f"; {key}={value} chosen by the answers" for key, value in judged.chosen.items()
    )
    console.say(
        f"{pluralize(len(frame), 'annotator')} judged by their answers and the features "
        f"(trust in the features: {judged.feature_trust:.0%}{chosen})"
    )
    console.say(f"estimated share of rows whose label is in no answer: {judged.unvoted_share:.1%}")
    shown = Table(box=None, pad_edge=False)
    shown.add_column("annotator", no_wrap=True)
    shown.add_column("answers", justify="right", no_wrap=True)
    shown.add_column("agreement", justify="right", no_wrap=True)
    shown.add_column("mixes most: right → given (how often)")
    for row in frame.head(_MAX_SHOWN_ANNOTATORS).itertuples(index=False):
        cells = (row.annotator, f"{row.answers:,}", f"{row.agreement:.0%}", row.mixes)
        shown.add_row(*(Text(printable(str(cell))) for cell in cells))
    console.print(shown)
    if len(frame) > _MAX_SHOWN_ANNOTATORS:
        rest = frame.iloc[_MAX_SHOWN_ANNOTATORS:]
        console.say(
            f"and {len(rest)} more, who agree with the result in {rest['agreement'].min():.0%} to "
            f"{rest['agreement'].max():.0%} of their answers"
        )
