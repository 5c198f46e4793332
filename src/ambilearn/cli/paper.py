"""The commands ``ambilearn paper``; :mod:`ambilearn.experiments` does the work."""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ambilearn._utils.text import pluralize
from ambilearn.cli.commands import Group
from ambilearn.cli.console import Console
from ambilearn.cli.options import WRITTEN_FILE
from ambilearn.cli.outputs import check_outputs
from ambilearn.cli.paper_run import FOLDER, OUTPUT, chosen_specs, experiment_options, run

if TYPE_CHECKING:
    from ambilearn.experiments.results import ExperimentResults
    from ambilearn.experiments.store import Store


_out_folder = partial(click.option, "--out", type=FOLDER, metavar="FOLDER")


@click.group(cls=Group)
def paper() -> None:
    """Repeat the experiments of the PL-CL paper."""


paper.add_command(run)


def _open_results(store: Path, **choice: Any) -> tuple[list["ExperimentResults"], "Store"]:
    """Results of the chosen experiments in an existing store, and the open store."""
    from ambilearn.experiments.results import ExperimentResults
    from ambilearn.experiments.store import Store

    specs = chosen_specs(**choice)
    try:
        opened = Store(store, create=False)
    except FileNotFoundError as error:
        raise click.ClickException(str(error)) from error
    return [ExperimentResults(spec, opened) for spec in specs], opened


def _check_outputs(
    outputs: list[Path], store: Path, *, names: tuple[str, ...], **choice: Any
) -> None:
    """Raise an error if an output would overwrite the store, its SQLite files or a spec."""
    database = os.path.realpath(store)
    others = [f"{database}{ending}" for ending in ("-wal", "-shm", "-journal", "-lock")]
    for folder in {path.parent for path in outputs}:
        folder.mkdir(parents=True, exist_ok=True)
    check_outputs(outputs, [store, *others, *(name for name in names if name.endswith(".toml"))])


def _write(files: list[tuple[Path, bytes]]) -> None:
    """Write and list files."""
    from ambilearn._utils.files import atomic_write

    for path, content in files:
        with atomic_write(path) as file:
            file.write(content)
        Console().say(str(path))


@paper.command()
@experiment_options
@_out_folder(help="Write the tables as Markdown, CSV and LaTeX.")
def tables(store: Path, out: Path | None, **choice: Any) -> None:
    """Show the tables of experiments, and write them with --out."""
    from ambilearn.experiments.report import table_files, to_rich
    from ambilearn.experiments.tables import build_tables

    experiments, opened = _open_results(store, **choice)
    console = Console()
    with opened:
        built = [table for experiment in experiments for table in build_tables(experiment)]
    files = [] if out is None else table_files(built, out)
    _check_outputs([path for path, _ in files], store, **choice)
    for table in built:
        console.print(to_rich(table))
    _write(files)


@paper.command()
@experiment_options
@_out_folder(help="Folder of the figures.", default=OUTPUT / "figures")
def figures(store: Path, out: Path, **choice: Any) -> None:
    """Draw the figures of experiments as SVG and PNG."""
    from ambilearn.experiments.figures import build_figures, figure_files

    experiments, opened = _open_results(store, **choice)
    with opened:
        files = [file for found in experiments for file in figure_files(build_figures(found), out)]
    _check_outputs([path for path, _ in files], store, **choice)
    _write(files)


@paper.command()
@experiment_options
@click.option(
    "--out",
    type=WRITTEN_FILE,
    default=OUTPUT / "report.html",
    metavar="FILE",
    help="File of the report.",
)
def report(store: Path, out: Path, **choice: Any) -> None:
    """Write an HTML page with tables, figures and published numbers."""
    from ambilearn.experiments.report import render_report

    experiments, opened = _open_results(store, **choice)
    with opened:
        _check_outputs([out], store, **choice)
        page = render_report(experiments, opened)
    _write([(out, page.encode())])


@paper.command()
@experiment_options
@_out_folder(help="Write the table as well.")
def verify(store: Path, out: Path | None, **choice: Any) -> None:
    """Compare published and measured numbers.

    The exit status is 1 if tasks of these experiments failed. It does not depend on the
    differences.
    """
    from ambilearn.experiments.report import table_files, to_rich
    from ambilearn.experiments.tables import published_records, verification_table

    experiments, opened = _open_results(store, **choice)
    console = Console()
    with opened:
        table = verification_table(published_records(experiments))
    if table.rows:
        console.print(to_rich(table))
    else:
        specs = ", ".join(experiment.spec.name for experiment in experiments)
        console.say(
            f"The paper has no numbers for {specs} to compare with. `ambilearn paper tables` shows "
            "the measured numbers."
        )
    if out is not None and table.rows:
        files = table_files([table], out)
        _check_outputs([path for path, _ in files], store, **choice)
        _write(files)
    failures = {result.key for experiment in experiments for result in experiment.failures}
    if failures:
        raise click.ClickException(
            f"{pluralize(len(failures), 'task')} failed: see `ambilearn paper report`."
        )
