import io
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from annotators import item_names, make_crowd

from ambilearn import SURE
from ambilearn.crowd import CrowdClassifier
from ambilearn.tables import clean_table, judge_table, read_candidate_table
from ambilearn.tables.preprocessing import make_preprocessing


@pytest.fixture(scope="module")
def crowd():
    X, truth, answers = make_crowd(n=60, lots=3)
    items = pd.DataFrame(X, columns=["x", "y", "z"]).assign(item=item_names(60))
    return items, truth, answers


def _read(crowd, **options):
    return read_candidate_table(crowd[2], features_from=crowd[0], **options)


@pytest.mark.slow
def test_judged_rows_are_cleaned_better(crowd):
    table, truth = _read(crowd), crowd[1]
    judged = judge_table(table, "plknn")
    counted, trusted = (
        (clean_table(each, "plknn").choices.labels == truth).mean()
        for each in (table, judged.table)
    )
    assert trusted > counted + 0.02
    assert judged.table.texts == table.texts  # what the annotators said is still there
    assert 0 < judged.feature_trust <= 1
    assert judged.chosen == {}
    assert judged.annotators.agreement.min() < 0.6 < judged.annotators.agreement.max()


def test_confidences_of_cleaned_and_new_rows_are_those_of_the_crowd(crowd):
    items, truth, _ = crowd
    judged = judge_table(_read(crowd), "sure").table
    cleaned = clean_table(judged, "sure")
    best = np.array([cleaned.pair_scores[a:b].max() for a, b in pairwise(judged.candidates.indptr)])
    np.testing.assert_array_equal(judged.judged.max(axis=1), best)
    np.testing.assert_array_equal(cleaned.choices.confidences, best)
    assert cleaned.frame["confidence"].to_numpy() == pytest.approx(best, abs=1e-6)
    assert (cleaned.choices.labels == truth).mean() > 0.8
    assert judged.judgment.calibration.of_logarithms
    predicted = cleaned.model.predict(items)
    assert predicted["confidence"].notna().all()
    assert (predicted["confidence"] != predicted["score"]).any()


def test_a_model_that_is_not_for_new_rows_has_no_confidences_for_them(crowd):
    judged = judge_table(_read(crowd), "sure", new_rows=False).table
    assert judged.judgment.calibration.inverse_temperature is None
    cleaned = clean_table(judged, "sure")
    assert cleaned.frame["confidence"].notna().all()
    assert cleaned.model.predict(crowd[0])["confidence"].isna().all()


def test_new_texts_are_less_familiar_than_those_of_the_fit():
    rng = np.random.default_rng(0)
    words = np.array([[f"{kind}{i}" for i in range(200)] for kind in ("good", "bad")])
    truth = rng.integers(2, size=60)
    texts = [" ".join(rng.choice(words[k], 4)) + " and the film" for k in truth]
    answers = pd.DataFrame(
        {
            "item": np.repeat(np.arange(60), 3),
            "annotator": np.tile(["ann", "ben", "eve"], 60),
            "label": np.where(rng.random(180) < 0.9, np.repeat(truth, 3), 1 - np.repeat(truth, 3)),
        }
    )
    table = read_candidate_table(
        answers, features_from=pd.DataFrame({"item": np.arange(60), "text": texts})
    )
    assert [column.kind for column in table.features.columns] == ["text"]
    calibration = judge_table(table, "sure").table.judgment.calibration
    X = make_preprocessing(table.features.columns).fit_transform(table.X)
    crowd = CrowdClassifier(SURE(), random_state=0).fit(X, table.votes)
    assert calibration.inverse_temperature < crowd.inverse_temperature_


@pytest.mark.slow
def test_the_label_of_a_person_overrides_annotators(crowd, tmp_path):
    table = _read(crowd)
    (tmp_path / "c.csv").write_text(f"row,candidates,label\n3,{table.texts[3]},gnu\n")
    corrected = _read(crowd, checked=tmp_path / "c.csv")
    judged = judge_table(corrected, "plknn").table
    assert judged.candidates.to_sets()[3] == {"gnu"}
    cleaned = clean_table(judged, "plknn").frame
    assert cleaned.loc[3, ["label", "confidence"]].to_list() == ["gnu", 1.0]
    assert cleaned["confidence"].min() < 1


@pytest.mark.slow
@pytest.mark.parametrize(("method", "name"), [("plknn", "n_neighbors"), ("sure", "reg")])
def test_one_parameter_is_chosen_by_the_answers(crowd, method, name):
    told = []
    judged = judge_table(_read(crowd), method, tune=True, progress=told.append)
    assert list(judged.chosen) == [name]
    assert told[0].startswith("judging 7 annotators by ")


def test_without_votes_there_is_nothing_to_judge():
    frame = pd.DataFrame({"x": ["1", "2", "4"], "names": ["a|b", "a", "b"]})
    table = read_candidate_table(frame, candidates="names")
    assert table.votes is None
    with pytest.raises(ValueError, match="table has no votes to judge"):
        judge_table(table)


def test_annotators_are_judged_by_corrected_rows():
    lines = ["x,ann,ben", *(f"{i % 2 * 5 + i / 40},{'ab'[i % 2]},{'ba'[i % 2]}" for i in range(20))]
    text = "\n".join(lines)

    def agreement(corrections):
        table = read_candidate_table(
            io.StringIO(text),
            candidates=["ann", "ben"],
            format="csv",
            checked=io.StringIO("row,candidates,label\n" + corrections),
        )
        found = judge_table(table, "plknn", {"n_neighbors": 3})
        return found.annotators.agreement

    right = "".join(f"{i},a|b,{'ab'[i % 2]}\n" for i in range(8))
    wrong = "".join(f"{i},a|b,{'ba'[i % 2]}\n" for i in range(8))
    ann, ben = agreement(right)
    assert ann > ben
    ann, ben = agreement(wrong)
    assert ann < ben
