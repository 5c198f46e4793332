"""Parameters of a table's method, chosen by its candidate sets."""

import pytest

from ambilearn.tables import fit_table


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
