"""A killed run continues from its checkpoint, as if it had not been killed."""

import os
import shutil
import signal
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from protected import open_folder, read_only  # noqa: E402

from ambilearn import CandidateSearchCV, CrowdClassifier, find_doubtful  # noqa: E402
from ambilearn.deep import DeepPLCL  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = [{"a": 3, "b": 1} if x > 0 else {"c": 1} for x, *_ in X]


def make(path, **parameters):
    small = torch.nn.Linear(3, 4)
    torch.nn.init.eye_(small.weight)
    torch.nn.init.zeros_(small.bias)
    parameters = {"epochs": 6, "module": small} | parameters
    return DeepPLCL(**{"random_state": 0, "device": "cpu", "checkpoint": path} | parameters)


@pytest.fixture(autouse=True)
def seconds(monkeypatch):
    """Seconds between two writes; tests may set others."""
    monkeypatch.setattr("ambilearn.deep.checkpoint.SECONDS", 0)


class StopError(Exception):
    pass


def stop_at(epoch):
    def callback(report):
        if report.epoch == epoch:
            raise StopError

    return callback


def fit_until(epoch, path, *data, **parameters):
    """A fit that is stopped after some epochs."""
    with pytest.raises(StopError):
        make(path, callbacks=[stop_at(epoch)], **parameters).fit(*(data or (X, Y)))


def belongs_to_another_fit():
    return pytest.raises(ValueError, match=r"checkpoint .*run belongs to a fit with other rows")


@pytest.mark.parametrize("random_state", [0, None])
def test_a_stopped_run_continues(tmp_path, random_state):
    path = tmp_path / "run.safetensors"
    fit_until(4, path, random_state=random_state)
    assert path.exists()
    model = make(path, random_state=random_state).fit(X, Y)
    assert [report.epoch for report in model.history_] == [5, 6]
    assert model.n_epochs_ == 6
    assert not path.exists()  # complete: the next fit starts again
    if random_state is not None:
        whole = make(None).fit(X, Y)
        np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))
        np.testing.assert_array_equal(model.label_distributions_, whole.label_distributions_)


def test_a_stopped_run_of_images_continues(tmp_path):
    """Their weights are not contiguous: the channels are last."""
    path, images = tmp_path / "run", RNG.normal(size=(40, 5, 5, 3))
    module = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten())
    fit_until(4, path, images, Y, module=module)
    found, whole = (make(path_, module=module).fit(images, Y) for path_ in (path, None))
    assert [report.epoch for report in found.history_] == [5, 6]
    np.testing.assert_array_equal(found.predict_proba(images), whole.predict_proba(images))


@pytest.mark.parametrize("in_epoch", [False, True])
def test_control_c_writes_the_checkpoint(tmp_path, in_epoch, monkeypatch):
    """The state after the last epoch; during the next epoch, the file stays as it is."""
    path = tmp_path / "run"
    done = n_steps = 0

    def end_epoch(report):
        nonlocal done
        done = report.epoch
        if done == 4 and not in_epoch:
            signal.raise_signal(signal.SIGINT)

    def view(x):
        nonlocal n_steps
        n_steps += done == 4
        if in_epoch and done == 4 and n_steps == 3:  # after two steps of five
            signal.raise_signal(signal.SIGINT)
        return x

    if not in_epoch:
        monkeypatch.setattr("ambilearn.deep.checkpoint.SECONDS", 3600)
    parameters = {"augment": (view, None), "batch_size": 8}
    with pytest.warns(UserWarning, match="after epoch 4 of 6.*another fit continues from .*run"):
        model = make(path, callbacks=[end_epoch], **parameters).fit(X, Y)
    assert model.n_epochs_ == 4
    done = 0
    model = make(path, **parameters).fit(X, Y)
    assert [report.epoch for report in model.history_] == [5, 6]
    assert not path.exists()
    whole = make(None, **parameters).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))


def test_control_c_after_the_last_epoch(tmp_path):
    def end_epoch(report):
        if report.epoch == 6:
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(UserWarning, match=r"after epoch 6 of 6\. The model can be used\.$"):
        make(tmp_path / "run", callbacks=[end_epoch]).fit(X, Y)
    assert not (tmp_path / "run").exists()


class Interrupted(torch.nn.Linear):
    """A network that is interrupted when ``now`` is set."""

    now = False

    def forward(self, x):
        if Interrupted.now:
            Interrupted.now = False
            signal.raise_signal(signal.SIGINT)
        return super().forward(x)


@pytest.mark.parametrize("ramp", [0.2, 1.0])  # weights of candidates count at first, or always
def test_control_c_in_the_last_prediction_writes_the_checkpoint(tmp_path, ramp, monkeypatch):
    monkeypatch.setattr("ambilearn.deep.checkpoint.SECONDS", 3600)

    def end_epoch(report):
        Interrupted.now = report.epoch == 6

    parameters = {"module": lambda: Interrupted(3, 4), "ramp": ramp}
    model = make(tmp_path / "run", callbacks=[end_epoch], **parameters)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    model.set_params(callbacks=[]).fit(X, Y)
    assert (model.history_, model.n_epochs_) == ([], 6)
    assert not (tmp_path / "run").exists()
    whole = make(None, **parameters).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))
    np.testing.assert_array_equal(model.label_distributions_, whole.label_distributions_)


def press_control_c_at_writes(monkeypatch):
    replace = os.replace

    def press(*arguments):
        signal.raise_signal(signal.SIGINT)
        replace(*arguments)

    monkeypatch.setattr(os, "replace", press)


def test_a_second_control_c_does_not_stop_the_write(tmp_path, monkeypatch):
    def end_epoch(report):
        if report.epoch == 4:
            press_control_c_at_writes(monkeypatch)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        make(tmp_path / "run", callbacks=[end_epoch]).fit(X, Y)
    monkeypatch.undo()
    model = make(tmp_path / "run").fit(X, Y)
    assert [report.epoch for report in model.history_] == [5, 6]


@pytest.mark.parametrize(
    "change",
    [
        {"lr": 0.01},
        {"mixup": False},
        {"epochs": 7},
        {"random_state": 1},
        {"augment": None},
        {"normalize": None},
        {"module": torch.nn.Linear(3, 5)},
        {"module": torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh())},
    ],
    ids=str,
)
def test_the_checkpoint_of_other_parameters_is_rejected(tmp_path, change):
    path = tmp_path / "run"
    fit_until(2, path)
    before = path.read_bytes()
    with belongs_to_another_fit():
        make(path, **change).fit(X, Y)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("index", "name", "is_trained"),
    [(0, "running_mean", False), (1, "weight", False), (1, "weight", True)],
    ids=["buffer", "weight", "weight of a layer whose bias is trained"],
)
def test_the_checkpoint_of_another_frozen_network_is_rejected(tmp_path, index, name, is_trained):
    networks = [
        torch.nn.Sequential(torch.nn.BatchNorm1d(3, affine=False), torch.nn.Linear(3, 4))
        for _ in range(2)
    ]
    for network in networks:
        network.requires_grad_(False)
    networks[1][1].bias.requires_grad_(is_trained)
    networks[0][1].bias.requires_grad_(is_trained)
    networks[1].load_state_dict(networks[0].state_dict())
    getattr(networks[1][index], name).data += 1
    path = tmp_path / "run"
    fit_until(2, path, module=networks[0])
    with belongs_to_another_fit():
        make(path, module=networks[1]).fit(X, Y)
    model = make(path, module=networks[0]).fit(X, Y)
    assert [report.epoch for report in model.history_] == [3, 4, 5, 6]


SETS = [set(weights) for weights in Y]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((X, Y), (X[[1, 0, *range(2, 40)]], Y)),
        ((X, SETS), (X, [{"a", "b", "c"}, *SETS[1:]])),
        ((X, Y), (X, [{"a": 2, "b": 1} if len(each) > 1 else each for each in Y])),
        ((X, Y), (X, Y, np.arange(1.0, 41.0))),
    ],
    ids=["rows", "candidates", "weights of candidates", "weights of rows"],
)
def test_the_checkpoint_of_other_rows_is_rejected(tmp_path, first, second):
    path = tmp_path / "run"
    given = {"normalize": (0.5, 2.0)}  # otherwise mean and scale would distinguish the rows, too
    fit_until(2, path, *first, **given)
    with belongs_to_another_fit():
        make(path, **given).fit(*second)


def test_the_checkpoint_of_other_rows_outside_of_memory_is_rejected(tmp_path, monkeypatch):
    monkeypatch.setattr("ambilearn.deep.rows._fits_in_memory", lambda n_bytes: False)
    path, given = tmp_path / "run", {"normalize": (0.5, 2.0)}
    first, second = (torch.utils.data.TensorDataset(torch.tensor(each)) for each in (X, -X))
    fit_until(2, path, first, Y, **given)
    with belongs_to_another_fit():
        make(path, **given).fit(second, Y)
    model = make(path, random_state=np.int64(0), **given).fit(first, Y)
    assert len(model.history_) == 4


def test_functions_of_all_kinds_and_parts_with_functions_continue(tmp_path):
    """A builtin has no attributes, and the text of a lambda contains its address."""

    class Activation(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.function = lambda x: x

        def extra_repr(self):
            return f"{self.function}"

        def forward(self, x):
            return self.function(x)

    def network():
        return torch.nn.Sequential(torch.nn.Linear(3, 4), Activation())

    path = tmp_path / "run"
    fit_until(4, path, module=network, augment=(torch.relu, None))
    model = make(path, module=network, augment=(torch.relu, None)).fit(X, Y)
    assert [report.epoch for report in model.history_] == [5, 6]


def test_a_checkpoint_that_cannot_be_deleted_does_not_lose_the_fit(tmp_path):
    path = tmp_path / "run"

    def replace_by_folder(report):
        if report.epoch == 6:
            path.unlink()
            path.mkdir()

    model = make(path, callbacks=[replace_by_folder])
    with pytest.warns(
        UserWarning, match=r"complete, but its checkpoint .*run could not be deleted"
    ):
        model.fit(X, Y)
    assert model.predict(X).shape == (40,)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda model: CrowdClassifier(model, max_iter=2),
        lambda model: CandidateSearchCV(model, {"lr": [0.1]}, cv=2),
        lambda model: SimpleNamespace(fit=partial(find_doubtful, estimator=model, n_folds=2)),
    ],
    ids=["crowd", "search", "doubt"],
)
def test_the_checkpoint_belongs_to_the_fit_to_all_rows(tmp_path, wrap):
    """A fit that is stopped in a fold leaves no file that the next fit would reject."""
    path = tmp_path / "run"
    answers = np.array([["a", "a"] if len(each) > 1 else ["c", "c"] for each in Y])
    y = answers if isinstance(wrap(make(path)), CrowdClassifier) else Y
    with pytest.raises(StopError):
        wrap(make(path, callbacks=[stop_at(2)])).fit(X, y)
    assert not path.exists()


@pytest.mark.parametrize(
    ("path", "reason"), [("none/run", "No such file"), (".", "Is a directory")]
)
def test_a_file_that_cannot_be_written_is_reported_before_the_training(tmp_path, path, reason):
    with pytest.raises(ValueError, match=rf"cannot be written \({reason}"):
        make(tmp_path / path, callbacks=[stop_at(1)]).fit(X, Y)


def test_a_link_to_a_checkpoint(tmp_path):
    """The file is deleted after the fit, wherever it is."""
    (tmp_path / "large").mkdir()
    file, link = tmp_path / "large" / "run", tmp_path / "run"
    link.symlink_to(file)
    fit_until(1, link)
    assert file.exists()
    make(link).fit(X, Y)
    assert not file.exists()


def test_a_folder_that_is_write_protected_is_reported_before_the_training():
    make(None).fit(X, Y)  # imports modules, which only root may read
    with open_folder() as folder:
        model = make(folder / "run", callbacks=[stop_at(1)])
        with read_only(folder), pytest.raises(ValueError, match=r"run' cannot be written \(.*\)\."):
            model.fit(X, Y)


@pytest.mark.parametrize("seconds", [0, 3600], ids=["after an epoch", "at an interrupt"])
def test_a_checkpoint_that_cannot_be_written_does_not_end_the_training(
    tmp_path, seconds, monkeypatch
):
    monkeypatch.setattr("ambilearn.deep.checkpoint.SECONDS", seconds)
    folder = tmp_path / "folder"
    folder.mkdir()

    def end_epoch(report):
        if report.epoch == 2:
            shutil.rmtree(folder)
        if report.epoch == 4 and seconds:
            signal.raise_signal(signal.SIGINT)

    model = make(folder / "run", callbacks=[end_epoch])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, Y)
    messages = [str(each.message) for each in caught if "too few" not in str(each.message)]
    assert "run could not be written: " in messages[0]
    assert model.n_epochs_ == (4 if seconds else 6)
    assert not seconds or messages[1].endswith("epoch 4 of 6. The model can be used.")
    assert model.predict(X).shape == (40,)


@pytest.mark.parametrize("content", [b"", b"notes", b"\xff" * 100, b"\x02\0\0\0\0\0\0\0{}"])
def test_another_file_is_rejected_and_kept(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(
        ValueError, match=r"notes\.txt is not a checkpoint of DeepPLCL, or it is damaged\. G"
    ):
        make(path).fit(X, Y)
    assert path.read_bytes() == content


def test_a_damaged_checkpoint_is_rejected(tmp_path):
    path = tmp_path / "run"
    fit_until(2, path)
    content = path.read_bytes()
    last_bit = content[:-1] + bytes([content[-1] ^ 1])
    for damaged in (content[:-50], last_bit, content.replace(b'"step":"', b'"step":"1', 1)):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="is not a checkpoint of DeepPLCL, or it is damaged"):
            make(path).fit(X, Y)


def test_a_callback_may_change_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)

    def change(report):
        os.chdir("other" if report.epoch == 1 else ".")

    with pytest.raises(StopError):
        make("run", callbacks=[change, stop_at(4)]).fit(X, Y)
    os.chdir(tmp_path)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["run"]
    assert not list((tmp_path / "other").iterdir())
    model = make("run", callbacks=[lambda report: os.chdir(tmp_path / "other")]).fit(X, Y)
    assert [report.epoch for report in model.history_] == [5, 6]
    assert not (tmp_path / "run").exists()


def test_checkpoints_are_written_after_some_time_only(tmp_path, monkeypatch):
    monkeypatch.setattr("ambilearn.deep.checkpoint.SECONDS", 3600)
    path = tmp_path / "run"
    fit_until(4, path)
    assert not path.exists()


KILLS = """
import os, signal, sys
from pathlib import Path
import numpy as np
sys.path.insert(0, {tests!r})
from ambilearn.deep import checkpoint
from ambilearn.tables import load_model, save_model
from deep.test_checkpoint import X, Y, make

checkpoint.SECONDS = 0

rng = np.random.default_rng(0)
left = None

def count(function):
    def counted(*arguments):
        global left
        if left is not None:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments)
    return counted

# Every step of the training, every write and every new name may be the last.
os.fsync, os.replace, os.unlink = map(count, (os.fsync, os.replace, os.unlink))
view = count(lambda x: x)
folder = Path({folder!r})
path, saved, fitted = folder / "run", folder / "model", folder / "fitted"

def fit(path):
    return make(path, module="auto", augment=(view, None)).fit(X, Y)

def save(model):
    save_model(model.set_params(augment="auto", checkpoint=None), saved)

whole = fit(None)  # imports all there is, before the forks
expected = whole.predict_proba(X)
save(whole)
save(make(None, module="auto", epochs=1).fit(X, Y))
old = saved.read_bytes()
n_killed = n_complete = n_killed_in_save = n_continued = 0
while n_killed < 100:
    limit = int(rng.integers(1, 30))
    saved.write_bytes(old)
    fitted.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        left = limit
        try:
            model = fit(path)
            fitted.write_text(str(model.history_[0].epoch))
            save(model)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    is_old = saved.read_bytes() == old
    assert is_old or np.array_equal(load_model(saved).predict_proba(X), expected)
    n_continued += fitted.exists() and int(fitted.read_text()) > 1
    if os.WIFSIGNALED(status):
        n_killed += 1
        n_killed_in_save += fitted.exists()
    else:
        assert os.WEXITSTATUS(status) == 0
        assert not is_old
        n_complete += 1
counts = n_complete, n_killed_in_save, n_continued
assert min(counts) > 3, counts
save(fit(path))
fitted.unlink(missing_ok=True)
assert np.array_equal(load_model(saved).predict_proba(X), expected)
assert os.listdir(folder) == ["model"], os.listdir(folder)
print(n_killed, *counts)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs Unix")
def test_a_hundred_kills(tmp_path):
    """The run continues from its checkpoint, and the model file is the old or the new one."""
    code = KILLS.format(tests=str(Path(__file__).parents[1]), folder=str(tmp_path))
    # Neither a pool of threads nor PyTorch's threads for GPUs outlive a fork.
    alone = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=alone)
    assert done.returncode == 0, done.stderr
