"""The command `review`."""

from pathlib import Path
from typing import Any, NamedTuple

import click

from ambilearn._utils.text import pluralize
from ambilearn.cli.console import Console, user_console
from ambilearn.cli.options import (
    Command,
    candidate_options,
    command_line,
    image_folder_option,
    image_option,
    method_options,
    output_option,
    section,
    votes_options,
)
from ambilearn.cli.plan import FAST, Request
from ambilearn.registry import METHODS

serve_option = section("Server")


@click.command(
    cls=Command,
    epilog="Example: ambilearn review people.csv --candidates names --serve",
)
@click.argument("table")
@candidate_options
@votes_options
@method_options
@image_option(
    "--image",
    metavar="COLUMN",
    help="Column with paths or URLs of images. By default the first column with names of "
    "image files (.jpg, .png, …). If this option is given, deepplcl learns from the images, and "
    "from no other column.",
)
@image_option("--no-images", is_flag=True, help="Show no images.")
@image_option(
    "--embed-images",
    is_flag=True,
    help="Embed local images in the page, so that it can be moved or sent; large images are made "
    "smaller. By default the page links to them.",
)
@image_folder_option
@output_option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default="review.html",
    show_default=True,
    metavar="FILE",
    help="Page to write.",
)
@serve_option(
    "--serve",
    is_flag=True,
    help="Serve the page on this machine instead of writing it. The method learns from the answers "
    "while you review, and the order of the rows follows.",
)
@serve_option("--no-browser", is_flag=True, help="Do not open the page in a browser.")
@serve_option(
    "--port",
    type=click.IntRange(1, 65535),
    metavar="N",
    help="Port of the server. By default any free port.",
)
@serve_option(
    "--journal",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="File that keeps every answer. The same command continues the review. By default "
    "TABLE.journal.",
)
@serve_option(
    "--cleaned-out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="At the end, write the table as `clean` does with the answers as --checked.",
)
@serve_option(
    "--checked-out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="At the end, write the answers as a file for --checked.",
)
@serve_option(
    "--model-out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="At the end, save the model as `fit` does with the answers as --checked.",
)
def review(
    table: str,
    no_images: bool,
    embed_images: bool,
    out: Path,
    serve: bool,
    no_browser: bool,
    port: int | None,
    journal: Path | None,
    cleaned_out: Path | None,
    checked_out: Path | None,
    model_out: Path | None,
    **options: Any,
) -> None:
    """Write or serve a page to correct the labels of a table.

    The page shows the candidates of each row of TABLE (CSV, Excel, Parquet or JSON; - is standard
    input) with their scores, images, and a suggestion if the true label is probably not a
    candidate. Accept or correct labels with the keyboard, in the order in which to check them.

    The page is one HTML file for any browser; it needs no server and no network. It keeps your work
    and saves it as a CSV file for --checked of `clean`, `fit` and `review`. If several annotators
    answered, their reliability is estimated as in `clean`. With --given-label, the page shows the
    given label of each row, and the most likely other label of doubtful rows.

    With --serve the page is served on this machine, and the method learns from each answer: rows
    like a corrected one come earlier, and rows that are no longer ambiguous come later.
    """
    if options["image"] is not None and no_images:
        raise click.UsageError("--image and --no-images cannot be combined.")
    _check_server_options(serve, table)
    if not serve and out.suffix.lower() not in (".html", ".htm"):
        raise click.UsageError(f"{out}: the page is an HTML file; use a name that ends in .html.")
    with user_console() as console:
        request = Request.from_options(table, options)
        image, folders = options["image"], options["image_folders"]
        if not serve:
            shown = _Images(image, no_images, embed_images, folders)
            _write_page(console, request, out, shown)
            return
        from ambilearn.cli.serve import ServeOptions, serve_review

        chosen = ServeOptions(
            journal, port or 0, not no_browser, cleaned_out, checked_out, model_out
        )
        request.check(console, *chosen.outputs())
        serve_review(
            console,
            request,
            chosen,
            image=image,
            no_images=no_images,
            image_folders=folders,
        )


class _Images(NamedTuple):
    """Options about the images of a page."""

    column: str | None
    hidden: bool
    embedded: bool
    folders: tuple[Path, ...]


def _write_page(console: Console, request: Request, out: Path, shown: _Images) -> None:
    """Write a page that needs no server."""
    request.check(console, out)
    console.show("reading the table")  # before the imports, which take a while
    from ambilearn.review.from_table import drop_feature, image_column, review_from_table
    from ambilearn.review.images import Images, without_pillow_warnings
    from ambilearn.review.page import write_review
    from ambilearn.review.record import check_number_of_rows

    table, image = request.read(), shown.column
    check_number_of_rows(len(table.frame))  # before the fit
    if image is None and not shown.hidden:
        image = image_column(table)
        table = drop_feature(table, image)
    learn = _correct if request.table.given_label else _learn
    learned = learn(console, request, table)
    console.show("writing the page")
    named = request.table.features_from or request.source
    folder = Path.cwd() if named == "-" else Path(named).parent
    images = Images(folder, out.parent, shown.embedded, shown.folders)
    with without_pillow_warnings():
        page = review_from_table(**learned, image=image, images=images)
    write_review(page, out)
    _describe_images(console, image, images)
    console.say(f"wrote {out}: {pluralize(len(page.rows), 'row')}; open it in a browser")
    console.say("To use the labels that you download from the page:")
    console.say(f"  {_next_command(request.source, page.download)}")


_SERVER_OPTIONS = (
    "no_browser",
    "port",
    "journal",
    "cleaned_out",
    "checked_out",
    "model_out",
)


def _check_server_options(serve: bool, table: str) -> None:
    """Raise an error for options that need --serve, or cannot be combined with it."""
    context, given = click.get_current_context(), click.core.ParameterSource.COMMANDLINE

    def find(*names: str) -> str | None:
        used = [name for name in names if context.get_parameter_source(name) is given]
        return f"--{used[0].replace('_', '-')}" if used else None

    if not serve:
        if option := find(*_SERVER_OPTIONS):
            raise click.UsageError(f"{option} requires --serve.")
        return
    if option := find("out", "embed_images"):
        raise click.UsageError(f"{option} and --serve cannot be combined.")
    if find("given_label"):
        raise click.UsageError(
            "--given-label and --serve cannot be combined: leave out --serve, and pass the labels "
            "that you download from the page with --checked."
        )
    if find("device") and context.params["method"] != "deepplcl":
        raise click.UsageError(
            "--device and --serve can be combined with --method deepplcl only: other methods "
            "compute on the CPU while you review."
        )
    if table == "-":
        raise click.UsageError("--serve needs a table in a file, not standard input.")


def _learn(console: Console, request: Request, table: Any) -> dict[str, Any]:
    """Fit a method to the candidates: what the page shows of it."""
    from ambilearn.cli.result_summary import (
        describe_accuracy,
        describe_calibration,
        describe_doubt,
        describe_model,
    )
    from ambilearn.tables.clean import judge_candidates
    from ambilearn.tables.model import fit_table
    from ambilearn.tables.ranking import choose_candidates

    plan = request.plan(console, table)
    model = fit_table(**plan._asdict(), progress=console.stage)
    table = plan.table.with_min_votes(model.min_votes)
    describe_model(console, model, plan.params)
    describe_calibration(console, model.calibration, page=True)
    scores = table.score_candidates(model.method)
    describe_accuracy(console, table, choose_candidates(table.candidates, scores).labels)
    found = None
    if not plan.fast:
        found = judge_candidates(model, table, plan.random_state, console.stage, plan.device)
    describe_doubt(console, table, found)
    return {
        "table": table,
        "scores": scores,
        "confidences": model.calibration.cleaned,
        "doubt": found,
        "method": METHODS[plan.method].name,
    }


def _correct(console: Console, request: Request, table: Any) -> dict[str, Any]:
    """Correct the given labels: what the page shows of them."""
    if request.learning.fast:
        raise click.UsageError(FAST)
    from numpy import isnan

    corrected = request.correct(console, table)
    shown, probabilities = corrected.to_review()
    return {
        "table": shown,
        "scores": probabilities,
        # Without calibration (the features are useless), the page shows scores, as `clean` does.
        "confidences": None if isnan(corrected.choices.confidences).any() else probabilities,
        "doubt": corrected.doubt,
        "choices": corrected.choices,
        "given": corrected.given,
        "method": METHODS[request.learning.method].name if request.learning.method else "",
    }


def _next_command(source: str, corrections: str) -> str:
    """The command that uses the corrections, with the options of the table and the method."""
    from ambilearn.cli.clean import clean

    name = Path("table.csv" if source == "-" else source)
    suffix = name.suffix if name.suffix.lower() in (".tsv", ".parquet", ".jsonl") else ".csv"
    cleaned = name.with_name(f"{name.stem}-cleaned{suffix}")
    return command_line(click.get_current_context(), clean, checked=corrections, out=str(cleaned))


def _describe_images(console: Console, image: str | None, images: Any) -> None:
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
