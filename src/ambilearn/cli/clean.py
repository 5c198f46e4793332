"""The commands on one's own tables: thin, all work is done in the modules beside."""

from pathlib import Path
from shlex import quote
from typing import Any

import click

from ambilearn._utils.text import pluralize
from ambilearn.cli.console import Console, user_console
from ambilearn.cli.help_sections import SectionedCommand, section
from ambilearn.cli.outputs import check_outputs
from ambilearn.cli.streams import standard_output
from ambilearn.cli.table_options import (
    candidate_options,
    check_device,
    device_option,
    doubt_option,
    escape_formulas_option,
    format_options,
    method_options,
    output_option,
    output_options,
    source_and_format,
)
from ambilearn.cli.votes import (
    check_skills,
    plan_for_command,
    read_votes_or_candidates,
    votes_options,
)

_SIZES = ((2**30, "GB"), (2**20, "MB"), (2**10, "kB"))


@click.command(
    cls=SectionedCommand,
    epilog="Example: ambilearn clean people.csv --candidates names --out cleaned.csv",
)
@click.argument("table")
@candidate_options
@votes_options
@method_options
@doubt_option
@output_options
def clean(
    table: str,
    method: str | None,
    select: bool,
    settings: tuple[str, ...],
    n_landmarks: int | None,
    seed: int,
    device: str | None,
    no_doubt: bool,
    out: Path,
    prefix: str,
    escape_formulas: bool,
    skills: bool | None,
    annotators_out: Path | None,
    **reading: Any,
) -> None:
    """Choose one of the candidate labels of each row of a table.

    Writes TABLE (CSV, Excel, Parquet or JSON lines; - is standard input) with six more columns:
    label, its confidence, its margin over the second-best candidate, doubt that any candidate is
    right (above 0 another label is ahead of all), that other label as suggestion, and review_rank,
    which is 1 for the row to look at first. Every other cell stays as it is. Excel files are read,
    not written.

    Where annotators answered, in a column each or in long form, TABLE with one answer a row, they
    are judged, too.
    """
    with user_console() as console:
        check_outputs(
            [out, annotators_out], [table, reading["corrections"], reading["features_from"]]
        )
        check_skills(skills, reading["min_votes"])
        check_device(console, device)
        console.show("reading the table")  # from here on: the imports take a while
        from ambilearn.cli.result_summary import (
            describe_accuracy,
            describe_cleaned,
            describe_model,
        )
        from ambilearn.tables.clean import clean_table

        write = _writer(console, table, out, reading, escape_formulas)
        read = read_votes_or_candidates(table, **reading)
        read, method, params, select = plan_for_command(
            console,
            read,
            method,
            settings,
            n_landmarks,
            select=select,
            seed=seed,
            skills=skills,
            min_votes=reading["min_votes"],
            annotators_out=annotators_out,
            escape_formulas=escape_formulas,
        )
        cleaned = clean_table(
            read,
            method,
            params,
            select=select,
            random_state=seed,
            doubt=not no_doubt,
            device=device,
            prefix=prefix,
            progress=console.stage,
        )
        describe_model(console, cleaned.model, params)
        describe_accuracy(console, cleaned.table, cleaned.choices.labels)
        labels = [f"{prefix}label", f"{prefix}suggestion"]
        write(cleaned.frame, [*read.candidate_columns, *labels])
        describe_cleaned(console, cleaned)


@click.command(
    cls=SectionedCommand,
    epilog="Example: ambilearn fit people.csv --candidates names --out people.model",
)
@click.argument("table")
@candidate_options
@votes_options
@method_options
@output_option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Where to save the model.",
)
@escape_formulas_option
def fit(
    table: str,
    method: str | None,
    select: bool,
    settings: tuple[str, ...],
    n_landmarks: int | None,
    seed: int,
    device: str | None,
    out: Path,
    escape_formulas: bool,
    skills: bool | None,
    annotators_out: Path | None,
    **reading: Any,
) -> None:
    """Learn from a table, and save a model that labels new rows.

    TABLE is a CSV, Excel, Parquet or JSON lines file with candidate labels; - is standard input.
    The model takes numbers, categories, truth values, dates, sentences and lists of numbers as
    features, and missing cells; loading it executes nothing.
    """
    with user_console() as console:
        if str(out) == "-":
            raise click.ClickException("A model cannot go to standard output: give --out a file.")
        check_outputs(
            [out, annotators_out], [table, reading["corrections"], reading["features_from"]]
        )
        check_skills(skills, reading["min_votes"])
        check_device(console, device)
        console.show("reading the table")  # from here on: the imports take a while
        from ambilearn.cli.result_summary import (
            describe_accuracy,
            describe_model,
        )
        from ambilearn.tables.model import fit_table
        from ambilearn.tables.model_file import save_model

        read = read_votes_or_candidates(table, **reading)
        read, method, params, select = plan_for_command(
            console,
            read,
            method,
            settings,
            n_landmarks,
            select=select,
            seed=seed,
            skills=skills,
            min_votes=reading["min_votes"],
            annotators_out=annotators_out,
            escape_formulas=escape_formulas,
        )
        model = fit_table(
            read,
            method,
            params,
            select=select,
            random_state=seed,
            device=device,
            progress=console.stage,
        )
        describe_model(console, model, params)
        describe_accuracy(console, read.with_min_votes(model.min_votes), model.method.transduction_)
        console.show("saving the model")
        save_model(model, out)
        console.say(f"saved {out} ({_size(out)}); it labels new rows:")
        console.say(f"  ambilearn predict {quote(str(out))} NEW_TABLE")


@click.command(
    cls=SectionedCommand,
    epilog="Example: ambilearn predict people.model new.csv --out labelled.csv",
)
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("table")
@format_options
@device_option(section("Work"))
@output_options
def predict(
    model: Path,
    table: str,
    format: str | None,
    delimiter: str | None,
    decimal: str,
    device: str | None,
    out: Path,
    prefix: str,
    escape_formulas: bool,
) -> None:
    """Label the rows of a table by a model that `fit` saved.

    Writes TABLE (CSV, Excel, Parquet or JSON lines; - is standard input) with three more columns:
    label, its confidence, and its margin over the second-best label. TABLE must have the feature
    columns of the model; others are passed through.
    """
    with user_console() as console:
        check_outputs([out], [model, table])
        check_device(console, device)
        console.show("loading the model")
        from ambilearn.datasets.frames import read_frame, source_name
        from ambilearn.tables.model_file import load_table_model

        reading = {"format": format, "delimiter": delimiter}
        write = _writer(console, table, out, reading, escape_formulas)
        loaded = load_table_model(model)
        console.show("reading the table")
        source, format = source_and_format(table, format)
        frame = read_frame(source, format=format or None, delimiter=delimiter)
        console.show(f"labelling {pluralize(len(frame), 'row')}")
        labelled = loaded.predict(
            frame, source_name(source), prefix=prefix, device=device, decimal=decimal
        )
        console.say(
            f"{source_name(source)}: {pluralize(len(frame), 'row')} labelled by "
            f"{loaded.about['method']}"
        )
        write(labelled, [f"{prefix}label"])


def _writer(
    console: Console, table: str, out: Path, reading: dict[str, Any], escape_formulas: bool
) -> Any:
    """Function that writes the result; what is wrong with the place is said at once."""
    from ambilearn.tables.writing import check_writable, format_of_name, write_table

    if str(out) == "-":
        target, format = standard_output(), source_and_format(table, reading["format"])[1]
        format = "csv" if format == "xlsx" else format  # Excel files are read, not written
    else:
        target, format = out, format_of_name(str(out))
    check_writable(format)

    def write(frame: Any, text_columns: list[str]) -> None:
        if target is out:
            console.show("writing the table")
        else:
            console.close()  # rows and spinner would mix where both are a terminal
        write_table(
            frame,
            target,
            format=format,
            delimiter=reading["delimiter"],
            sep=reading.get("sep", "|"),
            text_columns=text_columns,
            escape_formulas=escape_formulas,
        )
        if target is not out:
            target.flush()
        else:
            console.say(
                f"wrote {out}: {pluralize(len(frame), 'row')}, "
                f"{pluralize(len(frame.columns), 'column')}"
            )

    return write


def _size(path: Path) -> str:
    size = path.stat().st_size
    for unit, name in _SIZES:
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
