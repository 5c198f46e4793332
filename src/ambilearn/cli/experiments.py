"""Commands that show the results of experiments; :mod:`ambilearn.experiments` does the work."""

import os
from pathlib import Path
from typing import Any

import click

from ambilearn._utils.text import pluralize
from ambilearn.cli.console import Console
from ambilearn.cli.experiment_options import (
    OUTPUT,
    chosen_specs,
    common_options,
    file_option,
    path_type,
)
from ambilearn.cli.help_sections import SectionedCommand
from ambilearn.cli.outputs import check_outputs
from ambilearn.cli.reproduce import reproduce


def _open_results(store: Path, **choice: Any) -> Any:
    """Results of the chosen experiments in an existing store, and the open store."""
    from ambilearn.cli.reproduce_summary import describe_damage
    from ambilearn.experiments.results import ExperimentResults
    from ambilearn.experiments.store import Store

    specs = chosen_specs(**choice)
    try:
        opened = Store(store, create=False)
    except FileNotFoundError as error:
        raise click.ClickException(str(error)) from error
    describe_damage(Console(stderr=True), opened)
    return [ExperimentResults(spec, opened) for spec in specs], opened


def _check_outputs(
    outputs: list[Path], store: Path, *, names: tuple[str, ...], **choice: Any
) -> None:
    """Raise an error if an output would overwrite the store, its SQLite files or a spec."""
    database = os.path.realpath(store)
    logs = [f"{database}{ending}" for ending in ("-wal", "-shm", "-journal")]
    for folder in {path.parent for path in outputs}:
        folder.mkdir(parents=True, exist_ok=True)
    check_outputs(outputs, [store, *logs, *(name for name in names if name.endswith(".toml"))])


@click.command(cls=SectionedCommand)
@common_options
@file_option(
    "--output",
    type=path_type(file_okay=False),
    metavar="FOLDER",
    help="Write the tables as Markdown, CSV and LaTeX.",
)
def tables(store: Path, output: Path | None, **choice: Any) -> None:
    """Show the tables of experiments, and write them with --output."""
    from ambilearn.experiments.render import table_files, to_rich, write_tables
    from ambilearn.experiments.tables import build_tables

    experiments, opened = _open_results(store, **choice)
    console = Console()
    with opened:
        built = [table for experiment in experiments for table in build_tables(experiment)]
        if output is not None:
            _check_outputs(table_files(built, output), store, **choice)
        for table in built:
            console.print(to_rich(table))
            if output is not None:
                _list_files(console, write_tables([table], output))


@click.command(cls=SectionedCommand)
@common_options
@file_option(
    "--output",
    type=path_type(file_okay=False),
    default=OUTPUT / "figures",
    show_default=True,
    metavar="FOLDER",
    help="Folder of the figures.",
)
def figures(store: Path, output: Path, **choice: Any) -> None:
    """Draw the figures of experiments as SVG and PNG."""
    from ambilearn.experiments.figures import build_figures, figure_files, write_figures

    experiments, opened = _open_results(store, **choice)
    with opened:
        built = [build_figures(experiment) for experiment in experiments]
        _check_outputs([f for found in built for f in figure_files(found, output)], store, **choice)
        for found in built:
            _list_files(Console(), write_figures(found, output))


@click.command(cls=SectionedCommand)
@common_options
@file_option(
    "--output",
    type=path_type(dir_okay=False),
    default=OUTPUT / "report.html",
    show_default=True,
    metavar="FILE",
    help="File of the report.",
)
def report(store: Path, output: Path, **choice: Any) -> None:
    """Write an HTML page with tables, figures and published numbers."""
    from ambilearn._utils.files import atomic_write
    from ambilearn.experiments.report import render_report

    experiments, opened = _open_results(store, **choice)
    with opened:
        _check_outputs([output], store, **choice)
        page = render_report(experiments, opened)
    with atomic_write(output) as file:
        file.write(page.encode())
    _list_files(Console(), [output])


@click.command(cls=SectionedCommand)
@common_options
@file_option(
    "--output", type=path_type(file_okay=False), metavar="FOLDER", help="Write the table as well."
)
def verify(store: Path, output: Path | None, **choice: Any) -> None:
    """Compare published and measured numbers.

    The exit status is 1 if tasks of these experiments failed. It does not depend on the
    differences.
    """
    from ambilearn.experiments.render import table_files, to_rich, write_tables
    from ambilearn.experiments.verify import checks, verification_table

    experiments, opened = _open_results(store, **choice)
    console = Console()
    with opened:
        table = verification_table(checks(experiments))
    if table.rows:
        console.print(to_rich(table))
    else:
        specs = ", ".join(experiment.spec.name for experiment in experiments)
        console.say(
            f"The paper has no numbers for {specs} to compare with. `ambilearn tables` shows the "
            "measured numbers."
        )
    if output is not None and table.rows:
        _check_outputs(table_files([table], output), store, **choice)
        _list_files(console, write_tables([table], output))
    failures = {result.key for experiment in experiments for result in experiment.failures}
    if failures:
        raise click.ClickException(
            f"{pluralize(len(failures), 'task')} failed: see `ambilearn report`."
        )


def _list_files(console: Console, files: list[Path]) -> None:
    for path in files:
        console.say(str(path))


COMMANDS = (reproduce, tables, figures, report, verify)
