import numpy as np
import pytest

from ambilearn.candidates import as_candidates
from ambilearn.experiments.scores import score_model, train_outputs
from ambilearn.experiments.splits import Split, make_split
from ambilearn.experiments.task import Task
from ambilearn.metrics import transductive_accuracy
from ambilearn.registry import installed_methods

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
