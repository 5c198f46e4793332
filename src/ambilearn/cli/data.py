"""The commands on data sets: list, fetch, check."""

from pathlib import Path
from typing import Any

import click

from ambilearn.cli.commands import Group
from ambilearn.cli.console import Console
from ambilearn.cli.options import data_home_option
from ambilearn.datasets.errors import DatasetError


@click.group(cls=Group)
def data() -> None:
    """List, download and check the data sets."""


@data.command("list")
@data_home_option
def list_command(data_home: Path | None) -> None:
    """List the data sets that can be loaded by name."""
    from ambilearn.datasets import list_datasets
    from ambilearn.datasets.registry import search_folders

    console = Console()
    console.table(
        ["name", ">rows", ">features", ">labels", ">candidates", "on this machine"],
        (
            (
                *(entry.name, entry.n_rows, entry.n_features, entry.n_labels),
                f"{entry.mean_candidates:.2f}" if entry.mean_candidates else "–",
                "yes" if entry.available else "no",
            )
            for entry in list_datasets(data_home=data_home)
        ),
    )
    console.print(
        "\n[bold]candidates[/bold] is the mean number of candidate labels per row, – for ordinary "
        "data sets. [bold]ambilearn data fetch NAME[/bold] downloads a data set. Searched folders:"
    )
    for folder in search_folders(data_home):
        console.say(f"  {folder}")


@data.command()
@click.argument("names", nargs=-1, metavar="NAME...")
@click.option("--all", "everything", is_flag=True, help="Download all data sets.")
@click.option("--force", is_flag=True, help="Download again, and replace an existing file.")
@data_home_option
def fetch(names: tuple[str, ...], everything: bool, force: bool, data_home: Path | None) -> None:
    """Download data sets and verify their checksums.

    Files that are already on this machine are only verified. The exit status is 0 if all requested
    data sets are available afterwards, otherwise 1.
    """
    from ambilearn.datasets.registry import fetch_file

    entries = _entries(names, everything)
    console, failed = Console(), False
    for info in entries:
        if not info.file:
            console.say(f"{info.name}: part of scikit-learn, nothing to download")
            continue
        try:
            console.show(f"downloading {info.name}")
            path = fetch_file(info, data_home, force=force)
        except DatasetError as error:
            failed = True
            console.error(f"{info.name}: {error}")
            continue
        finally:
            console.close()
        console.say(f"{info.name}: {path}")
        console.say(f"  license: {info.license}")
    if failed:
        raise SystemExit(1)


@data.command()
@click.argument("names", nargs=-1, metavar="[NAME...]")
@data_home_option
def check(names: tuple[str, ...], data_home: Path | None) -> None:
    """Verify the data sets on this machine: checksums, sizes, labels.

    Reads every file completely. The exit status is 1 if a file is wrong, or if a data set that is
    named on the command line is missing.
    """
    from ambilearn.datasets.load import load
    from ambilearn.datasets.registry import find_file, verify

    console, failed = Console(), False
    for info in _entries(names, everything=not names):
        path = find_file(info, data_home) if info.file else None
        if info.file and path is None:
            failed |= bool(names)
            console.say(f"{info.name:<14} not on this machine")
            continue
        try:
            if path is not None:
                verify(path, info)
            loaded = load(info, data_home=data_home, download=False)
        except DatasetError as error:
            failed = True
            console.error(f"{info.name}: {error}")
            continue
        console.say(f"{info.name:<14} ok: {str(loaded).partition(': ')[2].rstrip('>')}")
    if failed:
        raise SystemExit(1)


def _entries(names: tuple[str, ...], everything: bool) -> list[Any]:
    from ambilearn.datasets.registry import find_dataset, registry

    if everything:
        return list(registry().values())
    if not names:
        raise click.UsageError(
            "Name at least one data set (see `ambilearn data list`), or use --all."
        )
    try:
        return [find_dataset(name) for name in names]
    except DatasetError as error:
        raise click.UsageError(str(error)) from error
