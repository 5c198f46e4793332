"""Options that several commands share, their sections, and commands that repeat them."""

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from shlex import join
from typing import Any

import click

from ambilearn.cli.commands import go_offline, method_name, models_of_columns, one_character
from ambilearn.registry import METHODS

WRITTEN_FILE = click.Path(dir_okay=False, path_type=Path)
READ_FILE = click.Path(dir_okay=False, exists=True, path_type=Path)
WRITTEN_FILE_OR_STREAM = click.Path(dir_okay=False, allow_dash=True, path_type=Path)


class _Option(click.Option):
    """An option in a section of ``--help-all``."""

    def __init__(self, *arguments: Any, section: str, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.section = section


class Section:
    """The options under one title of ``--help-all``."""

    def __init__(self, title: str) -> None:
        self._title = title

    def option(self, *names: str, **settings: Any) -> Callable[[Any], Any]:
        """``click.option``; an option with a default shows it."""
        return click.option(*names, cls=_Option, section=self._title, **settings)

    def flag(self, *names: str, help: str, **settings: Any) -> Callable[[Any], Any]:
        """An option without a value."""
        return self.option(*names, is_flag=True, help=help, **settings)

    def columns(self, *names: str, help: str) -> Callable[[Any], Any]:
        """An option that names columns, also by patterns."""
        text = f"{help} Can be repeated, or a pattern such as 'A*'."
        return self.option(*names, multiple=True, metavar="COLUMN", help=text)

    def column(self, *names: str, help: str) -> Callable[[Any], Any]:
        """An option that names one column."""
        return self.option(*names, metavar="COLUMN", help=help)

    def file(self, *names: str, help: str, type: click.Path = WRITTEN_FILE) -> Callable[[Any], Any]:
        """An option that names a file, by default one that is written."""
        return self.option(*names, type=type, metavar="FILE", help=help)

    def seed(self, help: str) -> Callable[[Any], Any]:
        """The option ``--seed``."""
        kind = click.IntRange(0, 2**32 - 1)
        return self.option("--seed", type=kind, default=0, metavar="N", help=help)


# What most people need of the options for tables with candidates.
COMMON = (
    *("candidates", "given_label", "missing", "checked", "exclude", "embed"),
    *("delimiter", "encoding", "sheet", "method", "out"),
)


LABELS, ANNOTATORS = Section("Labels"), Section("Answers of annotators")
FEATURES, IMAGES = Section("Features"), Section("Images")
READING, LEARNING, OUTPUT = Section("Reading the table"), Section("Learning"), Section("Output")


def add_options(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several options as one decorator."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


format_options = add_options(
    READING.option(
        "--delimiter",
        callback=one_character,
        metavar="CHAR",
        help="Character between the cells of a CSV table.",
    ),
    READING.option(
        "--encoding", metavar="NAME", help="Encoding of TABLE (default and output: utf-8)."
    ),
    READING.option("--sheet", metavar="NAME", help="Sheet of an Excel file, by default the first."),
    READING.option(
        "--decimal",
        type=click.Choice([".", ","]),
        default=".",
        help="Decimal separator of numbers, in the table and in new columns of a CSV file.",
    ),
    READING.option(
        "--format",
        type=click.Choice(["csv", "tsv", "parquet", "jsonl", "json", "xlsx"]),
        help="Format of a table without a known file extension; standard input is CSV.",
    ),
)

embed_options = add_options(
    FEATURES.option(
        "--embed",
        multiple=True,
        metavar="COLUMN=MODEL",
        callback=models_of_columns,
        help="Column of texts or image files, and a pretrained network for it: a name at Hugging "
        "Face or a folder. Can be repeated.",
    ),
    FEATURES.flag(
        "--offline", expose_value=False, callback=go_offline, help="Download no network."
    ),
)

candidate_options = add_options(
    LABELS.option(
        "--candidates",
        multiple=True,
        metavar="COLUMN",
        help="Candidate labels of each row. For several annotators repeat it, or use 'A*'.",
    ),
    LABELS.column(
        "--given-label",
        help="Instead of --candidates: one label per row, of which some are wrong.",
    ),
    LABELS.option(
        "--missing",
        type=click.Choice(["error", "any", "skip"]),
        help="Rows without labels: an error (default), any label (default with several "
        "annotators), or left out.",
    ),
    LABELS.option("--sep", default="|", metavar="TEXT", help="Separator of the labels in a cell."),
    LABELS.option(
        "--min-votes",
        type=click.IntRange(1),
        metavar="N",
        help="With several annotators: number of votes that a candidate needs. By default 1.",
    ),
    LABELS.option(
        "--fallback",
        type=click.Choice(["error", "union"]),
        default="error",
        help="If no label of a row has enough votes: report an error, or use all its votes.",
    ),
    LABELS.flag(
        "--na-is-label", help="Read a cell NA, NaN, null, None, … as a label, not as missing."
    ),
    LABELS.file(
        "--checked",
        type=READ_FILE,
        help="CSV file of labels that a person has set, saved by the page of `review`.",
    ),
    LABELS.column(
        "--truth", help="True labels, where known: reports the accuracy; never a feature."
    ),
    FEATURES.columns("--exclude", help="Column that is not a feature, such as an id."),
    FEATURES.columns("--features", help="Column to use as a feature; all others are excluded."),
    FEATURES.columns(
        "--categorical",
        help="Feature whose numbers are codes of categories, or that is left out because it agrees "
        "with the labels.",
    ),
    embed_options,
    format_options,
)

image_folder_option = IMAGES.option(
    "--image-folder",
    "image_folders",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Another folder with images that may be read. Can be repeated. By default only the folder "
    "of the table and its subfolders.",
)

image_options = add_options(
    IMAGES.column(
        "--image",
        help="Column with names of image files. It is not a feature, unless --embed names a "
        "pretrained network for it, or the method is deepplcl, which learns from the images alone.",
    ),
    image_folder_option,
)

votes_options = add_options(
    ANNOTATORS.column(
        "--item",
        help="TABLE has one answer per row (long form): the column with the item, here and in "
        "--features-from. With --candidates and --features-from, the column that joins the tables; "
        "by default the only column of both.",
    ),
    ANNOTATORS.column("--annotator", help="Long form: column with the annotator."),
    ANNOTATORS.column("--answer", help="Long form: column with the answer."),
    ANNOTATORS.option(
        "--features-from",
        metavar="FILE",
        help="Table with the features, one row per item. The output has these rows.",
    ),
    ANNOTATORS.option(
        "--no-answer",
        multiple=True,
        metavar="CODE",
        help="Code for no answer, such as -1. Can be repeated.",
    ),
    ANNOTATORS.option(
        "--weight-annotators/--no-weight-annotators",
        default=None,
        help="Estimate the reliability of annotators from their answers and the features, and "
        "weight them by it. Default if there are several annotators and --min-votes is not given.",
    ),
    ANNOTATORS.file(
        "--annotators-out",
        help="Table to write, one row for each annotator. The confusions, one row for each "
        "annotator, right label and given label, are written beside it: NAME-confusions.",
    ),
)


device_option = LEARNING.option(
    "--device",
    metavar="NAME",
    help="Device to compute on, such as cuda; needs PyTorch (the extra torch). By default the CPU; "
    "for deepplcl a GPU, if there is one.",
)

method_options = add_options(
    LEARNING.option(
        "--method",
        callback=method_name,
        metavar="NAME",
        help=f"One of {', '.join(METHODS)}. By default chosen by the table. Model "
        "files do not store forest and boosting.",
    ),
    LEARNING.option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        help="Parameter of the method, such as n_neighbors=5, or of a member of a stack, such as "
        "plcl__reg=0.1. Without --method, a parameter that only plcl has selects plcl. Kernel "
        "methods use all rows, or 2000 landmarks from 20,000 rows on, unless n_landmarks=N is set; "
        "with --device always all rows. Can be repeated.",
    ),
    LEARNING.flag("--tune", help="Choose parameters by cross-validation on the candidates."),
    LEARNING.flag(
        "--fast",
        help="Labels and scores only: no confidence, and no search for wrong candidates.",
    ),
    LEARNING.seed("Random seed."),
    device_option,
)

trust_option = LEARNING.flag(
    "--trust-candidates",
    help="The true label of every row is a candidate: suggest no other label.",
)

escape_formulas_option = OUTPUT.flag(
    "--escape-formulas",
    help="In CSV files, write ' before text that a spreadsheet would run as a formula.",
)

prefix_option = OUTPUT.option(
    "--prefix",
    default="",
    show_default=False,
    metavar="TEXT",
    help="Prefix of the names of the new columns.",
)

output_options = add_options(
    OUTPUT.option(
        "--out",
        type=WRITTEN_FILE_OR_STREAM,
        default="-",
        show_default=False,
        metavar="FILE",
        help="Table to write: .csv, .tsv (also .gz), .parquet, .jsonl, .json. By default standard "
        "output.",
    ),
    prefix_option,
    escape_formulas_option,
)


data_home_option = click.option(
    "--data-home",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Folder of the data files, searched first; `data fetch` downloads to it. By default the "
    "folder in AMBILEARN_DATA, then your user cache.",
)


def free_prefix(columns: Collection[object], new: Collection[str], prefix: str = "") -> str:
    """A prefix with which the names of new columns differ from those of a table.

    >>> free_prefix(["x", "label"], ["label", "score"])
    'new_'
    """
    while any(f"{prefix}{name}" in columns for name in new):
        prefix += "new_"
    return prefix


def command_line(
    context: click.Context,
    command: click.Command,
    *arguments: str,
    without: tuple[str, ...] = (),
    **added: Any,
) -> str:
    """A command on the same table with the options of this one, to be copied to a shell.

    ``arguments`` are by default the table; ``without`` has the names of options that are left out,
    and ``added`` values of further ones, without those that are empty.
    """
    words = ["ambilearn", str(command.name)]
    added = {name: value for name, value in added.items() if value != ""}
    given = {
        name: context.params.get(name, True)  # flags such as --offline are no parameters
        for name in (str(option.name) for option in command.params)
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
        and name not in without
    }
    for option in sorted(command.params, key=lambda option: option.name in added):
        if isinstance(option, click.Option) and option.name in given | added:
            words += _option_words(option, (given | added)[str(option.name)])
    arguments = arguments or (str(context.params["table"]),)
    if any(each.startswith("-") and each != "-" for each in arguments):  # not an option
        return join([*words, "--", *arguments])
    return join([*words[:2], *arguments, *words[2:]])


def _option_words(option: click.Option, value: Any) -> list[str]:
    """An option as it is written on the command line."""
    if isinstance(value, bool):
        return option.opts[:1] if value else option.secondary_opts[:1]
    if isinstance(value, Mapping):
        value = tuple(f"{key}={each}" for key, each in value.items())
    words = []
    for each in value if isinstance(value, tuple) else [value]:
        is_tab = option.name == "delimiter" and each == "\t"
        words += [option.opts[0], "\\t" if is_tab else str(each)]
    return words
