import warnings

import numpy as np
import pytest
from annotators import item_names, make_crowd

from ambilearn.crowd import Votes, dawid_skene


@pytest.mark.slow
def test_it_beats_the_majority():
    _, truth, answers = make_crowd(n=300, lots=4)
    votes = Votes.from_long(answers, items=item_names(300))
    majority = votes.classes[votes.counts().toarray().argmax(axis=1)]
    found = votes.classes[dawid_skene(votes).argmax(axis=1)]
    assert (found == truth).mean() > (majority == truth).mean() + 0.03


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of pandas, about crowd-kit
def test_it_is_crowd_kits():
    from crowdkit.aggregation import DawidSkene

    _, _, answers = make_crowd()
    votes = Votes.from_long(answers, items=item_names())
    frame = votes.to_frame().set_axis(["task", "worker", "label"], axis=1)
    expected = DawidSkene(n_iter=100).fit(frame).probas_.loc[item_names(), votes.classes.tolist()]
    np.testing.assert_allclose(dawid_skene(votes), expected.to_numpy(), atol=1e-8)


def test_items_without_answers_get_the_shares_of_the_labels():
    _, _, answers = make_crowd()
    votes = Votes.from_long(
        answers, items=[*item_names(), "new"], classes=["cat", "dog", "emu", "x"]
    )
    posterior = dawid_skene(votes)
    np.testing.assert_allclose(posterior.sum(axis=1), 1)
    np.testing.assert_allclose(posterior[-1], posterior[:-1].mean(axis=0), atol=1e-6)
    assert posterior[:, 3].max() < 1e-6  # nobody gave it


@pytest.mark.slow
def test_an_iteration_more_or_less_is_a_choice():
    _, _, answers = make_crowd()
    votes = Votes.from_long(answers)
    assert not np.allclose(dawid_skene(votes, max_iter=1), dawid_skene(votes))


@pytest.mark.filterwarnings("error")
def test_what_pandas_says_of_crowd_kit_is_not_for_our_users():
    _, _, answers = make_crowd(n=20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dawid_skene(Votes.from_long(answers))
