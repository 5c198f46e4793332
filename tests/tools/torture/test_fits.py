"""The targets of fits accept what is right, and find planted defects."""

import numpy as np
import pytest
from torture import fits
from torture.oracle import Defect

from ambilearn import PLKNN

SHAPE = {"seed": 1, "n rows": 20, "n features": 3}


def test_an_offset_that_changes_the_result_is_found(monkeypatch, tmp_path):
    case = SHAPE | {"method": "plknn", "kernel": "rbf", "offset": 1e6, "form": "dense"}
    assert fits.check_offset(case, tmp_path)
    rounded = PLKNN.fit
    monkeypatch.setattr(
        PLKNN, "fit", lambda self, X, y: rounded(self, np.asarray(X, np.float32).astype(float), y)
    )
    with pytest.raises(Defect, match="an offset changes the result"):
        fits.check_offset(case, tmp_path)


def test_fits_in_threads_that_differ_are_found(tmp_path):
    case = SHAPE | {"methods": ["plknn", "sure"]}
    assert fits.check_threads(case, tmp_path)
    right, wrong = np.eye(3), 2 * np.eye(3)
    with pytest.raises(Defect, match="fits in threads"):
        fits.check_equal([right, wrong], [right, right], 0.1, "fits in threads")


def test_a_model_that_shares_its_input_is_found(monkeypatch, tmp_path):
    case = SHAPE | {"method": "plknn", "kernel": "rbf", "X": "array", "y": "mask", "weights": True}
    assert fits.check_aliases(case, tmp_path)
    fit = PLKNN.fit

    def share(self, X, y, sample_weight=None):
        fit(self, X, y, sample_weight)
        self.shared_ = X
        return self

    monkeypatch.setattr(PLKNN, "fit", share)
    monkeypatch.setattr(PLKNN, "predict_proba", lambda self, new: np.tile(self.shared_[:1], (5, 1)))
    with pytest.raises(Defect, match="changes with the arrays"):
        fits.check_aliases(case, tmp_path)
