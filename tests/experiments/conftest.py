"""A small experiment on embedded data, run once for all tests that only look at results."""

from dataclasses import replace

import pytest
from made_up import NOISE, fill

from ambilearn.experiments.results import ExperimentResults
from ambilearn.experiments.run import run_tasks
from ambilearn.experiments.spec import load_spec, parse_search, parse_spec
from ambilearn.experiments.store import Store

SMALL = """
title = "A small experiment"
data = ["iris", "wine"]
methods = ["PL-CL", "SURE", "PL-KNN"]
runs = 4

[protocol]
rows = 40

[quick]
runs = 2
rows = 30

[[candidates]]
group = "I"
title = "p varies"
vary = "p"
values = [0.4, 0.8]
r = 1

[[show]]
kind = "table"
name = "small"
title = "Accuracy | small"
metric = "accuracy"

[[show]]
kind = "table"
name = "small-one"
title = "One setting"
metric = "transductive.confidences"
group = "I"
value = 0.8

[[show]]
kind = "win-tie-loss"
name = "small-counts"
title = "Counts"
metric = "accuracy"

[[show]]
kind = "ranks"
name = "small-ranks"
title = "Ranks"
metric = "accuracy"

[[show]]
kind = "curves"
name = "small-curves"
title = "Curves"
metric = "accuracy"
"""


@pytest.fixture(scope="session")
def small_spec():
    return parse_spec("small", SMALL)


@pytest.fixture(scope="session")
def small_store(small_spec, tmp_path_factory):
    """Path of a store with the fixed results, and PL-CL's selected in both ways in one case."""
    path = tmp_path_factory.mktemp("small") / "results.sqlite"
    with Store(path) as store:
        run_tasks(small_spec.tasks(), store)
        search = parse_search("random:2")
        for select in ("label-free", "oracle"):
            tasks = small_spec.tasks(select, search)
            run_tasks((t for t in tasks if t.method == "PLCL" and _is_first_case(t)), store)
    return path


def _is_first_case(task):
    return task.data == "iris" and task.candidates["p"] == 0.4


@pytest.fixture
def small(small_spec, small_store):
    """The small experiment with its results."""
    with Store(small_store) as store:
        yield ExperimentResults(small_spec, store)


@pytest.fixture
def measured(tmp_path):
    """Function: results of an experiment with made-up accuracies."""
    stores = []

    def make(name, accuracy, runs=10, **options):
        spec = replace(load_spec(name), runs=runs)
        stores.append(Store(tmp_path / f"{len(stores)}.sqlite"))
        fill(stores[-1], spec, accuracy, **options)
        return ExperimentResults(spec, stores[-1])

    yield make
    for store in stores:
        store.close()


@pytest.fixture
def tuned(measured, tmp_path):
    """The oracle study on Lost: tuning takes PL-CL from level to far ahead, and SURE with it."""

    def accuracy(label, task):
        gain = {"PL-CL": 0.1, "SURE": 0.2}.get(label, 0.0) if task.select == "oracle" else 0.0
        return 0.6 + gain + NOISE[task.run * 7 + len(label)]

    spec = load_spec("oracle")
    with Store(tmp_path / "tuned.sqlite") as store:
        fill(store, spec, accuracy, data=["lost"])
        fill(store, spec, accuracy, data=["lost"], select="oracle", search=parse_search("random:8"))
        yield ExperimentResults(spec, store)
