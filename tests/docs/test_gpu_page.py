"""The code on the page on GPUs runs."""

import pytest
from markdown_pages import ROOT, blocks

PAGE = ROOT / "docs" / "gpu.md"


@pytest.mark.slow
def test_the_code_runs(monkeypatch, torch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    (code,) = blocks(PAGE, "py")
    namespace = {}
    exec(compile(code.replace('"cuda"', '"cpu"'), str(PAGE), "exec"), namespace)
    assert len(namespace["labels"]) == 1797
    assert float(namespace["confidences"].sum()) == pytest.approx(1797)
