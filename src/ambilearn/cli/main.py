"""The command line."""

import os
import sys
from typing import Any

import click

from ambilearn import __version__
from ambilearn.cli.audit import audit
from ambilearn.cli.clean import clean
from ambilearn.cli.commands import Group
from ambilearn.cli.console import DEBUG, EXPECTED, describe_error
from ambilearn.cli.data import data
from ambilearn.cli.fit import fit
from ambilearn.cli.paper import paper
from ambilearn.cli.predict import predict
from ambilearn.cli.review import review


class _OneLineErrors(Group):
    """A group whose commands report any error as one message, without a traceback."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        try:
            return super().main(*arguments, **options)
        except Exception as error:
            unexpected = not isinstance(error, EXPECTED)
            if not options.get("standalone_mode", True) or (unexpected and os.environ.get(DEBUG)):
                raise
            click.ClickException(describe_error(error)).show()
            _discard_output()
            sys.exit(1)


def _discard_output() -> None:
    """Discard unwritten output, so that Python does not fail again when it exits."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(
    cls=_OneLineErrors,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
)
@click.version_option(__version__, prog_name="ambilearn")
def main() -> None:
    """Learn from ambiguous labels: each training row has several candidate labels; one is correct.

    To start, use your own table (`ambilearn clean TABLE --candidates COLUMN`), list the data sets
    (`ambilearn data list`), or run a short experiment (`ambilearn paper run demo --quick`).
    """


for command in (clean, review, audit, fit, predict, data, paper):
    main.add_command(command)
