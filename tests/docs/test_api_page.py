"""The API page lists what the library makes public, and nothing else."""

import re
from inspect import ismodule

import pytest
from markdown_pages import ROOT

import ambilearn
from ambilearn import bridges, crowd, datasets, distributed, metrics, review, tables
from ambilearn.registry import METHODS

TEXT = (ROOT / "docs" / "api" / "index.rst").read_text(encoding="utf-8")
LISTED = re.findall(r"^   ([\w.]+)$", TEXT, re.M)
METHODS_PAGE = ".. include:: methods.rst\n"  # written from the registry by docs/conf.py


@pytest.mark.parametrize(
    "module", [ambilearn, bridges, crowd, datasets, distributed, metrics, tables, review]
)
def test_public_names_are_listed(module):
    assert METHODS_PAGE in TEXT
    methods = {method.name for method in METHODS.values() if method.extra is None}
    last = {name.rpartition(".")[2] for name in LISTED}
    assert not last & methods
    modules = {name for name in module.__all__ if ismodule(getattr(module, name))}
    assert set(module.__all__) <= last | methods | modules


def test_no_name_is_listed_twice():
    assert len(LISTED) == len(set(LISTED))
