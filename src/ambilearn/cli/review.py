"""The command that writes a review page: thin, all work is done in the modules beside."""

from pathlib import Path
from shlex import join
from typing import Any

import click

from ambilearn._utils.text import pluralize
from ambilearn.cli.console import Console, user_console
from ambilearn.cli.help_sections import SectionedCommand, section
from ambilearn.cli.outputs import check_outputs
from ambilearn.cli.table_options import (
    candidate_options,
    check_device,
    doubt_option,
    method_options,
    output_option,
    read_for_command,
)
from ambilearn.cli.votes import (
    check_skills,
    no_answer_option,
    plan_for_command,
    skills_option,
)

image_option = section("Images")


@click.command(
    cls=SectionedCommand,
    epilog="Example: ambilearn review people.csv --candidates names --out review.html",
)
@click.argument("table")
@candidate_options
@no_answer_option
@skills_option
@method_options
@doubt_option
@image_option(
    "--image",
    metavar="COLUMN",
    help="Column with paths or addresses of images. By default the first column whose cells end "
    "like images (.jpg, .png, …).",
)
@image_option("--no-images", is_flag=True, help="Show no images.")
@image_option(
    "--embed-images",
    is_flag=True,
    help="Put local images into the page, so that it can be moved or sent; large ones are made "
    "smaller. By default the page refers to them.",
)
@image_option(
    "--image-folder",
    "image_folders",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Take images from this folder, too; can be repeated. By default the page only has images "
    "from the folder of the table and the folders below it.",
)
@output_option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default="review.html",
    show_default=True,
    metavar="FILE",
    help="Where to write the page.",
)
def review(
    table: str,
    method: str | None,
    select: bool,
    settings: tuple[str, ...],
    n_landmarks: int | None,
    seed: int,
    device: str | None,
    no_doubt: bool,
    skills: bool | None,
    image: str | None,
    no_images: bool,
    embed_images: bool,
    image_folders: tuple[Path, ...],
    out: Path,
    **reading: Any,
) -> None:
    """Write a page on which a person settles the labels of a table.

    The page is one HTML file for any browser, without server and network: candidates of TABLE
    (CSV, Excel, Parquet or JSON lines; - is standard input) with their confidences as bars, the
    row to look at first at the top, a suggestion where the truth is probably none of them, images,
    keys to accept or correct. It keeps your work, and saves it as a CSV file that `clean`, `fit`
    and `review` take by --corrections. Where annotators answered, in a column each, they are judged
    as by `clean`, and the page shows the labels that this leaves.
    """
    if image is not None and no_images:
        raise click.UsageError("--image and --no-images exclude each other.")
    if out.suffix.lower() not in (".html", ".htm"):
        raise click.UsageError(f"{out}: the page is an HTML file, let its name end in .html.")
    with user_console() as console:
        check_outputs([out], [table, reading["corrections"]])
        check_skills(skills, reading["min_votes"])
        check_device(console, device)
        console.show("reading the table")  # from here on: the imports take a while
        from ambilearn.backend import HOST
        from ambilearn.cli.result_summary import (
            describe_accuracy,
            describe_doubt,
            describe_model,
        )
        from ambilearn.datasets.frames import check_columns
        from ambilearn.registry import METHODS
        from ambilearn.review.from_table import drop_feature, image_column, review_from_table
        from ambilearn.review.images import Images
        from ambilearn.review.page import write_review
        from ambilearn.tables.clean import judge_candidates
        from ambilearn.tables.model import fit_table

        read = read_for_command(table, **reading)
        if image is not None:
            check_columns(read.name, read.frame, [image])
        elif not no_images:
            image = image_column(read)
        if image is not None and any(column.name == image for column in read.features.columns):
            read = drop_feature(read, image)
        read, method, params, select = plan_for_command(
            console,
            read,
            method,
            settings,
            n_landmarks,
            select=select,
            seed=seed,
            skills=skills,
            min_votes=reading["min_votes"],
        )
        model = fit_table(
            read,
            method,
            params,
            select=select,
            random_state=seed,
            device=device,
            progress=console.stage,
        )
        read = read.with_min_votes(model.min_votes)  # as it was learned
        describe_model(console, model, params)
        describe_accuracy(console, read, model.method.transduction_)
        doubt = None
        if not no_doubt:  # a person's time is dearer than the machine's: hence thorough
            doubt = judge_candidates(model, read, seed, console.stage, device, thorough=True)
        describe_doubt(console, read, doubt)
        console.show("writing the page")
        confidences = HOST.support(read.candidates).gather(model.method.label_distributions_)
        table_folder = Path.cwd() if table == "-" else Path(table).parent
        images = Images(table_folder, out.parent, embed_images, image_folders)
        name = METHODS[method].name
        review_page = review_from_table(
            read, confidences, doubt=doubt, method=name, image=image, images=images
        )
        write_review(review_page, out)
        _describe_images(console, image, images)
        console.say(f"wrote {out}: {pluralize(len(review_page.rows), 'row')}; open it in a browser")
        console.say("then use the labels that you downloaded:")
        console.say(f"  {_next_command(table, review_page.download, reading, skills)}")


def _next_command(
    table: str, corrections: str, reading: dict[str, Any], skills: bool | None
) -> str:
    """The command that uses the corrections, with what was said about the table."""
    words = ["ambilearn", "clean", table]
    for option in review.params:
        value = reading.get(option.name)
        if not value or value == option.default or option.name == "corrections":
            continue
        if value is True:
            words.append(option.opts[0])
            continue
        for each in value if isinstance(value, tuple) else [value]:
            words += [option.opts[0], str(each).replace("\t", "\\t")]
    if skills is not None:
        words.append("--skills" if skills else "--no-skills")
    return join([*words, "--corrections", corrections])


def _describe_images(console: Console, image: str | None, images: Any) -> None:
    from ambilearn.review.embedding import Problem

    if image is None:
        return
    console.say(f"images: column {image!r}")
    advice = {
        Problem.NOT_FOUND: "Paths begin in the folder of the table.",
        Problem.OUTSIDE: "Allow the folder they are in by --image-folder FOLDER.",
        Problem.UNREADABLE: "The file is damaged or not an image.",
        Problem.ACTIVE: "Only plain SVG drawings are put into the page.",
        Problem.TOO_LARGE: "Only SVG files up to 16 MB are put into the page.",
    }
    for problem, what_to_do in advice.items():
        cells = [cell for cell, found in images.problems if found is problem]
        if cells:
            console.say(
                f"{pluralize(len(cells), 'image')} cannot be shown ({problem}), the first is "
                f"{cells[0]!r}. {what_to_do}",
                style="yellow",
            )
