import pytest
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ambilearn._utils.fit_state import forget_fit, unchanged_on_error, unfitted_on_error


@pytest.fixture
def model():
    return DummyClassifier(strategy="prior").fit([[0], [1]], [0, 1])


def test_fitted_attributes_are_deleted_and_parameters_are_kept(model):
    forget_fit(model, keep=["classes_"])
    assert [name for name in vars(model) if name.endswith("_")] == ["classes_"]
    forget_fit(model)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    assert model.strategy == "prior"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_the_estimator_unfitted(model, error):
    with unfitted_on_error(model):
        model.more_ = 1
    assert model.more_ == 1
    with pytest.raises(error), unfitted_on_error(model):
        raise error
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_estimator_is_unchanged_after_an_error(model, error):
    before = vars(model).copy()

    def change_and_fail():
        with unchanged_on_error(model):
            model.classes_, model.more_ = [], 1
            raise error

    with pytest.raises(error):
        change_and_fail()
    assert vars(model) == before
    with unchanged_on_error(model):
        model.more_ = 1
    assert model.more_ == 1
