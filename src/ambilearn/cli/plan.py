"""The table that `clean`, `fit` and `review` learn from, and how they learn from it."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ambilearn._utils.image_files import IMAGE_ENDINGS, is_image_file
from ambilearn._utils.text import pluralize
from ambilearn._utils.types import Params
from ambilearn.cli.console import Console, standard_input
from ambilearn.cli.outputs import check_outputs
from ambilearn.registry import METHODS
from ambilearn.tables.description import FileFormat, TableDescription, fill

if TYPE_CHECKING:
    from ambilearn.crowd.report import AnnotatorReport
    from ambilearn.tables.candidate_table import CandidateTable
    from ambilearn.tables.clean import LabeledTable
    from ambilearn.tables.given_labels import CorrectedTable


FAST = (
    "--fast and --given-label cannot be combined: the probabilities decide which labels are "
    "changed."
)
_NO_ANNOTATORS = (
    "There are no annotators to judge: name several columns with --candidates, or pass answers in "
    "long form with --item, --annotator and --answer."
)
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

    def check(self, console: Console, *outputs: Path | None) -> None:
        """Raise an error for unusable files, options and devices before any work is done."""
        table = self.table
        outputs_of_annotators: list[Path | None] = [self.annotators_out]
        if self.annotators_out is not None:
            outputs_of_annotators.append(_confusions_out(self.annotators_out))
        check_outputs([*outputs, *outputs_of_annotators], self.inputs())
        _check_no_images(outputs)
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
        if self.method is not None:
            METHODS[self.method].check_installed()
        check_device(console, self.device)

    def check_savable(self, model_out: Path | None) -> None:
        """Raise an error before the fit if a model file cannot store the method."""
        name = self.method
        if model_out is not None and name is not None and METHODS[name].params:
            raise click.UsageError(
                f"A model file cannot store --method {name}, because the arrays of its trees are "
                "not checked when the file is loaded. Label new rows together with the table, or "
                "save a CandidateClassifier in Python with joblib, and load only files that you "
                "trust: loading them can run any code."
            )

    def parameters(self) -> dict[str, Any]:
        """Parameters of the method."""
        from ambilearn.tables.methods import parse_settings

        return parse_settings(self.settings)

    def inputs(self) -> list[Any]:
        """Files that are read."""
        return [self.table.source, self.table.checked, self.table.features_from]

    @property
    def source(self) -> str:
        """Name of the table, ``-`` for standard input."""
        return str(self.table.source)

    @property
    def learns_from_images(self) -> bool:
        """Whether the method learns from the images, and from no other column."""
        return self.table.image is not None and self.method == "deepplcl"

    def with_checked(self, path: Path | None) -> "Request":
        """The request with another file of checked labels; its annotators are not written."""
        return replace(self, table=replace(self.table, checked=path), annotators_out=None)

    def read(self) -> "CandidateTable":
        """Read the table; images that are neither learned from nor embedded are not a feature."""
        from ambilearn.tables.candidate_table import read_table

        about = replace(self.table, source=open_table(self.table.source))
        if about.image is None or self.learns_from_images:
            return read_table(about)
        from ambilearn.review.from_table import drop_feature, image_column

        table = read_table(replace(about, image=None))
        if about.image in about.embed:
            return table
        return drop_feature(table, image_column(table, about.image))

    def plan(self, console: Console, table: "CandidateTable", *, new_rows: bool = False) -> Plan:
        """Describe the table, choose the method if none is named, and judge any annotators.

        ``new_rows``: the model is for new rows, so their confidences are calibrated.
        """
        from ambilearn.cli.table_summary import describe_table, hint_at_given_label

        if self.table.given_label:
            table = self.correct(console, table).table
        else:
            describe_table(console, table)
            hint_at_given_label(console, table)
        image = self.table.image
        if not (image is None or image in self.table.embed or self.learns_from_images):
            console.say(
                f"images: only shown. --embed {image}=MODEL makes features of {image} by a "
                "pretrained network; --method deepplcl trains a network on the images alone"
            )
        plan = self.choose_method(console, table)
        if not self._should_judge(console, table):
            return plan
        return self._judge(console, plan, new_rows and not plan.fast)

    def choose_method(self, console: Console, table: "CandidateTable") -> Plan:
        """Learn from a table with the given method, or with the one that is best for the table."""
        from ambilearn.tables.methods import choose_default

        params, method = self.parameters(), self.method
        if method is None:
            method, reason = choose_default(table, params, tune=self.tune)
            other = "" if method == "plcl" else "; use --method plcl for the method of the paper"
            console.say(f"method: {METHODS[method].name} (default {reason}){other}")
        return Plan(table, method, params, self.tune, self.seed, self.device, self.fast)

    def correct(
        self, console: Console, table: "CandidateTable", prefix: str | None = None
    ) -> "CorrectedTable":
        """Describe the table and correct its labels."""
        from ambilearn.cli.result_summary import describe_corrected
        from ambilearn.cli.table_summary import describe_table
        from ambilearn.tables.given_labels import correct_table

        if self.weight_annotators or self.annotators_out:
            raise click.UsageError(_NO_ANNOTATORS)
        if self.trust_candidates:
            raise click.UsageError(
                "--trust-candidates and --given-label cannot be combined: given labels that are "
                "all right need no correction."
            )
        describe_table(console, table)
        corrected = correct_table(
            table,
            self.method,
            # Without --method, the parameters are for the model that `fit` trains.
            self.parameters() if self.method else None,
            random_state=self.seed,
            device=self.device,
            prefix=prefix,
            progress=console.stage,
        )
        describe_corrected(console, corrected)
        return corrected

    def _should_judge(self, console: Console, table: "CandidateTable") -> bool:
        """Whether to judge annotators; an error if options need it and it is impossible."""
        wanted = self.weight_annotators
        if table.votes is None:
            if wanted or self.annotators_out:
                raise click.UsageError(_NO_ANNOTATORS)
            return False
        if wanted is None and self.method == "deepplcl":
            console.say(
                "All annotators have the same weight: estimating their reliability trains "
                "many networks. Use --weight-annotators to do it anyway.",
                style="yellow",
            )
            judge = False
        else:
            judge = self.table.min_votes is None if wanted is None else wanted
        if self.annotators_out and not judge:
            raise click.UsageError("--annotators-out requires --weight-annotators.")
        return judge

    def _judge(self, console: Console, plan: Plan, new_rows: bool) -> Plan:
        """Judge the annotators and use the resulting candidates and parameters."""
        from ambilearn.tables.judging import judge_table

        self._check_annotators_out()
        judged = judge_table(
            plan.table,
            plan.method,
            plan.params,
            tune=plan.tune,
            random_state=plan.random_state,
            new_rows=new_rows,
            progress=console.stage,
        )
        chosen = "".join(
            f"; {key}={value} chosen by the answers" for key, value in judged.chosen.items()
        )
        trust = f"and the features (trust in the features: {judged.feature_trust:.0%}{chosen})"
        self._report_annotators(console, judged.annotators, trust)
        params = plan.params | judged.chosen
        return plan._replace(table=judged.table, params=params, tune=False)

    def clean_votes(self, console: Console, table: "CandidateTable", prefix: str) -> "LabeledTable":
        """Describe a table without features, and choose its labels by the answers alone."""
        from ambilearn.cli.result_summary import describe_accuracy, describe_calibration
        from ambilearn.cli.table_summary import describe_table
        from ambilearn.tables.judging import clean_votes

        self._check_annotators_out()
        describe_table(console, table)
        cleaned, report = clean_votes(table, trust_candidates=self.trust_candidates, prefix=prefix)
        self._report_annotators(console, report, "alone (Dawid and Skene)")
        if cleaned.table.judgment is not None:
            describe_calibration(console, cleaned.table.judgment.calibration)
        describe_accuracy(console, cleaned.table, cleaned.choices.labels)
        return cleaned

    def _check_annotators_out(self) -> None:
        from ambilearn.tables.writing import check_writable, format_of_name

        if self.annotators_out:
            check_writable(format_of_name(str(self.annotators_out)))

    def _report_annotators(self, console: Console, report: "AnnotatorReport", by: str) -> None:
        """Print the annotators, and write them if this is wanted."""
        from ambilearn.cli.result_summary import describe_annotators
        from ambilearn.tables.writing import write_table

        describe_annotators(console, report, by)
        if self.annotators_out:
            tables = report.to_frame(), report.confusion_frame()
            paths = self.annotators_out, _confusions_out(self.annotators_out)
            for frame, path in zip(tables, paths, strict=True):
                write_table(frame, path, escape_formulas=self.escape_formulas)
                console.say(f"wrote {path}: {pluralize(len(frame), 'row')}")


def _confusions_out(path: Path) -> Path:
    """The file of confusions beside that of the annotators: a.csv, a-confusions.csv."""
    return path.with_stem(f"{path.stem}-confusions")


def _check_no_images(outputs: Iterable[Path | None]) -> None:
    """Raise an error if an output could replace an image that the table names."""
    for file in outputs:
        if file is None:
            continue
        if file.suffix.lower() in IMAGE_ENDINGS:
            raise click.ClickException(f"{file} has the name of an image. Choose another name.")
        if file.is_file() and is_image_file(file):  # a pipe is not read
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
                "--given-label for a column with one label per row."
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
    return standard_input() if source == "-" else source


def check_device(console: Console, device: str | None) -> None:
    """Raise an error for an unavailable device before any work is done."""
    if device is None:
        return
    console.show("looking for the device")  # PyTorch takes seconds to import
    from ambilearn.backend.device_arrays import computing_on

    with computing_on(device):
        pass
