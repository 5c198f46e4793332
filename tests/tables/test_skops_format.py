"""The internal format of skops, for the supported versions."""

import io
import json
import os
import tomllib
import zipfile
from importlib import import_module

import numpy as np
import pytest
import skops
import skops.io
from markdown_pages import ROOT
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from ambilearn import PLCL, PLDA, PLKNN
from ambilearn.registry import installed_methods
from ambilearn.tables import InvalidModelError, UnsupportedSkopsError, skops_format
from ambilearn.tables.skops_format import dump_pipeline, load_pipeline

X = np.random.default_rng(0).normal(size=(12, 2))
SETS = [{"a", "b"}, {"b"}, {"a"}] * 4


@pytest.fixture
def pipeline():
    return make_pipeline(StandardScaler(), PLKNN(n_neighbors=3)).fit(X, SETS)


def test_a_pipeline_comes_back(pipeline):
    back = load_pipeline(dump_pipeline(pipeline))
    np.testing.assert_array_equal(back.predict_proba(X), pipeline.predict_proba(X))


@pytest.mark.parametrize("method", installed_methods().values(), ids=str)
def test_every_method_is_trusted(method):
    assert type(load_pipeline(dump_pipeline(method.load()()))) is method.load()


def test_parts_of_methods_are_trusted():
    fitted = PLDA(n_neighbors=3).fit(X, SETS)
    back = load_pipeline(dump_pipeline(fitted))
    np.testing.assert_array_equal(back.predict(X), fitted.predict(X))


def test_every_trusted_type_exists():
    for kinds in skops_format._TRUSTED.values():
        for kind in kinds:
            module, _, name = kind.rpartition(".")
            assert isinstance(getattr(import_module(module), name), type)


def test_every_trusted_loader_exists():
    from skops.io._audit import NODE_TYPE_MAPPING

    current = {loader for loader, protocol in NODE_TYPE_MAPPING if protocol == 2}
    assert set(skops_format._TRUSTED) <= current


def test_the_schema_is_as_we_read_it(pipeline):
    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(pipeline))) as archive:
        schema = json.loads(archive.read("schema.json"))
    assert schema["protocol"] == skops_format._PROTOCOL == skops.io._protocol.PROTOCOL
    nodes = {
        (node["__loader__"], f"{node['__module__']}.{node['__class__']}")
        for node in skops_format._nodes(schema)
    }
    assert ("ObjectNode", "sklearn.pipeline.Pipeline") in nodes
    assert ("ObjectNode", "ambilearn.methods.plknn.PLKNN") in nodes
    assert ("NdArrayNode", "numpy.ndarray") in nodes


@pytest.mark.parametrize(
    "foreign",
    [LogisticRegression(), FunctionTransformer(os.mkdir), PLCL(kernel=os.mkdir), {"a": os.mkdir}],
    ids=["class", "function", "parameter", "member"],
)
def test_other_types_are_neither_written_nor_read(foreign):
    with pytest.raises(InvalidModelError, match="is not part of a model that ambilearn saves"):
        dump_pipeline(foreign)
    with pytest.raises(InvalidModelError, match="is not part of a model that ambilearn saves"):
        load_pipeline(skops.io.dumps(foreign))


@pytest.mark.parametrize("version", ["0.14.0", "0.17.0", "0.17.dev0", "1.15.0"])
def test_versions_that_were_not_checked_are_rejected(pipeline, monkeypatch, version):
    content = dump_pipeline(pipeline)
    monkeypatch.setattr(skops, "__version__", version)
    for use in (lambda: load_pipeline(content), lambda: dump_pipeline(pipeline)):
        with pytest.raises(UnsupportedSkopsError) as caught:
            use()
        assert "need skops 0.15 to 0.16" in str(caught.value)
        assert f"installed is {version}. Try: pip install" in str(caught.value)


@pytest.mark.parametrize("version", ["0.15.0", "0.15.post1", "0.16.3", "0.16"])
def test_versions_that_were_checked_are_taken(pipeline, monkeypatch, version):
    monkeypatch.setattr(skops, "__version__", version)
    assert load_pipeline(dump_pipeline(pipeline)).steps[1][0] == "plknn"


def test_the_package_declares_the_same_versions():
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = sum(declared["optional-dependencies"].values(), declared["dependencies"])
    major, minor = skops_format.NEWEST_SKOPS
    oldest = ".".join(map(str, skops_format.OLDEST_SKOPS))
    found = [each for each in extras if each.startswith("skops")]
    assert found == [f"skops>={oldest},<{major}.{minor + 1}"]
