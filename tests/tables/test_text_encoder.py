import numpy as np
import pandas as pd
import pytest
from core_methods import CORE_METHODS
from sentences import make_sentences
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer

from ambilearn.tables import fit_table, load_model, read_candidate_table, save_model
from ambilearn.tables.text_encoder import TextEncoder

TEXTS = make_sentences()["review"].to_list()
OPTIONS = {"candidates": "mood", "exclude": ["truth"]}


def test_it_is_what_scikit_learn_makes_of_words_and_pairs():
    encoder = TextEncoder().fit(TEXTS[:80])
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True).fit(TEXTS[:80])
    assert encoder.get_feature_names_out().tolist() == vectorizer.get_feature_names_out().tolist()
    np.testing.assert_array_equal(
        encoder.transform(TEXTS).toarray(), vectorizer.transform(TEXTS).toarray()
    )


def test_rows_have_length_one_and_those_without_a_known_term_are_zero():
    X = TextEncoder().fit(TEXTS).transform([*TEXTS, "", "Übermorgen", "12 3"])
    lengths = np.linalg.norm(X.toarray(), axis=1)
    np.testing.assert_allclose(lengths[:-3], 1)
    assert lengths[-3:].tolist() == [0, 0, 0]


def test_the_most_frequent_terms_are_kept():
    texts = ["red car", "red bus", "red tram", "blue bus", "old bus"]
    encoder = TextEncoder(max_terms=2).fit(texts)
    assert encoder.terms_.tolist() == ["bus", "red"]


def test_terms_of_one_text_are_kept_only_where_there_are_no_others():
    assert TextEncoder().fit(["red car", "red bus"]).terms_.tolist() == ["red"]
    assert TextEncoder().fit(["red car", "blue bus"]).terms_.tolist() == [
        "blue",
        "blue bus",
        "bus",
        "car",
        "red",
        "red car",
    ]


def test_very_long_words_are_not_terms():
    encoder = TextEncoder().fit(["x" * 50 + " fine"] * 3)
    assert encoder.terms_.tolist() == ["fine"]


def test_not_fitted():
    with pytest.raises(NotFittedError):
        TextEncoder().transform(TEXTS)


@pytest.mark.parametrize("method", CORE_METHODS)
def test_every_method_learns_from_sentences(method):
    frame = make_sentences()
    table = read_candidate_table(frame, **OPTIONS)
    assert [(c.name, c.kind) for c in table.features.columns] == [("review", "text")]
    assert "id" in table.features.left_out
    labels = fit_table(table, method, fast=True).choices(frame).labels
    assert (labels == frame["truth"]).mean() > 0.9


def test_a_model_with_text_is_the_same_after_a_file(tmp_path):
    frame = make_sentences()
    fitted = fit_table(read_candidate_table(frame, **OPTIONS))
    save_model(fitted, tmp_path / "m.model")
    loaded = load_model(tmp_path / "m.model")
    assert loaded.columns == fitted.columns
    new = pd.DataFrame({"review": ["A bore, stale and cold", "", None, "nothing known here"]})
    before, after = (model.choices(new) for model in (fitted, loaded))
    np.testing.assert_array_equal(before.scores, after.scores)
    assert before.labels[0] == "bad"
    np.testing.assert_array_equal(before.scores[1:], [before.scores[1]] * 3)


@pytest.mark.heavy
def test_sentences_of_a_crowd_beat_plain_logistic_regression(real_data_dir):
    from sklearn.linear_model import LogisticRegression

    crowd = real_data_dir / "crowd"
    if not crowd.exists():
        pytest.skip("needs the crowd's data files in the folder of AMBILEARN_DATA")
    train, test = (
        pd.read_csv(crowd / f"sentiment-{part}.csv", keep_default_na=False)
        for part in ("train", "test")
    )
    votes = pd.read_csv(crowd / "sentiment-answers.csv").groupby(["item", "label"]).size()
    majority = votes.unstack(fill_value=0).reindex(train["item"]).idxmax(axis=1).to_numpy()
    table = read_candidate_table(
        train[["text"]].assign(majority=majority), candidates="majority", features=["text"]
    )
    ours = fit_table(table, fast=True).choices(test).labels == test["truth"]
    words = TfidfVectorizer().fit(train["text"])
    plain = LogisticRegression(max_iter=1000).fit(words.transform(train["text"]), majority)
    theirs = plain.predict(words.transform(test["text"])) == test["truth"]
    assert ours.mean() > theirs.mean() > 0.65
