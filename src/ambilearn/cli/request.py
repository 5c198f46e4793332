"""The table that `clean`, `fit` and `review` learn from, and how they do: their options."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ambilearn._utils.image_files import IMAGE_ENDINGS, is_image_file
from ambilearn._utils.types import Params
from ambilearn.cli.console import Console
from ambilearn.cli.outputs import check_outputs
from ambilearn.datasets.frames import find_format, split_ending
from ambilearn.registry import METHODS
from ambilearn.tables.description import FileFormat, TableDescription, fill

if TYPE_CHECKING:
    from ambilearn.tables.candidate_table import CandidateTable


_LONG_FORM = ("item", "annotator", "answer", "features_from")  # options of answers in long form


class Plan(NamedTuple):
    """The arguments of :func:`~ambilearn.tables.fit_table` and `clean_table`."""

    table: "CandidateTable"
    method: str
    params: Params
    tune: bool
    random_state: int
    device: str | None
    fast: bool


@dataclass(frozen=True, kw_only=True)
class Request:
    """A table and how to learn from it: the options of the same names."""

    table: TableDescription
    method: str | None = None
    settings: tuple[str, ...] = ()
    tune: bool = False
    seed: int = 0
    device: str | None = None
    weight_annotators: bool | None = None
    fast: bool = False
    trust_candidates: bool = False
    annotators_out: Path | None = None
    escape_formulas: bool = False

    @classmethod
    def from_options(
        cls, source: str, options: dict[str, Any], *, votes_alone: bool = False
    ) -> "Request":
        """The request of a command; an error for options that cannot be combined.

        ``votes_alone``: the command can use answers of annotators without features.
        """
        _check_form(options, votes_alone)
        table = fill(
            TableDescription,
            options,
            source=source,
            file=file_format(source, options),
            votes_alone=votes_alone,
        )
        return fill(cls, options, table=table)

    def check(self, console: Console, *outputs: Path | None, model_out: Path | None = None) -> None:
        """Raise an error for unusable files, options and devices before any work is done."""
        table, method = self.table, self.method
        check_outputs([*outputs, model_out, *self.outputs_of_annotators], self.inputs())
        _check_no_images([*outputs, model_out])
        if self.learns_from_images and (table.features or table.categorical or table.embed):
            raise click.UsageError(
                "--features, --categorical and --embed cannot be combined with --image and "
                "--method deepplcl: the network learns from the images alone."
            )
        if self.weight_annotators and table.min_votes is not None:
            raise click.UsageError(
                "--weight-annotators and --min-votes cannot be combined: annotators are weighted "
                "instead of counting votes. Leave one of them out."
            )
        if method is not None:
            METHODS[method].check_installed()
        if model_out is not None and method is not None and METHODS[method].params:
            raise click.UsageError(
                f"A model file cannot store --method {method}, because the arrays of its trees are "
                "not checked when the file is loaded. Label new rows together with the table, or "
                "save a CandidateClassifier in Python with joblib, and load only files that you "
                "trust: loading them can run any code."
            )
        if self.annotators_out is not None:
            from ambilearn.tables.writing import check_writable, format_of_name

            check_writable(format_of_name(str(self.annotators_out)))
        check_device(console, self.device)

    def parameters(self) -> dict[str, Any]:
        """Parameters of the method."""
        from ambilearn.tables.methods import parse_settings

        return parse_settings(self.settings)

    def inputs(self) -> list[Any]:
        """Files that are read."""
        return [self.table.source, self.table.checked, self.table.features_from]

    @property
    def outputs_of_annotators(self) -> list[Path]:
        """The tables of annotators and of their confusions: a.csv, a-confusions.csv."""
        path = self.annotators_out
        if path is None:
            return []
        stem, ending = split_ending(path.name)
        return [path, path.with_name(f"{stem}-confusions{ending}")]

    @property
    def learns_from_images(self) -> bool:
        """Whether the method learns from the images, and from no other column."""
        return self.table.image is not None and self.method == "deepplcl"

    def read(self) -> "CandidateTable":
        """Read the table; images that are neither learned from nor embedded are not a feature."""
        from ambilearn.tables.candidate_table import read_table

        about = replace(self.table, source=open_table(self.table.source))
        if about.image is None or self.learns_from_images:
            return read_table(about)
        from ambilearn.review.from_table import drop_feature, image_column

        table = read_table(replace(about, image=None))
        return drop_feature(table, image_column(table, about.image))


def _check_no_images(outputs: Iterable[Path | None]) -> None:
    """Raise an error if an output could replace an image that the table names."""
    for file in outputs:
        if file is None:
            continue
        if file.suffix.lower() in IMAGE_ENDINGS:
            raise click.ClickException(f"{file} has the name of an image. Choose another name.")
        # A pipe is not read, and no image has the name of a table.
        if find_format(file.name) is None and file.is_file() and is_image_file(file):
            raise click.ClickException(f"{file} is an image. Choose another name.")


def _check_form(options: dict[str, Any], votes_alone: bool) -> None:
    """Check that the options name candidates, given labels, or answers in long form."""
    candidates, given_label = options["candidates"], options["given_label"]
    missing = [f"--{name.replace('_', '-')}" for name in _LONG_FORM if not options[name]]
    if given_label and (candidates or len(missing) < len(_LONG_FORM)):
        raise click.UsageError(
            "--given-label is for tables with one label per row: it cannot be combined with "
            "--candidates, --item, --annotator, --answer and --features-from."
        )
    if len(missing) == len(_LONG_FORM):
        if not candidates and not given_label:
            raise click.UsageError(
                "Missing option '--candidates': name the column with the candidate labels; or use "
                "--given-label for a column with one label per row; or --item, --annotator and "
                "--answer for one answer per row."
            )
    elif candidates:
        if options["annotator"] or options["answer"]:
            raise click.UsageError(
                "--candidates is for tables with one row per item; --annotator and --answer are "
                "for answers in long form. Use one or the other."
            )
        if not options["features_from"]:
            raise click.UsageError(
                "--item and --candidates also need --features-from, a table with the features of "
                "the items; --item names the column that joins it."
            )
    elif missing and not (votes_alone and missing == ["--features-from"]):
        raise click.UsageError(
            f"Answers in long form also need {', '.join(missing)}: the columns of TABLE with the "
            "item, the annotator and the label, and a table with the features of the items, from "
            "which only `clean` can do without."
        )


def file_format(source: str, options: dict[str, Any]) -> FileFormat:
    """How to read a table; standard input is CSV unless its format is named."""
    found = fill(FileFormat, options)
    return replace(found, format="csv") if source == "-" and found.format is None else found


def open_table(source: str) -> Any:
    """The file to read; ``-`` is standard input."""
    if source != "-":
        return source
    if sys.stdin is None:
        raise click.ClickException("Standard input is closed. Use a file.")
    return sys.stdin.buffer


def check_device(console: Console, device: str | None) -> None:
    """Raise an error for an unavailable device before any work is done."""
    if device is None:
        return
    console.show("looking for the device")  # PyTorch takes seconds to import
    from ambilearn.backend.device_arrays import computing_on

    with computing_on(device):
        pass
