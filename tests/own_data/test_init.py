import pytest

from ambilearn import own_data


def test_public_names_exist_and_are_listed_once():
    assert set(own_data.__all__) == set(own_data._HOMES)
    assert all(hasattr(own_data, name) for name in own_data.__all__)
    assert set(own_data.__all__) <= set(dir(own_data))


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'clean_tabel'"):
        _ = own_data.clean_tabel
