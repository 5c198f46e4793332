"""The command `review`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ambilearn._utils.text import pluralize
from ambilearn.cli.clean import clean
from ambilearn.cli.commands import Command, reject_options
from ambilearn.cli.console import Console, user_console
from ambilearn.cli.options import (
    COMMON,
    IMAGES,
    OUTPUT,
    Section,
    candidate_options,
    command_line,
    free_prefix,
    image_folder_option,
    method_options,
    prefix_option,
    trust_option,
    votes_options,
)
from ambilearn.cli.outputs import check_outputs
from ambilearn.cli.plan import clean_as_requested
from ambilearn.cli.request import Request
from ambilearn.cli.serve import ReviewOptions, correct_table, read_reviewed, serve_review
from ambilearn.cli.summary import describe_doubt
from ambilearn.datasets.frames import find_format, split_ending
from ambilearn.registry import METHODS
from ambilearn.tables.description import fill

if TYPE_CHECKING:
    from ambilearn.review.from_table import JudgedTable
    from ambilearn.review.images import Images
    from ambilearn.tables.candidate_table import CandidateTable

SERVER = Section("Server")
_OUTPUTS = "cleaned_out", "checked_out", "model_out"
_SERVER_OPTIONS = (*_OUTPUTS, "prefix", "no_browser", "port", "journal")


@click.command(
    cls=Command,
    common=(*COMMON, *_OUTPUTS),
    epilog="Example: ambilearn review people.csv --candidates names",
)
@click.argument("table")
@candidate_options
@votes_options
@method_options
@trust_option
@IMAGES.column(
    "--image",
    help="Column with paths or URLs of images. By default the first column with names of "
    "image files (.jpg, .png, …). If this option is given, deepplcl learns from the images, and "
    "from no other column.",
)
@IMAGES.flag("--no-images", help="Show no images.")
@IMAGES.flag(
    "--embed-images",
    help="Embed local images in the page, so that it can be moved or sent; large images are made "
    "smaller. By default the page links to them.",
)
@image_folder_option
@OUTPUT.file(
    "--out", help="Write the page as one HTML file that needs no server and does not learn."
)
@IMAGES.columns(
    "--show",
    help="Column to show first. By default the first column whose cells are all different, such "
    "as an id or a file name.",
)
@SERVER.flag("--no-browser", help="Do not open the page in a browser.")
@SERVER.option(
    "--port",
    type=click.IntRange(1, 65535),
    metavar="N",
    help="Port of the server. By default any free port.",
)
@SERVER.file(
    "--journal",
    help="File that keeps every answer. The same command continues the review. By default "
    "TABLE.journal.",
)
@SERVER.file(
    "--cleaned-out",
    help="At the end, write the table as `clean` does with the answers as --checked.",
)
@SERVER.file("--checked-out", help="At the end, write the answers as a file for --checked.")
@SERVER.file(
    "--model-out", help="At the end, save the model as `fit` does with the answers as --checked."
)
@prefix_option
def review(table: str, out: Path | None, **options: Any) -> None:
    """Correct labels on a page while the method learns.

    The page opens in a browser. It shows the candidates of each row of TABLE, and a suggestion if
    none of them fits well. Choose a label with the keyboard: after each answer, the rows that are
    now least certain come first. A journal keeps every answer; the same command continues.

    With --out, the page is a file that saves your labels for --checked of other commands, and the
    order does not change. If TABLE is a journal, its answers are written to --checked-out.
    """
    if options["image"] is not None and options["no_images"]:
        raise click.UsageError("--image and --no-images cannot be combined.")
    chosen = fill(ReviewOptions, options)
    with user_console() as console:
        from ambilearn.review.journal import is_journal

        if is_journal(Path(table)):
            _write_answers(console, table, chosen.checked_out)
            return
        request = Request.from_options(table, options)
        if out is not None:
            _write_page(console, request, out, chosen)
            return
        if table == "-":
            raise click.UsageError("A review needs a table in a file. Save it, or use --out FILE.")
        serve_review(console, request, chosen)


def _write_answers(console: Console, journal: str, checked_out: Path | None) -> None:
    """Write the answers of a journal without its table."""
    if checked_out is None:
        raise click.UsageError(
            f"{journal} is a journal: name a file for its answers, --checked-out."
        )
    check_outputs([checked_out], [journal])
    from ambilearn.review.journal import read_answers
    from ambilearn.tables.corrections import write_corrections

    labels, texts, random = read_answers(journal)
    write_corrections(checked_out, labels, texts, random)
    console.say(f"wrote {checked_out}: {pluralize(len(labels), 'row')}")


def _write_page(console: Console, request: Request, out: Path, options: ReviewOptions) -> None:
    """Write a page that needs no server."""
    if out.suffix.lower() not in (".html", ".htm"):
        raise click.UsageError(f"{out}: the page is an HTML file; use a name that ends in .html.")
    reject_options(_SERVER_OPTIONS, "is for the page that learns: leave out --out.")
    request.check(console, out)
    _, table, image = read_reviewed(console, request, options)
    from ambilearn.review.from_table import Layout, review_from_table
    from ambilearn.review.images import Images, without_pillow_warnings
    from ambilearn.review.page import write_review

    learn = correct_table if request.table.given_label else _learn
    judged = learn(console, request, table)
    console.show("writing the page")
    named = request.table.features_from or request.table.source
    folder = Path.cwd() if named == "-" else Path(named).parent
    images = Images(folder, out.parent, options.embed_images, options.image_folders)
    with without_pillow_warnings():
        page = review_from_table(judged, Layout(image, images, options.show))
    write_review(page, out)
    _describe_images(console, image, images)
    console.say(f"wrote {out}: {pluralize(len(page.rows), 'row')}; open it in a browser")
    console.say("To use the labels that you download from the page:")
    console.say(f"  {_next_command(request.table.source, table, page.download)}")


def _learn(console: Console, request: Request, table: "CandidateTable") -> "JudgedTable":
    """Clean the table, and describe the result."""
    from ambilearn.review.from_table import JudgedTable

    cleaned = clean_as_requested(console, request, table, prefix=None)
    describe_doubt(console, cleaned.table, cleaned.doubt)
    return JudgedTable.of_cleaned(cleaned, METHODS[cleaned.model.about["method"]].name)


def _next_command(source: str, table: "CandidateTable", checked: str) -> str:
    """The command that uses the checked labels, with the options of the table and the method."""
    from ambilearn.tables.description import NEW_COLUMNS

    name = Path("table.csv" if source == "-" else source)
    stem, ending = split_ending(name.name)
    ending = ".csv" if find_format(name.name) in (None, "xlsx") else ending
    cleaned = name.with_name(f"{stem}-cleaned{ending}")
    prefix = free_prefix(table.frame, NEW_COLUMNS)
    context = click.get_current_context()
    return command_line(context, clean, checked=checked, out=str(cleaned), prefix=prefix)


def _describe_images(console: Console, image: str | None, images: "Images") -> None:
    from ambilearn.review.images import Problem

    if image is None:
        return
    console.say(f"images: column {image!r}")
    advice = {
        Problem.NOT_FOUND: "Paths are relative to the folder of the table.",
        Problem.OUTSIDE: "Allow their folder with --image-folder FOLDER.",
        Problem.UNREADABLE: "The file is damaged or not an image.",
        Problem.TOO_LARGE: "Only SVG files of up to 16 MB can be embedded.",
        Problem.REMOTE: "A served page loads no images from other machines.",
    }
    for problem, what_to_do in advice.items():
        cells = [cell for cell, found in images.problems if found is problem]
        if cells:
            console.say(
                f"{pluralize(len(cells), 'image')} cannot be shown ({problem}), the first is "
                f"{cells[0]!r}. {what_to_do}",
                style="yellow",
            )
