"""Build the project, install it and test it in a clean environment: ``make release-check``.

Needs Python and a package index. All work is done in separate environments in a temporary folder.
The source tree is only read.
"""

import argparse
import csv
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAX_DISTRIBUTIONS = 10
TOOLS = ["build", "twine>=7"]  # older versions do not support the metadata of hatchling
SDIST_CONTENT = [
    "CHANGELOG.md",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "LICENSE",
    "Makefile",
    "PKG-INFO",
    "README.md",
    "benchmarks/",
    "docs/conf.py",
    "examples/",
    "pyproject.toml",
    "src/ambilearn/__init__.py",
    "tests/conftest.py",
    "tools/release_check.py",
]

# Tests that read files outside of the package; the other tests are the same in a clone.
READ_FILES = ["tests/docs", "tests/examples", "tests/tools", "tests/test_project_files.py"]
READ_FILES += ["tests/test_readme.py", "tests/test_registry.py"]

DISTRIBUTIONS = """
from importlib.metadata import distributions
print(*{distribution.name for distribution in distributions()})
"""

FIT = """
import numpy as np
import ambilearn
rng = np.random.default_rng(0)
y = np.arange(60) % 3
X = 5 * np.eye(3)[y] + rng.normal(size=(60, 3))
candidates = [{label, (label + rng.integers(3)) % 3} for label in y]
model = ambilearn.PLCL().fit(X, candidates)
right = (model.predict(X) == y).mean()
assert right > 0.9, f"only {right:.0%} of the rows are correct"
print(f"PLCL labels {right:.0%} of {len(y)} rows correctly")
"""

ESTIMATOR_CHECKS = """
import warnings
from sklearn.utils.estimator_checks import check_estimator
from ambilearn import PLCL, PLKNN
warnings.simplefilter("ignore")
# A row with weight two is not equivalent to two rows: it is a single neighbor.
names = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
expected = dict.fromkeys(names, "weighted rows are not repeated rows")
for estimator in (PLCL(), PLKNN()):
    results = check_estimator(
        estimator, on_skip=None, on_fail="raise", expected_failed_checks=expected
    )
    passed = sum(result["status"] == "passed" for result in results)
    print(f"{estimator} passes {passed} of {len(results)}", end=" ")
"""


class NotReadyError(Exception):
    """A problem that must be fixed before a release."""


@dataclass
class Environment:
    """A virtual environment."""

    folder: Path

    def __post_init__(self) -> None:
        run(sys.executable, "-m", "venv", self.folder)

    @property
    def python(self) -> Path:
        """Interpreter of the environment."""
        return self.command("python")

    def command(self, name: str) -> Path:
        """Program installed in the environment."""
        if os.name == "nt":
            return self.folder / "Scripts" / f"{name}.exe"
        return self.folder / "bin" / name

    def install(self, *requirements: object) -> None:
        """Install with pip."""
        quiet = ("--quiet", "--disable-pip-version-check")
        run(self.python, "-m", "pip", "install", *quiet, *requirements)


@dataclass
class Release:
    """Distributions and environments of a release, in a folder outside the source tree."""

    folder: Path
    tag: str | None
    all_tests: bool

    @cached_property
    def tools(self) -> Environment:
        """The programs that build and check distributions."""
        tools = Environment(self.folder / "tools")
        tools.install(*TOOLS)
        return tools

    @cached_property
    def bare(self) -> Environment:
        """Environment with the wheel and its dependencies."""
        bare = Environment(self.folder / "bare")
        bare.install(self.wheel)
        return bare

    @property
    def dist(self) -> Path:
        """The folder of the distributions."""
        return self.folder / "dist"

    @property
    def wheel(self) -> Path:
        """The built wheel."""
        return next(self.dist.glob("*.whl"))

    @property
    def sdist(self) -> Path:
        """The built source distribution."""
        return next(self.dist.glob("*.tar.gz"))

    @cached_property
    def source(self) -> Path:
        """The unpacked source distribution."""
        with tarfile.open(self.sdist) as archive:
            archive.extractall(self.folder / "unpacked", filter="data")
        return next((self.folder / "unpacked").iterdir())

    @property
    def version(self) -> str:
        """The version in the name of the wheel."""
        return self.wheel.name.split("-")[1]


def run(*command: object, cwd: Path | None = None, must_fail: bool = False) -> str:
    """Output of a command, run without the environment variables of this script.

    Raises
    ------
    NotReadyError
        If the command fails; or, if it ``must_fail``, succeeds.
    """
    inside = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "VENV", "MAKEFLAGS", "MAKELEVEL")
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={key: value for key, value in os.environ.items() if key not in inside},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    if bool(done.returncode) != must_fail:
        shown = " ".join(part for part in map(str, command) if "\n" not in part)
        last = "\n".join(done.stdout.splitlines()[-40:])
        raise NotReadyError(f"exit status {done.returncode} of {shown}\n{last}")
    return done.stdout.strip()


def build(release: Release) -> str:
    """Both distributions are built, the wheel from the sdist."""
    run(release.tools.python, "-m", "build", "--outdir", release.dist, ROOT, cwd=release.folder)
    return f"{release.sdist.name}, {release.wheel.name}"


def version(release: Release) -> str:
    """All files have the same version; for a release, also the tag and the changelog."""
    cited = re.search(r"^version: (\S+)$", _text("CITATION.cff"), re.M)[1]
    _need(cited == release.version, f"CITATION.cff has {cited}, the wheel {release.version}")
    if release.tag:
        _need(release.tag == f"v{release.version}", f"the tag is {release.tag}")
        heading = rf"^## {re.escape(release.version)}\b"
        _need(re.search(heading, _text("CHANGELOG.md"), re.M), "the changelog does not have it")
    return release.version


def metadata(release: Release) -> str:
    """PyPI accepts the metadata and renders the README."""
    run(release.tools.python, "-m", "twine", "check", "--strict", release.sdist, release.wheel)
    return "twine has no complaint"


def wheel(release: Release) -> str:
    """The wheel contains only the package with all its data."""
    held = set(zipfile.ZipFile(release.wheel).namelist())
    package = ROOT / "src" / "ambilearn"
    wanted = {
        f"ambilearn/{path.relative_to(package).as_posix()}"
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    _need("ambilearn/py.typed" in held, "py.typed is missing: type checkers ignore the hints")
    _need(wanted <= held, f"missing: {_listed(wanted - held)}")
    other = {name for name in held - wanted if ".dist-info/" not in name}
    _need(not other, f"not part of the package: {_listed(other)}")
    data = [name for name in wanted if not name.endswith((".py", ".pyi", "py.typed"))]
    return f"{len(wanted)} files, {len(data)} of them data"


def sdist(release: Release) -> str:
    """The sdist contains all files to build, test and document the package."""
    with tarfile.open(release.sdist) as archive:
        held = [name.partition("/")[2] for name in archive.getnames()]
    missing = [name for name in SDIST_CONTENT if not any(path.startswith(name) for path in held)]
    _need(not missing, f"missing: {_listed(missing)}")
    return f"{len(held)} files"


def dependencies(release: Release) -> str:
    """The core has few dependencies."""
    listed = run(release.bare.python, "-I", "-c", DISTRIBUTIONS, cwd=release.folder)
    names = set(listed.split()) - {"ambilearn", "pip", "setuptools"}
    _need(len(names) <= MAX_DISTRIBUTIONS, f"{len(names)} are too many: {_listed(names)}")
    return f"{len(names)}: {_listed(names)}"


def fit(release: Release) -> str:
    """The core fits and predicts."""
    return run(release.bare.python, "-I", "-c", FIT, cwd=release.folder)


def estimator_checks(release: Release) -> str:
    """The core passes the checks of scikit-learn."""
    return run(release.bare.python, "-I", "-c", ESTIMATOR_CHECKS, cwd=release.folder)


def no_command_line(release: Release) -> str:
    """Without its extra, the command line prints one line with the install command."""
    said = run(release.bare.command("ambilearn"), cwd=release.folder, must_fail=True)
    _need("ambilearn[cli]" in said and "\n" not in said, f"not one line with the extra:\n{said}")
    return said


def command_line(release: Release) -> str:
    """With its extra, the command line cleans a table. This changes the bare environment."""
    release.bare.install(f"ambilearn[cli] @ {release.wheel.as_uri()}")
    ambilearn = release.bare.command("ambilearn")
    said = run(ambilearn, "--version", cwd=release.folder)
    _need(release.version in said, f"--version says {said}")
    rows = [
        (row % 2 + row / 100, "ab"[row % 2], "a|b" if row % 3 else "ab"[row % 2])
        for row in range(40)
    ]
    with open(release.folder / "table.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("x", "truth", "names"), *rows])
    options = ("--candidates", "names", "--exclude", "truth", "--out", "cleaned.csv")
    run(ambilearn, "clean", "table.csv", *options, cwd=release.folder)
    with open(release.folder / "cleaned.csv", newline="", encoding="utf-8") as file:
        cleaned = list(csv.DictReader(file))
    right = sum(row["label"] == row["truth"] for row in cleaned)
    _need(right == len(rows), f"only {right} of {len(rows)} labels are correct")
    return f"{said}; {right} labels correct"


def readme(release: Release) -> str:
    """The commands of the README, unchanged, clean a table in the unpacked sdist."""
    shell = re.search(r"```sh\n(.*?)```", _text("README.md"), re.S)[1]
    for line in shell.splitlines():
        run("sh", "-c", f"PYTHON={sys.executable} {line}", cwd=release.source)
    with open(release.source / "cleaned.csv", newline="", encoding="utf-8") as file:
        return f"cleaned.csv has {sum(1 for _ in csv.DictReader(file))} rows"


def tests(release: Release) -> str:
    """The tests are complete in the unpacked sdist, and those that read other files pass."""
    environment = Environment(release.source / ".venv")  # of the README's commands
    environment.install("--editable", f"{release.source}[test]")
    pytest = (environment.python, "-m", "pytest", "-q")
    said = run(*pytest, "--collect-only", cwd=release.source)
    if release.all_tests:
        said = run(*pytest, "-n", "2", cwd=release.source)
    else:
        said = run(*pytest, "-n", "2", "-m", "not slow", *READ_FILES, cwd=release.source)
    return said.splitlines()[-1].strip("= ")


# The order matters: the command line is installed into the bare environment.
CHECKS = [
    version,
    metadata,
    wheel,
    sdist,
    dependencies,
    fit,
    estimator_checks,
    no_command_line,
    command_line,
    readme,
    tests,
]


def main() -> int:
    """Run all checks, with one line per check; the exit status is the number of failures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tag", help="check that the version is that of this tag, say v0.1.0")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="put the distributions there")
    parser.add_argument("--all", action="store_true", help="run all tests")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="release-check-") as folder:
        release = Release(Path(folder), options.tag, options.all)
        if not _passes(build, release):
            return 1
        failed = [check for check in CHECKS if not _passes(check, release)]
        if options.keep and not failed:
            shutil.copytree(release.dist, options.keep, dirs_exist_ok=True)
    return len(failed)


def _passes(check: Callable[[Release], str], release: Release) -> bool:
    """Run a check, and print its result."""
    print(f"{check.__name__.replace('_', ' '):18}", end="", flush=True)  # tests take a while
    start = time.perf_counter()
    try:
        seen, mark = check(release), "ok  "
    except NotReadyError as error:
        seen, mark = str(error), "FAIL"
    print(f"{mark} {time.perf_counter() - start:4.0f} s  {seen}", flush=True)
    return mark == "ok  "


def _need(condition: object, otherwise: str) -> None:
    if not condition:
        raise NotReadyError(otherwise)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names, key=str.lower))


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
