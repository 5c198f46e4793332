"""Help texts with sections: options under titles, commands in the order of use."""

from collections.abc import Callable
from functools import partial
from typing import Any

import click


def section(title: str) -> Callable[..., Callable[[Any], Any]]:
    """``click.option`` for options that a :class:`SectionedCommand` lists under a title."""
    titled = type("TitledOption", (click.Option,), {"section": title})
    return partial(click.option, cls=titled)


class SectionedCommand(click.Command):
    """A command whose help has a section for each title, in the order of the options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, those without title (``--help``) at the end."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx)
            if isinstance(option, click.Option) and record is not None:
                sections.setdefault(getattr(option, "section", "Other"), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


class SectionedGroup(click.Group):
    """A group whose help lists commands as they were added, under titles if there are any."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.sections: dict[str, list[str]] = {}

    def add_section(self, title: str, *commands: click.Command) -> None:
        """Add commands that the help lists under a title."""
        for command in commands:
            self.add_command(command)
            self.sections.setdefault(title, []).append(str(command.name))

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order in which the commands were added, not sorted."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command and the first sentence of its help."""
        width = max(map(len, self.commands))
        limit = formatter.width - 6 - width
        sections = self.sections or {"Commands": list(self.commands)}
        for title, names in sections.items():
            rows = [
                (name.ljust(width), self.commands[name].get_short_help_str(limit)) for name in names
            ]
            with formatter.section(title):
                formatter.write_dl(rows)
