"""The list of methods, and a new method that one file and one line add to it."""

import shutil
import subprocess
import sys
from pathlib import Path

import prepared
import pytest
from lean_python import run_without
from markdown_pages import ROOT

import ambilearn
from ambilearn import methods
from ambilearn.base import PartialLabelClassifier
from ambilearn.registry import METHODS, Method, find_method, installed_methods

PACKAGE = Path(ambilearn.__file__).parent
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=str)


def test_methods_are_the_public_classifiers():
    public = [getattr(ambilearn, name) for name in ambilearn.__all__]
    classifiers = [
        c for c in public if isinstance(c, type) and issubclass(c, PartialLabelClassifier)
    ]
    assert list(dict.fromkeys(method.load() for method in METHODS.values())) == classifiers
    assert METHODS["plcl"] == Method("PLCL")


def test_every_file_of_a_method_is_announced():
    (folder,) = methods.__path__
    files = {path.stem for path in Path(folder).glob("*.py") if not path.name.startswith("_")}
    assert files == {each.name.lower() for each in METHODS.values() if each.extra is None}


def test_two_names_stand_for_one_class_with_parameters():
    assert METHODS["boosting"].make(cv=3).get_params()["estimator"] == "boosting"
    assert find_method("CandidateClassifier").make().estimator == "forest"
    assert find_method("Boosting").load() is find_method("forest").load()


@every_method
def test_a_class_is_where_the_registry_says(method):
    assert (method.load().__module__, method.load().__name__) == (method.module, method.name)
    assert method.load() is getattr(ambilearn, method.name)


@every_method
@pytest.mark.parametrize("grid", ["tuning_grid", "paper_grid"])
def test_grids_have_values_that_the_method_takes(method, grid):
    for name, values in getattr(method, grid).items():
        assert len(set(values)) == len(values) > 1
        for value in values:
            method.load()().set_params(**{name: value})._validate_params()


def test_the_defaults_are_among_the_values_that_a_search_tries():
    for method in METHODS.values():
        defaults = method.load()().get_params()
        assert all(defaults[name] in values for name, values in method.tuning_grid.items())


@pytest.mark.parametrize("name", ["PL-CL", "PLCL", "plcl", "pl-cl"])
def test_a_method_has_one_name_in_many_spellings(name):
    assert find_method(name) == Method("PLCL")


@pytest.mark.parametrize("name", ["", "PL-XX", "PLDATransformer", "_alternating", "CandidateSets"])
def test_an_unknown_method_is_rejected_with_the_list(name):
    with pytest.raises(
        ValueError, match=f"no method '{name}'. The methods are: .*DeepPLCL, .*, PLCL, "
    ):
        find_method(name)


def test_reading_the_registry_imports_no_method_and_no_scikit_learn():
    code = """
import sys
from ambilearn.registry import METHODS, find_method
assert find_method("PL-CL").module == "ambilearn.methods.plcl"
assert METHODS
heavy = {"sklearn", "numpy", "ambilearn.base", "ambilearn.methods.plcl"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_method_that_needs_an_extra_is_listed_and_left_out_of_loops_without_it():
    code = """
import sys
from ambilearn.registry import METHODS, find_method, installed_methods
deep = find_method("DeepPLCL")
assert deep is METHODS["deepplcl"] and deep.extra == "deep"
assert set(METHODS) - set(installed_methods()) == {"deepplcl"}
deep.load()
assert "torch" not in sys.modules
deep.check_installed()
"""
    done = run_without(["torch"], code)
    message = "ImportError: DeepPLCL needs torch: pip install 'ambilearn[deep]'"
    assert done.stderr.splitlines()[-1] == message


def test_methods_without_an_extra_are_always_installed():
    assert set(METHODS) - {"deepplcl"} <= set(installed_methods())
    METHODS["plcl"].check_installed()


# The example of docs/guide/adding-a-method.md, added to the library as that page says.
LINE = "from .methods.clpl import CLPL as CLPL\n"
TUNING_GRID, PAPER_GRID = "_tuning_grid = {", '_paper_grid = {"reg": (0.1, 1.0)}'
EXPERIMENT = """
title = "Made up"
data = ["iris"]
methods = ["CLPL"]
runs = 1
[[candidates]]
group = "I"
title = "p varies"
vary = "p"
values = [0.3]
[[show]]
kind = "table"
name = "made-up"
title = "Made up"
metric = "accuracy"
group = "I"
value = 0.3
"""
TABLE = "x,names\n" + "".join(f"{i},{'anna|bob' if i % 3 else 'anna'}\n" for i in range(12))


@pytest.fixture(scope="module")
def run_with_clpl(tmp_path_factory):
    """Run commands where ambilearn has that method: one file, one line."""
    folder = tmp_path_factory.mktemp("clpl")
    ours = folder / "site" / "ambilearn"
    shutil.copytree(PACKAGE, ours, ignore=shutil.ignore_patterns("__pycache__"))
    page = (ROOT / "docs" / "guide" / "adding-a-method.md").read_text("utf-8")
    assert f"`{LINE.strip()}`" in page
    assert PAPER_GRID in page
    source = (ROOT / "examples" / "clpl.py").read_text("utf-8")
    source = source.replace(TUNING_GRID, f"{PAPER_GRID}\n    {TUNING_GRID}")
    (ours / "methods" / "clpl.py").write_text(source, "utf-8")
    with open(ours / "__init__.pyi", "a", encoding="utf-8") as stub:
        stub.write(LINE)
    (folder / "table.csv").write_text(TABLE)
    (folder / "mine.toml").write_text(EXPERIMENT)

    def run(*arguments, **options):
        options |= {"folder": folder, "paths": [folder / "site"]}
        status, out, errors = prepared.run(*arguments, **options)
        assert status == 0, errors.decode()
        return out.decode()

    return run


@pytest.mark.slow
def test_a_new_method_is_public_and_found(run_with_clpl):
    code = """
import ambilearn
from ambilearn import CLPL
from ambilearn.registry import METHODS
assert "CLPL" in ambilearn.__all__
print(METHODS["clpl"].load() is CLPL)
"""
    assert run_with_clpl(code=code) == "True\n"


@pytest.mark.slow
def test_a_new_method_is_on_the_command_line_and_its_models_are_saved_and_loaded(run_with_clpl):
    assert "clpl" in run_with_clpl("fit", "--help")
    options = ("--candidates", "names", "--method", "clpl", "--tune", "--out", "its.model")
    run_with_clpl("fit", "table.csv", *options)
    labeled = run_with_clpl("predict", "its.model", "table.csv", "--out", "-")
    assert labeled.splitlines()[1].startswith("0,anna,anna,")


@pytest.mark.slow
def test_an_experiment_can_name_a_new_method(run_with_clpl):
    code = """
from pathlib import Path
from ambilearn.cli.main import main
from ambilearn.experiments.spec import load_spec

(task,) = load_spec("mine.toml").tasks("label-free")
assert task.search["grid"] == {"reg": [0.1, 1.0]}
main(["paper", "run", "mine.toml", "--jobs", "1", "--methods", "clpl"], standalone_mode=False)
main(["paper", "tables", "mine.toml", "--out", "tables"], standalone_mode=False)
assert "CLPL" in Path("tables/made-up.csv").read_text("utf-8")
"""
    run_with_clpl(code=code)


@pytest.mark.slow
def test_the_tests_of_all_methods_have_a_new_one(run_with_clpl):
    code = """
from ambilearn import CLPL
from core_methods import CORE_CLASSES
from test_common import ESTIMATORS

assert CLPL in CORE_CLASSES
assert CLPL in map(type, ESTIMATORS)
"""
    run_with_clpl(code=code)
