import os
import subprocess
import sys

import numpy as np
import pytest

from ambilearn.experiments.seeds import derive_seed, digest


def test_seeds_depend_on_every_name_and_on_their_order():
    seeds = {
        derive_seed("split", "lost", 0),
        derive_seed("split", "lost", 1),
        derive_seed("split", "iris", 0),
        derive_seed("candidates", "lost", 0),
        derive_seed("lost", "split", 0),
        derive_seed("split", "lost", "0"),
        derive_seed("split", "lost"),
    }
    assert len(seeds) == 7


def test_seeds_are_valid_for_both_kinds_of_generators():
    for run in range(50):
        seed = derive_seed("x", run)
        assert 0 <= seed < 2**32
        np.random.RandomState(seed)
        np.random.default_rng(seed)


def test_seeds_are_the_same_in_another_process():
    code = (
        "from ambilearn.experiments.seeds import derive_seed\n"
        "print(derive_seed('a', {'p': 0.1}, 3))"
    )
    for hash_seed in ("1", "2"):
        ran = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
        )
        assert int(ran.stdout) == derive_seed("a", {"p": 0.1}, 3)


def test_the_order_of_a_dictionary_does_not_matter():
    assert digest({"a": 1, "b": [2, None]}) == digest({"b": [2, None], "a": 1})
    assert digest({"a": 1}) != digest({"a": 1.5})


def test_values_without_canonical_json_are_rejected():
    with pytest.raises(ValueError, match="not JSON compliant"):
        digest({"a": float("nan")})
    with pytest.raises(TypeError):
        digest({"a": {1, 2}})
