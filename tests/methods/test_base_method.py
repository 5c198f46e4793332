"""The method that PLCP, PRA and PLDA wrap."""

import array_api_strict as strict
import numpy as np
import pytest
from problems import ambiguous
from sklearn.utils import get_tags

from ambilearn import IPAL, PLAGGD, PLCP, PLDA, PLKNN, PRA, SURE, as_candidates
from ambilearn.methods._base_method import fit_base
from ambilearn.selection import CandidateSearchCV

X, MASK, _ = ambiguous(n=40, seed=0)
SETS = as_candidates(MASK)


def weighted(sets):
    from dataclasses import replace

    return replace(sets, row_weights=np.linspace(1.0, 2.0, len(X)))


def test_is_fitted_in_place():
    base = SURE()
    assert fit_base(base, X, SETS) is base
    expected = SURE().fit(X, MASK).label_distributions_
    np.testing.assert_array_equal(base.label_distributions_, expected)


def test_weights_of_rows_are_passed_on():
    found = fit_base(SURE(), X, weighted(SETS)).label_distributions_
    expected = SURE().fit(X, MASK, weighted(SETS).row_weights).label_distributions_
    np.testing.assert_array_equal(found, expected)


def test_weights_of_rows_without_a_use_are_refused():
    with pytest.raises(ValueError, match="IPAL, the estimator to be wrapped, has no weights"):
        fit_base(IPAL(), X, weighted(SETS))


@pytest.mark.parametrize("wrapper", [PLCP, PRA])
def test_a_wrapper_computes_where_its_base_can(wrapper, dispatch):
    for able in (None, SURE(), IPAL()):
        assert get_tags(wrapper(estimator=able)).array_api_support
    unable = wrapper(estimator=PLDA())
    assert not get_tags(unable).array_api_support
    with pytest.raises(ValueError, match=r"'estimator', a PLDA, does not support device arrays"):
        unable.fit(strict.asarray(X), MASK)
    unable.fit(X, MASK)


@pytest.mark.parametrize("wrapper", [PLCP, PLDA, PRA])
def test_parameters_of_an_estimator_that_is_not_given_are_refused_in_words(wrapper):
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


@pytest.mark.parametrize(("wrapper", "default"), [(PLCP, PLAGGD), (PLDA, PLKNN), (PRA, PLAGGD)])
def test_the_default_that_the_refusal_names_is_the_default(wrapper, default):
    with pytest.raises(ValueError, match=rf"\(estimator={default.__name__}\(\)\)\.$"):
        wrapper().set_params(estimator__n_neighbors=5)
    assert type(wrapper().fit(X, MASK).estimator_) is default
