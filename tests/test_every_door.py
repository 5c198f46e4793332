"""Every function that takes a sparse matrix or an array looks at its structure first.

A damaged matrix that gets through ends in a crash of the interpreter or in nonsense.
"""

import numpy as np
import pytest
from damaged import FORMATS, KINDS, make_damaged, make_sparse
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from ambilearn import IPAL, PLCL, PLKNN, PLDATransformer, find_doubtful
from ambilearn.bridges import (
    candidates_from_conformal,
    candidates_from_prediction_sets,
    candidates_from_top_k,
    soft_labels,
    to_sample_weights,
)
from ambilearn.candidates import as_candidates
from ambilearn.crowd import CrowdClassifier, Votes
from ambilearn.datasets import votes_to_candidates
from ambilearn.distributed.block_summary import summarize_rows, summarize_sets
from ambilearn.metrics import approximated_accuracy, covering_rate, transductive_accuracy
from ambilearn.selection import CandidateSearchCV

X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
SETS = [{0, 1}, {1}, {0}]
VOTES = Votes.from_wide([[0, 1], [1, 1], [0, 0]])
SEARCH = CandidateSearchCV(PLKNN(n_neighbors=1), {"n_neighbors": [1]}, cv=2)


def knn():
    return PLKNN(n_neighbors=1).fit(X, SETS)


def raise_problem(summary):
    if summary.problem:
        raise summary.problem


DOORS = {
    "as_candidates": as_candidates,
    "fit, X": lambda m: PLKNN(n_neighbors=1).fit(m, SETS),
    "fit, y": lambda m: PLKNN(n_neighbors=1).fit(X, m),
    "predict": lambda m: knn().predict(m),
    "score, X": lambda m: knn().score(m, [0, 1, 0]),
    "score, y": lambda m: knn().score(X, m),
    "transform": lambda m: PLDATransformer(n_neighbors=1).fit(X, SETS).transform(m),
    "covering_rate": lambda m: covering_rate(m, [0, 1, 0]),
    "transductive_accuracy": lambda m: transductive_accuracy([0, 1, 0], SETS, m, X),
    "approximated_accuracy": lambda m: approximated_accuracy(SETS, m),
    "to_sample_weights": to_sample_weights,
    "to_sample_weights, X": lambda m: to_sample_weights(np.ones((3, 2)), m),
    "soft_labels": soft_labels,
    "candidates_from_top_k": lambda m: candidates_from_top_k(m, 1),
    "candidates_from_prediction_sets": candidates_from_prediction_sets,
    "candidates_from_conformal": lambda m: candidates_from_conformal(m, m, [0, 1, 0]),
    "CandidateSearchCV, X": lambda m: SEARCH.fit(m, SETS),
    "CandidateSearchCV, y": lambda m: SEARCH.fit(X, m),
    "find_doubtful, X": lambda m: find_doubtful(PLCL(n_neighbors=1), m, SETS),
    "find_doubtful, y": lambda m: find_doubtful(PLCL(n_neighbors=1), X, m),
    "CrowdClassifier": lambda m: CrowdClassifier(PLKNN(n_neighbors=1), cv=2).fit(m, VOTES),
    "CrowdClassifier of another library": lambda m: CrowdClassifier(LogisticRegression(), cv=2).fit(
        m, VOTES
    ),
    "blocks of X": lambda m: raise_problem(summarize_rows(m)),
    "blocks of y": lambda m: raise_problem(summarize_sets(m)),
}
WHAT = {
    "csr": "index too large",
    "csc": "indptr ends late",
    "coo": "row too large",
    "bsr": "data too short",
    "dia": "data too short",
    "lil": "column too large",
    "dok": "row too large",
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sparse_format", FORMATS)
def test_damaged_matrices_are_stopped(door, sparse_format, kind):
    matrix, _ = make_damaged(sparse_format, WHAT[sparse_format], kind)
    with pytest.raises(ValueError, match=r" is a damaged sparse matrix \("):
        DOORS[door](matrix)


@pytest.mark.parametrize("door", DOORS)
def test_masked_entries_are_stopped(door):
    masked = np.ma.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], mask=[[0, 0], [0, 1], [0, 0]])
    with pytest.raises(ValueError, match=r" is a masked array, .* the first at \[1, 1\]"):
        DOORS[door](masked)


@pytest.mark.slow
@pytest.mark.parametrize("sparse_format", FORMATS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:n_neighbors:UserWarning")
def test_crowds_and_doubt_take_every_sparse_format(sparse_format):
    rows = np.vstack([X, X + 0.5])
    votes = Votes.from_wide([[0, 1], [1, 1], [0, 0]] * 2)
    matrix = make_sparse(rows, sparse_format)
    found, expected = (
        CrowdClassifier(PLKNN(n_neighbors=1), cv=2, max_iter=1, random_state=0).fit(each, votes)
        for each in (matrix, rows)
    )
    np.testing.assert_allclose(found.label_distributions_, expected.label_distributions_, atol=1e-6)
    found, expected = (
        find_doubtful(IPAL(n_neighbors=1), each, SETS * 2) for each in (matrix, rows)
    )
    np.testing.assert_allclose(found.score, expected.score, atol=1e-6)


@pytest.mark.parametrize("read", [Votes.from_wide, Votes.from_long, votes_to_candidates])
def test_votes_are_never_sparse(read):
    for matrix in (sparse.csr_array(X), make_damaged("csr", "index too large")[0]):
        with pytest.raises(ValueError, match="the label 0 and no answer are the same"):
            read(matrix)


def test_masked_votes_are_no_answers():
    votes = np.ma.array([[0, 1], [1, 1], [0, 0]], mask=[[0, 1], [0, 0], [0, 0]])
    assert Votes.from_wide(votes).n_answers == 5
    assert votes_to_candidates(votes).to_sets() == [{0}, {1}, {0}]
