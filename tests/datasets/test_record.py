from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from ambilearn.candidates import as_candidates
from ambilearn.datasets import Dataset


def make(candidates=None):
    return Dataset(
        X=np.zeros((3, 2)), candidates=candidates, y=None, classes=np.array(["a", "b"]), name="toy"
    )


def test_the_short_form_fits_on_a_line():
    assert repr(make()) == "<Dataset toy: 3 rows, 2 features, 2 labels>"
    sets = as_candidates([{"a", "b"}, {"a"}, {"b"}])
    shown = "<Dataset toy: 3 rows, 2 features, 2 labels, 1.33 candidates per row>"
    assert repr(make(sets)) == shown


def test_the_record_does_not_change():
    with pytest.raises(FrozenInstanceError):
        make().name = "other"
