"""scikit-learn's own checks, for every estimator and every variant that changes the code path."""

import pytest
from core_methods import CORE_METHODS
from scikit_learn_checks import array_api_outcomes, checks_of, every_check

from ambilearn import PLCL, PLKNN, PLDATransformer
from ambilearn.selection import CandidateSearchCV

ESTIMATORS = [
    *(method.load()() for method in CORE_METHODS.values()),
    PLCL(kernel="linear"),
    PLCL(graph=False, complementary=False),
    PLDATransformer(),
    PLDATransformer(assignment="soft"),
    CandidateSearchCV(PLKNN(n_neighbors=3), {"n_neighbors": [2, 3]}, cv=2, random_state=0),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:n_neighbors:UserWarning")  # its data sets are small
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")  # theirs
@every_check(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
def test_scikit_learn_array_api_check():
    n_checks = len(list(checks_of(ESTIMATORS, array_api=True)))
    if n_checks == 0:
        pytest.skip("this version of scikit-learn does not have the check")
    outcomes = array_api_outcomes(ESTIMATORS)
    assert len(outcomes) == n_checks
    skipped = [outcome for outcome in outcomes if outcome != "passed"]
    # Libraries that are not here, and arrays of a GPU that is not.
    assert all("is not installed" in outcome or "CUDA" in outcome for outcome in skipped), skipped
    assert len(skipped) < n_checks
