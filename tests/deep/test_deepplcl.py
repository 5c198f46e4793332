"""DeepPLCL as an estimator."""

import gc
import pickle
import signal
import weakref

import numpy as np
import pytest
from scikit_learn_checks import checks_of
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ambilearn import ANYTHING, PLCL, AllBut, CandidateSearchCV
from ambilearn.candidates import as_candidates
from ambilearn.deep import DeepPLCL

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": "weighted rows are no repeated rows: batches "
    "and views are random",
    "check_methods_subset_invariance": "in single precision the output of a row depends on the "
    "size of its batch, by rounding",
    "check_methods_sample_order_invariance": "and on its place in the batch",
}


def _checks():
    for estimator, check in checks_of([DeepPLCL(epochs=15, device="cpu")]):
        name = check.func.__name__
        reason = EXPECTED_FAILURES.get(name)
        # A matrix product may happen to round alike for all sizes and places.
        strict = not name.endswith("_invariance")
        marks = [pytest.mark.xfail(reason=reason, strict=strict)] if reason else []
        yield pytest.param(estimator, check, id=name, marks=marks)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast:RuntimeWarning")  # theirs
@pytest.mark.parametrize(("estimator", "check"), list(_checks()))
def test_scikit_learn_checks(estimator, check):
    check(estimator)


class SmallCNN(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.Flatten(),
        )


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    mask = np.random.default_rng(0).random((len(y), 10)) < 0.3
    mask[np.arange(len(y)), y] = True
    return X, mask, y, X_test, y_test


@pytest.mark.slow
@pytest.mark.parametrize("images", [False, True])
def test_digits_as_accurate_as_plcl(digits, images):
    X, mask, y, X_test, y_test = digits
    reference = make_pipeline(StandardScaler(), PLCL()).fit(X, mask)
    model = DeepPLCL(epochs=40, device="cpu", random_state=0)
    if images:
        model.set_params(module=SmallCNN)
        X, X_test = (part.reshape(-1, 8, 8) for part in (X, X_test))
    model.fit(X, mask)
    linear = digits[3]
    assert model.score(X_test, y_test) >= reference.score(linear, y_test) - 0.02
    assert np.mean(model.transduction_ == y) >= np.mean(reference[-1].transduction_ == y) - 0.02


@pytest.mark.slow
def test_large_sets_do_not_settle_on_wrong_labels(digits):
    X, _, y, X_test, y_test = digits
    mask = np.random.default_rng(1).random((len(y), 10)) < 0.7
    mask[np.arange(len(y)), y] = True
    model = DeepPLCL(epochs=30, device="cpu", random_state=0).fit(X, mask)
    assert model.score(X_test, y_test) > 0.9  # .75 to .83 if the second head trusts P at once


@pytest.mark.slow
def test_few_rows_of_many_columns():
    """Hidden layers that fit the candidate set of each row had .16 and .21, PL-CL has .59, .69."""
    rng = np.random.default_rng(0)
    truth = np.arange(900) % 10
    rows = 0.2 * rng.normal(size=(10, 600))[truth] + rng.normal(size=(900, 600))
    mask = rng.random((900, 10)) < 0.5
    mask[np.arange(900), truth] = True
    model = DeepPLCL(epochs=100, device="cpu", random_state=0).fit(rows[:300], mask[:300])
    assert model.score(rows[300:], truth[300:]) > 0.4
    assert np.mean(model.transduction_ == truth[:300]) > 0.5


@pytest.mark.parametrize("epochs", [1, 3])
def test_labels_that_are_never_a_candidate_are_ranked_last(epochs):
    sets = as_candidates([{"a", "c"}, {"b", "c"}] * 15, classes=["a", "aa", "b", "c", "d"])
    model = make(epochs=epochs).fit(X, sets)
    scores = model.decision_function(X)
    assert (scores[:, [1, 4]].max(1) < scores[:, [0, 2, 3]].min(1)).all()
    assert not model.predict_proba(X)[:, [1, 4]].any()
    assert not model.train_output_[:, [1, 4]].any()


def make(**parameters):
    """A model that learns in an instant."""
    parameters = {"epochs": 3, "batch_size": 8, "random_state": 0, "device": "cpu"} | parameters
    return DeepPLCL(**parameters)


RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4))
TRUTH = np.array(["a", "b", "c"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0)]
SETS = [{truth, other} for truth, other in zip(TRUTH, RNG.choice(["a", "b", "c"], 30), strict=True)]


def test_fitted_attributes():
    model = make().fit(X, SETS)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.label_distributions_.shape == model.train_output_.shape == (30, 3)
    np.testing.assert_allclose(model.label_distributions_.sum(1), 1)
    assert all(label in row for label, row in zip(model.transduction_, SETS, strict=True))
    assert model.predict_proba(X).shape == (30, 3)
    np.testing.assert_allclose(model.train_output_, model.predict_proba(X), rtol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X).sum(1), 1)
    assert model.transform(X).shape == (30, 260)  # the columns and 256 more
    assert model.get_feature_names_out()[0] == "deepplcl0"
    assert model.n_features_in_ == 4
    assert model.n_epochs_ == 3
    assert not model.module_.training


def test_rows_without_information():
    model = make().fit(X, [ANYTHING] * 10 + [AllBut("a")] * 10 + list(TRUTH[:10]))
    assert model.predict(X).shape == (30,)
    assert len(model.classes_) == 3


def test_weights_of_candidates_count():
    """Also if the network does not learn from them."""
    y = [{"a": 9, "b": 1}] * 30
    model, other = (make(loss=loss, epochs=9).fit(np.zeros((30, 4)), y) for loss in ("plcl", "cc"))
    assert (model.transduction_ == "a").all()
    np.testing.assert_allclose(other.label_distributions_, [[0.9, 0.1]] * 30, atol=0.01)


@pytest.mark.parametrize("loss", ["plcl", "cc", "proden"])
def test_tiny_weights_of_candidates(loss):
    """As the probabilities of another classifier, which are zero in single precision."""
    model = make(loss=loss).fit(X, [{"a": 1, "b": 1e-60}, "b", {"a": 1e300, "c": 1e-300}] * 10)
    np.testing.assert_allclose(model.label_distributions_.sum(1), 1)


def test_label_distributions_are_targets_of_the_final_network():
    """t ∝ f ∘ (1 − f̂)^c ∘ w^γ on the candidates."""
    model = make(ramp=1.0).fit(X, [{"a": 3, "b": 1}] * 15 + ["a"] * 10 + ["c"] * 5)
    rows = model._validate_rows(X, reset=False)
    f, absent = model._outputs(*model._new_rows(rows))
    np.testing.assert_allclose(model.train_output_, f, rtol=1e-5)
    factors = (model.label_distributions_ / (f * (1 - absent)))[:15, :2]
    from_weights = factors[:, 0] / factors[:, 1]
    np.testing.assert_allclose(from_weights, from_weights[0], rtol=1e-4)
    assert from_weights[0] > 1.1
    assert not model.label_distributions_[:15, 2].any()


def test_weights_of_rows_are_relative():
    weights = np.arange(1.0, 31.0)
    first, second, none = (
        make().fit(X, SETS, w).predict_proba(X) for w in (weights, 8 * weights, None)
    )
    np.testing.assert_array_equal(first, second)
    assert np.abs(first - none).max() > 0.001


@pytest.mark.parametrize("n_channels", [1, 3])
def test_predictions_for_color_images_and_their_mirror_images_are_equal(n_channels):
    images = IMAGES[..., :n_channels]
    model = make().fit(images, TRUTH[:20])
    found, mirrored = model.predict_proba(images), model.predict_proba(images[:, :, ::-1])
    assert np.allclose(found, mirrored, atol=1e-5) == (n_channels == 3)


def test_a_sparse_mask_gives_sparse_confidences():
    from scipy import sparse

    mask = sparse.csr_array(RNG.random((30, 3)) < 2)
    assert sparse.issparse(make().fit(X, mask).label_distributions_)


IMAGES = RNG.integers(256, size=(20, 6, 7, 3), dtype=np.uint8)


def test_a_matrix_of_pytorch():
    expected = make().fit(X, TRUTH).predict_proba(X)
    tensor = torch.tensor(X, requires_grad=True)
    np.testing.assert_array_equal(make().fit(tensor, TRUTH).predict_proba(tensor), expected)
    one_column = tensor[:, :1].bfloat16()
    assert make().fit(one_column, TRUTH).transform(one_column).shape == (30, 257)


@pytest.mark.parametrize("learned", ["integers", "values other than integers"])
def test_new_images_need_the_type_of_the_training_images(learned):
    """Integers of any type count as bytes; floats may have another range."""
    images = {"integers": IMAGES, "values other than integers": IMAGES / 255}
    model = DeepPLCL(epochs=1, random_state=0).fit(images.pop(learned), ["a", "b"] * 10)
    if learned.startswith("integers"):
        expected = model.predict(IMAGES)
        dataset = torch.utils.data.TensorDataset(torch.tensor(IMAGES).long())
        for integers in (IMAGES.astype(int), dataset):
            np.testing.assert_array_equal(model.predict(integers), expected)
    ((given, other),) = images.items()
    with pytest.raises(ValueError, match=f"images have {given} .*, but .* with {learned} from"):
        model.predict(other)


def test_dark_images_among_others_of_16_bits():
    """Integers are not taken as bytes because none of the new images is bright."""
    bright = IMAGES.astype(np.uint16) * 256
    model = DeepPLCL(epochs=1, random_state=0).fit(bright, ["a", "b"] * 10)
    dark = bright.copy()
    dark[1:] = bright[1:] // 256
    dark[0] = 0
    np.testing.assert_array_equal(model.predict(dark[:1]), model.predict(dark)[:1])
    assert model.predict(dark[1:]).shape == (19,)


def test_files_for_a_network_of_other_rows(tmp_path):
    """Files have one or three channels."""
    path = tmp_path / "a.png"
    pytest.importorskip("PIL.Image").fromarray(IMAGES[0, ..., 0]).save(path)
    for rows in (X[:20], np.concatenate([IMAGES, IMAGES], axis=3)):
        model = DeepPLCL(epochs=1, random_state=0).fit(rows, ["a", "b"] * 10)
        with pytest.raises(ValueError, match=r"X is a list of files, but .* rows of shape"):
            model.predict([path])


@pytest.mark.parametrize(
    "images",
    [IMAGES[..., 0], IMAGES / 255, torch.tensor(IMAGES)],
    ids=["gray", "float", "tensor"],
)
def test_images(images):
    model = make().fit(images, TRUTH[:20])
    assert model.predict(images[:3]).shape == (3,)
    assert model.transform(images[:3]).shape == (3, 128)
    assert not hasattr(model, "n_features_in_")
    with pytest.raises(ValueError, match=r"rows of shape \(.*\), but DeepPLCL was fitted to rows"):
        model.predict(images[:, :, :5])
    for no_images in (X, []):
        with pytest.raises(ValueError, match="images are arrays of shape"):
            model.predict(no_images)
    with pytest.raises(ValueError, match=r"Pass \[X\] if X is a single image"):
        model.predict(images[0])
    assert model.predict([images[0]]).shape == (1,)


def test_a_dataset():
    dataset = torch.utils.data.TensorDataset(torch.tensor(X), torch.arange(30))
    from_dataset = make().fit(dataset, TRUTH)
    np.testing.assert_allclose(
        from_dataset.predict_proba(dataset), make().fit(X, TRUTH).predict_proba(X), atol=1e-3
    )
    assert np.isfinite(cross_val_score(make(), dataset, TRUTH, cv=2)).all()


def test_200_files_of_different_sizes(tmp_path):
    image = pytest.importorskip("PIL.Image")
    files, labels = [], []
    for i in range(200):
        label = i % 2
        size = (int(RNG.integers(8, 20)), int(RNG.integers(8, 20)), 3)
        pixels = np.clip(RNG.normal(60 + 120 * label, 20, size), 0, 255).astype(np.uint8)
        files.append(tmp_path / f"{i}.jpg")
        image.fromarray(pixels).save(files[-1])
        labels.append({"dark", "light"} if i % 5 == 0 else {["dark", "light"][label]})
    small = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    model = make(module=small, epochs=6, batch_size=20).fit(files, labels)
    assert model.score([str(file) for file in files], np.array(["dark", "light"] * 100)) > 0.95
    assert model.predict(files[:1]).shape == (1,)


@pytest.mark.parametrize("loss", ["plcl", "proden", "rc", "cc", "crdpll"])
def test_every_loss_learns(loss):
    rows = np.repeat(np.eye(3), 20, axis=0)
    y = [{"abc"[i // 20], "abc"[(i // 20 + 1 + i % 2) % 3]} for i in range(60)]
    model = make(loss=loss, epochs=30).fit(rows, y)
    assert model.predict(np.eye(3)).tolist() == ["a", "b", "c"]


@pytest.mark.parametrize(
    "change", [{"comp_weight": 0}, {"comp_weight": 2}, {"ramp": 0}, {"mixup": False}], ids=str
)
def test_every_parameter_of_the_loss_is_used(change):
    first, second = (make(**each).fit(X, SETS).predict_proba(X) for each in ({}, change))
    assert np.abs(first - second).max() > 1e-5


@pytest.mark.parametrize("deterministic", [False, True])
def test_settings_of_pytorch_come_back(deterministic, monkeypatch):
    monkeypatch.setattr(torch, "are_deterministic_algorithms_enabled", lambda: deterministic)
    before, seen = torch.backends.cudnn.benchmark, []
    make(callbacks=[lambda report: seen.append(torch.backends.cudnn.benchmark)]).fit(X, SETS)
    assert seen == [not deterministic] * 3
    assert torch.backends.cudnn.benchmark == before


def test_same_seed_same_result():
    first, second, other = (make(random_state=seed).fit(X, SETS) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.predict_proba(X), second.predict_proba(X))
    assert not np.allclose(first.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_fit_where_gradients_are_off(mode):
    expected = make().fit(X, SETS).predict_proba(X)
    with mode():
        found = make().fit(X, SETS)
        assert not torch.is_grad_enabled()
    np.testing.assert_array_equal(found.predict_proba(X), expected)


def test_a_fit_where_double_precision_is_the_default():
    expected = make().fit(IMAGES, TRUTH[:20]).predict_proba(IMAGES)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        model = pickle.loads(pickle.dumps(make().fit(IMAGES, TRUTH[:20])))
        found = model.predict_proba(IMAGES)
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(before)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("rows", [X[:20], IMAGES], ids=["matrix", "images"])
def test_cross_validation_and_a_search_without_true_labels(rows):
    assert np.isfinite(cross_val_score(make(), rows, TRUTH[:20], cv=2)).all()
    search = CandidateSearchCV(make(epochs=1), {"lr": [0.01, 0.05]}, cv=2)
    assert search.fit(rows, SETS[:20]).predict(rows).shape == (20,)


def test_the_views_of_the_user_do_not_mirror_new_images():
    class Weak:
        flip = "no"

        def __call__(self, x):
            return x

    model = make(augment=(Weak(), None)).fit(IMAGES, ["a", "b"] * 10)
    assert np.abs(model.predict_proba(IMAGES) - model.predict_proba(IMAGES[:, :, ::-1])).max() > 0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"normalize": [1, 2, 3]}, "normalize must be"),
        ({"normalize": ([1, 2], [1, 2])}, "normalize must be"),
        ({"epochs": 0}, "'epochs' parameter"),
        ({"callbacks": [3]}, "callbacks must be"),
    ],
)
def test_wrong_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        make(**parameters).fit(X, SETS)


@pytest.mark.parametrize(
    ("weak", "strong", "returned"),
    [
        (lambda x: x.numpy(), None, "a ndarray"),
        (lambda x: x[:1], None, r"torch.float32 of shape \(1, 4\)"),
        (lambda x: x.sum(), None, r"torch.float32 of shape \(\)"),
        (None, lambda x: x.double(), r"torch.float32 .* and torch.float64 of shape \(8, 4\)"),
        (
            None,
            lambda x: x[:, :3],
            r"torch.float32 of shape \(8, 4\) and torch.float32 of shape \(8, 3\)",
        ),
    ],
)
def test_views_that_are_no_batches_are_rejected(weak, strong, returned):
    with pytest.raises(ValueError, match=f"functions in augment .* they returned {returned}"):
        make(augment=(weak, strong)).fit(X, SETS)


@pytest.mark.parametrize(
    "parameters", [{"lr": 1e30}, {"augment": (lambda x: x * torch.nan, None)}], ids=["lr", "view"]
)
def test_a_loss_that_is_not_finite_ends_the_fit(parameters, tmp_path, monkeypatch):
    """No later fit continues from such weights."""
    path = tmp_path / "run.safetensors"
    monkeypatch.setattr("ambilearn.deep.checkpoint.SECONDS", 0)
    model = make(checkpoint=path, **parameters)
    with pytest.raises(ValueError, match=r"The loss of epoch \d is not finite\. Use a smaller lr"):
        model.fit(X, SETS)
    assert not path.exists()


def test_one_row_is_too_few():
    with pytest.raises(ValueError, match="a minimum of 2"):
        make().fit(IMAGES[:1], ["a"])


def test_reports(capsys):
    seen = []
    model = make(callbacks=[seen.append, print]).fit(X, SETS)
    assert seen == model.history_
    assert [(report.epoch, report.n_epochs) for report in seen] == [(1, 3), (2, 3), (3, 3)]
    assert 0 < seen[0].seconds <= seen[1].seconds
    assert seen[0].seconds_left == 2 * seen[0].seconds
    assert seen[2].seconds_left == 0
    assert "epoch 3 of 3, loss" in capsys.readouterr().out


def test_control_c_before_the_first_epoch_ends_the_fit():
    def view(x):
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        make(augment=(view, None)).fit(X, SETS)


def test_warm_start():
    model = make(warm_start=True, module=lambda: nn.Linear(4, 3)).fit(X, SETS)
    first = model.predict_proba(X)
    network = weakref.ref(model.module_)
    second = model.set_params(lr=1e-9, random_state=1).fit(X, SETS).predict_proba(X)
    np.testing.assert_allclose(first, second, atol=1e-6)
    gc.collect()
    assert network() is None  # its memory is free
    cold = clone(model).set_params(warm_start=False).fit(X, SETS).predict_proba(X)
    assert np.abs(cold - first).max() > 0.01


def test_a_warm_start_keeps_the_scale_of_the_inputs():
    """Otherwise the weights would get other inputs than before."""
    model = make(warm_start=True, module=lambda: nn.Linear(4, 3), lr=1e-9).fit(X, SETS)
    first = model.transform(X)
    model.fit(3 + 5 * X[:10], as_candidates(SETS[:10], classes=["a", "b", "c"]))
    np.testing.assert_allclose(model.transform(X), first, atol=1e-5)
    model.set_params(normalize=(0, 1)).fit(X, SETS)
    assert model._standardizer.scale.tolist() == [1] * 4


@pytest.mark.parametrize("more", [[], ["d"]])
def test_a_warm_start_needs_the_same_labels(more):
    """Also of the same number: their outputs would belong to other labels."""
    model = make(warm_start=True, module=lambda: nn.Linear(4, 3)).fit(X[:2], ["a", "b"])
    with pytest.raises(ValueError, match="warm_start=True needs the labels of the previous fit"):
        model.fit(X[:3], ["a", "c", *(more or "c")])


def test_a_warm_start_that_fails_leaves_the_previous_fit():
    def interrupt(x):
        signal.raise_signal(signal.SIGINT)

    model = make(warm_start=True).fit(X, SETS)
    expected = model.predict_proba(X)
    with pytest.raises(ValueError, match="warm_start=True needs the network of the previous fit"):
        model.fit(X[:, :3], SETS)
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(augment=(interrupt, None)).fit(X, SETS)
    np.testing.assert_array_equal(model.predict_proba(X), expected)
