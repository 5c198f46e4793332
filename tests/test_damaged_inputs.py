"""Every function that takes a sparse matrix or an array checks its structure first.

Otherwise a damaged matrix crashes the interpreter or gives wrong results.
"""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from damaged import FORMATS, KINDS, make_damaged, make_sparse
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from ambilearn import IPAL, PLCL, PLKNN, PLDATransformer, find_doubtful, votes_to_candidates
from ambilearn.bridges import (
    candidates_from_prediction_sets,
    candidates_from_top_k,
    soft_labels,
    to_sample_weights,
)
from ambilearn.candidates import as_candidates
from ambilearn.crowd import CrowdClassifier, Votes
from ambilearn.distributed.blocks import summarize_rows, summarize_sets
from ambilearn.metrics import (
    approximated_accuracy,
    covering_rate,
    tolerance_accuracy,
    transductive_accuracy,
)
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


FUNCTIONS = {
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
    "CandidateSearchCV, X": lambda m: SEARCH.fit(m, SETS),
    "CandidateSearchCV, y": lambda m: SEARCH.fit(X, m),
    "find_doubtful, X": lambda m: find_doubtful(m, SETS, estimator=PLCL(n_neighbors=1)),
    "find_doubtful, y": lambda m: find_doubtful(X, m, estimator=PLCL(n_neighbors=1)),
    "CrowdClassifier": lambda m: CrowdClassifier(PLKNN(n_neighbors=1), cv=2).fit(m, VOTES),
    "CrowdClassifier of another library": lambda m: CrowdClassifier(LogisticRegression(), cv=2).fit(
        m, VOTES
    ),
    "blocks of X": lambda m: raise_problem(summarize_rows(m)),
    "blocks of y": lambda m: raise_problem(summarize_sets(m)),
}
DAMAGE = {
    "csr": "index too large",
    "csc": "indptr ends late",
    "coo": "row too large",
    "bsr": "data too short",
    "dia": "data too short",
    "lil": "column too large",
    "dok": "row too large",
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sparse_format", FORMATS)
def test_damaged_matrices_are_rejected(name, sparse_format, kind):
    matrix = make_damaged(sparse_format, DAMAGE[sparse_format], kind)
    with pytest.raises(ValueError, match=r" is a damaged sparse matrix \("):
        FUNCTIONS[name](matrix)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_masked_entries_are_rejected(name):
    masked = np.ma.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], mask=[[0, 0], [0, 1], [0, 0]])
    with pytest.raises(ValueError, match=r" is a masked array with .* the first at \[1, 1\]"):
        FUNCTIONS[name](masked)


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
        find_doubtful(each, SETS * 2, estimator=IPAL(n_neighbors=1)) for each in (matrix, rows)
    )
    np.testing.assert_allclose(found.score, expected.score, atol=1e-6)


LISTS_OF_LABELS = {
    "classes": lambda v: as_candidates([{0}, {1}, {2}], classes=v),
    "classes of a mask": lambda v: as_candidates(np.eye(3), classes=v),
    "classes of a frame": lambda v: as_candidates(pd.DataFrame(np.eye(3)), classes=v),
    "classes of scores": lambda v: to_sample_weights(np.eye(3), classes=v),
    "classes of votes": lambda v: Votes.from_wide(np.eye(3, dtype=int), classes=v),
    "annotators": lambda v: Votes.from_wide(np.eye(3, dtype=int), annotators=v),
    "items": lambda v: Votes.from_wide(np.eye(3, dtype=int), items=v),
}


@pytest.mark.parametrize("name", LISTS_OF_LABELS)
@pytest.mark.parametrize("labels", ["abc", [[1], [2], [3]], [Decimal("sNaN"), 1, 2]], ids=str)
def test_invalid_lists_of_labels_are_rejected(name, labels):
    with pytest.raises(ValueError, match=r"must be a list of labels|There are . "):
        LISTS_OF_LABELS[name](labels)


NUMBERS = {
    "sample_weight": lambda v: PLKNN(n_neighbors=1).fit(X, SETS, sample_weight=v),
    "sample_weight of a score": lambda v: knn().score(X, [0, 1, 0], sample_weight=v),
    "confidences": lambda v: transductive_accuracy([0, 1, 0], SETS, v, X),
    "outputs": lambda v: transductive_accuracy([0, 1, 0], SETS, X, v),
    "proba": lambda v: approximated_accuracy(SETS, v),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("values", [["a", "b", "c"], [[1], [1, 2], [3]], [1j, 2, 3]], ids=str)
def test_invalid_numbers_are_rejected(name, values):
    with pytest.raises(ValueError, match=f"^{name.partition(' ')[0]} must be numbers"):
        NUMBERS[name](values)


@pytest.mark.parametrize("weights", [[np.nan, 1, 1], [np.inf, 1, 1], [-1, 1, 1], [0, 0, 0]])
def test_weights_of_a_score_are_finite_and_not_negative(weights):
    with pytest.raises(ValueError, match=r"NaN|infinity|[Nn]egative|non-zero"):
        knn().score(X, [0, 1, 0], sample_weight=weights)


@pytest.mark.parametrize(
    "labels", [[None, 1, 0], [np.nan, 1, 0], [pd.NA, 1, 0], [Decimal("sNaN"), 1, 0]]
)
def test_missing_labels_are_rejected(labels):
    for measure in (
        lambda: transductive_accuracy(labels, SETS, X, X),
        lambda: tolerance_accuracy([0, 1, 0], labels, 1),
        lambda: covering_rate(SETS, labels),
    ):
        with pytest.raises(ValueError, match="The label of row 0 is missing"):
            measure()


def test_labels_are_compared_as_they_are():
    assert covering_rate([{"a"}, {"a\0"}], ["a", "a"]) == 0.5
    assert covering_rate([{2**63}, {1}], [2**63 - 1, 1]) == 0.5


@pytest.mark.parametrize("votes", [5, None, "ab", np.array(5), [1, 2], [np.ma.masked], ["ab"]])
def test_invalid_tables_of_votes_are_rejected(votes):
    for read in (Votes.from_wide, votes_to_candidates):
        with pytest.raises(ValueError, match=r"a list (of votes )?(for each|per) row"):
            read(votes)


def test_annotators_have_distinct_names():
    with pytest.raises(ValueError, match="annotators has 2 names, but there are 3 columns"):
        Votes.from_wide(np.eye(3, dtype=int), annotators=["ann", "ben"])
    with pytest.raises(ValueError, match="The annotators cannot be sorted"):
        Votes.from_wide(np.eye(2, dtype=int), annotators=[len, max])
    votes = Votes.from_wide([["x", "y"]], annotators=["a", "a\0"])
    assert votes.annotators.tolist() == ["a", "a\0"]


@pytest.mark.parametrize("read", [Votes.from_wide, Votes.from_long, votes_to_candidates])
def test_votes_are_never_sparse(read):
    for matrix in (sparse.csr_array(X), make_damaged("csr", "index too large")):
        with pytest.raises(ValueError, match="the label 0 and no answer are the same"):
            read(matrix)


def test_masked_votes_are_no_answers():
    votes = np.ma.array([[0, 1], [1, 1], [0, 0]], mask=[[0, 1], [0, 0], [0, 0]])
    assert Votes.from_wide(votes).n_answers == 5
    assert votes_to_candidates(votes).to_sets() == [{0}, {1}, {0}]
