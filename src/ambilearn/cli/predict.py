"""The command `predict`."""

from pathlib import Path

import click

from ambilearn._utils.text import pluralize
from ambilearn.cli.console import user_console
from ambilearn.cli.help_sections import SectionedCommand, section
from ambilearn.cli.outputs import check_outputs, table_writer
from ambilearn.cli.table_options import (
    check_device,
    device_option,
    format_options,
    image_folder_option,
    output_options,
    source_and_format,
)


@click.command(
    cls=SectionedCommand,
    epilog="Example: ambilearn predict people.model new.csv --out labeled.csv",
)
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("table")
@format_options
@image_folder_option
@device_option(section("Work"))
@output_options
def predict(
    model: Path,
    table: str,
    format: str | None,
    delimiter: str | None,
    decimal: str,
    image_folders: tuple[Path, ...],
    device: str | None,
    out: Path,
    prefix: str,
    escape_formulas: bool,
) -> None:
    """Label the rows of a table with a model saved by `fit`.

    Writes TABLE (CSV, Excel, Parquet or JSON lines; - is standard input) with four new columns:
    label, its score from 0 to 1, its confidence (the probability that it is correct; empty if the
    model is not calibrated), and its margin over the score of the second-best label. TABLE must
    have the feature columns of the model; other columns are kept. For an image model, these are
    names of files in the folder of TABLE or its subfolders.
    """
    with user_console() as console:
        check_outputs([out], [model, table])
        check_device(console, device)
        console.show("loading the model")
        from ambilearn.datasets.frames import read_frame, source_name
        from ambilearn.tables.model_file import load_table_model

        write = table_writer(
            console,
            table,
            out,
            format=format,
            delimiter=delimiter,
            decimal=decimal,
            escape_formulas=escape_formulas,
        )
        loaded = load_table_model(model)
        console.show("reading the table")
        source, format = source_and_format(table, format)
        frame = read_frame(source, format=format or None, delimiter=delimiter)
        console.show(f"labeling {pluralize(len(frame), 'row')}")
        labeled = loaded.predict(
            frame,
            source_name(source),
            prefix=prefix,
            device=device,
            decimal=decimal,
            image_folders=image_folders,
        )
        console.say(
            f"{source_name(source)}: {pluralize(len(frame), 'row')} labeled by "
            f"{loaded.about['method']}"
        )
        if loaded.calibration.inverse_temperature is None:
            console.say(f"confidence is empty: {loaded.calibration.reason}")
        write(labeled, [f"{prefix}label"])
