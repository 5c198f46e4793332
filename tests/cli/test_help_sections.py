import click
import pytest
from click.testing import CliRunner

from ambilearn.cli.help_sections import SectionedCommand, SectionedGroup, section

cake_option = section("Cake")
tea_option = section("Tea")


@click.command(cls=SectionedCommand)
@click.argument("guest")
@cake_option("--sugar", metavar="SPOONS", type=int, default=2, show_default=True, help="How sweet.")
@tea_option("--milk", is_flag=True, help="White tea.")
@cake_option("--cream", is_flag=True, help="On top.")
@tea_option("--secret", hidden=True)
def invite(guest, sugar, milk, cream, secret):
    """Invite a guest. The list of commands does not show this sentence."""
    click.echo(f"{guest} {sugar} {milk} {cream}")


def help_of(command, *arguments):
    return CliRunner().invoke(command, [*arguments, "--help"]).output


def test_options_are_listed_under_their_titles():
    text = help_of(invite).partition("\nCake:\n")[2]
    assert " ".join(text.split()) == (
        "--sugar SPOONS How sweet. [default: 2] --cream On top. Tea: --milk White tea. "
        "Other: --help Show this message and exit."
    )


def test_options_work_as_any_other():
    ran = CliRunner().invoke(invite, ["Ann", "--sugar", "3", "--milk"])
    assert ran.output == "Ann 3 True False\n"
    assert "is not a valid integer" in CliRunner().invoke(invite, ["Ann", "--sugar", "x"]).output


def group(*names):
    made = SectionedGroup("party")
    commands = [click.Command(name, help=f"Do {name}. And more.") for name in names]
    return made, commands


def test_commands_are_listed_as_they_were_added():
    made, commands = group("zoo", "bar", "cinema")
    for command in commands:
        made.add_command(command)
    lines = help_of(made).partition("Commands:\n")[2].splitlines()
    assert lines == ["  zoo     Do zoo.", "  bar     Do bar.", "  cinema  Do cinema."]


def test_commands_are_listed_under_their_titles():
    made, (zoo, bar, cinema) = group("zoo", "bar", "cinema")
    made.add_section("Day", zoo)
    made.add_section("Night", cinema, bar)
    assert help_of(made).endswith(
        "Day:\n  zoo     Do zoo.\n\nNight:\n  cinema  Do cinema.\n  bar     Do bar.\n"
    )
    assert "Commands:" not in help_of(made)


@pytest.mark.parametrize("name", ["zoo", "bar"])
def test_commands_run(name):
    made, commands = group("zoo", "bar")
    made.add_section("Day", *commands)
    assert CliRunner().invoke(made, [name]).exit_code == 0
