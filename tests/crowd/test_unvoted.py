import numpy as np
import pandas as pd
import pytest
from annotators import item_names, make_crowd

from ambilearn.crowd import Votes, dawid_skene, estimate_unvoted_share
from ambilearn.crowd.unvoted import unvoted_confidence


def _draw(n_labels, n_answers, accuracy, *, n=700, n_annotators=40, seed=0):
    """Votes of annotators of mixed skill, who mix some labels more than others; true share."""
    rng = np.random.default_rng(seed)
    skill = np.clip(rng.beta(accuracy * 6, (1 - accuracy) * 6, n_annotators), 0.05, 0.98)
    confusion = rng.dirichlet(np.full(n_labels - 1, 0.7), n_labels)
    truth = rng.integers(n_labels, size=n)
    rows = []
    for i, right in enumerate(truth.tolist()):
        others = [label for label in range(n_labels) if label != right]
        for who in rng.choice(n_annotators, n_answers, replace=False).tolist():
            wrong = rng.choice(others, p=confusion[right])
            rows.append((i, who, right if rng.random() < skill[who] else int(wrong)))
    votes = Votes.from_long(rows, items=range(n), classes=range(n_labels))
    return votes, np.mean(votes.counts().toarray()[np.arange(n), truth] == 0)


@pytest.mark.parametrize("n_labels", [4, 10])
@pytest.mark.parametrize(("n_answers", "accuracy"), [(2, 0.5), (2, 0.7), (3, 0.7), (5, 0.9)])
def test_the_share_is_found(n_labels, n_answers, accuracy):
    votes, share = _draw(n_labels, n_answers, accuracy)
    assert estimate_unvoted_share(votes) == pytest.approx(share, abs=0.03)


def test_one_confusion_for_all_tells_better_how_many_than_one_for_each():
    votes, share = _draw(10, 3, 0.7)
    by_each = unvoted_confidence(votes, dawid_skene(votes)).mean()
    assert abs(estimate_unvoted_share(votes) - share) < abs(by_each - share) / 2


def test_annotators_and_their_order_do_not_matter():
    _, truth, answers = make_crowd()
    votes = Votes.from_long(answers, items=item_names(len(truth)))
    share = estimate_unvoted_share(votes)
    renamed = answers.assign(annotator="x" + answers["annotator"]).iloc[::-1]
    again = estimate_unvoted_share(Votes.from_long(renamed, items=item_names(len(truth))))
    assert again == pytest.approx(share, abs=1e-12)


def test_items_without_answers_do_not_count():
    _, truth, answers = make_crowd()
    answered = Votes.from_long(answers, items=item_names(len(truth)))
    more = Votes.from_long(answers, items=[*item_names(len(truth)), "z1", "z2"])
    assert estimate_unvoted_share(more) == pytest.approx(estimate_unvoted_share(answered))


def test_all_of_one_mind():
    votes = Votes.from_wide([["a", "a", "a"], ["b", "b", "b"]] * 20)
    assert estimate_unvoted_share(votes) == pytest.approx(0, abs=1e-3)
    assert estimate_unvoted_share(Votes.from_wide([["a", "a"]] * 5)) == 0.0  # there is one label


def test_confidence_off_the_answers_as_by_hand():
    votes = Votes.from_long(
        {"item": [0, 0, 1], "annotator": ["a", "b", "a"], "label": ["x", "y", "z"]}, items=range(3)
    )
    confidences = np.array([[0.5, 0.2, 0.3], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4]])
    np.testing.assert_allclose(unvoted_confidence(votes, confidences), [0.3, 0.2, 0.0])


@pytest.mark.parametrize("crowd", ["music", "sentiment"])
def test_real_crowds(real_data_dir, crowd):
    folder = real_data_dir / "crowd"
    if not folder.exists():
        pytest.skip("needs the answers of two crowds: folder crowd beside the paper's data files")
    train, answers = (pd.read_csv(folder / f"{crowd}-{part}.csv") for part in ("train", "answers"))
    votes = Votes.from_long(answers, items=train["item"])
    truth = np.searchsorted(votes.classes, train["truth"].to_numpy())
    share = np.mean(votes.counts().toarray()[np.arange(len(train)), truth] == 0)
    assert estimate_unvoted_share(votes) == pytest.approx(share, abs=0.05)
