"""The command `audit`."""

from collections.abc import Callable
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Any

import click

from ambilearn._utils.text import pluralize
from ambilearn.cli.console import Console, user_console
from ambilearn.cli.help_sections import SectionedCommand, section
from ambilearn.cli.outputs import check_outputs, table_writer
from ambilearn.cli.table_options import (
    escape_formulas_option,
    format_options,
    output_option,
    source_and_format,
)

if TYPE_CHECKING:
    from ambilearn.tables.audit import AuditedTable

column_option, truth_option = section("Columns"), section("True labels")
_DIAGRAMS = (".svg", ".png", ".pdf")


@click.command(
    cls=SectionedCommand,
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
    help="Number of rows to draw. A larger number includes the rows of a smaller one.",
)
@truth_option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    metavar="N",
    help="Random seed of the draw.",
)
@truth_option(
    "--corrections",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    metavar="FILE",
    help="CSV file with the true labels of the drawn rows, saved by the page.",
)
@truth_option(
    "--truth",
    metavar="COLUMN",
    help="Column with the true labels, if TABLE has them for the drawn rows.",
)
@column_option("--label", default="label", show_default=True, metavar="COLUMN", help="Labels.")
@column_option(
    "--score",
    metavar="COLUMN",
    help="Scores of the labels, between 0 and 1. By default score, or PREFIXscore if --label is "
    "PREFIXlabel.",
)
@column_option(
    "--candidates",
    metavar="COLUMN",
    help="Candidate labels, which the page then offers. By default it offers all labels, if there "
    "are at most 20.",
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
    help="Without true labels: the page to write, by default audit.html. With them: TABLE with "
    "the calibrated confidence; by default it is not written.",
)
@output_option(
    "--diagram",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Reliability diagram to write: .svg, .png or .pdf (needs the extra paper).",
)
@escape_formulas_option
def audit(table: str, out: Path | None, diagram: Path | None, **options: Any) -> None:
    """Estimate from a few checked rows how many labels are correct.

    Draws rows of TABLE at random, in proportion from all ranges of the score. Without true labels,
    writes a page on which a person labels these rows; scores are not shown. With the labels from
    the page (--corrections) or from a column (--truth), reports the share of correct labels with a
    95% interval, and writes TABLE with a calibrated confidence for all rows. TABLE is the output of
    `clean` or `predict`, or any table with labels and scores; no method is fitted.
    """
    if options["truth"] and options["corrections"]:
        raise click.UsageError("--truth and --corrections cannot be combined.")
    if diagram is not None and diagram.suffix.lower() not in _DIAGRAMS:
        raise click.UsageError(f"{diagram}: a diagram is written to {', '.join(_DIAGRAMS)} files.")
    is_page = not options["truth"] and not options["corrections"]
    if is_page:
        out = out or Path("audit.html")
        _check_page(out, diagram)
    with user_console() as console:
        check_outputs([out, diagram], [table, options["corrections"]])
        console.show("reading the table")
        from ambilearn.datasets.frames import read_frame, source_name

        write = None if is_page or out is None else _writer(console, table, out, options)
        source, format = source_and_format(table, options["format"])
        name = source_name(source)
        frame = read_frame(source, format=format or None, delimiter=options["delimiter"])
        if is_page:
            _write_page(console, table, name, frame, out or Path(), options)
        else:
            audited = _audit(console, name, frame, options)
            _describe(console, name, audited, options)
            if diagram is not None:
                _draw(console, audited, diagram)
            if write is not None:
                write(audited.frame, [c for c in (options["label"], options["candidates"]) if c])


def _check_page(out: Path, diagram: Path | None) -> None:
    if diagram is not None:
        raise click.UsageError("--diagram needs true labels: add --corrections or --truth.")
    if out.suffix.lower() not in (".html", ".htm"):
        raise click.UsageError(
            f"{out}: without --corrections or --truth a page is written; use a name that ends in "
            ".html."
        )


def _texts(name: str, frame: Any, options: dict[str, Any]) -> list[str] | None:
    """Candidates of each row as the table has them."""
    from ambilearn.datasets.frames import check_columns
    from ambilearn.tables.candidate_columns import cell_text

    if options["candidates"] is None:
        return None
    check_columns(name, frame, [options["candidates"]])
    return [cell_text(cell, options["sep"]) for cell in frame[options["candidates"]].to_list()]


def _write_page(
    console: Console, table: str, name: str, frame: Any, out: Path, options: dict[str, Any]
) -> None:
    from ambilearn.confidence.sampling import draw_audit
    from ambilearn.datasets.frames import check_columns
    from ambilearn.review.audit import review_from_audit
    from ambilearn.review.from_table import format_cell
    from ambilearn.review.images import Images
    from ambilearn.review.page import write_review
    from ambilearn.tables.audit import column_prefix, label_texts, read_scores
    from ambilearn.tables.clean import NEW_COLUMNS
    from ambilearn.tables.image_files import find_image_column

    label, image = options["label"], options["image"]
    score = options["score"] or f"{column_prefix(label)}score"
    check_columns(name, frame, [label, score, *([image] if image else [])])
    labels, texts = label_texts(name, frame, label), _texts(name, frame, options)
    scores = read_scores(name, frame, score, options["decimal"])
    sample = draw_audit(scores, options["n_rows"], options["seed"])
    check_columns(name, frame, list(options["exclude"]))
    written = {f"{column_prefix(label)}{name}" for name in NEW_COLUMNS}
    hidden = {label, score, options["candidates"], *written, *options["exclude"]}
    cells = {c: [*map(format_cell, frame[c].to_list())] for c in frame if c not in hidden}
    review = review_from_audit(
        frame,
        sample.rows.tolist(),
        labels,
        texts,
        sep=options["sep"],
        name=name,
        hidden=hidden,
        image=image or find_image_column(cells),
        images=Images(Path.cwd() if table == "-" else Path(table).parent, out.parent),
    )
    write_review(review, out)
    console.say(
        f"wrote {out}: {pluralize(len(review.rows), 'row')} of {len(frame):,}, drawn at random; "
        "open it in a browser"
    )
    console.say("To use the labels that you download from the page:")
    console.say(f"  {_next_command(table, options, review.download)}")


def _next_command(table: str, options: dict[str, Any], corrections: str) -> str:
    """The command that uses the labels, with the same draw and columns."""
    words = ["ambilearn", "audit", table]
    context = click.get_current_context()
    for parameter in context.command.params:
        value = options.get(str(parameter.name))
        default = parameter.get_default(context)
        shown_only = parameter.name in ("image", "exclude")  # by the page
        if not shown_only and value not in (None, False, default):
            words += [parameter.opts[0], str(value).replace("\t", "\\t")]
    return join([*words, "--corrections", corrections, "--out", "audited.csv"])


def _audit(console: Console, name: str, frame: Any, options: dict[str, Any]) -> "AuditedTable":
    import numpy as np

    from ambilearn.datasets.frames import check_columns
    from ambilearn.tables.audit import audit_table, label_texts
    from ambilearn.tables.corrections import read_corrections

    console.show("auditing the labels")
    truth = options["truth"]
    if truth is None:
        check_columns(name, frame, [options["label"]])
        labels = label_texts(name, frame, options["label"])
        texts = _texts(name, frame, options) or labels
        classes = np.array(sorted(set(labels)), dtype=object)
        truth = read_corrections(options["corrections"], texts, classes, sep=options["sep"]).labels
    return audit_table(
        frame,
        truth,
        label=options["label"],
        score=options["score"],
        n_rows=options["n_rows"],
        random_state=options["seed"],
        decimal=options["decimal"],
        name=name,
    )


def _describe(
    console: Console, name: str, audited: "AuditedTable", options: dict[str, Any]
) -> None:
    """The share of correct labels, its interval, and how to make it narrower."""
    from ambilearn.tables.audit import describe_ignored

    share = audited.share
    left = len(audited.sample.rows) - share.n_checked
    console.say(
        f"{name}: {pluralize(share.n_rows, 'row')}, {share.n_checked:,} of them drawn at random "
        "and checked"
    )
    if audited.n_ignored and options["corrections"]:
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
    from ambilearn.confidence.diagram import draw_reliability, save_figure

    console.show("drawing the diagram")
    drawn = audited.scores, audited.confidences, audited.rows, audited.right
    save_figure(draw_reliability(*drawn), diagram)
    console.say(f"wrote {diagram}")


def _writer(
    console: Console, table: str, out: Path, options: dict[str, Any]
) -> Callable[[Any, list[str]], None]:
    return table_writer(
        console,
        table,
        out,
        format=options["format"],
        delimiter=options["delimiter"],
        decimal=options["decimal"],
        sep=options["sep"],
        escape_formulas=options["escape_formulas"],
    )
