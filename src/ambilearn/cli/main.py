"""The command line: thin commands, all work is done in the library."""

import errno
from typing import Any

import click

from ambilearn import __version__
from ambilearn.cli.data import data
from ambilearn.cli.experiments import COMMANDS
from ambilearn.cli.help_sections import SectionedGroup
from ambilearn.cli.own_data import clean, fit, predict
from ambilearn.cli.review import review
from ambilearn.datasets.errors import DatasetError


class _OneLineErrors(SectionedGroup):
    """A group whose commands end in one line, not a traceback, where the user can help it."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (DatasetError, OSError, ImportError) as error:
            if getattr(error, "errno", None) == errno.EPIPE:  # the reader has gone: click's to end
                raise
            raise click.ClickException(_one_line(error)) from error


def _one_line(error: Exception) -> str:
    """What an error says; of the system's, which file and why, without its number."""
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"{error.filename}: {error.strerror}."
    return str(error)


@click.group(
    cls=_OneLineErrors,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="ambilearn")
def main() -> None:
    """Learn from ambiguous labels: each training row has several candidate labels, one is right.

    Start with a table of your own, `ambilearn clean TABLE --candidates COLUMN`; with
    `ambilearn data list`; or with `ambilearn reproduce demo --quick`.
    """


main.add_section("Your own table", clean, review, fit, predict)
main.add_section("Data sets", data)
main.add_section("The paper's experiments", *COMMANDS)
