"""Parameters of the estimators: by keyword, in one order, documented in that order."""

import ast
import inspect
import re

import pytest
from core_methods import CORE_CLASSES

from ambilearn import IPAL, LALO, PLAGGD, PLCL, PLDA, SURE, PLDATransformer
from ambilearn.distributed import DistributedPLCL

# What is particular to a method comes first, then what several have.
COMMON = [
    "reg",
    "kernel",
    "sigma",
    "n_neighbors",
    "neighbors",
    "n_landmarks",
    "landmarks",
    "n_partitions",
    "max_iter",
    "tol",
    "random_state",
    "verbose",
]
ESTIMATORS = [
    *CORE_CLASSES,
    DistributedPLCL,
    PLDATransformer,
]


@pytest.fixture(params=ESTIMATORS, ids=lambda each: each.__name__)
def estimator(request):
    return request.param


def parameters(estimator):
    return list(inspect.signature(estimator).parameters.values())


def test_parameters_are_given_by_keyword(estimator):
    others = parameters(estimator)
    if others[0].name == "estimators":  # as in scikit-learn's ensembles
        assert others.pop(0).kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert {p.kind for p in others} == {inspect.Parameter.KEYWORD_ONLY}


def test_parameters_that_methods_share_come_last_and_in_one_order(estimator):
    names = [p.name for p in parameters(estimator)]
    shared = [name for name in names if name in COMMON]
    assert names[-len(shared) :] == shared
    assert shared == [name for name in COMMON if name in names]


def test_parameters_are_documented_in_their_order_with_their_default(estimator):
    block = inspect.getdoc(estimator).split("Parameters\n----------\n")[1].split("\n\n")[0]
    documented = dict(re.findall(r"^(\w+) : (.*)$", block, re.MULTILINE))
    own = [p for p in parameters(estimator) if p.name in documented]
    assert list(documented) == [p.name for p in own]
    if estimator is not DistributedPLCL:  # which refers to PLCL for the others
        assert own == parameters(estimator)
    for parameter in own:
        text = documented[parameter.name]
        if parameter.default is None:
            assert "optional" in text or "default=None" in text
        else:
            assert ast.literal_eval(re.search(r"default=(.*)$", text)[1]) == parameter.default


DEFAULTS = {  # of the authors, or of the papers
    PLCL: {"alpha": 0.5, "beta": 0.5, "gamma": 1.0, "mu": 1.0, "reg": 0.03, "n_neighbors": 10},
    PLAGGD: {"gamma": 1.0, "mu": 1.0, "reg": 0.05, "n_neighbors": 10, "max_iter": 20},
    PLDA: {"lam": 0.01, "n_neighbors": 10, "max_iter": 100},
    IPAL: {"alpha": 0.95, "n_neighbors": 10, "max_iter": 100},
    LALO: {"reg": 0.05, "mu": 0.005, "n_neighbors": 10},
    SURE: {"lam": 0.3, "reg": 0.05, "max_iter": 50},
}


@pytest.mark.parametrize("method", DEFAULTS)
def test_defaults_are_those_of_the_authors(method):
    assert DEFAULTS[method].items() <= method().get_params().items()
