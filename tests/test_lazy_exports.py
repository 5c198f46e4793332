import sys
from types import ModuleType

import pytest

import ambilearn
from ambilearn import datasets, own_data
from ambilearn.lazy_exports import lazy_exports


@pytest.fixture
def package(monkeypatch):
    """A package with a module ``inner`` that defines ``answer``."""
    outer, inner = ModuleType("their_package"), ModuleType("their_package.inner")
    inner.answer = 42
    outer.__path__ = []
    outer.__getattr__, outer.__dir__ = lazy_exports("their_package", {"answer": "inner"})
    monkeypatch.setitem(sys.modules, "their_package", outer)
    monkeypatch.setitem(sys.modules, "their_package.inner", inner)
    return outer


def test_a_name_comes_from_its_home(package):
    from their_package import answer

    assert answer == package.answer == 42
    assert "answer" not in vars(package)


def test_an_unknown_name_is_missing_as_usual(package):
    with pytest.raises(AttributeError, match="module 'their_package' has no attribute 'question'"):
        package.question  # noqa: B018
    assert not hasattr(package, "question")


def test_names_are_listed_before_they_are_imported(package):
    assert "answer" in dir(package)
    assert "__path__" in dir(package)


@pytest.mark.parametrize("package", [ambilearn, datasets, own_data], ids=lambda each: each.__name__)
def test_our_packages_have_all_that_they_promise_and_nothing_else(package):
    assert sorted(package.__all__) == sorted(package._HOMES)
    assert set(package.__all__) <= set(dir(package))
    for name in package.__all__:
        assert getattr(package, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'misspelt'"):
        _ = package.misspelt
