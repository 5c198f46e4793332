"""scikit-learn's own checks, for every estimator and every variant that changes the code path."""

import pytest
from core_methods import CORE_CLASSES
from scikit_learn_checks import array_api_outcomes, checks_of, every_check
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression

from ambilearn import PLCL, PLKNN, CandidateClassifier, PLDATransformer
from ambilearn.selection import CandidateSearchCV

ESTIMATORS = [
    *(method() for method in CORE_CLASSES),
    PLCL(kernel="linear"),
    PLCL(graph=False, complementary=False),
    CandidateClassifier(ExtraTreesClassifier(10), random_state=0),
    CandidateClassifier(LogisticRegression(), cv=2, random_state=0),
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
@pytest.mark.array_library
def test_scikit_learn_array_api_checks():
    checks = [check.func.__name__ for _, check in checks_of(ESTIMATORS, array_api=True)]
    if not checks:
        pytest.skip("this version of scikit-learn does not have these checks")
    outcomes = array_api_outcomes(ESTIMATORS)
    assert len(outcomes) == len(checks)
    # Skipped: libraries that are not installed, and devices that this machine does not have.
    ran = {outcome for outcome in outcomes if not outcome.startswith("skipped: ")}
    assert "SCIPY_ARRAY_API" not in "".join(outcomes)
    passed = {"check_array_api_input passed", "check_array_api_same_namespace passed"}
    # The second, and the one of mixed inputs, which needs PyTorch, are new in scikit-learn 1.9.
    assert ran - {"check_array_api_mixed_inputs passed"} == {
        outcome for outcome in passed if outcome.removesuffix(" passed") in checks
    }
