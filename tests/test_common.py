"""scikit-learn's own checks, for every estimator and every variant that changes the code path."""

import os
import subprocess
import sys

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from ambilearn import LALO, PLCL, PLDA, PLDATransformer
from ambilearn.registry import METHODS

ESTIMATORS = [
    *(method.load()() for method in METHODS.values()),
    PLCL(kernel="linear"),
    PLCL(complementary=False),
    PLCL(graph=False),
    PLCL(graph=False, complementary=False, kernel="linear"),
    LALO(kernel="linear"),
    PLDA(estimator=PLCL()),
    PLDATransformer(),
    PLDATransformer(assignment="soft"),
]


@pytest.mark.filterwarnings("ignore:n_neighbors:UserWarning")  # its data sets are small
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


ARRAY_API = """
import warnings
from sklearn.utils.estimator_checks import check_estimator
from test_common import ESTIMATORS
warnings.simplefilter("ignore")
for estimator in ESTIMATORS:
    for result in check_estimator(estimator, on_skip=None, on_fail="raise"):
        if result["check_name"] == "check_array_api_input":
            print(result["status"])
"""


def test_scikit_learn_array_api_check():
    """The one check that scikit-learn skips unless SciPy was imported with its array API on."""
    environment = os.environ | {
        "SCIPY_ARRAY_API": "1",
        "PYTHONPATH": os.path.dirname(__file__),
    }
    done = subprocess.run(
        [sys.executable, "-c", ARRAY_API], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) <= {"passed"}  # older versions do not have the check
