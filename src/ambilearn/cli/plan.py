"""The table that `clean`, `fit` and `review` learn from, and how they learn from it."""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ambilearn._utils.image_files import IMAGE_ENDINGS, is_image_file
from ambilearn._utils.text import pluralize
from ambilearn.cli.console import Console
from ambilearn.cli.outputs import check_outputs
from ambilearn.cli.table_options import LONG_FORM, check_device, source_and_format
from ambilearn.registry import METHODS

if TYPE_CHECKING:
    from ambilearn.tables.given_labels import CorrectedTable
    from ambilearn.tables.read import CandidateTable


NO_DOUBT = (
    "--no-doubt and --given-label cannot be combined: doubt decides which labels are changed."
)
_NO_ANNOTATORS = (
    "There are no annotators to judge: name several columns with --candidates, or pass answers in "
    "long form with --item, --annotator and --answer."
)


class Plan(NamedTuple):
    """The arguments of :func:`~ambilearn.tables.fit_table` and `clean_table`."""

    table: "CandidateTable"
    method: str
    params: dict[str, Any]
    select: bool
    random_state: int
    device: str | None
    calibrate: bool


@dataclass(frozen=True)
class Request:
    """A table and how to learn from it, as described by the options of a command.

    ``reading`` has the options that describe how to read the table; the other attributes are
    the options of the same name.
    """

    source: str
    reading: dict[str, Any]
    method: str | None
    settings: tuple[str, ...]
    n_landmarks: int | None
    select: bool
    seed: int
    device: str | None
    skills: bool | None
    no_calibration: bool = False
    annotators_out: Path | None = None
    escape_formulas: bool = False
    table: "CandidateTable | None" = None  # if it was read already

    @classmethod
    def from_options(cls, source: str, options: dict[str, Any]) -> "Request":
        """Split the options of a command into those above and those for reading the table."""
        names = {field.name for field in fields(cls)}
        own = {name: value for name, value in options.items() if name in names}
        reading = {name: value for name, value in options.items() if name not in names}
        return cls(source, reading, **own)

    def check(self, console: Console, *outputs: Path | None) -> None:
        """Raise an error for unusable files, options and devices before any work is done."""
        check_outputs([*outputs, self.annotators_out], self.inputs())
        _check_no_images(outputs)
        if self.learns_from_images and (self.reading["features"] or self.reading["categorical"]):
            raise click.UsageError(
                "--features and --categorical cannot be combined with --image and --method "
                "deepplcl: the network learns from the images alone."
            )
        if self.skills and self.reading["min_votes"] is not None:
            raise click.UsageError(
                "--skills and --min-votes cannot be combined: --skills weights annotators instead "
                "of counting votes. Leave one of them out."
            )
        if self.method is not None:
            METHODS[self.method].check_installed()
        check_device(console, self.device)

    @property
    def learns_from_images(self) -> bool:
        """Whether the method learns from the images, and from no other column."""
        return self.reading["image"] is not None and self.method == "deepplcl"

    def inputs(self) -> list[Any]:
        """Files that are read."""
        return [self.source, self.reading["corrections"], self.reading.get("features_from")]

    def with_corrections(self, path: Path | None) -> "Request":
        """The same request with another file of corrections; its annotators are not written."""
        reading = self.reading | {"corrections": path}
        return replace(self, reading=reading, annotators_out=None)

    def read(self) -> "CandidateTable":
        """Read the table; images that the method does not learn from are not a feature."""
        if self.table is not None:
            return self.table
        image = self.reading["image"]
        if image is None or self.learns_from_images:
            return self._read(image)
        from ambilearn.review.from_table import drop_feature, image_column

        table = self._read(None)
        return drop_feature(table, image_column(table, image))

    def _read(self, image: str | None) -> "CandidateTable":
        """Read rows with candidates, or answers in long form."""
        reading = self.reading | {"image": image}
        columns = {name: reading.pop(name, None) for name in LONG_FORM}
        _check_form(reading["candidates"], reading["given_label"], columns)
        from ambilearn.tables.answers import read_answer_table
        from ambilearn.tables.read import read_candidate_table

        source, format = source_and_format(self.source, reading["format"])
        reading |= {"features": reading["features"] or None, "format": format or None}
        named = {name: reading.pop(name) for name in ("candidates", "given_label")}
        if any(named.values()):
            named["candidates"] = named["candidates"] or None
            return read_candidate_table(source, **named, **reading)
        return read_answer_table(source, **columns, **reading)

    def plan(self, console: Console, table: "CandidateTable", *, new_rows: bool = False) -> Plan:
        """Describe the table, choose the method if none is named, and judge any annotators.

        ``new_rows``: the model is for new rows, so their confidences are calibrated.
        """
        from ambilearn.cli.table_summary import describe_table, hint_at_given_label

        if self.given_label:
            table = self.correct(console, table).table
        else:
            describe_table(console, table)
            hint_at_given_label(console, table)
        params = method_parameters(self.settings, self.n_landmarks)
        method = self.method or _default_method(console, table, params, self.select)
        plan = Plan(
            table, method, params, self.select, self.seed, self.device, not self.no_calibration
        )
        if not self._should_judge(console, table):
            return plan
        return self._judge(console, plan, new_rows and plan.calibrate)

    @property
    def given_label(self) -> str | None:
        """The column with one label per row, if the table has one."""
        column: str | None = self.reading["given_label"]
        return column

    def correct(
        self, console: Console, table: "CandidateTable", prefix: str | None = None
    ) -> "CorrectedTable":
        """Describe the table and correct its labels."""
        from ambilearn.cli.result_summary import describe_corrected
        from ambilearn.cli.table_summary import describe_table
        from ambilearn.tables.given_labels import correct_table

        if self.skills or self.annotators_out:
            raise click.UsageError(_NO_ANNOTATORS)
        describe_table(console, table)
        # Without --method, the parameters are for the model that `fit` trains.
        params = method_parameters(self.settings, self.n_landmarks) if self.method else None
        corrected = correct_table(
            table,
            self.method,
            params,
            random_state=self.seed,
            device=self.device,
            prefix=prefix,
            progress=console.stage,
        )
        describe_corrected(console, corrected)
        return corrected

    def _should_judge(self, console: Console, table: "CandidateTable") -> bool:
        """Whether to judge annotators; an error if options need it and it is impossible."""
        if table.votes is None:
            if self.skills or self.annotators_out:
                raise click.UsageError(_NO_ANNOTATORS)
            return False
        if self.skills is None and self.method == "deepplcl":
            console.say(
                "All annotators have the same weight: estimating their reliability trains "
                "many networks. Use --skills to do it anyway.",
                style="yellow",
            )
            judge = False
        elif self.skills is None:
            judge = self.reading["min_votes"] is None
        else:
            judge = self.skills
        if self.annotators_out and not judge:
            raise click.UsageError("--annotators-out requires --skills.")
        return judge

    def _judge(self, console: Console, plan: Plan, new_rows: bool) -> Plan:
        """Judge the annotators and use the resulting candidates and parameters."""
        from ambilearn.cli.result_summary import describe_annotators
        from ambilearn.tables.judging import judge_table
        from ambilearn.tables.writing import check_writable, format_of_name, write_table

        if self.annotators_out:
            check_writable(format_of_name(str(self.annotators_out)))
        judged = judge_table(
            plan.table,
            plan.method,
            plan.params,
            select=plan.select,
            random_state=plan.random_state,
            new_rows=new_rows,
            progress=console.stage,
        )
        describe_annotators(console, judged)
        if self.annotators_out:
            frame = judged.annotators.confusion_frame()
            write_table(frame, self.annotators_out, escape_formulas=self.escape_formulas)
            console.say(f"wrote {self.annotators_out}: {pluralize(len(frame), 'row')}")
        params = plan.params | judged.chosen
        return plan._replace(table=judged.table, params=params, select=False)


def _check_no_images(outputs: Iterable[Path | None]) -> None:
    """Raise an error if an output could replace an image that the table names."""
    for file in outputs:
        if file is None:
            continue
        if file.suffix.lower() in IMAGE_ENDINGS:
            raise click.ClickException(f"{file} has the name of an image. Choose another name.")
        if file.is_file() and is_image_file(file):  # a pipe is not read
            raise click.ClickException(f"{file} is an image. Choose another name.")


def _check_form(
    candidates: tuple[str, ...], given_label: str | None, columns: dict[str, str | None]
) -> None:
    """Check that the options name candidates, given labels, or answers in long form."""
    if given_label and (candidates or any(columns.values())):
        raise click.UsageError(
            "--given-label is for tables with one label per row: it cannot be combined with "
            "--candidates, --item, --annotator, --answer and --features-from."
        )
    missing = [f"--{name.replace('_', '-')}" for name, value in columns.items() if not value]
    if len(missing) == len(columns):
        if not candidates and not given_label:
            raise click.UsageError(
                "Missing option '--candidates': name the column with the candidate labels; or use "
                "--given-label for a column with one label per row."
            )
    elif missing:
        raise click.UsageError(
            f"Answers in long form also need {', '.join(missing)}: the columns of TABLE with the "
            "item, the annotator and the label, and a table with the features of the items."
        )
    elif candidates:
        raise click.UsageError(
            "--candidates is for tables with one row per item; --item, --annotator and --answer "
            "are for answers in long form. Use one or the other."
        )


def method_parameters(settings: tuple[str, ...], n_landmarks: int | None) -> dict[str, Any]:
    """Parameters of the method from ``--set`` and ``--n-landmarks``."""
    from ambilearn.tables.methods import parse_settings

    landmarks = () if n_landmarks is None else (f"n_landmarks={n_landmarks}",)
    return parse_settings(settings + landmarks)


def _default_method(
    console: Console, table: "CandidateTable", params: dict[str, Any], select: bool
) -> str:
    from ambilearn.tables.default_method import choose_default

    name, reason = choose_default(table, params, select=select)
    other = "" if name == "plcl" else "; use --method plcl for the method of the paper"
    console.say(f"method: {METHODS[name].name} (default {reason}){other}")
    return name
