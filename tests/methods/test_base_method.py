"""The method that PLCP and PLDA wrap."""

from dataclasses import replace

import array_api_strict as strict
import numpy as np
import pytest
from problems import ambiguous
from sklearn.base import clone
from sklearn.utils import get_tags

from ambilearn import (
    IPAL,
    PLAGGD,
    PLCL,
    PLCP,
    PLDA,
    PLKNN,
    SURE,
    PLVoting,
    as_candidates,
)
from ambilearn.selection import CandidateSearchCV

X, MASK, _ = ambiguous(n=40, seed=0)
SETS = as_candidates(MASK)


WEIGHTS = np.linspace(1.0, 2.0, len(X))
FEW = {"max_iter": 2, "tol": 0}
WEIGHTED_BASES = [
    SURE(**FEW),
    PLVoting(estimators=[("plcl", PLCL(**FEW)), ("knn", PLKNN())]),  # takes **fit_params
    PLDA(estimator=SURE(**FEW)),
]


@pytest.mark.parametrize("base", WEIGHTED_BASES, ids=lambda base: type(base).__name__)
@pytest.mark.parametrize("wrapper", [PLCP, PLDA])
def test_weights_of_rows_go_to_the_base(wrapper, base):
    model = wrapper(estimator=base)
    found = clone(model).fit(X, MASK, sample_weight=WEIGHTS)
    expected = clone(model).fit(X, replace(SETS, row_weights=WEIGHTS))
    np.testing.assert_array_equal(found.predict_proba(X), expected.predict_proba(X))
    assert not np.array_equal(found.predict_proba(X), clone(model).fit(X, MASK).predict_proba(X))


@pytest.mark.parametrize("base", [IPAL(), PLCP(estimator=IPAL()), PLVoting()], ids=str)
@pytest.mark.parametrize("wrapper", [PLCP, PLDA])
def test_weights_of_rows_are_rejected_if_the_base_cannot_use_them(wrapper, base):
    name = type(base).__name__
    with pytest.raises(ValueError, match=f"{name}, the estimator to be wrapped, cannot weight"):
        wrapper(estimator=base).fit(X, MASK, sample_weight=WEIGHTS)


@pytest.mark.parametrize("wrapper", [PLCP])
def test_weights_of_rows_reach_a_base_on_a_device(wrapper, dispatch):
    model = wrapper(estimator=SURE(**FEW))
    found = clone(model).fit(strict.asarray(X), MASK, sample_weight=WEIGHTS)
    expected = clone(model).fit(X, MASK, sample_weight=WEIGHTS)
    np.testing.assert_allclose(
        np.asarray(found.label_distributions_), expected.label_distributions_, atol=1e-9
    )


def test_a_wrapper_computes_where_its_base_can(dispatch):
    for able in (None, SURE(), IPAL()):
        assert get_tags(PLCP(estimator=able)).array_api_support
    unable = PLCP(estimator=PLDA())
    assert not get_tags(unable).array_api_support
    with pytest.raises(ValueError, match=r"'estimator' \(PLDA\) does not support device arrays"):
        unable.fit(strict.asarray(X), MASK)
    unable.fit(X, MASK)


@pytest.mark.parametrize("wrapper", [PLCP, PLDA])
def test_parameters_of_an_estimator_that_is_not_given_are_rejected(wrapper):
    advice = rf"'estimator__reg' cannot be set: estimator is None.*{wrapper.__name__}\(estimator="
    with pytest.raises(ValueError, match=advice):
        wrapper().set_params(estimator__reg=0.5)
    with pytest.raises(ValueError, match=advice):
        wrapper(estimator=SURE()).set_params(estimator=None, estimator__reg=0.5)
    search = CandidateSearchCV(wrapper(), {"estimator__reg": [0.1, 1.0]}, cv=2)
    with pytest.raises(ValueError, match=advice):
        search.fit(X, MASK)
    assert wrapper(estimator=SURE()).set_params(estimator__reg=0.5).estimator.reg == 0.5
    assert wrapper().set_params(estimator=SURE(), estimator__reg=0.5).estimator.reg == 0.5


@pytest.mark.parametrize(("wrapper", "default"), [(PLCP, PLAGGD), (PLDA, PLKNN)])
def test_the_default_that_the_error_names_is_the_default(wrapper, default):
    with pytest.raises(ValueError, match=rf"\(estimator={default.__name__}\(\)\)\.$"):
        wrapper().set_params(estimator__n_neighbors=5)
    assert type(wrapper().fit(X, MASK).estimator_) is default
