"""The command ``ambilearn reproduce``; what it does is :mod:`.reproduce`."""

from pathlib import Path

import click

from ambilearn.cli.experiment_options import (
    choice_option,
    chosen_specs,
    common_options,
    console_of_user,
    experiment_option,
    file_option,
    path_type,
    work_option,
)
from ambilearn.cli.help_sections import SectionedCommand


@click.command(cls=SectionedCommand)
@common_options
@experiment_option("--methods", metavar="A,B", help="Only these methods, such as PL-CL or plcl.")
@experiment_option("--data", "sets", metavar="A,B", help="Only these data sets.")
@choice_option(
    "--select",
    type=click.Choice(["fixed", "label-free", "oracle"]),
    default="fixed",
    show_default=True,
    help="How hyper-parameters are chosen, for methods that the paper tunes. The oracle sees the "
    "test labels: an upper bound.",
)
@choice_option(
    "--search",
    default="halving:16",
    show_default=True,
    metavar="HOW",
    help="Points of the paper's grid that are tried: random:N, halving:N, or grid for all.",
)
@choice_option(
    "--scoring",
    type=click.Choice(["covering", "approximated"]),
    default="covering",
    show_default=True,
    help="What a label-free choice looks at: the covering rate, or approximated accuracy.",
)
@work_option(
    "--jobs",
    type=click.IntRange(1),
    metavar="N",
    help="Processes; without it, one per core.",
)
@work_option(
    "--cluster",
    metavar="ADDRESS",
    help="Use the Dask scheduler there, or start a cluster here: local.",
)
@work_option("--again", is_flag=True, help="Measure again what is in the store.")
@file_option(
    "--data-home",
    type=path_type(file_okay=False),
    metavar="FOLDER",
    help="Folder with the data files; without it AMBILEARN_DATA, then your user cache.",
)
def reproduce(
    names: tuple[str, ...],
    quick: bool,
    runs: int | None,
    scaling: str | None,
    store: Path,
    jobs: int | None,
    cluster: str | None,
    select: str,
    search: str,
    scoring: str,
    methods: str | None,
    sets: str | None,
    data_home: Path | None,
    again: bool,
) -> None:
    """Run the paper's experiments, and keep the results.

    What is in the store already is not run again. NAME is an experiment (real-world,
    transductive, controlled, ablation, sensitivity, convergence, demo) or a TOML file of your own;
    without a name, all of the paper's. Stop it at any time and start it again. The exit status is
    1 if a task failed.
    """
    from ambilearn.cli.reproduce_run import reproduce as run
    from ambilearn.experiments.search import parse_search

    try:
        how = parse_search(search, scoring)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    specs = chosen_specs(names, quick, runs, scaling)
    tasks = [task for spec in specs for task in spec.tasks(select, how)]
    wanted = _datasets(sets), _estimators(methods)
    tasks = [
        t
        for t in tasks
        if (wanted[0] is None or t.data in wanted[0])
        and (wanted[1] is None or t.method in wanted[1])
    ]
    if not tasks:
        raise click.UsageError("Nothing is left to do with these --methods and --data.")
    try:
        failed = run(
            tasks,
            store,
            jobs=jobs or -1,
            cluster=cluster,
            data_home=data_home,
            again=again,
            console=console_of_user(),
        )
    except KeyboardInterrupt as stop:
        raise click.ClickException(
            f"Stopped. What was done is kept in {store}; the same command goes on from there."
        ) from stop
    if failed:
        raise SystemExit(1)


def _split_names(text: str | None) -> set[str] | None:
    return None if text is None else {name.strip() for name in text.split(",")}


def _datasets(text: str | None) -> set[str] | None:
    from ambilearn.datasets.registry import find_dataset

    names = _split_names(text)
    try:
        return names and {find_dataset(name).name for name in names}
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def _estimators(text: str | None) -> set[str] | None:
    from ambilearn.registry import find_method

    names = _split_names(text)
    try:
        return names and {find_method(name).name for name in sorted(names)}
    except ValueError as error:
        raise click.UsageError(str(error)) from error
