"""The core does its work alone, and what it lacks is named with the extra that brings it."""

import ast
import re
import tomllib
from pathlib import Path

import pytest
from lean_python import EXTRAS_BRING, run_each_without, run_without

import ambilearn

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
SOURCE = Path(ambilearn.__file__).parent
# Names in `import` that are not those of the distributions.
DISTRIBUTIONS = {
    "PIL": "pillow",
    "faiss": "faiss-cpu",
    # sentence-transformers requires these two.
    "huggingface_hub": "sentence-transformers",
    "sentence_transformers": "sentence-transformers",
    "transformers": "sentence-transformers",
}


def _names(requirements):
    """The distributions, with those of the extras of ours that are among them."""
    found = set()
    for requirement in requirements:
        name, extras = re.match(r"([\w-]+)(?:\[(.*?)\])?", requirement).groups()
        if name == "ambilearn":
            found.update(*(_names(EXTRAS[extra]) for extra in extras.split(",")))
        else:
            found.add(name.lower())
    return found


def _guarded_imports():
    """Extra and imported packages of every ``with requires_extra(...)``."""
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            call = node.items[0].context_expr if isinstance(node, ast.With) else None
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "requires_extra":
                yield path.name, call.args[0].value, _imported(node.body)


def _imported(statements):
    modules = set()
    for node in statements:
        if isinstance(node, ast.ImportFrom):
            modules.add(node.module)
        elif isinstance(node, ast.Import):
            modules.update(alias.name for alias in node.names)
    return {module.partition(".")[0] for module in modules} - {"ambilearn"}


def test_the_core_is_lean():
    assert _names(PROJECT["dependencies"]) == {
        "array-api-compat",
        "joblib",
        "lazy_loader",
        "numpy",
        "scikit-learn",
        "scipy",
        "threadpoolctl",
    }


def test_all_is_everything_that_a_user_can_add():
    # PyTorch is not: its usual build brings gigabytes for GPUs.
    users = set(EXTRAS) - {"all", "deep", "dev", "docs", "embed", "test", "torch"}
    assert _names(EXTRAS["all"]) == set().union(*(_names(EXTRAS[extra]) for extra in users))


def test_packages_come_with_the_extra_that_their_message_names():
    guarded = list(_guarded_imports())
    for file, extra, packages in guarded:
        for package in packages:
            assert DISTRIBUTIONS.get(package, package) in _names(EXTRAS[extra]), (file, package)
    named = {extra for _, extra, _ in guarded}
    assert named == set(EXTRAS) - {"all", "dev", "docs", "test"}


def test_every_package_of_an_extra_is_missing_from_the_lean_python():
    brought = {DISTRIBUTIONS.get(package, package).lower() for package in EXTRAS_BRING}
    assert brought == _names(EXTRAS["all"])


WORKS = {
    "estimators": """
import ambilearn
for name in ambilearn.__all__:
    getattr(ambilearn, name)
""",
    "bridges": """
from ambilearn import PLKNN
from ambilearn import votes_to_candidates
from ambilearn.bridges import candidates_from_top_k, to_sample_weights
X = [[0.0], [0.1], [1.0], [1.1]]
model = PLKNN(n_neighbors=1).fit(X, votes_to_candidates([["a", "b"], ["a", "a"], ["b"], ["b"]]))
candidates_from_top_k(model.predict_proba(X), 1)
from ambilearn.crowd import Votes, report_annotators
votes = Votes.from_long([("x", "ann", "a"), ("y", "ann", "b")])
report_annotators(votes, PLKNN(n_neighbors=1).fit([[0], [1]], votes.to_candidates()).train_output_)
to_sample_weights(model, X)
""",
    "embedded data": """
from ambilearn.datasets import list_datasets, load_dataset, make_candidates
for name in ("iris", "wine", "digits"):
    make_candidates(load_dataset(name).y, r=1, random_state=0)
assert [data.name for data in list_datasets() if data.available] == ["iris", "wine", "digits"]
""",
    "solvers, metrics, selection": """
import ambilearn.metrics, ambilearn.selection, ambilearn.solvers
""",
    "experiments without figures": """
import ambilearn.experiments.run, ambilearn.experiments.tables
""",
}


@pytest.fixture(scope="module")
def without_extras(tmp_path_factory):
    """Exit status and errors of each piece of code in a Python without the extras, by its name."""
    folder = tmp_path_factory.mktemp("lean")
    (folder / "people.csv").write_text("a,names\n1,x|y\n")
    (folder / "people.png").write_bytes(b"")
    codes = WORKS | {name: code for name, (code, _) in SAYS.items()}
    return run_each_without([*EXTRAS_BRING, "torch"], codes, folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORKS)
def test_the_core_works_alone(without_extras, name):
    status, errors = without_extras[name]
    assert status == 0, errors


SAYS = {
    "download": (
        "from ambilearn.datasets import load_dataset; load_dataset('lost')",
        "Downloading lost.mat needs pooch: pip install 'ambilearn[data]'",
    ),
    "table": (
        "from ambilearn.tables import read_candidate_table\n"
        "read_candidate_table('people.csv', candidates='names')",
        "Reading tables needs pandas: pip install 'ambilearn[data]'",
    ),
    "Excel": (
        "import io; from ambilearn.datasets.frames import read_frame\n"
        "read_frame(io.BytesIO(b''), format='xlsx')",
        "Reading Excel files needs openpyxl: pip install 'ambilearn[excel]'",
    ),
    "soft labels": (
        "from ambilearn.bridges import soft_labels; soft_labels([[0.5, 0.5]])",
        "A table of soft labels needs pandas: pip install 'ambilearn[data]'",
    ),
    "saving": (
        "from ambilearn.tables.skops_format import dump_pipeline; dump_pipeline(None)",
        "A model file needs skops: pip install 'ambilearn[cli]'",
    ),
    "review": (
        "from ambilearn.review.page import render_review; render_review(None)",
        "The review page needs jinja2: pip install 'ambilearn[cli]'",
    ),
    "images": (
        "from pathlib import Path; from ambilearn.review.images import embed_image\n"
        "embed_image(Path('people.png'))",
        "A review page with images needs PIL: pip install 'ambilearn[cli]'",
    ),
    "figures": (
        "from ambilearn.experiments.figures import build_figures; build_figures(None)",
        "Drawing figures needs matplotlib: pip install 'ambilearn[paper]'",
    ),
    "terminal": (
        "from ambilearn.experiments.report import to_rich; to_rich(None)",
        "A table in the terminal needs rich: pip install 'ambilearn[cli]'",
    ),
    "cluster": (
        "import ambilearn.distributed",
        "ambilearn.distributed needs dask: pip install 'ambilearn[dask]'",
    ),
    "network": (
        "from ambilearn import DeepPLCL; DeepPLCL().fit([[0], [1]], [0, 1])",
        "DeepPLCL needs torch: pip install 'ambilearn[deep]'",
    ),
    "neighbors": (
        "from ambilearn import PLKNN\n"
        "PLKNN(n_neighbors=1, neighbors='approximate').fit([[0], [1]], [0, 1])",
        "Approximate neighbor search needs faiss: pip install 'ambilearn[ann]'",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SAYS)
def test_what_the_core_lacks_is_named_in_one_line(without_extras, name):
    _, errors = without_extras[name]
    assert errors.splitlines()[-1] == f"ImportError: {SAYS[name][1]}"


@pytest.mark.parametrize(
    "start",
    [
        f"from {PROJECT['scripts']['ambilearn'].replace(':', ' import ')} as main; main()",
        "import runpy; runpy.run_module('ambilearn', run_name='__main__')",
    ],
    ids=["ambilearn", "python -m ambilearn"],
)
def test_the_command_line_says_what_to_install(start):
    done = run_without(EXTRAS_BRING, start)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == "The command line needs click: pip install 'ambilearn[cli]'\n"


@pytest.mark.slow
def test_an_output_that_cannot_be_written_is_rejected_before_the_fit(tmp_path):
    (tmp_path / "t.csv").write_text("x,names\n1,a|b\n2,b\n3,a\n4,b\n")
    start = """
import sys
sys.argv = ["ambilearn", "clean", "t.csv", "--candidates", "names", "--out", "t.parquet"]
from ambilearn.__main__ import main
main()
"""
    done = run_without(["pyarrow"], start, cwd=tmp_path)
    assert done.returncode == 1
    assert "pip install 'ambilearn[parquet]'" in done.stderr
    assert "fitting" not in done.stderr
    assert not (tmp_path / "t.parquet").exists()
