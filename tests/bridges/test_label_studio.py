"""Tasks for Label Studio and back."""

import json

import numpy as np
import pytest

from ambilearn import PLCL, Votes
from ambilearn.bridges import from_label_studio, to_label_studio
from ambilearn.review import ReviewSession

SETS = [{"cat", "dog"}, {"dog"}, {"cat", "emu"}]


def annotate(task, *answers, **more):
    """The task as Label Studio exports it: (annotator, labels) pairs."""
    annotations = [
        {
            "completed_by": who,
            "was_cancelled": False,
            "result": [
                {
                    "id": "x",
                    "from_name": "label",
                    "to_name": "item",
                    "type": "choices",
                    "value": {"choices": list(labels)},
                }
            ],
            **more,
        }
        for who, labels in answers
    ]
    return task | {"id": 17, "annotations": annotations}


def test_tasks_are_json_with_predictions_and_come_back():
    data = [{"text": f"row {i}"} for i in range(3)]
    labels, scores = np.array(["dog", "dog", "emu"]), np.array([0.6, 1.0, 0.7])
    tasks = to_label_studio(SETS, data, rows=[2, 0], labels=labels, scores=scores)
    assert json.loads(json.dumps(tasks)) == tasks
    assert [task["data"]["row"] for task in tasks] == [2, 0]
    assert tasks[0]["data"] == {"text": "row 2", "row": 2, "candidates": ["cat", "emu"]}
    (prediction,) = tasks[0]["predictions"]
    assert prediction["score"] == 0.7
    assert prediction["result"] == [
        {
            "from_name": "label",
            "to_name": "item",
            "type": "choices",
            "value": {"choices": ["emu"]},
        }
    ]
    exported = [annotate(tasks[0], (1, ["cat"])), annotate(tasks[1], (1, ["zebra"]))]
    answers = from_label_studio(exported)
    assert [(a.item, a.annotator, a.label) for a in answers] == [(2, 1, "cat"), (0, 1, "zebra")]


def test_answers_go_into_a_session():
    X = [[0.0], [1.0], [2.0], [3.0]]
    session = ReviewSession(PLCL(n_neighbors=2), X, [*SETS, {"cat", "dog"}], random_share=0)
    tasks = to_label_studio(session.sets, rows=session.next_rows(2), labels=session.transduction_)
    answers = from_label_studio([annotate(task, (1, ["emu"])) for task in tasks])
    session.settle_rows({answer.item: answer.label for answer in answers})
    assert set(session.labels_.values()) == {"emu"}
    assert len(session.labels_) == 2


def test_answers_of_several_annotators_are_votes():
    tasks = to_label_studio(SETS)
    assert "predictions" not in tasks[0]
    users = {"id": 4, "email": "ann@example.org"}, 7
    exported = [annotate(task, (users[0], ["dog"]), (users[1], ["cat", "dog"])) for task in tasks]
    answers = from_label_studio(exported)
    columns = {name: [getattr(a, name) for a in answers] for name in answers[0]._fields}
    votes = Votes.from_long(columns, item="item", annotator="annotator", label="label")
    assert votes.n_answers == 9
    assert len(votes.annotators) == 2


def test_cancelled_annotations_and_other_controls_are_left_out():
    (task,) = to_label_studio([{"a", "b"}])
    assert from_label_studio([annotate(task, (1, ["a"]), was_cancelled=True)]) == []
    assert from_label_studio([annotate(task, (1, ["a"]))], from_name="other") == []
    assert from_label_studio([task | {"annotations": []}]) == []


@pytest.mark.parametrize(
    ("tasks", "message"),
    [
        ("[]", "must be the list"),
        ({"data": {}}, "must be the list"),
        ([1], "Task 0 has no row number"),
        ([{"data": {"row": "3"}, "annotations": []}], "Task 0 has no row number"),
        ([{"data": {"row": 3}}], "Task 0 has no list of annotations"),
    ],
)
def test_other_files_are_rejected(tasks, message):
    with pytest.raises(ValueError, match=message):
        from_label_studio(tasks)


FOUR = [{"a", "b"}, {"b", "c"}, {"a"}, {"c"}]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": [1, 0], "labels": ["b", "a"]}, "labels has 2 entries, but there are 4 rows"),
        ({"labels": list("abac"), "scores": [1]}, "scores has 1 entries, but there are 4 rows"),
        ({"scores": [1, 2, 3, 4]}, "scores must be finite numbers, and need labels"),
        ({"labels": list("abac"), "scores": [1, np.nan, 3, 4]}, "scores must be finite"),
        ({"data": [{"row": "id7"}] * 4}, "data has the key 'row' in row 0"),
        ({"data": [{}]}, "4 rows but data for 1"),
    ],
)
def test_wrong_tasks(options, message):
    with pytest.raises(ValueError, match=message):
        to_label_studio(FOUR, **options)


def test_chosen_rows():
    assert to_label_studio(FOUR, rows=[]) == []
    assert [task["data"]["row"] for task in to_label_studio(FOUR, rows=[2, 0])] == [2, 0]
    assert len(to_label_studio(FOUR, rows=[True, False, True, False])) == 2


@pytest.mark.parametrize(
    "annotation", [None, {"result": None}, {"result": [{"type": "choices", "from_name": "label"}]}]
)
def test_a_damaged_export_names_the_task(annotation):
    with pytest.raises(ValueError, match="Task 0 is damaged"):
        from_label_studio([{"data": {"row": 0}, "annotations": [annotation]}])


def test_labels_that_are_numbers_come_back_as_numbers():
    """Label Studio has only text, which a review of numbers rejects."""
    X, sets = np.arange(6.0)[:, None], [{1, 2}, {1}, {2}, {1, 2}, {1}, {2}]
    tasks = [annotate(task, (1, ["2"])) for task in to_label_studio(sets)[:1]]
    session = ReviewSession(PLCL(n_neighbors=2), X, sets)
    answers = from_label_studio(tasks, classes=[1, 2])
    assert [answer.label for answer in answers] == [2]
    session.settle_rows({answer.item: answer.label for answer in answers})
    assert session.labels_ == {0: 2}
