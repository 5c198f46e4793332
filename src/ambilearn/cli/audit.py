"""The command `audit`."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ambilearn._utils.text import pluralize
from ambilearn._utils.types import DataFrame, Label
from ambilearn.cli.commands import Command
from ambilearn.cli.console import Console, user_console
from ambilearn.cli.options import (
    OUTPUT,
    READ_FILE,
    WRITTEN_FILE_OR_STREAM,
    Section,
    command_line,
    escape_formulas_option,
    format_options,
)
from ambilearn.cli.outputs import check_outputs, table_writer
from ambilearn.cli.request import file_format, open_table
from ambilearn.datasets.frames import split_ending
from ambilearn.tables.description import fill

if TYPE_CHECKING:
    from ambilearn.tables.audit import AuditedTable

_COLUMNS, _TRUTH = Section("Columns"), Section("True labels")
_DIAGRAMS = (".svg", ".png", ".pdf")


@click.command(
    cls=Command,
    common=(
        *("n_rows", "seed", "checked", "truth", "compare", "label", "score", "candidates"),
        *("delimiter", "encoding", "sheet", "out", "prefix", "diagram"),
    ),
    epilog="Example: ambilearn audit cleaned.csv --candidates names --out audit.html",
)
@click.argument("table")
@_TRUTH.option(
    "--rows",
    "n_rows",
    type=click.IntRange(1),
    default=100,
    metavar="N",
    help="Number of rows to draw. A larger number includes the rows of a smaller one.",
)
@_TRUTH.seed("Random seed of the draw.")
@_TRUTH.file(
    "--checked",
    type=READ_FILE,
    help="CSV file with the true labels of the drawn rows, saved by the page.",
)
@_TRUTH.column("--truth", help="Column with the true labels, if TABLE has them for the drawn rows.")
@_TRUTH.option(
    "--compare",
    multiple=True,
    type=click.Path(dir_okay=False, exists=True),
    metavar="FILE",
    help="The same table with labels of another method: which has more correct labels in the "
    "checked rows. Can be repeated.",
)
@_COLUMNS.column("--label", help="Labels. By default label.")
@_COLUMNS.column(
    "--score",
    help="Scores of the labels, from 0 to 1. By default score.",
)
@_COLUMNS.column(
    "--candidates",
    help="Candidate labels, which the page then offers. By default all labels, up to 20.",
)
@_COLUMNS.option(
    "--sep", default="|", metavar="TEXT", help="Separator of the candidates in a cell."
)
@_COLUMNS.column(
    "--image",
    help="Paths or URLs of images. By default the first column with names of image files.",
)
@_COLUMNS.columns("--exclude", help="Column that the page does not show, such as an earlier label.")
@format_options
@OUTPUT.option(
    "--out",
    type=WRITTEN_FILE_OR_STREAM,
    metavar="FILE",
    help="Page to write, by default audit.html; with true labels, TABLE with the confidence.",
)
@OUTPUT.file(
    "--diagram",
    help="Reliability diagram to write: .svg, .png or .pdf (needs the extra paper).",
)
@OUTPUT.option(
    "--prefix",
    metavar="TEXT",
    help="Prefix of the columns label, score and confidence. By default that of --label.",
)
@escape_formulas_option
def audit(
    table: str,
    out: Path | None,
    diagram: Path | None,
    compare: tuple[str, ...],
    escape_formulas: bool,
    **options: Any,
) -> None:
    """Estimate from a few checked rows how many labels are correct.

    Draws rows of TABLE at random. Without true labels, writes a page on which a person labels these
    rows. With the labels from the page (--checked) or from a column (--truth), reports the share of
    correct labels with a 95% interval, and writes TABLE with a calibrated confidence.

    The rows are drawn in proportion from all ranges of the score; scores are not shown. TABLE is
    the output of `clean` or `predict`, or any table with labels and scores; no method is fitted.
    """
    file = file_format(table, options)
    checked, truth = options["checked"], options["truth"]
    is_page = not truth and not checked
    if truth and checked:
        raise click.UsageError("--truth and --checked cannot be combined.")
    if diagram is not None and diagram.suffix.lower() not in _DIAGRAMS:
        raise click.UsageError(f"{diagram}: a diagram is written to {', '.join(_DIAGRAMS)} files.")
    if is_page:
        out = out or Path("audit.html")
        _check_page(out, diagram, compare)
    with user_console() as console:
        check_outputs([out, diagram], [table, checked, *compare])
        console.show("reading the table")
        write = None
        if not is_page and out is not None:
            sep = options["sep"]
            write = table_writer(
                console, table, out, file, sep=sep, escape_formulas=escape_formulas
            )
        name, frame = file.read(open_table(table))
        audited = fill(_Audit, options, console=console, name=name, frame=frame)
        if out is not None and is_page:
            audited.write_page(Path.cwd() if table == "-" else Path(table).parent, out)
            return
        audited.report()
        for other in compare:
            audited.compare(*file.read(open_table(other)))
        if diagram is not None:
            audited.draw(diagram)
        if write is not None:
            write(audited.result.frame, audited.text_columns)


def _check_page(out: Path, diagram: Path | None, compare: tuple[str, ...]) -> None:
    if diagram is not None or compare:
        option = "--compare" if compare else "--diagram"
        raise click.UsageError(f"{option} needs true labels: add --checked or --truth.")
    if out.suffix.lower() not in (".html", ".htm"):
        raise click.UsageError(
            f"{out}: without --checked or --truth a page is written; use a name that ends in .html."
        )


@dataclass(frozen=True, kw_only=True)
class _Audit:
    """A table and the options of its audit."""

    console: Console
    name: str
    frame: DataFrame
    label: str | None = None
    score: str | None = None
    prefix: str | None = None
    candidates: str | None = None
    sep: str
    image: str | None = None
    exclude: tuple[str, ...]
    n_rows: int
    seed: int
    decimal: str
    checked: Path | None = None
    truth: str | None = None

    @property
    def label_column(self) -> str:
        """The column with the labels."""
        return self.label or f"{self.prefix or ''}label"

    @property
    def text_columns(self) -> list[str]:
        """Columns whose cells are labels."""
        return [column for column in (self.label_column, self.candidates) if column]

    def texts(self) -> list[str] | None:
        """Candidates of each row as the table has them."""
        from ambilearn.datasets.frames import check_columns
        from ambilearn.tables.candidate_columns import cell_text

        if self.candidates is None:
            return None
        check_columns(self.name, self.frame, [self.candidates])
        return [cell_text(cell, self.sep) for cell in self.frame[self.candidates].to_list()]

    def write_page(self, folder: Path, out: Path) -> None:
        """Write a page for the drawn rows; ``folder`` has their images."""
        from ambilearn.confidence.audits import draw_audit
        from ambilearn.datasets.frames import check_columns
        from ambilearn.review.from_table import Layout, format_cell, review_from_audit
        from ambilearn.review.images import Images
        from ambilearn.review.page import write_review
        from ambilearn.tables.audit import column_prefix, label_texts, read_scores
        from ambilearn.tables.candidate_columns import expand_patterns
        from ambilearn.tables.description import NEW_COLUMNS
        from ambilearn.tables.image_files import find_image_column

        name, frame, label, image = self.name, self.frame, self.label_column, self.image
        prefix = column_prefix(label) if self.prefix is None else self.prefix
        score = self.score or f"{prefix}score"
        check_columns(name, frame, [label, score, *([image] if image else [])])
        labels, texts = label_texts(name, frame, label), self.texts()
        sample = draw_audit(read_scores(name, frame, score, self.decimal), self.n_rows, self.seed)
        excluded = expand_patterns(name, frame, self.exclude)
        check_columns(name, frame, list(excluded))
        written = {f"{prefix}{column}" for column in NEW_COLUMNS}
        hidden = {*self.text_columns, score, *written, *excluded}
        cells = {c: [*map(format_cell, frame[c].to_list())] for c in frame if c not in hidden}
        review = review_from_audit(
            frame,
            sample.rows.tolist(),
            labels,
            texts,
            sep=self.sep,
            name=name,
            hidden=hidden,
            layout=Layout(image or find_image_column(cells), Images(folder, out.parent)),
        )
        write_review(review, out)
        self.console.say(
            f"wrote {out}: {pluralize(len(review.rows), 'row')} of {len(frame):,}, drawn at "
            "random; open it in a browser"
        )
        context = click.get_current_context()
        further = command_line(
            context,
            context.command,
            without=("image", "exclude"),  # of the page
            checked=review.download,
            out=f"{split_ending(context.params['table'])[0].strip('-') or 'table'}-audited.csv",
        )
        self.console.say("To use the labels that you download from the page:")
        self.console.say(f"  {further}")

    @cached_property
    def result(self) -> "AuditedTable":
        """The table with true labels of the drawn rows."""
        import numpy as np

        from ambilearn.datasets.frames import check_columns
        from ambilearn.tables.audit import audit_table, label_texts
        from ambilearn.tables.corrections import read_corrections

        self.console.show("auditing the labels")
        truth: Label = self.truth
        random: set[int] = set()
        if truth is None:
            check_columns(self.name, self.frame, [self.label_column])
            labels = label_texts(self.name, self.frame, self.label_column)
            classes = np.array(sorted(set(labels)), dtype=object)
            answers = read_corrections(self.checked, self.texts() or labels, classes, sep=self.sep)
            truth, random = answers.labels, answers.random
        return audit_table(
            self.frame,
            truth,
            label=self.label_column,
            score=self.score,
            prefix=self.prefix,
            n_rows=self.n_rows,
            random_state=self.seed,
            decimal=self.decimal,
            name=self.name,
            random_rows=random,
        )

    def report(self) -> None:
        """Print the share of correct labels, its interval, and how to make it narrower."""
        from ambilearn.tables.audit import describe_ignored

        console, audited, share = self.console, self.result, self.result.share
        left = len(audited.sample.rows) - share.n_checked
        console.say(
            f"{self.name}: {pluralize(share.n_rows, 'row')}, {share.n_checked:,} of them drawn at "
            "random and checked"
        )
        if audited.n_ignored and self.checked is not None:
            n_known = audited.n_ignored + share.n_checked
            console.say(describe_ignored(audited.n_ignored, n_known), style="yellow")
        if left:
            console.say(
                f"{pluralize(left, 'drawn row')} without a true label. If these are the difficult "
                "ones, the share of correct labels is too high: label them, too.",
                style="yellow",
            )
        console.say(
            f"{share.share:.1%} of the labels are correct (95% interval: {share.low:.1%} to "
            f"{share.high:.1%})"
        )
        if (further := share.n_rows_to_halve) > left:
            console.say(
                f"To halve the interval, check about {pluralize(further, 'further row')}: "
                f"--rows {share.n_checked + further}"
            )

    def compare(self, other: str, frame: DataFrame) -> None:
        """Print the share of correct labels of another table, and its difference."""
        from ambilearn.tables.audit import compare_tables

        share, found = compare_tables(self.result, frame, label=self.label_column, name=other)
        self.console.say(
            f"{other}: {share.share:.1%} of the labels are correct (95% interval: {share.low:.1%} "
            f"to {share.high:.1%}), {found.difference:+.1%} compared with {self.name} in the same "
            f"rows ({found.low:+.1%} to {found.high:+.1%})"
        )
        if found.decided:
            decision = "decide which of the two has more correct labels."
        elif found.n_to_decide < share.n_rows - share.n_checked:
            more = pluralize(int(found.n_to_decide), "further row")
            decision = f"do not decide; about {more} would, if the difference remains."
        else:
            decision = "do not decide, and more rows probably would not either."
        self.console.say(f"These rows {decision}")

    def draw(self, diagram: Path) -> None:
        """Draw the reliability diagram."""
        from ambilearn.confidence.diagram import ReliabilityDisplay, save_figure

        self.console.show("drawing the diagram")
        save_figure(ReliabilityDisplay.from_audit(self.result).figure_, diagram)
        self.console.say(f"wrote {diagram}")
