"""The device method of the page "Adding a method": one code for the CPU and for other libraries."""

import doctest

import numpy as np
from examples_folder import load
from scipy.sparse import csr_array, issparse

from ambilearn.datasets import load_dataset, make_candidates

nearest_mean = load("nearest_mean")
NearestMean = nearest_mean.NearestMean


def digits():
    data = load_dataset("digits")
    candidates, _ = make_candidates(data.y[:300], r=3, random_state=0)
    return data.X[:300] / 16, candidates, data.y[:300]


def test_it_disambiguates_digits():
    X, candidates, y = digits()
    model = NearestMean().fit(X, candidates)
    assert (model.transduction_ == y).mean() > 0.85
    assert candidates.covers(model.transduction_).all()


def test_a_sparse_mask_gives_sparse_confidences():
    X, candidates, _ = digits()
    dense = NearestMean().fit(X, candidates.to_mask())
    model = NearestMean().fit(csr_array(X), csr_array(candidates.to_mask()))
    assert issparse(model.label_distributions_)
    found = model.label_distributions_.toarray()
    np.testing.assert_allclose(found, dense.label_distributions_, atol=1e-9)


def test_its_docstring_runs():
    result = doctest.testmod(nearest_mean, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted
    assert not result.failed
