"""Options that the commands on a user's table share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ambilearn.cli.console import Console
from ambilearn.cli.help_sections import section
from ambilearn.cli.streams import standard_input
from ambilearn.registry import METHODS, REMOVED, find_method

_FORMATS = click.Choice(["csv", "tsv", "parquet", "jsonl", "xlsx"])

# Sections of the help, in which every command shows the options that it has.
candidate_option = section("Candidate labels")
votes_option = section("Answers of annotators")
feature_option = section("Features")
table_option = section("Reading the table")
method_option = section("Learning")
output_option = section("Output")

LONG_FORM = ("item", "annotator", "answer", "features_from")  # options of answers in long form


def _add(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def _one_sign(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    sign = "\t" if text == "\\t" else text
    if sign is not None and (len(sign) != 1 or sign in '"\r\n'):
        raise click.BadParameter("give one sign, for instance ';' or '\\t'.")
    return sign


format_options = _add(
    table_option(
        "--format",
        type=_FORMATS,
        help="Format of a table whose name does not tell; standard input is CSV.",
    ),
    table_option(
        "--delimiter",
        callback=_one_sign,
        metavar="SIGN",
        help="Sign between the cells of a CSV table.",
    ),
    table_option(
        "--decimal",
        type=click.Choice([".", ","]),
        default=".",
        show_default=True,
        help="Decimal sign of numbers in text.",
    ),
)

candidate_options = _add(
    candidate_option(
        "--candidates",
        multiple=True,
        metavar="COLUMN",
        help="Column with the candidate labels of each row. Give it again for each annotator's "
        "column, or a pattern: 'A*'.",
    ),
    candidate_option(
        "--sep",
        default="|",
        show_default=True,
        metavar="SIGN",
        help="What separates the labels in a cell.",
    ),
    candidate_option(
        "--min-votes",
        type=click.IntRange(1),
        metavar="N",
        help="With several annotators: votes that make a label a candidate. One by default; "
        "--select tries two, as well.",
    ),
    candidate_option(
        "--fallback",
        type=click.Choice(["error", "union"]),
        default="error",
        show_default=True,
        help="Where no label of a row has enough votes: refuse the table, or take all its votes.",
    ),
    candidate_option(
        "--na-is-label",
        is_flag=True,
        help="A cell NA, NaN, null, None, … is a label of that name, not a missing cell.",
    ),
    candidate_option(
        "--corrections",
        type=click.Path(dir_okay=False, exists=True, path_type=Path),
        metavar="FILE",
        help="CSV file of labels that a person chose, from the page of `ambilearn review`.",
    ),
    candidate_option(
        "--label",
        metavar="COLUMN",
        help="Column with the true label where it is known: to report the accuracy, not to learn.",
    ),
    feature_option(
        "--exclude",
        multiple=True,
        metavar="COLUMN",
        help="Keep a column out of the features: an id, a known truth. Repeat it for more.",
    ),
    feature_option(
        "--features",
        multiple=True,
        metavar="COLUMN",
        help="Use this column as a feature, and only those named so. Repeat it for more.",
    ),
    feature_option(
        "--categorical",
        multiple=True,
        metavar="COLUMN",
        help="A feature that is a category although its cells are numbers, a code. Repeat it for "
        "more.",
    ),
    format_options,
)

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


votes_options = _add(
    votes_option(
        "--item",
        metavar="COLUMN",
        help="TABLE has one answer a row (long form): the column that names what is labeled, "
        "here and in --features-from.",
    ),
    votes_option("--annotator", metavar="COLUMN", help="Long form: column of who answered."),
    votes_option("--answer", metavar="COLUMN", help="Long form: column of the label given."),
    votes_option(
        "--features-from",
        metavar="FILE",
        help="Long form: table with a row for each item and its features. The result has its rows.",
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


def device_option(option: Any) -> Any:
    """``--device``, under the title of ``option``."""
    return option(
        "--device",
        metavar="NAME",
        help="Where to compute, for instance cuda; needs PyTorch (the extra torch). By default "
        "the CPU.",
    )


def check_device(console: Console, device: str | None) -> None:
    """Refuse a device that is not here before any work is done."""
    if device is None:
        return
    console.show("looking for the device")  # PyTorch takes seconds to import
    from ambilearn.backend.arrays import computing_on

    with computing_on(device):
        pass


class _MethodName(click.Choice[str]):
    """A method, however its name is written: ``plcl``, ``PLCL`` or ``PL-CL``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            value = find_method(value).command_name
        except ValueError as error:
            if str(error) in REMOVED.values():
                self.fail(str(error), param, ctx)
            # Otherwise the choices, in the words of click, are better advice.
        return super().convert(value, param, ctx)


method_options = _add(
    method_option(
        "--method",
        type=_MethodName(list(METHODS)),
        help="How to learn. By default plstacking, a stack of methods, up to 10 000 rows; "
        "above, and for sentences, plcl, the paper's method, whose fit takes a third to half of "
        "the time.",
    ),
    method_option(
        "--select",
        is_flag=True,
        help="Choose the parameters of the method by cross-validation on the candidates: of "
        "plstacking passthrough alone, of plcl six.",
    ),
    method_option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="A parameter of the method, for instance n_neighbors=5, or of a member of a stack, "
        "plcl__reg=0.1. With no --method one that only plcl has means plcl. Repeat it for more.",
    ),
    method_option(
        "--n-landmarks",
        type=click.IntRange(1),
        metavar="N",
        help="Landmarks of a kernel method, which stand for the rows. By default all rows are "
        "used, and 2000 landmarks from 20 000 rows on; with --device always all rows.",
    ),
    method_option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        default=0,
        show_default=True,
        metavar="N",
        help="Seed of what is drawn at random.",
    ),
    device_option(method_option),
)

doubt_option = method_option(
    "--no-doubt",
    is_flag=True,
    help="Do not look for rows whose truth is none of their candidates. Saves five fits of ipal "
    "and plda, and in `review` of stacks and votes; for other methods it saves little.",
)

escape_formulas_option = output_option(
    "--escape-formulas",
    is_flag=True,
    help="For a spreadsheet: write ' before text in a CSV file that would be run as a formula.",
)

output_options = _add(
    output_option(
        "--out",
        type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
        default="-",
        metavar="FILE",
        help="Where to write the table: .csv, .tsv, .parquet or .jsonl; without it, or with -, to "
        "standard output, in the format of the input (CSV for an Excel file).",
    ),
    output_option(
        "--prefix",
        default="",
        metavar="TEXT",
        help="Goes before the names of the new columns.",
    ),
    escape_formulas_option,
)


def source_and_format(table: str, format: str | None) -> tuple[Any, str]:
    """The file to read and its format; ``-`` is standard input."""
    from ambilearn.datasets.frames import FORMATS

    if table == "-":
        return standard_input(), format or "csv"
    # The reader refuses unknown file extensions.
    return table, format or FORMATS.get(Path(table).suffix.lower(), "")
