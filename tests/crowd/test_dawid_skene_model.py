import warnings

import numpy as np
import pytest
from annotators import item_names, make_crowd
from sklearn.exceptions import ConvergenceWarning

from ambilearn.crowd import Votes, dawid_skene


def test_it_beats_the_majority():
    _, truth, answers = make_crowd(n=300, lots=4)
    votes = Votes.from_long(answers, items=item_names(300))
    majority = votes.classes[votes.counts().toarray().argmax(axis=1)]
    found = votes.classes[dawid_skene(votes).argmax(axis=1)]
    assert (found == truth).mean() > (majority == truth).mean() + 0.03


@pytest.mark.filterwarnings("ignore")  # of pandas, about crowd-kit
def test_it_equals_crowd_kit():
    from crowdkit.aggregation import DawidSkene

    _, _, answers = make_crowd(n=60)
    votes = Votes.from_long(answers, items=item_names(60))
    frame = votes.to_frame().set_axis(["task", "worker", "label"], axis=1)
    model = DawidSkene(n_iter=5, tol=-1e9).fit(frame)
    expected = model.probas_.reindex(votes.items)[votes.classes.tolist()]
    found = dawid_skene(votes, max_iter=5, tol=0)
    np.testing.assert_allclose(found, expected.to_numpy(), atol=1e-6)


def test_items_without_answers_get_the_shares_of_the_labels():
    _, _, answers = make_crowd()
    votes = Votes.from_long(
        answers, items=[*item_names(), "new"], classes=["cat", "dog", "emu", "x"]
    )
    posterior = dawid_skene(votes)
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    np.testing.assert_allclose(posterior[-1], posterior[:-1].mean(axis=0), atol=1e-12)
    assert posterior[:, 3].max() < 1e-6  # nobody gave it


def test_the_iterations_end_when_nothing_changes():
    _, _, answers = make_crowd()
    votes = Votes.from_long(answers)
    found, further = dawid_skene(votes, tol=1e-9), dawid_skene(votes, max_iter=200, tol=0)
    np.testing.assert_allclose(found, further, atol=1e-6)
    assert not np.allclose(dawid_skene(votes, max_iter=1, tol=0), dawid_skene(votes))


def test_a_limit_before_convergence_is_a_warning():
    votes = Votes.from_long(make_crowd()[2])
    with pytest.warns(ConvergenceWarning, match="dawid_skene stopped after max_iter=1 "):
        dawid_skene(votes, max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dawid_skene(votes)
        dawid_skene(votes, max_iter=1, tol=0)
    with pytest.raises(ValueError, match="max_iter must be at least 1; got 0"):
        dawid_skene(votes, max_iter=0)


def test_a_table_of_answers_is_read():
    table = [["a", "a", "b"], ["b", "b", "a"], ["a", "a", "a"]]
    np.testing.assert_array_equal(dawid_skene(table), dawid_skene(Votes.from_wide(table)))
    with pytest.raises(ValueError, match="The votes are 3: pass a list"):
        dawid_skene(3)
