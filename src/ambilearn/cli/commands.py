"""Commands with a short and a complete help, and the checks of values of options."""

import os
from collections.abc import Collection, Iterable
from inspect import cleandoc
from typing import Any

import click

from ambilearn.registry import find_method


class Command(click.Command):
    """A command with a short ``--help`` and a complete ``--help-all``.

    The short help has the first two paragraphs of the description and the options named in
    ``common``.
    """

    def __init__(self, *arguments: Any, common: Collection[str], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._common = common

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The options, with ``--help-all`` at the end."""
        return [*super().get_params(ctx), _HELP_ALL]

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first two paragraphs of the description, or all."""
        whole = cleandoc(self.help or "")
        text = whole if _HELP_ALL.name in ctx.meta else "\n\n".join(whole.split("\n\n")[:2])
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the common options, or all of them in sections."""
        complete = _HELP_ALL.name in ctx.meta
        sections: dict[str, list[tuple[str, str]]] = {}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            title = getattr(option, "section", "Other")
            if record is not None and (complete or title == "Other" or option.name in self._common):
                sections.setdefault(title if complete else "Options", []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


class Group(click.Group):
    """A group whose help lists commands in the order in which they were added."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in this order."""
        return list(self.commands)


def _show_all(ctx: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[str(parameter.name)] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


_HELP_ALL = click.Option(
    ["--help-all"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="Show all options and exit.",
)


def one_character(
    context: click.Context, parameter: click.Parameter, text: str | None
) -> str | None:
    """A character, also as an escape sequence."""
    sign = "\t" if text == "\\t" else text
    if sign is not None and (len(sign) != 1 or sign in '"\r\n'):
        raise click.BadParameter("must be one character, such as ';' or '\\t'.")
    return sign


def models_of_columns(
    context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str]:
    """Texts ``COLUMN=MODEL`` as a dictionary."""
    models = {}
    for text in texts:
        column, equals, model = text.partition("=")
        if not (column and equals and model):
            raise click.BadParameter(f"must be COLUMN=MODEL; got {text!r}.")
        if column in models:
            raise click.BadParameter(f"the column {column!r} is given twice.")
        models[column] = model
    return models


def go_offline(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    """Tell the libraries of pretrained networks to download nothing."""
    if value:
        os.environ["HF_HUB_OFFLINE"] = "1"


def method_name(context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    """The name of a method on the command line, for any spelling such as ``PL-CL``."""
    try:
        return None if text is None else find_method(text).command_name
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def reject_options(names: Iterable[str], why: str) -> None:
    """Raise an error if one of these options is on the command line."""
    context = click.get_current_context()
    for option in context.command.params:
        source = context.get_parameter_source(str(option.name))
        if option.name in names and source is click.core.ParameterSource.COMMANDLINE:
            spelled = option.secondary_opts if context.params[option.name] is False else option.opts
            raise click.UsageError(f"{spelled[0]} {why}")
