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

# Sections of the help.
candidate_option = section("Candidate labels")
votes_option = section("Answers of annotators")
feature_option = section("Features")
table_option = section("Reading the table")
image_option = section("Images")
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
        raise click.BadParameter("must be one character, such as ';' or '\\t'.")
    return sign


format_options = _add(
    table_option(
        "--format",
        type=_FORMATS,
        help="Format of a table without a known file extension; standard input is CSV.",
    ),
    table_option(
        "--delimiter",
        callback=_one_sign,
        metavar="CHAR",
        help="Character between the cells of a CSV table.",
    ),
    table_option(
        "--decimal",
        type=click.Choice([".", ","]),
        default=".",
        show_default=True,
        help="Decimal separator of numbers.",
    ),
)

candidate_options = _add(
    candidate_option(
        "--candidates",
        multiple=True,
        metavar="COLUMN",
        help="Column with the candidate labels of each row. If each annotator has a column, "
        "repeat the option or use a pattern: 'A*'.",
    ),
    candidate_option(
        "--given-label",
        metavar="COLUMN",
        help="Instead of --candidates: column with one label per row, some of which are wrong. "
        "Labels that do not fit those of similar rows are corrected.",
    ),
    candidate_option(
        "--sep",
        default="|",
        show_default=True,
        metavar="TEXT",
        help="Separator of the labels in a cell.",
    ),
    candidate_option(
        "--min-votes",
        type=click.IntRange(1),
        metavar="N",
        help="With several annotators: number of votes that a candidate needs. By default 1; "
        "--select also tries 2.",
    ),
    candidate_option(
        "--fallback",
        type=click.Choice(["error", "union"]),
        default="error",
        show_default=True,
        help="If no label of a row has enough votes: report an error, or use all its votes.",
    ),
    candidate_option(
        "--na-is-label",
        is_flag=True,
        help="Read a cell NA, NaN, null, None, … as a label, not as missing.",
    ),
    candidate_option(
        "--corrections",
        type=click.Path(dir_okay=False, exists=True, path_type=Path),
        metavar="FILE",
        help="CSV file with labels chosen by a person, saved by the page of `ambilearn review`.",
    ),
    candidate_option(
        "--label",
        metavar="COLUMN",
        help="Column with the true labels, where known. Used to report the accuracy, not to learn.",
    ),
    feature_option(
        "--exclude",
        multiple=True,
        metavar="COLUMN",
        help="Column that is not a feature, such as an id. Can be repeated.",
    ),
    feature_option(
        "--features",
        multiple=True,
        metavar="COLUMN",
        help="Column to use as a feature; all other columns are excluded. Can be repeated.",
    ),
    feature_option(
        "--categorical",
        multiple=True,
        metavar="COLUMN",
        help="Feature whose numbers are codes of categories. Can be repeated.",
    ),
    format_options,
)

image_folder_option = image_option(
    "--image-folder",
    "image_folders",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Another folder with images that may be read. Can be repeated. By default only the folder "
    "of the table and its subfolders.",
)

image_options = _add(
    image_option(
        "--image",
        metavar="COLUMN",
        help="Column with names of image files. deepplcl learns from the images, and from no other "
        "column; for other methods the column is not a feature.",
    ),
    image_folder_option,
)

no_answer_option = votes_option(
    "--no-answer",
    multiple=True,
    metavar="CODE",
    help="Code for no answer, such as -1. Can be repeated.",
)
skills_option = votes_option(
    "--skills/--no-skills",
    default=None,
    help="Estimate the reliability of annotators from their answers and the features, and weight "
    "them by it. Default if there are several annotators and --min-votes is not given.",
)


votes_options = _add(
    votes_option(
        "--item",
        metavar="COLUMN",
        help="TABLE has one answer per row (long form): the column with the item, here and in "
        "--features-from.",
    ),
    votes_option("--annotator", metavar="COLUMN", help="Long form: column with the annotator."),
    votes_option("--answer", metavar="COLUMN", help="Long form: column with the answer."),
    votes_option(
        "--features-from",
        metavar="FILE",
        help="Long form: table with the features, one row per item. The output has these rows.",
    ),
    no_answer_option,
    skills_option,
    votes_option(
        "--annotators-out",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Table of confusions to write, one row for each annotator, right label and given "
        "label: .csv, .tsv, .parquet or .jsonl.",
    ),
)


def device_option(option: Any) -> Any:
    """``--device``, under the title of ``option``."""
    return option(
        "--device",
        metavar="NAME",
        help="Device to compute on, such as cuda; needs PyTorch (the extra torch). By default "
        "the CPU; for deepplcl a GPU, if there is one.",
    )


def check_device(console: Console, device: str | None) -> None:
    """Raise an error for an unavailable device before any work is done."""
    if device is None:
        return
    console.show("looking for the device")  # PyTorch takes seconds to import
    from ambilearn.backend.arrays import computing_on

    with computing_on(device):
        pass


class _MethodName(click.Choice[str]):
    """A method by any spelling of its name: ``plcl``, ``PLCL`` or ``PL-CL``."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            value = find_method(value).command_name
        except ValueError as error:
            if str(error) in REMOVED.values():
                self.fail(str(error), param, ctx)
            # Otherwise click lists the choices.
        return super().convert(value, param, ctx)


method_options = _add(
    method_option(
        "--method",
        type=_MethodName(list(METHODS)),
        metavar="NAME",
        help=f"One of {', '.join(METHODS)}. "
        "By default plstacking, a stack of methods, for up to 10 000 rows, and plcl, the paper's "
        "method, for more rows and for sentences; a fit of plcl takes a third to half of the "
        "time. deepplcl, a network for images, needs PyTorch (the extra deep).",
    ),
    method_option(
        "--select",
        is_flag=True,
        help="Choose parameters by cross-validation on the candidates: six parameters of plcl, "
        "passthrough of plstacking.",
    ),
    method_option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="Parameter of the method, such as n_neighbors=5, or of a member of a stack, such as "
        "plcl__reg=0.1. Without --method, a parameter that only plcl has selects plcl. Can be "
        "repeated.",
    ),
    method_option(
        "--n-landmarks",
        type=click.IntRange(1),
        metavar="N",
        help="Number of landmarks of a kernel method. By default all rows are used, or 2000 "
        "landmarks from 20 000 rows on; with --device always all rows.",
    ),
    method_option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        default=0,
        show_default=True,
        metavar="N",
        help="Random seed.",
    ),
    device_option(method_option),
)

doubt_option = method_option(
    "--no-doubt",
    is_flag=True,
    help="Do not look for rows whose true label is not a candidate. Saves five fits of some "
    "methods, such as deepplcl, ipal and plda, and in `review` of stacks and votes; for methods "
    "with a kernel and for plknn it saves little.",
)

calibration_option = method_option(
    "--no-calibration",
    is_flag=True,
    help="Do not calibrate scores; the column confidence stays empty. Saves five fits, or ten of a "
    "stack or a vote, if at least 20 rows have a single candidate.",
)

escape_formulas_option = output_option(
    "--escape-formulas",
    is_flag=True,
    help="In CSV files, write ' before text that a spreadsheet would run as a formula.",
)

output_options = _add(
    output_option(
        "--out",
        type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
        default="-",
        metavar="FILE",
        help="Table to write: .csv, .tsv, .parquet or .jsonl. By default, or with -, standard "
        "output in the format of the input (CSV for an Excel file).",
    ),
    output_option(
        "--prefix",
        default="",
        metavar="TEXT",
        help="Prefix of the names of the new columns.",
    ),
    escape_formulas_option,
)


def source_and_format(table: str, format: str | None) -> tuple[Any, str]:
    """The file to read and its format; ``-`` is standard input."""
    from ambilearn.datasets.frames import FORMATS

    if table == "-":
        return standard_input(), format or "csv"
    # Unknown file extensions are an error of the reader.
    return table, format or FORMATS.get(Path(table).suffix.lower(), "")
