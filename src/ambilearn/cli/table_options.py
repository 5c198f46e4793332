"""Options that the commands on one's own tables share, and what is asked for by them."""

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
feature_option = section("Features")
table_option = section("Reading the table")
method_option = section("Learning")
output_option = section("Output")


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
    """What to read, and the format of it; ``-`` is standard input."""
    from ambilearn.datasets.frames import FORMATS

    if table == "-":
        return standard_input(), format or "csv"
    # An unknown ending is for the reader to refuse.
    return table, format or FORMATS.get(Path(table).suffix.lower(), "")


def read_for_command(
    table: str,
    *,
    candidates: tuple[str, ...],
    exclude: tuple[str, ...],
    features: tuple[str, ...],
    format: str | None,
    **options: Any,
) -> Any:
    """The table that a command names, read by the options of :data:`candidate_options`."""
    if not candidates:
        raise click.UsageError(
            "Missing option '--candidates': name the column with the candidate labels."
        )
    from ambilearn.tables.read import read_candidate_table

    source, format = source_and_format(table, format)
    return read_candidate_table(
        source,
        candidates=candidates,
        exclude=exclude,
        features=features or None,
        format=format or None,
        **options,
    )


def method_parameters(settings: tuple[str, ...], n_landmarks: int | None) -> dict[str, Any]:
    """Parameters of the method from ``--set`` and ``--n-landmarks``."""
    from ambilearn.tables.methods import parse_settings

    landmarks = () if n_landmarks is None else (f"n_landmarks={n_landmarks}",)
    return parse_settings(settings + landmarks)


def method_for_command(
    console: Console,
    method: str | None,
    table: Any,
    params: dict[str, Any],
    *,
    select: bool,
) -> str:
    """The method that ``--method`` names, or the default for the table, which is said."""
    if method is not None:
        return method
    from ambilearn.tables.default_method import choose_default

    name, reason = choose_default(table, params, select=select)
    other = "" if name == "plcl" else "; --method plcl is the paper's"
    console.say(f"method: {METHODS[name].name} (default {reason}){other}")
    return name
