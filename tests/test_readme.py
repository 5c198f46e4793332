"""The README's code runs as it stands."""

import re
from pathlib import Path

import numpy as np
import pytest

README = Path(__file__).resolve().parents[1] / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.fixture
def people(tmp_path, monkeypatch):
    """The file people.csv of the README, in the current folder."""
    rng = np.random.default_rng(0)
    names = np.array(["anna", "bob", "cleo"])
    lines = ["height,weight,names"]
    for i in range(30):
        height, weight = rng.normal([160 + 10 * (i % 3), 60 + 10 * (i % 3)])
        candidates = {names[i % 3], names[rng.integers(3)]}
        lines.append(f"{height:.1f},{weight:.1f},{'|'.join(sorted(candidates))}")
    (tmp_path / "people.csv").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def test_code_blocks_run_one_after_the_other(people, capsys):
    assert len(BLOCKS) >= 3
    namespace = {}
    for block in BLOCKS:
        exec(compile(block, str(README), "exec"), namespace)
    scores = [float(x) for x in re.findall(r"\d\.\d+", capsys.readouterr().out)]
    assert len(scores) == 2
    assert min(scores) > 0.9


def test_the_first_example_has_at_most_twelve_statements():
    statements = [line for line in BLOCKS[0].splitlines() if line.strip()]
    assert len(statements) <= 12
