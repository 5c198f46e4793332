"""Saving and loading; foreign and changed files are rejected and never executed."""

import hashlib
import io
import json
import os
import pickle
import re
import zipfile
from dataclasses import replace
from datetime import date
from importlib.util import find_spec

import array_api_strict as strict
import joblib
import numpy as np
import pandas as pd
import prepared
import pytest
import skops.io
from archives import edit_archive, edit_member
from core_methods import CORE_METHODS
from problems import ambiguous
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ambilearn import PLCL, PLKNN, SURE, PLDATransformer, PLVoting
from ambilearn.confidence import Calibration
from ambilearn.registry import installed_methods
from ambilearn.selection import CandidateSearchCV
from ambilearn.tables import (
    InvalidModelError,
    UnsupportedSkopsError,
    fit_table,
    load_model,
    model_file,
    save_model,
)
from ambilearn.tables.model_file import _check_estimator, _describe_estimator, load_table_model
from ambilearn.tables.ranking import Choices

_SAVED = {}


@pytest.fixture
def saved(table, tmp_path):
    """A model of the people, fitted once for all tests."""
    path = tmp_path / "people.model"
    if not _SAVED:
        save_model(fit_table(table, "plknn"), path)
        _SAVED["content"] = path.read_bytes()
    path.write_bytes(_SAVED["content"])
    return path


def bits(choices):
    return [choices.labels.tolist(), *(values.tobytes() for values in choices[1:])]


PREDICT = """
import pickle, sys
import pandas as pd
from ambilearn.tables import load_model
frame = pd.read_csv(sys.argv[1], dtype=str, keep_default_na=False)
found = [tuple(load_model(path).choices(frame)) for path in sys.argv[2:]]
sys.stdout.buffer.write(pickle.dumps(found))
"""


def variants():
    for name, method in installed_methods().items():
        if method.name == "CandidateClassifier":
            continue  # files store no trees, as another test shows
        yield name, {}
        known = method.load()().get_params()
        if "kernel" in known:
            yield name, {"kernel": "linear"}
        elif "neighbors" in known and find_spec("faiss"):
            yield name, {"neighbors": "approximate"}
        if "n_landmarks" in known:
            yield name, {"n_landmarks": 20}


@pytest.mark.slow
@pytest.mark.heavy
def test_a_new_process_predicts_the_same_bit_for_bit(table, people, people_csv, tmp_path):
    models, paths = [], []
    for method, params in variants():
        models.append(fit_table(table, method, params, fast=bool(params)))
        paths.append(tmp_path / f"{len(paths)}.model")
        save_model(models[-1], paths[-1])
    status, out, errors = prepared.run(people_csv, *paths, code=PREDICT)
    assert status == 0, errors
    for model, found in zip(models, pickle.loads(out), strict=True):
        assert bits(Choices(*found)) == bits(model.choices(people)), model


@pytest.mark.parametrize("factor", [None, 3.5])
def test_a_model_file_has_the_calibration(table, people, tmp_path, factor):
    fitted = fit_table(table, "plknn")
    fitted = replace(fitted, calibration=Calibration("checked", factor, of_logarithms=True))
    save_model(fitted, tmp_path / "my.model")
    back = load_model(tmp_path / "my.model")
    assert (back.calibration.reason, back.calibration.inverse_temperature) == ("checked", factor)
    confidence = back.predict(people)["confidence"]
    expected = fitted.choices(people).confidences.round(6)
    np.testing.assert_array_equal(confidence, expected)
    assert confidence.isna().all() == (factor is None)


def test_the_file_says_in_plain_text_what_it_is(saved):
    with zipfile.ZipFile(saved) as archive:
        about = json.loads(archive.read("about.json"))
    assert about["format"] == "ambilearn model"
    assert about["format version"] == 3
    assert about["method"] == "plknn"
    assert about["labels"] == ["anna", "bob", "cleo"]
    assert about["columns"][0] == {"name": "height", "kind": "number"}
    assert {"ambilearn", "scikit-learn", "python", "created", "parameters"} <= set(about)


def test_checksums_are_in_the_form_that_sha256sum_reads(saved):
    with zipfile.ZipFile(saved) as archive:
        lines = archive.read("SHA256SUMS").decode().splitlines()
        members = set(archive.namelist()) - {"SHA256SUMS"}
        for line in lines:
            found, name = re.fullmatch(r"([0-9a-f]{64})  (\S+)", line).groups()
            assert found == hashlib.sha256(archive.read(name)).hexdigest()
            members.remove(name)
    assert not members


def test_saving_replaces_in_one_step(table, tmp_path, monkeypatch):
    path = tmp_path / "model"
    path.write_text("old")
    fitted = fit_table(table, "plknn")
    with monkeypatch.context() as patch:
        patch.setattr(zipfile.ZipFile, "writestr", lambda *a, **k: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            save_model(fitted, path)
    assert path.read_text() == "old"
    save_model(fitted, path)
    assert load_model(path).about["method"] == "plknn"
    assert {p.name for p in tmp_path.iterdir()} == {"model", "people.csv"}


def rejected(path, message):
    with pytest.raises(InvalidModelError, match=message) as caught:
        load_model(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def change(path, name, content):
    """Replace a member of the archive without updating the checksums."""
    edit = (lambda data: content) if isinstance(content, bytes) else content
    path.write_bytes(edit_member(path.read_bytes(), name, edit))


def forge(path, name, content):
    """Replace a member of the archive and update the checksums."""
    change(path, name, content)
    with zipfile.ZipFile(path) as archive:
        members = {n: archive.read(n) for n in ("about.json", "pipeline.skops")}
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {n}\n" for n, data in members.items())
    change(path, "SHA256SUMS", sums.encode())


class Payload:
    def __reduce__(self):
        return os.mkdir, ("executed",)


@pytest.mark.parametrize("kind", ["pickle", "joblib", "csv", "empty", "folder of numbers"])
def test_foreign_files(tmp_path, kind):
    path = tmp_path / "model"
    if kind == "joblib":
        joblib.dump(Payload(), path)
    elif kind == "folder of numbers":
        with open(path, "wb") as file:
            np.savez(file, a=np.zeros(3))  # a ZIP archive, too
    else:
        path.write_bytes(
            {"pickle": pickle.dumps(Payload()), "csv": b"a,b\n1,2\n", "empty": b""}[kind]
        )
    rejected(path, "is empty" if kind == "empty" else "is not a model|not a model of ambilearn")
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("share", [0.01, 0.3, 0.7, 0.99])
def test_truncated_files(saved, share):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(len(content) * share)])
    rejected(
        saved,
        r"is damaged: its end is missing\. Was it copied or downloaded in part\? Do that again",
    )


def test_flipped_bytes_never_go_unnoticed(saved, people):
    """A byte anywhere: the file is rejected, or the byte was of no importance (a time, say)."""
    content = saved.read_bytes()
    expected = bits(load_model(saved).choices(people))
    places = np.random.default_rng(0).integers(0, len(content), 150)
    n_rejected = 0
    for place in places.tolist():
        changed = bytearray(content)
        changed[place] ^= 0x55
        saved.write_bytes(changed)
        try:
            model = load_model(saved)
        except InvalidModelError:
            n_rejected += 1
        else:
            assert bits(model.choices(people)) == expected
    assert n_rejected > 140


@pytest.mark.parametrize("name", ["about.json", "pipeline.skops"])
def test_changed_members(saved, name):
    change(saved, name, lambda content: content + b" ")
    rejected(saved, f"{name} in the archive does not match its checksum: .*Fit the model again")


def test_a_description_of_another_model(saved):
    forge(saved, "about.json", lambda content: content.replace(b'"height"', b'"width"'))
    rejected(saved, r"the pipeline does not match about\.json")


@pytest.mark.parametrize("content", [b"{}", b"[]", b"nonsense", b"[" * 100_000, b"\xff"])
def test_a_description_that_is_none(saved, content):
    forge(saved, "about.json", content)
    rejected(saved, "is damaged, or not a model|not a model of ambilearn")


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (4, r"saved by a newer version of ambilearn, 9\.1\. Update ambilearn"),
        (2, r"saved by an older version of ambilearn, 9\.1, .*\. Fit the model again\.$"),
    ],
)
def test_another_version_of_the_format(saved, version, message):
    edit_about(saved, {"format version": version, "ambilearn": "9.1"})
    rejected(saved, message)


def edit_about(saved, entries):
    """Change the description without updating its checksum."""
    change(saved, "about.json", lambda content: json.dumps(json.loads(content) | entries).encode())


def with_schema(content, edit):
    """A skops file whose schema was edited by hand."""
    return edit_member(content, "schema.json", edit)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"__class__": "PLKNN"', '"__class__": "Popen"', "rejected: .*Popen"),
        ('"__module__": "ambilearn.methods.plknn"', '"__module__": "os"', r"rejected: os\.PLKNN"),
        ('"__loader__": "ObjectNode"', '"__loader__": "FunctionNode"', "rejected: .*FunctionNode"),
        ('"__loader__": "ObjectNode"', '"__loader__": ["x"]', "is damaged"),
        ('"__loader__": "JsonNode"', '"__loader__": "CachedNode"', "rejected: .*CachedNode"),
        ('"protocol": 2', '"protocol": 0', "a format that ambilearn never writes"),
        ('"protocol": 2', '"protocol": 99', "is damaged.*update skops"),
        ('"content"', '"other"', "is damaged"),
    ],
)
def test_schemas_edited_by_hand(saved, old, new, message):
    def edit(schema):
        assert old.encode() in schema
        return schema.replace(old.encode(), new.encode())

    forge(saved, "pipeline.skops", lambda content: with_schema(content, edit))
    rejected(saved, message)


def test_a_bomb_is_not_unpacked(saved):
    with zipfile.ZipFile(saved, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(10**7))
    with pytest.raises(InvalidModelError, match=r"needs \d+ bytes in memory, more than max_bytes"):
        load_model(saved, max_bytes=10**7)
    assert load_model(saved).about["method"] == "plknn"


def many_objects(content):
    return content.replace(b"{", b'{"x": [' + b"{}," * 200_000 + b"{}],", 1)


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("about.json", many_objects),
        ("pipeline.skops", lambda content: with_schema(content, many_objects)),
    ],
)
def test_objects_that_text_describes_count_as_memory(saved, name, edit):
    """Three bytes, packed to nothing, became 72."""
    forge(saved, name, edit)
    with pytest.raises(InvalidModelError, match=r"describes objects of up to \d+ bytes"):
        load_model(saved, max_bytes=10**7)
    if name == "about.json":
        assert load_model(saved, max_bytes=10**8).about["method"] == "plknn"


def test_a_model_that_packs_well_is_saved_so_that_it_can_be_loaded(table, tmp_path, monkeypatch):
    monkeypatch.setattr(model_file, "_FREE_BYTES", 1000)
    monkeypatch.setattr(model_file, "_MAX_RATIO", 20)
    save_model(fit_table(table, "plknn"), tmp_path / "zeros.model")
    with zipfile.ZipFile(tmp_path / "zeros.model") as archive:
        assert {member.compress_type for member in archive.infolist()} == {zipfile.ZIP_STORED}
    assert load_model(tmp_path / "zeros.model").about["method"] == "plknn"


def with_about(**changes):
    """Metadata with some entries changed; None removes one."""

    def edit(content):
        about = json.loads(content) | changes
        return json.dumps({k: v for k, v in about.items() if v is not None}).encode()

    return edit


CALIBRATION = {"reason": "", "inverse temperature": 2.0, "of logarithms": False}
NEEDED = ["ambilearn", "scikit-learn", "method", "chosen", "columns", "labels", "calibration"]


@pytest.mark.parametrize("name", [*NEEDED, "format version"])
def test_metadata_that_lack_an_entry_are_named(saved, name):
    forge(saved, "about.json", with_about(**{name: None}))
    rejected(saved, f"about.json in the archive does not describe a model: '{name}' is missing")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format version": "1"}, "format version must be a whole number, not '1'"),
        ({"scikit-learn": 1.5}, "scikit-learn must be text, not 1.5"),
        ({"method": ["plknn"]}, "method must be text"),
        ({"chosen": []}, "chosen must be a table"),
        ({"labels": 3}, "labels must be a list, not 3"),
        ({"columns": {}}, "columns must be a list"),
        ({"columns": ["height"]}, r"columns\[0\] must be a table"),
        ({"columns": [{"name": "height"}]}, r"'columns\[0\].kind' is missing"),
        ({"columns": [{"name": "height", "kind": "poem"}]}, "describes invalid columns"),
        ({"columns": [{"name": "h", "kind": "vector", "length": -1}]}, "describes invalid columns"),
        (
            {"columns": [{"name": "h", "kind": "vector", "length": 10**12}]},
            "does not match about",
        ),
        ({"format": "a poem"}, "not a model of ambilearn"),
        ({"calibration": {"reason": ""}}, "'calibration.inverse temperature' is missing"),
        ({"calibration": CALIBRATION | {"inverse temperature": "2"}}, "must be a number, not '2'"),
        ({"calibration": CALIBRATION | {"inverse temperature": -2}}, "an invalid calibration"),
        ({"calibration": CALIBRATION | {"of logarithms": 1}}, "must be true or false"),
    ],
)
def test_metadata_of_wrong_types_are_named(saved, changes, message):
    forge(saved, "about.json", with_about(**changes))
    rejected(saved, message)


def test_arrays_that_claim_more_than_they_have_take_no_memory(saved):
    def claim(name, data):
        if not name.endswith(".npy"):
            return data
        header = io.BytesIO()
        described = {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
        np.lib.format.write_array_header_1_0(header, described)
        return header.getvalue() + data[-8:]

    forge(saved, "pipeline.skops", lambda content: edit_archive(content, claim))
    rejected(saved, r"the array \S+ should have 8000000000000 bytes and has 8")


def test_many_objects_that_share_an_array_are_counted(saved):
    def repeat(schema):
        tree = json.loads(schema)
        tree["content"] = [{"__loader__": "NdArrayNode", "file": "a.npy"} | NDARRAY] * 10**4
        return json.dumps(tree).encode()

    def add(content):
        buffer, array = io.BytesIO(with_schema(content, repeat)), io.BytesIO()
        np.save(array, np.zeros(2**14))
        with zipfile.ZipFile(buffer, "a") as archive:
            archive.writestr("a.npy", array.getvalue())
        return buffer.getvalue()

    forge(saved, "pipeline.skops", add)
    rejected(saved, r"needs \d+ bytes in memory, more than max_bytes=\d+")


NDARRAY = {"__class__": "ndarray", "__module__": "numpy", "type": "numpy", "__id__": 1}


@pytest.mark.parametrize("part", ["X_fit_", "classes_", "steps"])
def test_a_model_that_lacks_a_part_is_rejected_when_it_is_loaded(saved, part):
    def rename(schema):
        assert f'"{part}"'.encode() in schema
        return schema.replace(f'"{part}"'.encode(), b'"other_"')

    forge(saved, "pipeline.skops", lambda content: with_schema(content, rename))
    rejected(saved, "is damaged, or not a model")


def test_another_scikit_learn_gives_one_warning(saved, recwarn):
    def older(content):
        return json.dumps(json.loads(content) | {"scikit-learn": "1.2.3"}).encode()

    forge(saved, "about.json", older)
    load_model(saved)
    assert len(recwarn) == 1
    assert "was saved with scikit-learn 1.2.3" in str(recwarn[0].message)
    assert recwarn[0].filename == __file__


def test_its_own_warning_replaces_those_of_scikit_learn(saved, recwarn):
    def older(schema):
        from sklearn import __version__

        return schema.replace(f'\\"{__version__}\\"'.encode(), b'\\"1.2.3\\"')

    forge(saved, "pipeline.skops", lambda content: with_schema(content, older))
    load_model(saved)
    assert len(recwarn) == 0


def test_another_skops_is_not_blamed_on_the_file(saved, monkeypatch):
    monkeypatch.setattr(skops, "__version__", "0.17.0")
    with pytest.raises(UnsupportedSkopsError, match=r"installed is 0\.17\.0"):
        load_model(saved)


X, MASK, Y = ambiguous(n=30, seed=0)
FORMS = {
    "array": X,
    "sparse": sparse.csr_array(X),
    "frame": pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]),
}
MODELS = [
    *(method.load()() for method in CORE_METHODS.values()),
    PLCL(kernel="linear"),
    make_pipeline(StandardScaler(with_mean=False), PLCL()),
    make_pipeline(PLDATransformer(), SURE()),
    PLVoting(estimators=[("one", make_pipeline(StandardScaler(with_mean=False), SURE()))]),
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "my.model"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: repr(model)[:30])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:n_neighbors")
def test_a_fitted_estimator_comes_back_and_predicts_the_same(model, form, path):
    rows = FORMS[form]
    fitted = clone(model).fit(rows, MASK)
    save_model(fitted, path)
    back = load_model(path)
    assert type(back) is type(fitted)
    assert repr(back) == repr(fitted)
    np.testing.assert_array_equal(back.predict_proba(rows), fitted.predict_proba(rows))
    np.testing.assert_array_equal(back.predict(rows), fitted.predict(rows))


def test_the_file_says_what_it_is(path):
    save_model(PLKNN().fit(X, [["a", "b", "c"][label] for label in np.minimum(Y, 2)]), path)
    with zipfile.ZipFile(path) as archive:
        about = json.loads(archive.read("about.json"))
    assert about["format"] == "ambilearn model"
    assert (about["kind"], about["method"]) == ("estimator", "PLKNN")
    assert about["labels"] == ["a", "b", "c"]
    assert {"ambilearn", "scikit-learn", "python", "created"} <= set(about)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (PLCL, NotFittedError, "not fitted"),
        (lambda: make_pipeline(StandardScaler(), PLCL()), NotFittedError, "not fitted"),
        (
            lambda: LogisticRegression().fit(X, Y),
            TypeError,
            "got LogisticRegression. Use skops",
        ),
        (lambda: make_pipeline(LogisticRegression()).fit(X, Y), TypeError, "got Pipeline"),
        (
            lambda: CandidateSearchCV(PLKNN(), {"n_neighbors": [3]}, cv=2).fit(X, MASK),
            TypeError,
            "got CandidateSearchCV. Save its best_estimator_",
        ),
        (lambda: 3, TypeError, "got int"),
        (
            lambda: make_pipeline(PCA(2), PLKNN()).fit(X, MASK),
            InvalidModelError,
            r"cannot be saved: sklearn.decomposition._pca.PCA .* Use skops or joblib",
        ),
        (
            lambda: PLVoting(estimators=[("a", PLKNN()), ("b", LogisticRegression())]).fit(X, MASK),
            InvalidModelError,
            "LogisticRegression .* is not part of a model",
        ),
        (
            lambda: PLKNN(n_neighbors=1).fit(X[:2], [{date(2020, 1, 1)}, {date(2020, 1, 2)}]),
            TypeError,
            r"The label datetime.date\(2020, 1, 1\) cannot be saved",
        ),
    ],
)
def test_a_model_that_cannot_be_saved_leaves_no_file(make, error, message, path):
    model = make()
    with pytest.raises(error, match=message):
        save_model(model, path)
    assert not path.exists()


def test_a_model_on_a_device_is_rejected(dispatch, path):
    fitted = PLKNN().fit(strict.asarray(X), MASK)
    with pytest.raises(TypeError, match="PLKNN was fitted on a device: fit it to NumPy arrays"):
        save_model(fitted, path)


def test_an_estimator_with_endless_features_takes_no_memory(path):
    fitted = PLKNN().fit(X, MASK)
    fitted.n_features_in_ = 10**15
    save_model(fitted, path)
    with pytest.raises(InvalidModelError, match=r"of shape \(1000000000000000,\), more than"):
        load_model(path)


@pytest.mark.parametrize("part", ["X_fit_", "classes_", "n_features_in_"])
def test_an_estimator_that_lacks_a_part_is_rejected_when_it_is_loaded(path, part, monkeypatch):
    fitted = PLKNN().fit(X, MASK)
    about = _describe_estimator(fitted)
    delattr(fitted, part)
    monkeypatch.setattr("ambilearn.tables.model_file._describe_estimator", lambda model: about)
    save_model(fitted, path)
    with pytest.raises(InvalidModelError, match="is damaged, or not a model"):
        load_model(path)


def test_the_description_of_another_estimator_is_rejected():
    fitted = PLKNN().fit(X, MASK)
    about = _describe_estimator(fitted)
    _check_estimator(fitted, about, 2**20)
    for model, said in (
        (fitted, about | {"labels": ["other"]}),
        (LogisticRegression().fit(X, Y), about),
        ([], about),
    ):
        with pytest.raises(InvalidModelError, match=r"is not the one that about\.json describes"):
            _check_estimator(model, said, 2**20)


def test_the_command_line_wants_the_model_of_a_table(path):
    save_model(PLKNN().fit(X, MASK), path)
    with pytest.raises(InvalidModelError, match="holds a PLKNN that was not fitted to a table"):
        load_table_model(path)
