import csv
import math
from importlib.resources import files

import pytest
from core_methods import CORE_METHODS

from ambilearn import PLCL
from ambilearn.experiments.spec import (
    DEFAULT_SEARCH,
    MAX_RUNS,
    METRICS,
    PAPER,
    SpecError,
    load_spec,
    parse_search,
    parse_spec,
    spec_names,
)
from ambilearn.experiments.splits import make_split, score_model
from ambilearn.experiments.task import Task, default_params, derive_seed

OTHERS = ("demo", "oracle", "oracle-controlled", "stacking", "stacking-controlled")
MINIMAL = """
title = "Minimal"
data = ["lost"]
methods = ["PL-CL"]
"""


def test_all_experiments_of_the_paper_exist():
    assert spec_names() == sorted([*PAPER, *OTHERS])


def test_names_of_tables_and_figures_are_unique():
    names = [show["name"] for name in spec_names() for show in load_spec(name).shows]
    assert len(names) == len(set(names))


def test_the_controlled_study_is_the_paper_s():
    spec = load_spec("controlled")
    assert len(list(spec.tasks())) == 4 * 28 * 10 * 7
    groups = {}
    for setting in spec.settings:
        groups.setdefault(setting.group, []).append(dict(setting.options))
    steps = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    assert groups["I"] == [{"p": 1.0, "r": 1, "epsilon": value} for value in steps]
    for r, group in enumerate(["II", "III", "IV"], start=1):
        assert groups[group] == [{"p": value, "r": r} for value in steps]


def test_the_ablation_switches_parts_off():
    methods = {m.label: m.params for m in load_spec("ablation").methods}
    assert methods == {
        "PL-CL": {},
        "without graph": {"graph": False},
        "without complementary classifier": {"complementary": False},
        "kernel only": {"complementary": False, "graph": False},
        "linear only": {"kernel": "linear", "complementary": False, "graph": False},
    }


def test_experiments_share_tasks():
    real, ablation, sensitivity = (
        {task.key for task in load_spec(name).tasks()}
        for name in ("real-world", "ablation", "sensitivity")
    )
    assert {task.key for task in load_spec("transductive").tasks()} == real
    assert len(real & ablation) == 60  # PL-CL as it is
    assert len(real & sensitivity) == 10  # on Lost, with the default


def test_the_grid_of_the_paper():
    methods = load_spec("real-world").methods
    values = [0.001, 0.01, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 4.0]
    assert methods[0].grid == dict.fromkeys(["alpha", "beta", "gamma", "mu"], values)
    assert [m.label for m in methods if m.grid] == ["PL-CL", "SURE"]


def test_the_demo_compares_all_methods_that_need_no_extra():
    methods = [m.estimator for m in load_spec("demo").methods]
    assert sorted(methods) == sorted(method.name for method in CORE_METHODS.values())


def test_methods_of_a_split_follow_each_other():
    tasks = list(load_spec("controlled").tasks())
    splits = [(t.run, t.data, str(t.candidates)) for t in tasks]
    assert splits == [split for split in dict.fromkeys(splits) for _ in range(7)]


def test_selection_touches_only_methods_with_a_grid():
    spec = parse_spec("two", MINIMAL.replace('["PL-CL"]', '["PL-CL", "PL-KNN"]'))
    search = {"kind": "random", "points": 5}
    plcl, plknn, *_ = spec.tasks("label-free", search)
    assert plcl.select == "label-free"
    grid = spec.methods[0].grid
    assert plcl.search == search | {"grid": grid, "seed": derive_seed("search", grid)}
    assert (plknn.select, plknn.search) == ("fixed", {})
    with pytest.raises(SpecError, match="select must be one of"):
        next(spec.tasks("guess"))


def test_an_experiment_file_can_define_a_grid():
    text = MINIMAL.replace(
        '["PL-CL"]',
        '["PL-CL", { label = "b", method = "PL-KNN", grid = { n_neighbors = [3, 5] } }]',
    )
    plcl, plknn, *_ = parse_spec("b", text).tasks("oracle", {"kind": "grid", "points": None})
    assert plcl.search["grid"] == {name: list(v) for name, v in PLCL._paper_grid.items()}
    assert (plknn.select, plknn.search["grid"]) == ("oracle", {"n_neighbors": [3, 5]})


def test_a_grid_names_parameters_of_its_method():
    other = '{ label = "b", method = "PL-KNN", grid = { n_neighbor = [3, 5] } }'
    text = MINIMAL.replace('["PL-CL"]', f'["PL-CL", {other}]')
    with pytest.raises(SpecError, match=r"PLKNN has no parameter 'n_neighbor'.*n_neighbors"):
        parse_spec("b", text)


def test_the_oracle_study_tunes_every_method():
    real, controlled = load_spec("oracle"), load_spec("oracle-controlled")
    for study in (real, controlled):
        assert [method.label for method in study.methods] == [
            "PL-CL", "SURE", "PL-AGGD", "LALO", "IPAL", "PLDA", "PL-KNN",
        ]  # fmt: skip
        points = [math.prod(map(len, method.grid.values())) for method in study.methods]
        assert points == [6561, 49, 81, 49, 40, 56, 32]
        for method in study.methods:
            defaults = default_params(method.estimator)
            assert all(defaults[name] in values for name, values in method.grid.items())
    assert [m.grid for m in real.methods] == [m.grid for m in controlled.methods]
    # The same splits and the same candidate sets as in the paper's study, all of its cases.
    keys = {task.key for task in load_spec("controlled").tasks()}
    assert {task.key for task in controlled.tasks()} == keys
    assert {task.key for task in real.tasks()} < {t.key for t in load_spec("real-world").tasks()}


def test_fixed_parameters_are_not_searched():
    text = MINIMAL.replace(
        '["PL-CL"]', '[{ label = "a", method = "PL-CL", params = { alpha = 1.0 } }]'
    )
    (method,) = parse_spec("a", text).methods
    assert sorted(method.grid) == ["beta", "gamma", "mu"]


def test_parameters_of_all_methods_are_checked():
    second = '["PL-CL", { label = "a", method = "PL-KNN", params = { alfa = 1 } }]'
    with pytest.raises(SpecError, match="PLKNN has no parameter 'alfa'"):
        parse_spec("mine", MINIMAL.replace('["PL-CL"]', second))


def test_every_published_line_and_column_is_in_the_table():
    """What the paper prints is shown: no cell of a transcribed table is lost."""
    for name in PAPER:
        spec = load_spec(name)
        for show in spec.shows:
            if show["kind"] != "table":
                continue
            text = files("ambilearn.experiments").joinpath("published", show["published"] + ".csv")
            rows = list(csv.DictReader(text.read_text("utf-8").splitlines()))
            assert {row["method"] for row in rows} == {m.label for m in spec.methods}
            assert {row["data"] for row in rows} == {c["data"] for c in show["columns"]}


@pytest.mark.parametrize(
    ("name", "of_the_paper"), [("stacking", "real-world"), ("stacking-controlled", "controlled")]
)
def test_stacking_is_compared_on_the_paper_s_cases(name, of_the_paper):
    spec, paper = load_spec(name), load_spec(of_the_paper)
    assert spec.methods[0].estimator == "PLStacking"  # with which the tables compare
    shared = {task.key for task in paper.tasks()}
    assert shared < {task.key for task in spec.tasks()}  # measured once, for both


@pytest.mark.parametrize("text", ["", "random", "grid:5", "halving:0", "random:x", "best:3"])
def test_a_search_that_cannot_be_read(text):
    with pytest.raises(ValueError, match=r"(The search must be|number of points)"):
        parse_search(text)
    with pytest.raises(ValueError, match="covering, approximated; got 'accuracy'"):
        parse_search("grid", "accuracy")
    assert parse_search(DEFAULT_SEARCH)["points"] == 16


# --- mistakes in the file -------------------------------------------------------------------------

MINE = 'title = "Mine"\ndata = ["iris"]\nmethods = ["PL-KNN"]\n'
SHOW = MINE + '[[show]]\nkind = "table"\nname = "mine"\ntitle = "Mine"\nmetric = "accuracy"\n'
CANDIDATES = '[[candidates]]\ngroup = "I"\ntitle = "p"\nvary = "p"\nvalues = [0.5]\n'
COLUMNS = 'columns = [{{ title = "t", data = "{}", metric = "accuracy" }}]\n'
NINES = "9" * 400


def test_metrics_are_the_scores_that_results_have():
    task = Task("iris", "PLKNN", 0, candidates={"p": 0.5}, rows=30)
    split = make_split(task)
    scores = score_model(task.estimator().fit(split.X_train, split.candidates), split)
    assert set(METRICS) == set(scores)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = ", "mine: Invalid value"),
        (MINE + "extra = 1", "'extra' is not a known name"),
        (MINE + "[protocol]\nscalling = 'all'", "'protocol.scalling' is not a known name"),
        (MINE.replace('["iris"]', "[]"), "data is empty"),
        (MINE.replace('["PL-KNN"]', "[]"), "methods is empty"),
        (MINE.replace('["iris"]', '"iris"'), "data must be a list, not 'iris'"),
        (MINE.replace('["iris"]', "[1]"), r"data\[0\] must be text, not 1"),
        (MINE.replace('"Mine"', "1979-05-27"), "title must be text"),
        (MINE.replace('["PL-KNN"]', "[1]"), r"methods\[0\] must be a table"),
        (MINE.replace('["PL-KNN"]', '[{ method = "PL-KNN" }]'), r"'methods\[0\].label' is miss"),
        (
            MINE.replace('["PL-KNN"]', '[{ method = "PL-KNN", label = "a", params = 3 }]'),
            r"methods\[0\].params must be a table",
        ),
        (MINE + 'runs = "x"', "runs must be a whole number, not 'x'"),
        (MINE + "runs = 0", "runs must be between 1 and"),
        (MINE + "runs = -1", "runs must be between 1 and"),
        (MINE + f"runs = {NINES}", "runs must be between 1 and"),
        (MINE + f"runs = {MAX_RUNS + 1}", "runs must be between 1 and"),
        (MINE + f"runs = {NINES * 11}", "Exceeds the limit"),
        (MINE + "quick = { runs = 0 }", "runs must be between 1 and"),
        (MINE + "quick = [1]", "quick must be a table"),
        (MINE + "protocol = 1", "protocol must be a table"),
        (MINE + "protocol = { rows = 1.5 }", "protocol.rows must be a whole number"),
        (MINE + "sweep = 1", "sweep must be a table"),
        (MINE + 'sweep = { n_neighbors = ["x"] }', r"sweep.n_neighbors\[0\] must be a number"),
        (MINE + f"sweep = {{ n_neighbors = [{NINES}] }}", r"n_neighbors\[0\] must be a number"),
        (MINE + "candidates = 3", "candidates must be a list"),
        (MINE + "candidates = []", "candidates is empty"),
        (MINE + "candidates = [1]", r"candidates\[0\] must be a table"),
        (MINE + CANDIDATES.replace("[0.5]", "[]"), r"candidates\[0\].values is empty"),
        (MINE + CANDIDATES.replace("0.5", NINES), r"candidates\[0\].values\[0\] must be a num"),
        (MINE + CANDIDATES.replace("group", "grupp"), r"'candidates\[0\].group' is missing"),
        (MINE + "show = [1]", r"show\[0\] must be a table"),
        (SHOW.replace('name = "mine"\n', ""), r"'show\[0\].name' is missing"),
        (SHOW.replace('metric = "accuracy"\n', ""), r"'show\[0\].metric' is missing"),
        (SHOW.replace("accuracy", "beauty"), "the metric must be one of accuracy, .*'beauty'"),
        (SHOW.replace('"table"', '"poem"'), "kind must be one of table, .*'poem'"),
        (SHOW + 'published = "elsewhere"', "published must be one of .*'elsewhere'"),
        (SHOW + 'published = "../specs/demo"', "published must be one of"),
        (SHOW + 'group = "I"', r"'show\[0\].value' is missing"),
        (SHOW + "columns = [1]", r"columns\[0\] must be a table"),
        (SHOW + COLUMNS.format("wine"), r"show\[0\].columns: data must be one of iris; got 'wine'"),
        (SHOW + COLUMNS.format("iris") + CANDIDATES, r"columns is for data sets with candidate se"),
        (SHOW + 'select = ["fixed"]', "select must have two entries"),
        (SHOW + 'select = ["fixed", "guess"]', "select must be one of fixed, .*'guess'"),
        (SHOW.replace('"mine"', '"../mine"'), "name is used in file names"),
        (SHOW.replace('"mine"', '".mine"'), "name is used in file names"),
        ("a = " + "[" * 5000 + "]" * 5000, "Experiment mine"),
    ],
)
def test_errors_name_the_mistake(text, message):
    with pytest.raises(SpecError, match=message) as caught:
        parse_spec("mine", text)
    assert len(str(caught.value)) < 500


def test_valid_files_are_accepted():
    spec = parse_spec("mine", SHOW + CANDIDATES)
    assert [show["name"] for show in spec.shows] == ["mine"]
    assert len(list(spec.tasks())) == 10
