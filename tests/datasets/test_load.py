from dataclasses import replace

import numpy as np
import pytest
from loopback import serve

from ambilearn.datasets import (
    InvalidFileError,
    list_datasets,
    load_dataset,
)
from ambilearn.datasets.load import load
from ambilearn.datasets.registry import DatasetInfo, checksum, registry

EMBEDDED = {"iris": (150, 4, 3), "wine": (178, 13, 3), "digits": (1797, 64, 10)}


@pytest.fixture(params=[name for name, info in registry().items() if info.file])
def real(request, real_data_dir):
    """Each data set of the paper whose file is here."""
    info = registry()[request.param]
    if not (real_data_dir / info.file).is_file():
        pytest.skip(f"{info.file} is not here")
    return info, load_dataset(request.param, data_home=real_data_dir, download=False)


def test_shapes_labels_and_mean_candidates_are_those_of_the_paper(real):
    info, data = real
    assert data.X.shape == (info.rows, info.features)
    assert len(data.classes) == info.labels
    if info.mean_candidates is None:
        assert data.candidates is None
    else:
        assert round(data.candidates.sizes.mean(), 2) == info.mean_candidates


def test_the_record_is_complete(real):
    info, data = real
    assert data.X.dtype == np.float64
    assert np.isfinite(data.X).all()
    assert data.y.shape == (info.rows,)
    assert set(data.y) <= set(data.classes)
    np.testing.assert_array_equal(data.classes, np.unique(data.classes))  # sorted, distinct
    assert data.name == info.name
    assert info.reference in data.description
    assert data.license == info.license
    assert data.source == info.source
    if data.candidates is not None:
        assert data.candidates.covers(data.y).all()
        np.testing.assert_array_equal(data.candidates.classes, data.classes)


@pytest.mark.parametrize(("name", "occurring"), [("lost", 14), ("fg-net", 63), ("msrcv2", 23)])
def test_labels_that_never_occur_are_classes(real_data_dir, name, occurring):
    data = load_dataset(name, data_home=real_data_dir, download=False)
    assert len(np.unique(data.y)) == occurring
    np.testing.assert_array_equal(data.classes, np.arange(registry()[name].labels))


def sizes(data):
    labels, counts = np.unique(data.y, return_counts=True)
    return dict(zip(labels.tolist(), counts.tolist(), strict=True))


def test_uci_classes_have_their_published_sizes(real_data_dir):
    ecoli = load_dataset("ecoli", data_home=real_data_dir)
    assert sizes(ecoli) == {
        "cp": 143, "im": 77, "pp": 52, "imU": 35, "om": 20, "omL": 5, "imL": 2, "imS": 2,
    }  # fmt: skip
    assert (ecoli.X[ecoli.y == "imL", ecoli.feature_names.index("lip")] == 1).all()
    glass = load_dataset("glass", data_home=real_data_dir)
    assert sizes(glass) == {1: 70, 2: 76, 3: 17, 5: 13, 6: 9, 7: 29}
    assert glass.X[:, 0].max() < 2  # the refractive index, not the id
    steel = load_dataset("steel", data_home=real_data_dir)
    assert sizes(steel) == {
        "Bumps": 402, "Dirtiness": 55, "K_Scatch": 391, "Other_Faults": 673, "Pastry": 158,
        "Stains": 72, "Z_Scratch": 190,
    }  # fmt: skip
    assert len(steel.feature_names) == 27
    vehicle = load_dataset("vehicle", data_home=real_data_dir)
    assert sorted(sizes(vehicle).values()) == [199, 212, 217, 218]


@pytest.mark.parametrize("name", EMBEDDED)
def test_embedded_sets_need_no_file_and_no_network(name, closed_address, monkeypatch):
    monkeypatch.setenv("AMBILEARN_MIRROR", closed_address)
    data = load_dataset(name, download=False)
    assert (*data.X.shape, len(data.classes)) == EMBEDDED[name]
    assert data.X.dtype == np.float64
    assert data.candidates is None
    assert set(data.y) == set(data.classes)
    assert data.source == "scikit-learn"
    assert len(data.feature_names) == data.X.shape[1]


def test_download_then_cache_without_network(shop, arrays):
    X, mask, y = arrays
    folder, info = shop
    with serve(folder) as server:
        load(replace(info, folder_url=server.url + "/"))
    data = load(info)  # the server is gone
    np.testing.assert_array_equal(data.X, X)
    np.testing.assert_array_equal(data.candidates.to_mask(), mask)
    np.testing.assert_array_equal(data.y, y)
    assert data.description == "Made for tests. None."


@pytest.mark.parametrize("what", ["rows", "features", "labels"])
def test_a_file_that_differs_from_the_registry_is_rejected(shop, what):
    folder, info = shop
    with pytest.raises(InvalidFileError, match=r"tiny has \(3000, 5, 4\)"):
        load(replace(info, **{what: 17}), data_home=folder)


def column_set(tmp_path, text, **changes):
    path = tmp_path / "numbers.txt"
    path.write_text(text)
    entry = {
        "name": "numbers", "description": "", "reference": "", "format": "columns", "rows": 3,
        "features": 2, "labels": 2, "license": "", "file": path.name, "checksum": checksum(path),
    } | changes  # fmt: skip
    return load(DatasetInfo(**entry), data_home=tmp_path)


def test_columns_with_ids_and_class_names(tmp_path):
    text = "10,1,2,1\n11,3,4,2\n12,5,6,1\n"
    names = ("zebra", "ant")
    data = column_set(tmp_path, text, delimiter=",", id_columns=1, class_names=names)
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4], [5, 6]])
    assert data.y.tolist() == ["zebra", "ant", "zebra"]
    assert data.classes.tolist() == ["ant", "zebra"]


def test_columns_with_one_hot_classes(tmp_path):
    text = "1 2 0 1\n3 4 1 0\n5 6 0 1\n"
    data = column_set(tmp_path, text, one_hot=True, class_names=("zebra", "ant"))
    assert data.y.tolist() == ["ant", "zebra", "ant"]


@pytest.mark.parametrize(
    ("text", "message"), [("1 2\n3 4\n5 6\n", "2 columns, expected 3"), ("a b c\n", "numbers.txt")]
)
def test_columns_of_another_kind(tmp_path, text, message):
    with pytest.raises(InvalidFileError, match=message):
        column_set(tmp_path, text)


def test_list_has_all_data_sets_and_their_location(shop, tmp_path, monkeypatch):
    entries = {entry.name: entry for entry in list_datasets()}
    assert list(entries) == list(registry())
    assert {name for name, entry in entries.items() if entry.available} == set(EMBEDDED)
    assert entries["lost"].mean_candidates == 2.23
    assert (entries["lost"].n_rows, entries["lost"].n_features, entries["lost"].n_labels) == (
        1122, 108, 16,
    )  # fmt: skip
    (tmp_path / "lost.mat").write_text("not even the right file")
    entry = next(e for e in list_datasets(data_home=tmp_path) if e.name == "lost")
    assert entry.where == str(tmp_path / "lost.mat")
