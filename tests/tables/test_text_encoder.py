import numpy as np
import pandas as pd
from sentences import make_sentences
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
