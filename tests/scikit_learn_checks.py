"""scikit-learn's checks of estimators, each run once."""

import os
import pickle
import subprocess
import sys
from unittest import SkipTest

import pytest
from markdown_pages import ROOT
from sklearn.utils.estimator_checks import estimator_checks_generator

from ambilearn import PLDA, PLKNN, CandidateClassifier, CandidateSearchCV

# Skipped by scikit-learn unless SciPy was imported with its array API on, which most users do not
# do: these checks run in a process of their own.
ARRAY_API = "check_array_api_"


def checks_of(estimators, array_api=False):
    """Pairs of an estimator and a check of it."""
    for estimator in estimators:
        for clone, check in estimator_checks_generator(estimator):
            if check.func.__name__.startswith(ARRAY_API) == array_api:
                yield clone, check


WEIGHTS_AND_COPIES = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


def expected_failure(estimator, check_name):
    """The reason why an estimator fails a check; None if it passes."""
    if check_name not in WEIGHTS_AND_COPIES:
        return None
    if isinstance(estimator, (PLKNN, PLDA)):
        return "a row of weight 2 is one of the k neighbors, and two copies of it are two"
    if isinstance(estimator, (CandidateSearchCV, CandidateClassifier)):
        return "a row of weight 2 is in one fold or sample, and two copies of it may be in two"
    return None


def every_check(estimators):
    """Decorator of a test that takes ``estimator`` and ``check``."""
    params = []
    for estimator, check in checks_of(estimators):
        name = check.func.__name__
        reason = expected_failure(estimator, name)
        marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
        params.append(pytest.param(estimator, check, id=f"{estimator}-{name}", marks=marks))
    return pytest.mark.parametrize(("estimator", "check"), params)


def array_api_outcomes(estimators):
    """Results of the checks of array-API inputs of these estimators, in a new process."""
    ours = [os.path.dirname(__file__), str(ROOT / "examples")]
    path = os.pathsep.join(filter(None, [*ours, os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__],
        input=pickle.dumps(estimators),
        env=os.environ | {"SCIPY_ARRAY_API": "1", "PYTHONPATH": path},
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return done.stdout.decode().splitlines()


if __name__ == "__main__":
    for estimator, check in checks_of(pickle.load(sys.stdin.buffer), array_api=True):
        try:
            check(estimator)
        except SkipTest as reason:
            print(f"skipped: {reason}")
        except Exception as error:
            print(f"{estimator} fails {check.func.__name__}: {error!r}")
        else:
            print(f"{check.func.__name__} passed")
