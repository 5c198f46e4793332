import numpy as np

from ambilearn.doubt import Doubt, LabelDoubt

SCORE, SUGGESTION = np.array([-0.5, 0.7, 0.7, 0.1]), np.array(["b", "a", "a", "b"])


def test_order_is_by_score_and_ties_keep_the_input_order():
    assert Doubt(SCORE, SUGGESTION).order.tolist() == [1, 2, 3, 0]


def test_tables_and_texts():
    doubt = Doubt(SCORE, SUGGESTION)
    assert doubt.to_frame().columns.to_list() == ["score", "suggestion"]
    assert repr(doubt) == "<Doubt: 4 rows, 3 with a score above 0>"
    change = np.array([False, True, False, False])
    label = np.array(["a", "a", "b", "a"])
    table = np.full((4, 2), 0.5)
    found = LabelDoubt(SCORE, SUGGESTION, label, change, table[:, 0], table, label[1:3], table[:2])
    frame = found.to_frame()
    assert frame.index.name == "row"
    assert frame.columns.to_list() == ["score", "suggestion", "label", "change", "confidence"]
    assert frame["label"].to_list() == label.tolist()
    assert repr(found) == "<LabelDoubt: 4 rows, 1 label to change>"
