import warnings

import numpy as np
import pandas as pd
import pytest
from annotators import make_crowd

from ambilearn.tables import read_candidate_table
from ambilearn.tables.long_form import looks_like_answers


def test_answers_are_known_by_their_looks():
    _, _, answers = make_crowd()
    assert looks_like_answers(answers, "label") == ("item", "annotator")
    timed = answers.assign(seconds=np.arange(len(answers)))
    assert looks_like_answers(timed, "label") == ("item", "annotator")


def test_who_reads_them_as_candidates_is_told():
    _, _, answers = make_crowd()
    with pytest.warns(UserWarning, match="table looks like answers in long form") as caught:
        read_candidate_table(answers, candidates="label")
    text = str(caught[0].message)
    assert "--item item --annotator annotator --answer label --features-from FILE" in text


@pytest.mark.parametrize("seed", range(5))
def test_ordinary_tables_are_left_alone(seed):
    rng = np.random.default_rng(seed)
    n = 60
    tables = [
        {"height": rng.normal(size=n).round(6), "weight": rng.normal(size=n).round(6)},
        {"town": rng.choice(list("xyz"), n), "colour": rng.choice(list("rgb"), n)},
        {"id": np.arange(n), "town": rng.choice(list("xyz"), n)},
        {"x": rng.normal(size=n)},
    ]
    for columns in tables:
        frame = pd.DataFrame(columns).astype(str).assign(names=rng.choice(["a|b", "b|c", "a|c"], n))
        assert looks_like_answers(frame, "names") is None
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            read_candidate_table(frame, candidates="names")


@pytest.mark.parametrize("type", [str, float])
def test_rounded_measurements_are_no_names(type):
    x, y = np.meshgrid(np.arange(80) / 100, 1 + np.arange(50))
    frame = pd.DataFrame({"x": x.ravel(), "y": y.ravel()}).astype(type).assign(names="a|b")
    assert len(frame) == 4000
    assert looks_like_answers(frame, "names") is None


def test_numbers_are_names_if_they_are_whole():
    """Also those that pandas made floating point of, and beside a measurement."""
    _, _, answers = make_crowd()
    codes = answers.apply(lambda cells: pd.factorize(cells)[0].astype(float))
    assert looks_like_answers(codes, "label") == ("item", "annotator")
    timed = codes.assign(seconds=codes["item"] / 7)
    assert looks_like_answers(timed, "label") == ("item", "annotator")


def test_few_rows_tell_nothing():
    _, _, answers = make_crowd()
    assert looks_like_answers(answers.head(4), "label") is None
