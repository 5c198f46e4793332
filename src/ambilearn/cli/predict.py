"""The command `predict`."""

from pathlib import Path
from typing import Any

import click

from ambilearn._utils.text import pluralize
from ambilearn.cli.commands import Command
from ambilearn.cli.console import user_console
from ambilearn.cli.options import (
    device_option,
    embed_options,
    format_options,
    image_folder_option,
    output_options,
)
from ambilearn.cli.outputs import check_outputs, table_writer
from ambilearn.cli.request import check_device, file_format, open_table


@click.command(
    cls=Command,
    common=("delimiter", "encoding", "sheet", "embed", "device", "out", "prefix"),
    epilog="Example: ambilearn predict people.model new.csv --out labeled.csv",
)
@click.argument("model", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("table")
@format_options
@embed_options
@image_folder_option
@device_option
@output_options
def predict(
    model: Path,
    table: str,
    embed: dict[str, str],
    image_folders: tuple[Path, ...],
    device: str | None,
    out: Path,
    prefix: str,
    escape_formulas: bool,
    **options: Any,
) -> None:
    """Label the rows of a table with a model saved by `fit`.

    Writes TABLE (CSV, Excel, Parquet or JSON; - is standard input) with three new columns:
    label, its score from 0 to 1, and its confidence (the probability that it is correct; empty if
    the model is not calibrated).

    TABLE must have the feature columns of the model; other columns are kept. For an image model,
    these are names of files in the folder of TABLE or its subfolders.
    A model with --embed finds its pretrained networks by name; --embed COLUMN=FOLDER names another
    place of the same weights.
    """
    with user_console() as console:
        check_outputs([out], [model, table])
        check_device(console, device)
        console.show("loading the model")
        from ambilearn.tables.model_file import load_table_model

        file = file_format(table, options)
        write = table_writer(console, table, out, file, escape_formulas=escape_formulas)
        loaded = load_table_model(model)
        loaded.use_models(embed)
        console.show("reading the table")
        name, frame = file.read(open_table(table))
        console.show(f"labeling {pluralize(len(frame), 'row')}")
        labeled = loaded.predict(
            frame,
            name,
            prefix=prefix,
            device=device,
            decimal=file.decimal,
            image_folders=image_folders,
        )
        console.say(f"{name}: {pluralize(len(frame), 'row')} labeled by {loaded.about['method']}")
        if loaded.calibration.inverse_temperature is None:
            console.say(f"confidence is empty: {loaded.calibration.reason}")
        write(labeled, [f"{prefix}label"])
