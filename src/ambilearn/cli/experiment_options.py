"""Options that the commands of the experiments share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ambilearn.cli.help_sections import section
from ambilearn.experiments.spec_form import MAX_RUNS

# Sections of the help text.
experiment_option = section("Experiments")
choice_option = section("Choice of parameters")
file_option = section("Files")
work_option = section("Work")

STORE = Path("out/results.sqlite")
OUTPUT = Path("out")


def path_type(**options: Any) -> click.Path:
    """Type of an option that is a path."""
    return click.Path(path_type=Path, **options)


def common_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the shared options: experiments, number of runs, store."""
    for add in (
        click.argument("names", nargs=-1, metavar="[NAME]..."),
        experiment_option("--quick", is_flag=True, help="Smaller version of each experiment."),
        experiment_option(
            "--runs", type=click.IntRange(1, MAX_RUNS), metavar="N", help="Number of random splits."
        ),
        experiment_option(
            "--scaling",
            type=click.Choice(["all", "train", "none"]),
            help="Rows over which features are z-scored. By default as defined in the experiment.",
        ),
        file_option(
            "--store",
            type=path_type(dir_okay=False),
            default=STORE,
            show_default=True,
            metavar="FILE",
            help="SQLite file with the results.",
        ),
    )[::-1]:
        command = add(command)
    return command


def chosen_specs(
    names: tuple[str, ...], quick: bool, runs: int | None, scaling: str | None
) -> list[Any]:
    """The named experiments, or all experiments of the paper."""
    from dataclasses import replace

    from ambilearn.experiments.spec import PAPER, SpecError, load_spec

    try:
        specs = [load_spec(name) for name in names or PAPER]
    except SpecError as error:
        raise click.UsageError(str(error)) from error
    specs = [spec.quick_version() if quick else spec for spec in specs]
    specs = [replace(spec, runs=runs) if runs else spec for spec in specs]
    if scaling is None:
        return specs
    return [replace(spec, protocol={**spec.protocol, "scaling": scaling}) for spec in specs]
