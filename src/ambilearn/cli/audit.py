"""The command `audit`."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ambilearn._utils.text import pluralize
from ambilearn.cli.console import Console, user_console
from ambilearn.cli.options import (
    Command,
    command_line,
    escape_formulas_option,
    format_options,
    input_file,
    output_file,
    output_option,
    section,
)
from ambilearn.cli.outputs import check_outputs, table_writer
from ambilearn.cli.plan import file_format, open_table

if TYPE_CHECKING:
    import pandas as pd

    from ambilearn.tables.audit import AuditedTable

column_option, truth_option = section("Columns"), section("True labels")
_DIAGRAMS = (".svg", ".png", ".pdf")


@dataclass(frozen=True, kw_only=True)
class _Audit:
    """Options of an audit."""

    label: str
    score: str | None
    candidates: str | None
    sep: str
    image: str | None
    exclude: tuple[str, ...]
    n_rows: int
    seed: int
    checked: Path | None
    truth: str | None

    @property
    def prefix(self) -> str:
        """Prefix of the columns that `clean` wrote."""
        from ambilearn.tables.audit import column_prefix

        return column_prefix(self.label)

    @property
    def score_column(self) -> str:
        """The column with the scores."""
        return self.score or f"{self.prefix}score"

    @property
    def text_columns(self) -> list[str]:
        """Columns whose cells are labels."""
        return [column for column in (self.label, self.candidates) if column]

    def texts(self, name: str, frame: "pd.DataFrame") -> list[str] | None:
        """Candidates of each row as the table has them."""
        from ambilearn.datasets.frames import check_columns
        from ambilearn.tables.candidate_columns import cell_text

        if self.candidates is None:
            return None
        check_columns(name, frame, [self.candidates])
        return [cell_text(cell, self.sep) for cell in frame[self.candidates].to_list()]


@click.command(
    cls=Command,
    epilog="Example: ambilearn audit cleaned.csv --candidates names --out audit.html",
)
@click.argument("table")
@truth_option(
    "--rows",
    "n_rows",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    metavar="N",
    common=True,
    help="Number of rows to draw. A larger number includes the rows of a smaller one.",
)
@truth_option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    metavar="N",
    common=True,
    help="Random seed of the draw.",
)
@input_file(
    "--checked",
    option=truth_option,
    common=True,
    help="CSV file with the true labels of the drawn rows, saved by the page.",
)
@truth_option(
    "--truth",
    metavar="COLUMN",
    common=True,
    help="Column with the true labels, if TABLE has them for the drawn rows.",
)
@truth_option(
    "--compare",
    multiple=True,
    type=click.Path(dir_okay=False, exists=True),
    metavar="FILE",
    common=True,
    help="The same table with labels of another method: which has more correct labels in the "
    "checked rows. Can be repeated.",
)
@column_option(
    "--label", default="label", show_default=True, metavar="COLUMN", common=True, help="Labels."
)
@column_option(
    "--score",
    metavar="COLUMN",
    common=True,
    help="Scores of the labels, from 0 to 1. By default score, or PREFIXscore for PREFIXlabel.",
)
@column_option(
    "--candidates",
    metavar="COLUMN",
    common=True,
    help="Candidate labels, which the page then offers. By default all labels, up to 20.",
)
@column_option(
    "--sep",
    default="|",
    show_default=True,
    metavar="TEXT",
    help="Separator of the candidates in a cell.",
)
@column_option(
    "--image",
    metavar="COLUMN",
    help="Paths or URLs of images. By default the first column with names of image files.",
)
@column_option(
    "--exclude",
    multiple=True,
    metavar="COLUMN",
    help="Column that the page does not show, such as an earlier label. Can be repeated.",
)
@format_options
@output_option(
    "--out",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    metavar="FILE",
    common=True,
    help="Page to write, by default audit.html; with true labels, TABLE with the confidence.",
)
@output_file(
    "--diagram",
    option=output_option,
    common=True,
    help="Reliability diagram to write: .svg, .png or .pdf (needs the extra paper).",
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
    chosen = _Audit(**{each.name: options[each.name] for each in fields(_Audit)})
    if chosen.truth and chosen.checked:
        raise click.UsageError("--truth and --checked cannot be combined.")
    if diagram is not None and diagram.suffix.lower() not in _DIAGRAMS:
        raise click.UsageError(f"{diagram}: a diagram is written to {', '.join(_DIAGRAMS)} files.")
    is_page = not chosen.truth and not chosen.checked
    if is_page and compare:
        raise click.UsageError("--compare needs true labels: add --checked or --truth.")
    if is_page:
        out = out or Path("audit.html")
        _check_page(out, diagram)
    with user_console() as console:
        check_outputs([out, diagram], [table, chosen.checked, *compare])
        console.show("reading the table")
        write = None
        if not is_page and out is not None:
            write = table_writer(
                console, table, out, file, sep=chosen.sep, escape_formulas=escape_formulas
            )
        name, frame = file.read(open_table(table))
        if is_page:
            folder = Path.cwd() if table == "-" else Path(table).parent
            _write_page(console, folder, name, frame, out or Path(), chosen, file.decimal)
            return
        audited = _audit(console, name, frame, chosen, file.decimal)
        _describe(console, name, audited, chosen.checked is not None)
        for other in compare:
            _compare(console, audited, name, *file.read(open_table(other)), chosen.label)
        if diagram is not None:
            _draw(console, audited, diagram)
        if write is not None:
            write(audited.frame, chosen.text_columns)


def _check_page(out: Path, diagram: Path | None) -> None:
    if diagram is not None:
        raise click.UsageError("--diagram needs true labels: add --checked or --truth.")
    if out.suffix.lower() not in (".html", ".htm"):
        raise click.UsageError(
            f"{out}: without --checked or --truth a page is written; use a name that ends in .html."
        )


def _write_page(
    console: Console,
    folder: Path,
    name: str,
    frame: "pd.DataFrame",
    out: Path,
    chosen: _Audit,
    decimal: str,
) -> None:
    from ambilearn.confidence.sampling import draw_audit
    from ambilearn.datasets.frames import check_columns
    from ambilearn.review.audit import review_from_audit
    from ambilearn.review.from_table import format_cell
    from ambilearn.review.images import Images
    from ambilearn.review.page import write_review
    from ambilearn.tables.audit import label_texts, read_scores
    from ambilearn.tables.candidate_columns import expand_patterns
    from ambilearn.tables.clean import NEW_COLUMNS
    from ambilearn.tables.image_files import find_image_column

    label, score, image = chosen.label, chosen.score_column, chosen.image
    check_columns(name, frame, [label, score, *([image] if image else [])])
    labels, texts = label_texts(name, frame, label), chosen.texts(name, frame)
    sample = draw_audit(read_scores(name, frame, score, decimal), chosen.n_rows, chosen.seed)
    excluded = expand_patterns(name, frame, chosen.exclude)
    check_columns(name, frame, list(excluded))
    written = {f"{chosen.prefix}{column}" for column in NEW_COLUMNS}
    hidden = {*chosen.text_columns, score, *written, *excluded}
    cells = {c: [*map(format_cell, frame[c].to_list())] for c in frame if c not in hidden}
    review = review_from_audit(
        frame,
        sample.rows.tolist(),
        labels,
        texts,
        sep=chosen.sep,
        name=name,
        hidden=hidden,
        image=image or find_image_column(cells),
        images=Images(folder, out.parent),
    )
    write_review(review, out)
    console.say(
        f"wrote {out}: {pluralize(len(review.rows), 'row')} of {len(frame):,}, drawn at random; "
        "open it in a browser"
    )
    context = click.get_current_context()
    further = command_line(
        context,
        context.command,
        without=("image", "exclude"),  # of the page
        checked=review.download,
        out="audited.csv",
    )
    console.say("To use the labels that you download from the page:")
    console.say(f"  {further}")


def _audit(
    console: Console, name: str, frame: "pd.DataFrame", chosen: _Audit, decimal: str
) -> "AuditedTable":
    import numpy as np

    from ambilearn.datasets.frames import check_columns
    from ambilearn.tables.audit import audit_table, label_texts
    from ambilearn.tables.corrections import read_corrections

    console.show("auditing the labels")
    truth: Any = chosen.truth
    random: set[int] = set()
    if truth is None:
        check_columns(name, frame, [chosen.label])
        labels = label_texts(name, frame, chosen.label)
        texts = chosen.texts(name, frame) or labels
        classes = np.array(sorted(set(labels)), dtype=object)
        answers = read_corrections(chosen.checked, texts, classes, sep=chosen.sep)
        truth, random = answers.labels, answers.random
    return audit_table(
        frame,
        truth,
        label=chosen.label,
        score=chosen.score_column,
        n_rows=chosen.n_rows,
        random_state=chosen.seed,
        decimal=decimal,
        name=name,
        random_rows=random,
    )


def _compare(
    console: Console,
    audited: "AuditedTable",
    name: str,
    other: str,
    frame: "pd.DataFrame",
    label: str,
) -> None:
    """The share of correct labels of another table, and its difference from the first."""
    from ambilearn.tables.audit import compare_tables

    share, found = compare_tables(audited, frame, label=label, name=other)
    console.say(
        f"{other}: {share.share:.1%} of the labels are correct (95% interval: {share.low:.1%} to "
        f"{share.high:.1%}), {found.difference:+.1%} compared with {name} in the same rows "
        f"({found.low:+.1%} to {found.high:+.1%})"
    )
    n_left = share.n_rows - share.n_checked
    if found.decided:
        console.say("These rows decide which of the two has more correct labels.")
    elif found.n_to_decide < n_left:
        more = pluralize(int(found.n_to_decide), "further row")
        console.say(f"These rows do not decide; about {more} would, if the difference remains.")
    else:
        console.say("These rows do not decide, and more rows probably would not either.")


def _describe(console: Console, name: str, audited: "AuditedTable", checked: bool) -> None:
    """The share of correct labels, its interval, and how to make it narrower."""
    from ambilearn.tables.audit import describe_ignored

    share = audited.share
    left = len(audited.sample.rows) - share.n_checked
    console.say(
        f"{name}: {pluralize(share.n_rows, 'row')}, {share.n_checked:,} of them drawn at random "
        "and checked"
    )
    if audited.n_ignored and checked:
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
    if (further := share.n_to_halve) > left:
        console.say(
            f"To halve the interval, check about {pluralize(further, 'further row')}: "
            f"--rows {share.n_checked + further}"
        )


def _draw(console: Console, audited: "AuditedTable", diagram: Path) -> None:
    from ambilearn.confidence.diagram import ReliabilityDisplay, save_figure

    console.show("drawing the diagram")
    save_figure(ReliabilityDisplay.from_audit(audited).figure_, diagram)
    console.say(f"wrote {diagram}")
