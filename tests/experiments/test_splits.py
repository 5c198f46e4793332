from dataclasses import replace

import numpy as np
import pytest

from ambilearn.candidates import as_candidates
from ambilearn.datasets import load_dataset
from ambilearn.experiments import splits
from ambilearn.experiments.splits import Split, _split, make_split, score_model, train_outputs
from ambilearn.experiments.task import Task
from ambilearn.metrics import transductive_accuracy
from ambilearn.registry import installed_methods

TASK = Task("wine", "PLKNN", 0, candidates={"p": 1.0, "r": 1}, scaling="none")


def rows_of(split):
    return {tuple(row) for row in split.X_train}, {tuple(row) for row in split.X_test}


def test_halves_are_disjoint_and_complete():
    split = make_split(TASK)
    train, test = rows_of(split)
    assert (len(split.X_train), len(split.X_test)) == (89, 89)
    assert not train & test
    assert train | test == {tuple(row) for row in load_dataset("wine").X}


@pytest.mark.parametrize("share", [0.2, 0.5, 0.75])
def test_the_share_of_test_rows(share):
    split = make_split(TASK.to(test_share=share))
    assert len(split.X_test) == round(share * 178)


def test_all_methods_have_the_same_split_and_candidates():
    a, b = make_split(TASK), make_split(TASK.to(method="PLCL", params={"alpha": 2.0}))
    assert a is b
    _split.cache_clear()
    c = make_split(TASK)
    assert c is not a
    assert np.array_equal(a.X_train, c.X_train)
    assert np.array_equal(a.candidates.to_mask(), c.candidates.to_mask())


def test_runs_differ():
    assert rows_of(make_split(TASK)) != rows_of(make_split(TASK.to(run=1)))


def test_settings_share_the_rows_but_not_the_candidates():
    a, b = make_split(TASK), make_split(TASK.to(candidates={"p": 0.5, "r": 1}))
    assert np.array_equal(a.X_train, b.X_train)
    assert (a.candidates.sizes == 2).all()
    assert (b.candidates.sizes == 2).mean() == pytest.approx(0.5, abs=0.01)


def test_true_labels_are_candidates_and_all_classes_are_known():
    split = make_split(TASK)
    assert split.candidates.covers(split.y_train).all()
    assert split.candidates.classes.tolist() == load_dataset("wine").classes.tolist()


def test_scaling_over_all_rows():
    split = make_split(TASK.to(scaling="all"))
    X = np.vstack([split.X_train, split.X_test])
    assert np.allclose(X.mean(axis=0), 0)
    assert np.allclose(X.std(axis=0), 1)
    assert not np.allclose(split.X_train.mean(axis=0), 0)


def test_scaling_over_training_rows_ignores_test_rows():
    split = make_split(TASK.to(scaling="train"))
    assert np.allclose(split.X_train.mean(axis=0), 0)
    assert np.allclose(split.X_train.std(axis=0), 1)
    assert not np.allclose(split.X_test.mean(axis=0), 0)


def test_another_scaling_is_rejected():
    with pytest.raises(ValueError, match="scaling must be 'all', 'train' or 'none'; got 'some'"):
        make_split(TASK.to(scaling="some"))


def test_a_row_limit_selects_the_same_rows_in_every_run():
    first, second = (make_split(TASK.to(rows=40, run=run)) for run in (0, 1))
    a, b = ({*rows_of(s)[0], *rows_of(s)[1]} for s in (first, second))
    assert len(a) == 40
    assert a == b
    assert rows_of(first) != rows_of(second)
    assert len(make_split(TASK.to(rows=1000)).X_train) == 89


def test_data_without_candidates_need_a_protocol():
    with pytest.raises(ValueError, match="wine has no candidate sets"):
        make_split(TASK.to(candidates=None))


def test_data_without_true_labels_cannot_be_measured(monkeypatch):
    unlabeled = replace(load_dataset("iris"), name="unlabeled", y=None)
    monkeypatch.setattr(splits, "load_dataset", lambda *_, **__: unlabeled)
    with pytest.raises(ValueError, match="unlabeled has no true labels"):
        make_split(TASK.to(data="unlabeled"))


CLASSES = np.arange(10)


class Known:
    """A model whose answers are known: the label is in the row, confidences are given."""

    def __init__(self, confidences, outputs):
        self.label_distributions_, self.train_output_ = confidences, outputs

    def predict(self, X):
        return X[:, 0].astype(int)

    def predict_proba(self, X):
        return np.eye(10)[X[:, 0].astype(int)]


def test_scores_of_a_small_example():
    sets = as_candidates([{0, 4}, {1, 2}, {3}, {9, 0}], classes=CLASSES)
    truth = np.array([0, 1, 3, 9])
    one_hot = np.eye(10)
    confidences = one_hot[[4, 1, 3, 9]]  # one wrong, by four
    outputs = one_hot[[7, 1, 3, 6]] + 0.5 * one_hot[[0, 1, 3, 0]]
    split = Split(
        X_train=np.array([[0], [2], [3], [5]]),
        candidates=sets,
        y_train=truth,
        X_test=np.array([[0], [1], [2], [3], [9]]),
        y_test=np.array([0, 4, 7, 9, 0]),
    )
    scores = score_model(Known(confidences, outputs), split)
    assert scores["accuracy"] == 1 / 5
    assert scores["accuracy@3"] == 2 / 5  # missed by 0, 3, 5, 6, 9
    assert scores["accuracy@5"] == 3 / 5
    assert scores["transductive.confidences"] == 3 / 4
    assert scores["transductive.confidences@3"] == 3 / 4
    assert scores["transductive.confidences@5"] == 1.0
    assert scores["transductive.outputs_in_set"] == 3 / 4  # 0, 1, 3 and the wrong 0
    assert scores["transductive.outputs"] == 2 / 4  # 7, 1, 3, 6
    assert scores["transductive.outputs@3"] == 3 / 4
    assert scores["training.covering"] == 3 / 4
    assert scores["training.approximated"] == 3 / 4


@pytest.mark.parametrize("method", [method.name for method in installed_methods().values()])
def test_every_method_has_every_score(method):
    task = Task("iris", method, 0, candidates={"p": 0.5}, rows=60)
    split = make_split(task)
    model = task.estimator().fit(split.X_train, split.candidates)
    scores = score_model(model, split)
    assert len(scores) == 4 * 3 + 2
    assert all(0 <= value <= 1 for value in scores.values())
    assert scores["accuracy"] == model.score(split.X_test, split.y_test)
    expected = transductive_accuracy(
        split.y_train,
        split.candidates,
        model.label_distributions_,
        train_outputs(model, split.X_train),
    )
    for name, value in expected._asdict().items():
        assert scores[f"transductive.{name}"] == value


def test_outputs_of_two_labels_get_two_columns():
    class TwoLabels:
        def decision_function(self, X):
            return np.array([-1.0, 2.0])

    assert train_outputs(TwoLabels(), None).argmax(axis=1).tolist() == [0, 1]
