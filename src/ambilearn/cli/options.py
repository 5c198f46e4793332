"""Options that the commands on a user's table share, and how their help is shown."""

import os
from collections.abc import Callable
from functools import partial
from inspect import cleandoc
from pathlib import Path
from shlex import join
from typing import Any

import click

from ambilearn.registry import METHODS, REMOVED, find_method

_FORMATS = click.Choice(["csv", "tsv", "parquet", "jsonl", "json", "xlsx"])


class _Option(click.Option):
    """An option in a section of ``--help-all``; ``--help`` has it only if it is ``common``."""

    def __init__(
        self, *names: Any, section: str = "Other", common: bool = False, **options: Any
    ) -> None:
        super().__init__(*names, **options)
        self.section, self.common = section, common


class Command(click.Command):
    """A command with a short ``--help`` and a complete ``--help-all``.

    The short help has the first two paragraphs of the description and the common options.
    """

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The options, with ``--help-all`` at the end."""
        return [*super().get_params(ctx), _HELP_ALL]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first two paragraphs of the description, or all."""
        whole = cleandoc(self.help or "")
        text = whole if _HELP_ALL.name in ctx.meta else "\n\n".join(whole.split("\n\n")[:2])
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the common options, or all of them in sections."""
        complete = _HELP_ALL.name in ctx.meta
        sections: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if record is not None and (complete or getattr(option, "common", True)):
                title = getattr(option, "section", "Other") if complete else "Options"
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


class Group(click.Group):
    """A group whose help lists commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in this order."""
        return list(self.commands)


def _show_all(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[str(parameter.name)] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


_HELP_ALL = click.Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="Show all options and exit.",
)


def section(title: str) -> Callable[..., Callable[[Any], Any]]:
    """``click.option`` for options that a :class:`Command` lists under a title."""
    return partial(click.option, cls=_Option, section=title)


# Sections of the complete help.
candidate_option = section("Labels")
votes_option = section("Answers of annotators")
feature_option = section("Features")
table_option = section("Reading the table")
image_option = section("Images")
method_option = section("Learning")
output_option = section("Output")


def add_options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several options as one decorator."""

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


def _models_of_columns(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str]:
    models = {}
    for text in texts:
        column, equals, model = text.partition("=")
        if not (column and equals and model):
            raise click.BadParameter(f"must be COLUMN=MODEL; got {text!r}.")
        if column in models:
            raise click.BadParameter(f"the column {column!r} is given twice.")
        models[column] = model
    return models


def _go_offline(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        os.environ["HF_HUB_OFFLINE"] = "1"


def input_file(*names: str, option: Callable[..., Any], help: str, common: bool = False) -> Any:
    """An option with a file that is read."""
    kind = click.Path(dir_okay=False, exists=True, path_type=Path)
    return option(*names, type=kind, metavar="FILE", help=help, common=common)


def output_file(*names: str, option: Callable[..., Any], help: str, common: bool = False) -> Any:
    """An option with a file that is written."""
    kind = click.Path(dir_okay=False, path_type=Path)
    return option(*names, type=kind, metavar="FILE", help=help, common=common)


format_options = add_options(
    table_option(
        "--delimiter",
        callback=_one_sign,
        metavar="CHAR",
        common=True,
        help="Character between the cells of a CSV table.",
    ),
    table_option(
        "--encoding", metavar="NAME", common=True, help="Encoding of text, by default utf-8."
    ),
    table_option(
        "--sheet",
        metavar="NAME",
        common=True,
        help="Sheet of an Excel file, by default the first.",
    ),
    table_option(
        "--decimal",
        type=click.Choice([".", ","]),
        default=".",
        show_default=True,
        help="Decimal separator of numbers, in the table and in new columns of a CSV file.",
    ),
    table_option(
        "--format",
        type=_FORMATS,
        help="Format of a table without a known file extension; standard input is CSV.",
    ),
)

checked_option = input_file(
    "--checked",
    option=candidate_option,
    common=True,
    help="CSV file of labels that a person has set, saved by the page of `review`.",
)

embed_options = add_options(
    feature_option(
        "--embed",
        multiple=True,
        metavar="COLUMN=MODEL",
        callback=_models_of_columns,
        common=True,
        help="Column of texts or image files, and a pretrained network for it: a name at Hugging "
        "Face or a folder. Can be repeated.",
    ),
    feature_option(
        "--offline",
        is_flag=True,
        expose_value=False,
        callback=_go_offline,
        help="Download no network.",
    ),
)

candidate_options = add_options(
    candidate_option(
        "--candidates",
        multiple=True,
        metavar="COLUMN",
        common=True,
        help="Candidate labels of each row. For several annotators repeat it, or use 'A*'.",
    ),
    candidate_option(
        "--given-label",
        metavar="COLUMN",
        common=True,
        help="Instead of --candidates: one label per row, of which some are wrong.",
    ),
    candidate_option(
        "--missing",
        type=click.Choice(["error", "any", "skip"]),
        common=True,
        help="Rows without labels: an error (default), any label (default with several "
        "annotators), or left out.",
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
        "--tune also tries 2.",
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
    checked_option,
    candidate_option(
        "--truth",
        metavar="COLUMN",
        common=True,
        help="True labels, where known: reports the accuracy; never a feature.",
    ),
    feature_option(
        "--exclude",
        multiple=True,
        metavar="COLUMN",
        common=True,
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
        help="Feature whose numbers are codes of categories, or that is left out because it agrees "
        "with the labels. Can be repeated.",
    ),
    embed_options,
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

image_options = add_options(
    image_option(
        "--image",
        metavar="COLUMN",
        help="Column with names of image files. deepplcl learns from the images, and from no other "
        "column; for other methods the column is not a feature.",
    ),
    image_folder_option,
)

votes_options = add_options(
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
    votes_option(
        "--no-answer",
        multiple=True,
        metavar="CODE",
        help="Code for no answer, such as -1. Can be repeated.",
    ),
    votes_option(
        "--weight-annotators/--no-weight-annotators",
        default=None,
        help="Estimate the reliability of annotators from their answers and the features, and "
        "weight them by it. Default if there are several annotators and --min-votes is not given.",
    ),
    output_file(
        "--annotators-out",
        option=votes_option,
        help="Table to write, one row for each annotator. The confusions, one row for each "
        "annotator, right label and given label, are written beside it: NAME-confusions.",
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


method_options = add_options(
    method_option(
        "--method",
        type=_MethodName(list(METHODS)),
        metavar="NAME",
        common=True,
        help=f"One of {', '.join(METHODS)}. By default chosen by the table.",
    ),
    method_option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="Parameter of the method, such as n_neighbors=5, or of a member of a stack, such as "
        "plcl__reg=0.1. Without --method, a parameter that only plcl has selects plcl. Kernel "
        "methods use all rows, or 2000 landmarks from 20 000 rows on, unless n_landmarks=N is set; "
        "with --device always all rows. Can be repeated.",
    ),
    method_option(
        "--tune",
        is_flag=True,
        common=True,
        help="Choose parameters by cross-validation on the candidates.",
    ),
    method_option(
        "--fast",
        is_flag=True,
        common=True,
        help="Labels and scores only: no confidence, and no search for wrong candidates.",
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

escape_formulas_option = output_option(
    "--escape-formulas",
    is_flag=True,
    help="In CSV files, write ' before text that a spreadsheet would run as a formula.",
)

prefix_option = output_option(
    "--prefix",
    default="",
    metavar="TEXT",
    common=True,
    help="Prefix of the names of the new columns.",
)

model_out_option = output_file(
    "--model-out",
    option=output_option,
    common=True,
    help="Also save the model, for `predict`.",
)

output_options = add_options(
    output_option(
        "--out",
        type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
        default="-",
        metavar="FILE",
        common=True,
        help="Table to write: .csv, .tsv (also .gz), .parquet, .jsonl, .json. By default standard "
        "output.",
    ),
    prefix_option,
    escape_formulas_option,
)


def command_line(
    context: click.Context,
    command: click.Command,
    *arguments: str,
    without: tuple[str, ...] = (),
    **added: Any,
) -> str:
    """A command on the same table with the options of this one, to be copied to a shell.

    ``arguments`` are by default the table; ``without`` has the names of options that are left out,
    and ``added`` values of further ones.
    """
    words = ["ambilearn", str(command.name)]
    for option in command.params:
        name = str(option.name)
        if context.get_parameter_source(name) is not click.core.ParameterSource.COMMANDLINE:
            continue
        if isinstance(option, click.Option) and name not in (*without, *added):
            words += _option_words(option, context.params[name])
    for option in command.params:
        if isinstance(option, click.Option) and option.name in added:
            words += _option_words(option, added[option.name])
    arguments = arguments or (str(context.params["table"]),)
    if any(each.startswith("-") and each != "-" for each in arguments):  # not an option
        return join([*words, "--", *arguments])
    return join([*words[:2], *arguments, *words[2:]])


def _option_words(option: click.Option, value: Any) -> list[str]:
    """An option as it is written on the command line."""
    if isinstance(value, bool):
        return option.opts[:1] if value else option.secondary_opts[:1]
    words = []
    for each in value if isinstance(value, tuple) else [value]:
        is_tab = option.name == "delimiter" and each == "\t"
        words += [option.opts[0], "\\t" if is_tab else str(each)]
    return words
