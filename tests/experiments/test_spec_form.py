"""Mistakes in the file of an experiment: each is found when it is read, and named."""

import pytest

from ambilearn.experiments.spec import SpecError, parse_spec
from ambilearn.experiments.spec_form import MAX_RUNS, METRICS
from ambilearn.experiments.splits import make_split, score_model
from ambilearn.experiments.task import Task

MINIMAL = 'title = "Mine"\ndata = ["iris"]\nmethods = ["PL-KNN"]\n'
SHOW = MINIMAL + '[[show]]\nkind = "table"\nname = "mine"\ntitle = "Mine"\nmetric = "accuracy"\n'
CANDIDATES = '[[candidates]]\ngroup = "I"\ntitle = "p"\nvary = "p"\nvalues = [0.5]\n'
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
        (MINIMAL + "extra = 1", "'extra' is not a known name"),
        (MINIMAL + "[protocol]\nscalling = 'all'", "'protocol.scalling' is not a known name"),
        (MINIMAL.replace('["iris"]', "[]"), "data is empty"),
        (MINIMAL.replace('["PL-KNN"]', "[]"), "methods is empty"),
        (MINIMAL.replace('["iris"]', '"iris"'), "data must be a list, not 'iris'"),
        (MINIMAL.replace('["iris"]', "[1]"), r"data\[0\] must be text, not 1"),
        (MINIMAL.replace('"Mine"', "1979-05-27"), "title must be text"),
        (MINIMAL.replace('["PL-KNN"]', "[1]"), r"methods\[0\] must be a table"),
        (MINIMAL.replace('["PL-KNN"]', '[{ method = "PL-KNN" }]'), r"'methods\[0\].label' is miss"),
        (
            MINIMAL.replace('["PL-KNN"]', '[{ method = "PL-KNN", label = "a", params = 3 }]'),
            r"methods\[0\].params must be a table",
        ),
        (MINIMAL + 'runs = "x"', "runs must be a whole number, not 'x'"),
        (MINIMAL + "runs = 0", "runs must be between 1 and"),
        (MINIMAL + "runs = -1", "runs must be between 1 and"),
        (MINIMAL + f"runs = {NINES}", "runs must be between 1 and"),
        (MINIMAL + f"runs = {MAX_RUNS + 1}", "runs must be between 1 and"),
        (MINIMAL + f"runs = {NINES * 11}", "Exceeds the limit"),
        (MINIMAL + "quick = { runs = 0 }", "runs must be between 1 and"),
        (MINIMAL + "quick = [1]", "quick must be a table"),
        (MINIMAL + "protocol = 1", "protocol must be a table"),
        (MINIMAL + "protocol = { rows = 1.5 }", "protocol.rows must be a whole number"),
        (MINIMAL + "sweep = 1", "sweep must be a table"),
        (MINIMAL + 'sweep = { n_neighbors = ["x"] }', r"sweep.n_neighbors\[0\] must be a number"),
        (MINIMAL + f"sweep = {{ n_neighbors = [{NINES}] }}", r"n_neighbors\[0\] must be a number"),
        (MINIMAL + "candidates = 3", "candidates must be a list"),
        (MINIMAL + "candidates = []", "candidates is empty"),
        (MINIMAL + "candidates = [1]", r"candidates\[0\] must be a table"),
        (MINIMAL + CANDIDATES.replace("[0.5]", "[]"), r"candidates\[0\].values is empty"),
        (MINIMAL + CANDIDATES.replace("0.5", NINES), r"candidates\[0\].values\[0\] must be a num"),
        (MINIMAL + CANDIDATES.replace("group", "grupp"), r"'candidates\[0\].group' is missing"),
        (MINIMAL + "show = [1]", r"show\[0\] must be a table"),
        (SHOW.replace('name = "mine"\n', ""), r"'show\[0\].name' is missing"),
        (SHOW.replace('metric = "accuracy"\n', ""), r"'show\[0\].metric' is missing"),
        (SHOW.replace("accuracy", "beauty"), "the metric must be one of accuracy, .*'beauty'"),
        (SHOW.replace('"table"', '"poem"'), "kind must be one of table, .*'poem'"),
        (SHOW + 'published = "elsewhere"', "published must be one of .*'elsewhere'"),
        (SHOW + 'published = "../specs/demo"', "published must be one of"),
        (SHOW + 'group = "I"', r"'show\[0\].value' is missing"),
        (SHOW + "columns = [1]", r"columns\[0\] must be a table"),
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
