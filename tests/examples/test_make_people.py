"""The table of the README is what its script makes."""

import io

import numpy as np
import pandas as pd
import pytest
from examples_folder import load
from markdown_pages import ROOT

make_people = load("make_people")


@pytest.fixture(scope="module")
def made():
    return make_people.make_people()


def test_the_file_is_the_one_the_script_writes(made):
    table, _ = made
    written = io.StringIO()
    table.to_csv(written, index=False, lineterminator="\n")
    assert (ROOT / "examples" / "people.csv").read_text(encoding="utf-8") == written.getvalue()


def test_the_right_name_is_always_a_candidate(made):
    table, truth = made
    sets = [set(names.split("|")) for names in table["names"]]
    assert all(name in names for name, names in zip(truth, sets, strict=True))
    assert np.mean([len(names) for names in sets]) > 1.5


def test_it_has_what_tables_have(made):
    """Numbers, text and missing cells of both, so that the README's command meets them."""
    table, _ = made
    kinds = {name: pd.api.types.is_numeric_dtype(table[name]) for name in table}
    assert kinds["height_cm"]
    assert not kinds["hair"]
    assert table["height_cm"].isna().sum() == 1
    assert table["hair"].isna().sum() == 1
