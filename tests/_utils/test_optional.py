import pytest

from ambilearn._utils.optional import requires_extra


def test_error_names_package_and_extra():
    with (
        pytest.raises(ImportError) as caught,
        requires_extra("data", purpose="Reading tables"),
    ):
        import no_such_package.inner  # noqa: F401
    assert str(caught.value) == (
        "Reading tables needs no_such_package: pip install 'ambilearn[data]'"
    )
    assert caught.value.name == "no_such_package"


def test_a_missing_dependency_of_a_package_is_named(tmp_path, monkeypatch):
    (tmp_path / "half_there.py").write_text("import no_such_package\n")
    monkeypatch.syspath_prepend(tmp_path)
    with (
        pytest.raises(ImportError, match="This needs no_such_package: "),
        requires_extra("cli", purpose="This"),
    ):
        import half_there  # noqa: F401


def test_errors_of_broken_packages_are_unchanged(tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text("raise ImportError('libbroken.so is of another system')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with (
        pytest.raises(ImportError, match=r"^libbroken\.so is of another system$"),
        requires_extra("cli", purpose="This"),
    ):
        import broken  # noqa: F401


def test_missing_module_of_the_library_is_a_bug():
    with (
        pytest.raises(ModuleNotFoundError, match=r"No module named 'ambilearn\.no_such_module'"),
        requires_extra("cli", purpose="This"),
    ):
        import ambilearn.no_such_module  # noqa: F401
