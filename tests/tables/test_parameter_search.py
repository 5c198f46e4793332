"""Parameters of a table's method, chosen by its candidate sets."""

from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

from ambilearn.tables import fit_table, read_candidate_table


@pytest.fixture
def table(people_csv):
    return read_candidate_table(people_csv, candidates="names", exclude=["truth"])


def test_selection_tries_the_defaults_too_and_reports(table):
    told = []
    fitted = fit_table(table, "plknn", tune=True, progress=told.append)
    assert set(fitted.about["chosen"]) == {"n_neighbors"}
    assert fitted.method.n_neighbors == fitted.about["chosen"]["n_neighbors"]
    assert 0 < fitted.about["selection score"] <= 1
    assert told[0].startswith("choosing parameters: fit 1 of 15")
    assert told[-2] == "choosing parameters: fit 15 of 15"
    assert told[-1].startswith("fitting PLKNN to 60 rows and ")


def test_selection_leaves_given_parameters_alone(table):
    fitted = fit_table(table, "sure", {"reg": 0.123}, tune=True)
    assert set(fitted.about["chosen"]) == {"lam"}
    assert fitted.method.reg == 0.123
    with pytest.raises(ValueError, match="nothing left to choose"):
        fit_table(table, "plknn", {"n_neighbors": 3}, tune=True)


@pytest.fixture
def votes(tmp_path):
    """Three of four annotators are usually right, the last one answers at random."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 90)
    frame = pd.DataFrame({"x": truth * 2 + rng.normal(size=90) / 4, "y": rng.normal(size=90) / 4})
    for i in range(3):
        wrong = rng.random(90) < 0.15
        frame[f"a{i}"] = np.array(list("pqr"))[np.where(wrong, (truth + i) % 3, truth)]
    frame["a3"] = rng.choice(list("pqr"), 90)
    frame.to_csv(tmp_path / "votes.csv", index=False)
    return tmp_path / "votes.csv"


ANNOTATORS = ["a0", "a1", "a2", "a3"]


def _without_weights(table):
    """The table without the counts of votes as weights."""
    votes = table.votes

    class Unweighted(type(votes)):
        def to_candidates(self, **options):
            return super().to_candidates(**options, weights=False)

    plain = Unweighted(**{each.name: getattr(votes, each.name) for each in fields(votes)})
    return replace(table, candidates=replace(table.candidates, weights=None), votes=plain)


def test_selection_also_chooses_how_many_votes_make_a_candidate(votes):
    table = _without_weights(read_candidate_table(votes, candidates=ANNOTATORS))
    told = []
    fitted = fit_table(table, "plknn", tune=True, progress=told.append)
    assert fitted.about["chosen"]["min_votes"] == 2
    assert "easier than the others" in fitted.calibration.reason
    assert told[-2] == "choosing parameters: fit 30 of 30"
    stricter = read_candidate_table(votes, candidates=ANNOTATORS, min_votes=2, fallback="union")
    again = fit_table(
        _without_weights(stricter), "plknn", {"n_neighbors": fitted.method.n_neighbors}
    )
    np.testing.assert_array_equal(
        fitted.choices(table.frame).scores, again.choices(table.frame).scores
    )


def test_selection_holds_both_against_the_same_votes(votes, monkeypatch):
    table = read_candidate_table(votes, candidates=ANNOTATORS)
    seen = []

    def scorer(fitted, rows, held_out):
        seen.append(held_out.sizes.sum())
        return 1.0

    monkeypatch.setattr("ambilearn.tables.parameter_search.covering_rate_scorer", scorer)
    fitted = fit_table(table, "plknn", tune=True)
    assert fitted.about["chosen"]["min_votes"] == 1  # ties: the default
    assert seen[:15] == seen[15:]
    # Nothing else is to be chosen, and still something.
    chosen = fit_table(table, "plknn", {"n_neighbors": 3}, tune=True).about["chosen"]
    assert chosen == {"min_votes": 1}


@pytest.mark.parametrize("given", [1, 2])
def test_selection_leaves_given_votes_alone(votes, given):
    options = {"min_votes": given, "fallback": "union"}
    table = read_candidate_table(votes, candidates=ANNOTATORS, **options)
    assert table.two_votes is None
    assert "min_votes" not in fit_table(table, "plknn", tune=True).about["chosen"]
