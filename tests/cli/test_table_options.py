import re

import click
import pytest
from problems import ambiguous

from ambilearn import find_doubtful
from ambilearn.cli.table_options import doubt_option, source_and_format
from ambilearn.registry import installed_methods


def test_the_help_of_no_doubt_names_the_methods_that_are_fitted_five_times():
    X, Y, _ = ambiguous(n=30)

    def is_fitted_again(method):
        said = []
        estimator = method.load()()
        if method.extra:
            estimator.set_params(epochs=1)
        find_doubtful(X, Y, estimator=estimator, progress=said.append)
        return any("fit 5 of 5" in text for text in said)

    (option,) = doubt_option(click.Command("c", callback=lambda: None)).params
    (named,) = re.findall(r"such as (\w+), (\w+) and (\w+),", option.help)
    installed = installed_methods()
    again = {name for name, method in installed.items() if is_fitted_again(method)}
    assert set(named) & set(installed) <= again
    assert {"plcl", "sure", "lalo", "plaggd", "plknn"}.isdisjoint(again)


@pytest.mark.parametrize(
    ("table", "format", "expected"),
    [
        ("t.csv", None, "csv"),
        ("folder/T.PARQUET", None, "parquet"),
        ("t.txt", "tsv", "tsv"),
        ("t.txt", None, ""),
        ("t.csv", "jsonl", "jsonl"),
    ],
)
def test_the_format_of_a_file(table, format, expected):
    assert source_and_format(table, format) == (table, expected)


@pytest.mark.parametrize(("format", "expected"), [(None, "csv"), ("parquet", "parquet")])
def test_standard_input_is_csv_by_default(format, expected):
    source, found = source_and_format("-", format)
    assert hasattr(source, "read")
    assert found == expected
