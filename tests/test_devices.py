"""All methods on arrays of other libraries: the same results as on the CPU, or a clear error."""

import pickle
import re
from functools import cache
from unittest import mock

import array_api_strict as strict
import numpy as np
import pytest
import sklearn
from core_methods import CORE_CLASSES, quick
from problems import random_mask
from scipy import sparse
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.validation import has_fit_parameter

from ambilearn import (
    IPAL,
    LALO,
    PLAGGD,
    PLCL,
    PLCP,
    PLDA,
    PLKNN,
    SURE,
    PLStacking,
    PLVoting,
    find_doubtful,
)
from ambilearn.backend.device import DeviceBackend
from ambilearn.backend.device.graph import DeviceGraph
from ambilearn.selection import CandidateSearchCV
from ambilearn.solvers.blocked_cholesky import ShiftedFactor

pytestmark = [
    pytest.mark.array_library,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


def squared_product(X, Z):
    """A kernel of one's own."""
    return (X @ Z.T + 1.0) ** 2


def takes_row_weights(method):
    """Whether a method, or all that an ensemble is made of, has weights of rows."""
    parts = (
        method._innermost_learners() if hasattr(method, "_innermost_learners") else [("", method)]
    )
    return all(has_fit_parameter(each, "sample_weight") for _, each in parts)


MEMBERS = [
    ("plcl", PLCL(max_iter=2, tol=0)),
    ("sure", SURE(max_iter=3, tol=0)),
    ("ipal", IPAL()),
]
SPECIAL = [
    PLCL(max_iter=4, tol=0),
    PLCL(max_iter=3, tol=0, graph=False),
    PLCL(max_iter=3, tol=0, complementary=False),
    PLCL(max_iter=3, tol=0, kernel="linear"),
    PLCL(max_iter=3, tol=0, kernel=squared_product),
    PLCL(max_iter=3, tol=0, n_landmarks=12, random_state=0),
    PLCL(max_iter=3, tol=0, n_landmarks=12, landmarks="uniform", random_state=0),
    PLAGGD(max_iter=3, tol=0),
    LALO(max_iter=3, tol=0),
    SURE(max_iter=3, tol=0),
    IPAL(),
    PLKNN(),
    PLCP(max_iter=2, base_iter=2, partner_iter=2),
    PLCP(max_iter=2, base_iter=1, partner_iter=2, kernel="linear"),
    PLVoting(estimators=MEMBERS, weights=(3, 1, 2)),
    PLVoting(estimators=[("ipal", IPAL())]),
    PLStacking(estimators=MEMBERS[:2], final_estimator=PLVoting(estimators=MEMBERS[1:])),
    PLStacking(passthrough=False, estimators=MEMBERS[1:], final_estimator=PLKNN()),
    PLStacking(estimators=[], final_estimator=SURE(max_iter=3, tol=0)),
    PLStacking(estimators=MEMBERS[1:2], final_estimator=SURE(), n_landmarks=9, random_state=0),
    PLStacking(cv=2, estimators=MEMBERS[1:], final_estimator=PLKNN(), random_state=0),
]
# Methods without special configurations are compared with their default parameters.
METHODS = SPECIAL + [
    quick(method)
    for method in CORE_CLASSES
    if method._computes_on_devices and method not in {type(each) for each in SPECIAL}
]


def name_of(method):
    """Its repr without addresses in memory, which differ between the processes of a test run."""
    text = re.sub(r"<function (\w+) at \w+>", r"\1", repr(method))
    return re.sub(r"\s+", " ", text)[:40]


EACH_METHOD = pytest.mark.parametrize("method", METHODS, ids=name_of)


class Data:
    def __init__(self, n=60, n_labels=4):
        rng = np.random.default_rng(0)
        y = rng.integers(n_labels, size=n)
        self.X = rng.normal(size=(n_labels, 12))[y] * 2 + rng.normal(size=(n, 12))
        self.mask = random_mask(rng, n, n_labels)
        self.mask[np.arange(n), y] = True
        self.y, self.test = y, self.X[::3] + 0.3
        self.row_weights = rng.random(n) + 0.5


DATA = Data()
FITTED = (
    "label_distributions_", "transduction_", "objective_", "train_output_", "classes_",
    "output_mean_", "output_scale_", "weights_",
)  # fmt: skip


def assert_same_confidences(library, model, host, atol=1e-9):
    found = library.to_host(model.label_distributions_)
    np.testing.assert_allclose(found, host.label_distributions_, atol=atol)


@cache
def fitted_on_device(library, method):
    """A fit for tests that only read it."""
    return sklearn.clone(method).fit(library.to_device(DATA.X), DATA.mask)


@EACH_METHOD
def test_computes_what_the_processor_computes(library, dispatch, method):
    host = sklearn.clone(method).fit(DATA.X, DATA.mask)
    model = fitted_on_device(library, method)
    assert_same_confidences(library, model, host)
    test = library.to_device(DATA.test)
    np.testing.assert_array_equal(library.to_host(model.predict(test)), host.predict(DATA.test))
    np.testing.assert_allclose(
        library.to_host(model.decision_function(test)), host.decision_function(DATA.test), atol=1e-7
    )
    np.testing.assert_allclose(
        library.to_host(model.predict_proba(test)), host.predict_proba(DATA.test), atol=1e-7
    )
    assert model.score(test, DATA.y[::3]) == host.score(DATA.test, DATA.y[::3])
    assert getattr(model, "n_iter_", None) == getattr(host, "n_iter_", None)


@EACH_METHOD
def test_results_stay_on_the_device_of_the_rows(library, dispatch, method):
    model = fitted_on_device(library, method)
    held = [name for name in FITTED if hasattr(model, name)]
    assert [name for name in held if not library.holds(getattr(model, name))] == []
    test = library.to_device(DATA.test)
    assert model.label_distributions_.device == test.device
    for method in (model.predict, model.predict_proba, model.decision_function):
        result = method(test)
        assert library.holds(result)
        assert result.device == test.device  # which is not the default device of array_api_strict
    if hasattr(model, "graph_"):
        assert isinstance(model.graph_, DeviceGraph)


@EACH_METHOD
def test_equal_inputs_give_identical_results(library, dispatch, method):
    first = fitted_on_device(library, method)
    second = sklearn.clone(method).fit(library.to_device(DATA.X), DATA.mask)
    np.testing.assert_array_equal(
        library.to_host(second.label_distributions_), library.to_host(first.label_distributions_)
    )


@EACH_METHOD
def test_weights_of_candidates(library, dispatch, method):
    table = DATA.mask * np.random.default_rng(1).integers(1, 4, size=DATA.mask.shape)
    host = sklearn.clone(method).fit(DATA.X, table)
    model = sklearn.clone(method).fit(library.to_device(DATA.X), table)
    assert_same_confidences(library, model, host)


@pytest.mark.parametrize("method", [m for m in METHODS if takes_row_weights(m)], ids=name_of)
def test_weights_of_rows(library, dispatch, method):
    host = sklearn.clone(method).fit(DATA.X, DATA.mask, sample_weight=DATA.row_weights)
    weights = library.to_device(DATA.row_weights)
    model = sklearn.clone(method).fit(library.to_device(DATA.X), DATA.mask, sample_weight=weights)
    assert_same_confidences(library, model, host)


def test_candidates_on_the_device(library, dispatch):
    X = library.to_device(DATA.X)
    expected = PLKNN().fit(X, DATA.mask)
    found = PLKNN().fit(X, library.to_device(DATA.mask))
    assert (
        library.to_host(found.transduction_).tolist()
        == library.to_host(expected.transduction_).tolist()
    )
    labels = PLKNN().fit(X, library.to_device(DATA.y))
    assert library.to_host(labels.transduction_).tolist() == DATA.y.tolist()


def test_names_of_labels_are_no_numbers_of_a_device(library, dispatch):
    names = np.array(["ant", "bee", "cat", "dog"])
    sets = [set(names[row]) for row in DATA.mask]
    model = PLCL(max_iter=2, tol=0).fit(library.to_device(DATA.X), sets)
    host = PLCL(max_iter=2, tol=0).fit(DATA.X, sets)
    assert model.predict(library.to_device(DATA.test)).tolist() == host.predict(DATA.test).tolist()
    assert model.transduction_.tolist() == host.transduction_.tolist()


def test_a_sparse_mask_gives_dense_results(library, dispatch):
    model = PLCL(max_iter=2, tol=0).fit(library.to_device(DATA.X), sparse.csr_array(DATA.mask))
    host = PLCL(max_iter=2, tol=0).fit(DATA.X, DATA.mask)
    assert_same_confidences(library, model, host, atol=1e-10)


def test_single_precision_costs_its_rounding_and_no_more(library, dispatch):
    rounded = DATA.X.astype(np.float32)
    model = PLCL(max_iter=3, tol=0).fit(library.to_device(rounded), DATA.mask)
    host = PLCL(max_iter=3, tol=0).fit(rounded.astype(np.float64), DATA.mask)
    found = library.to_host(model.label_distributions_)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, host.label_distributions_, atol=1e-10)
    exact = PLCL(max_iter=3, tol=0).fit(DATA.X, DATA.mask).label_distributions_
    assert 0 < np.abs(found - exact).max() < 1e-6


class LittleMemory:
    """A device on which only so many matrices of n×n can be factorized beside the kernel."""

    def __init__(self, monkeypatch, n_copies):
        factorize = DeviceBackend.factorize

        def limited(backend, matrix, ridge, overwrite):
            self.copies += not overwrite
            if self.copies > n_copies:
                self.copies -= 1
                raise MemoryError("out of memory")
            return factorize(backend, matrix, ridge, overwrite)

        self.copies = 0
        monkeypatch.setattr(DeviceBackend, "factorize", limited)


def test_one_factor_if_memory_is_short(library, dispatch, monkeypatch):
    X, method = library.to_device(DATA.X), PLCL(max_iter=4, tol=0, alpha=0.2)
    two = sklearn.clone(method).fit(X, DATA.mask)
    LittleMemory(monkeypatch, n_copies=0)
    solve = mock.patch.object(
        ShiftedFactor, "solve", autospec=True, side_effect=ShiftedFactor.solve
    )
    with solve as used:
        one = sklearn.clone(method).fit(X, DATA.mask)
    assert used.call_count == 5  # once for the bias
    for name in ("label_distributions_", "complementary_train_output_", "dual_coef_"):
        expected = library.to_host(getattr(two, name))
        np.testing.assert_allclose(library.to_host(getattr(one, name)), expected, atol=1e-8)


def test_a_fit_without_enough_memory_gives_advice(library, dispatch, monkeypatch):
    LittleMemory(monkeypatch, n_copies=0)
    with pytest.raises(MemoryError, match=r"60 rows needs more memory .*n_landmarks=2000"):
        PLCL(kernel=squared_product).fit(library.to_device(DATA.X), DATA.mask)
    vote = PLVoting(estimators=[("mine", PLCL(kernel=squared_product))])
    with pytest.raises(MemoryError, match="n_landmarks=2000") as caught:
        vote.fit(library.to_device(DATA.X), DATA.mask)
    assert caught.value.__notes__ == ["The member 'mine' could not be fitted."]
    with pytest.raises(MemoryError, match="Lower n_landmarks"):
        SURE(n_landmarks=9).fit(library.to_device(DATA.X), DATA.mask)


# --- votes and stacks ---------------------------------------------------------------------------


@pytest.mark.parametrize("n_copies", [0, 1, 3])
def test_members_share_a_kernel_as_far_as_memory_allows(library, dispatch, monkeypatch, n_copies):
    vote = PLVoting(estimators=MEMBERS[:2])
    alone = [sklearn.clone(each).fit(DATA.X, DATA.mask) for _, each in MEMBERS[:2]]
    LittleMemory(monkeypatch, n_copies)
    vote.fit(library.to_device(DATA.X), DATA.mask)
    for member, expected in zip(vote.estimators_, alone, strict=True):
        assert_same_confidences(library, member, expected, atol=1e-8)


def test_no_processes_are_started_on_a_device(library, dispatch):
    """Another process has no arrays of the device."""
    members = MEMBERS[1:]
    with mock.patch("ambilearn.methods._members.Parallel", side_effect=AssertionError):
        model = PLVoting(estimators=members, n_jobs=2).fit(library.to_device(DATA.X), DATA.mask)
    host = PLVoting(estimators=members).fit(DATA.X, DATA.mask)
    assert_same_confidences(library, model, host)


def test_a_member_at_the_end_of_a_pipeline(library, dispatch):
    if not sklearn.utils.get_tags(StandardScaler()).array_api_support:
        pytest.skip("this release of scikit-learn has no scaler for devices")
    scaled = make_pipeline(StandardScaler(), "passthrough", SURE(max_iter=3, tol=0))
    vote = PLVoting(estimators=[("scaled", scaled), ("plknn", PLKNN())])
    host = sklearn.clone(vote).fit(DATA.X, DATA.mask)
    vote.fit(library.to_device(DATA.X), DATA.mask)
    found = library.to_host(vote.predict_proba(library.to_device(DATA.test)))
    np.testing.assert_allclose(found, host.predict_proba(DATA.test), atol=1e-9)


@pytest.mark.parametrize(
    ("ensemble", "name"),
    [
        (PLVoting(estimators=[("plda", PLDA()), ("sure", SURE())]), "'plda' (PLDA)"),
        (PLVoting(estimators=[("nb", GaussianNB()), ("sure", SURE())]), "'nb' (GaussianNB)"),
        (PLStacking(final_estimator=PLDA()), "'final_estimator' (PLDA)"),
        (
            PLStacking(final_estimator=PLVoting(estimators=[("a", PLKNN()), ("b", PLDA())])),
            "'final_estimator__b' (PLDA)",
        ),
        (
            PLVoting(estimators=[("pipe", make_pipeline(FunctionTransformer(), SURE()))]),
            "'pipe' (Pipeline)",
        ),
        (
            PLVoting(estimators=[("search", CandidateSearchCV(SURE(), {"reg": [1, 2]}))]),
            "'search' (CandidateSearchCV)",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_member_without_device_support_is_named(library, dispatch, ensemble, name):
    assert not sklearn.utils.get_tags(ensemble).array_api_support
    message = rejected(library.to_device(DATA.X), method=ensemble)
    assert message.startswith(f"{name} does not support device arrays")
    assert "pass a NumPy array, or use a method that supports them" in message


def test_a_member_of_weight_zero_need_not_support_devices(library, dispatch):
    members = [("plda", PLDA()), ("plknn", PLKNN())]
    PLVoting(estimators=members, weights=(0, 1)).fit(library.to_device(DATA.X), DATA.mask)


def test_a_member_with_a_kernel_matrix_is_named(library, dispatch):
    vote = PLVoting(estimators=[("first", SURE(kernel="precomputed"))])
    message = rejected(library.to_device(DATA.X @ DATA.X.T), method=vote)
    assert message.startswith("The member 'first' could not be fitted: kernel='precomputed' does")


@pytest.mark.parametrize(
    "method",
    [
        PLCL(),
        PLCL(n_landmarks=9, random_state=0),
        PLKNN(),
        IPAL(),
        PLVoting(estimators=MEMBERS[1:]),
    ],
    ids=name_of,
)
def test_doubt(library, dispatch, method):
    host = find_doubtful(DATA.X, DATA.mask, estimator=method)
    found = find_doubtful(library.to_device(DATA.X), DATA.mask, estimator=method)
    # An iterative minimization, which ends at its tolerance, is part of the score.
    np.testing.assert_allclose(found.score, host.score, atol=1e-8)
    assert found.suggestion.tolist() == host.suggestion.tolist()


def test_a_model_can_be_pickled(library, dispatch):
    X = library.to_device(DATA.X)
    try:
        pickle.loads(pickle.dumps(X))
    except TypeError:
        pytest.skip("arrays of this release cannot be pickled themselves")
    for method in (PLCL(max_iter=2, tol=0), PLKNN()):
        model = sklearn.clone(method).fit(X, DATA.mask)
        again = pickle.loads(pickle.dumps(model))
        found, expected = (library.to_host(each.predict(X)) for each in (again, model))
        assert found.tolist() == expected.tolist()


# Rejected input


def rejected(X, y=DATA.mask, method=None, **fit_params):
    with pytest.raises((ValueError, TypeError)) as caught:
        (method or PLCL()).fit(X, y, **fit_params)
    return str(caught.value)


WITH_NAN, WITH_INFINITY = DATA.X.copy(), DATA.X.copy()
WITH_NAN[7, 2], WITH_INFINITY[7, 2] = np.nan, np.inf
REJECTED = {
    "NaN": (WITH_NAN, PLCL(), "contains NaN or infinity, first in row 7. Impute"),
    "infinity": (WITH_INFINITY, PLCL(), "contains NaN or infinity, first in row 7"),
    "integers": (DATA.X.astype("int64"), PLCL(), "must be float64, or float32"),
    "truth values": (DATA.X.astype(bool), PLCL(), "must be float64, or float32"),
    "one dimension": (np.ones(60), PLCL(), "Expected 2D array, got 1D"),
    "three dimensions": (np.ones((60, 5, 1)), PLCL(), "Expected 2D array, got 3D"),
    "large": (DATA.X * 1e80, PLCL(), "outside the range of floating-point"),
    "kernel matrix": (
        DATA.X @ DATA.X.T,
        PLCL(kernel="precomputed"),
        "kernel='precomputed' does not support device arrays",
    ),
    "method": (DATA.X, PLDA(), "PLDA does not support device arrays.* such as PLCL"),
}


@pytest.mark.parametrize("case", REJECTED)
def test_rows_that_are_rejected(library, dispatch, case):
    X, method, message = REJECTED[case]
    assert re.search(message, rejected(library.to_device(X), method=method))


def test_a_single_row_is_rejected(library, dispatch):
    assert "minimum of 2 rows" in rejected(library.to_device(DATA.X[:1]), DATA.mask[:1])


def test_a_tensor_that_needs_a_gradient(dispatch, torch):
    X = torch.asarray(DATA.X).requires_grad_()
    with pytest.raises(ValueError, match=r"requires a gradient.*X\.detach\(\)"):
        PLCL().fit(X, DATA.mask)
    PLKNN().fit(X.detach(), DATA.mask)


def test_another_number_of_features(library, dispatch):
    model = PLKNN().fit(library.to_device(DATA.X), DATA.mask)
    with pytest.raises(ValueError, match="X has 4 features, but PLKNN is expecting 12"):
        model.predict(library.to_device(DATA.X[:, :4].copy()))


def test_y_and_sample_weight_are_moved_to_the_device_of_x(dispatch):
    far, X = strict.Device("device1"), strict.asarray(DATA.X)
    mask, weights = (strict.asarray(each, device=far) for each in (DATA.mask, DATA.row_weights))
    model = PLCL(max_iter=2, tol=0).fit(X, mask, sample_weight=weights)
    expected = PLCL(max_iter=2, tol=0).fit(X, DATA.mask, sample_weight=DATA.row_weights)
    assert model.label_distributions_.device == X.device
    assert strict.all(model.label_distributions_ == expected.label_distributions_)
    y = strict.asarray(DATA.y, device=far)
    assert model.score(X, y, weights) == expected.score(X, DATA.y, DATA.row_weights)


def test_mixed_devices_of_fit_and_predict(dispatch):
    model = PLCL(max_iter=2, tol=0).fit(strict.asarray(DATA.X), DATA.mask)
    with pytest.raises(
        ValueError, match=r"same namespace and device as in fit.*device1.*fitted to .*CPU_DEVICE"
    ):
        model.predict(strict.asarray(DATA.test, device=strict.Device("device1")))


@pytest.mark.parametrize("name", ["decision_function", "predict", "predict_proba", "score"])
def test_a_model_of_a_device_and_rows_of_the_processor(library, dispatch, name):
    model = PLKNN().fit(library.to_device(DATA.X), DATA.mask)
    rows = (DATA.test, DATA.y[::3]) if name == "score" else (DATA.test,)
    called = "predict" if name == "score" else name
    with pytest.raises(
        ValueError, match=rf"X in PLKNN.{called}\(\) .* as in fit\(\): it is an array of NumPy, and"
    ) as caught:
        getattr(model, name)(*rows)
    assert "dispatch" not in str(caught.value)
    with (
        sklearn.config_context(array_api_dispatch=False),
        pytest.raises(ValueError, match=r"the model and turn on scikit-learn's dispatch: set"),
    ):
        getattr(model, name)(*rows)


def test_a_model_of_the_processor_and_rows_of_a_device(library, dispatch):
    model = PLCL(max_iter=2, tol=0).fit(DATA.X, DATA.mask)
    with pytest.raises(ValueError, match=r"fitted to an array of NumPy\. Move X to the device"):
        model.predict(library.to_device(DATA.test))


def test_the_tag_names_the_methods_with_device_support():
    supported = {
        type(m).__name__: sklearn.utils.get_tags(m).array_api_support for m in (*METHODS, PLDA())
    }
    assert [name for name, yes in supported.items() if not yes] == ["PLDA"]


def test_without_dispatch_a_device_is_rejected(torch):
    X = torch.empty((60, 5), device="meta")  # the device that is everywhere, and holds nothing
    with pytest.raises(ValueError, match=r"X is on the device meta.*config_context") as caught:
        PLCL().fit(X, DATA.mask)
    assert "SCIPY_ARRAY_API=1" in str(caught.value)


def test_without_dispatch_a_tensor_of_the_processor_is_an_array_like(torch):
    model = PLKNN().fit(torch.asarray(DATA.X), DATA.mask)
    assert isinstance(model.label_distributions_, np.ndarray)
    np.testing.assert_array_equal(
        model.label_distributions_, PLKNN().fit(DATA.X, DATA.mask).label_distributions_
    )


def test_with_dispatch_numpy_remains_numpy(dispatch):
    model = PLCL(max_iter=2, tol=0).fit(DATA.X, DATA.mask)
    assert isinstance(model.predict(DATA.test), np.ndarray)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lost", "MSRCv2", "FG-NET"])
def test_real_data(library, dispatch, real_split, name):
    X, mask, _, X_test, _ = (part[:250] for part in real_split(name, 0))
    host = PLCL(max_iter=3, tol=0).fit(X, mask)
    model = PLCL(max_iter=3, tol=0).fit(library.to_device(X), mask)
    single = PLCL(max_iter=3, tol=0).fit(library.to_device(X.astype(np.float32)), mask)
    for each, test in ((model, X_test), (single, X_test.astype(np.float32))):
        found = library.to_host(each.label_distributions_)
        np.testing.assert_allclose(found, host.label_distributions_, atol=1e-6)
        assert (
            library.to_host(each.predict(library.to_device(test))) == host.predict(X_test)
        ).all()
