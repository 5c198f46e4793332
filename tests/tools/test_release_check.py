"""The release check finds what is wrong; that it passes is seen by running it."""

import importlib.util
import io
import sys
import tarfile
import zipfile

import pytest
from markdown_pages import ROOT

import ambilearn


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("release_check", ROOT / "tools/release_check.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def package():
    """The files of the package, as a wheel names them."""
    source = ROOT / "src"
    return {
        path.relative_to(source).as_posix()
        for path in (source / "ambilearn").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.fixture
def release(check, tmp_path):
    """Function (files of the wheel, files of the sdist, tag) → release with these distributions."""

    def make(in_wheel=(), in_sdist=(), tag=None):
        release = check.Release(tmp_path, tag, all_tests=False)
        release.dist.mkdir()
        name = f"ambilearn-{ambilearn.__version__}"
        with zipfile.ZipFile(release.dist / f"{name}-py3-none-any.whl", "w") as archive:
            for path in in_wheel:
                archive.writestr(path, "")
        with tarfile.open(release.dist / f"{name}.tar.gz", "w:gz") as archive:
            for path in in_sdist:
                archive.addfile(tarfile.TarInfo(f"{name}/{path}"), io.BytesIO())
        return release

    return make


def test_a_wheel_with_all_files_passes(check, release, package):
    whole = {*package, "ambilearn/py.typed", f"ambilearn-{ambilearn.__version__}.dist-info/RECORD"}
    assert "data" in check.wheel(release(whole))


def test_a_wheel_without_data_is_found(check, release, package):
    (lost,) = (name for name in package if name.endswith("registry.toml"))
    with pytest.raises(check.NotReadyError, match=lost):
        check.wheel(release({*package, "ambilearn/py.typed"} - {lost}))


def test_a_wheel_with_tests_is_found(check, release, package):
    with pytest.raises(check.NotReadyError, match=r"tests/conftest\.py"):
        check.wheel(release({*package, "ambilearn/py.typed", "tests/conftest.py"}))


def test_an_sdist_with_all_files_passes(check, release):
    held = [f"{name}x" if name.endswith("/") else name for name in check.SDIST_CONTENT]
    assert check.sdist(release(in_sdist=held))


def test_missing_files_of_an_sdist_are_named(check, release):
    held = [name for name in check.SDIST_CONTENT if not name.startswith("tests")]
    with pytest.raises(check.NotReadyError, match=r"tests/conftest\.py"):
        check.sdist(release(in_sdist=held))


def test_a_tag_of_another_version_is_found(check, release):
    with pytest.raises(check.NotReadyError, match=r"v99\.0"):
        check.version(release(tag="v99.0"))


def test_a_command_must_succeed_unless_it_must_fail(check):
    fails = (sys.executable, "-c", "print('why'); exit(3)")
    with pytest.raises(check.NotReadyError, match=r"(?s)status 3.*why"):
        check.run(*fails)
    assert check.run(*fails, must_fail=True) == "why"
    with pytest.raises(check.NotReadyError, match="status 0"):
        check.run(sys.executable, "-c", "", must_fail=True)


def test_a_failed_check_is_one_line_and_counts(check, release, capsys):
    assert not check._passes(check.version, release(tag="v99.0"))
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("version ")
    assert "FAIL" in line
