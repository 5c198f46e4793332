"""A session in another process: the same results, when it fits, and the end of either process."""

import os
import signal
import subprocess
import sys
import threading
import warnings
from functools import partial

import numpy as np
import pytest
from learners_of_people import NotLoadable, make_learner
from serve_review import SessionInThread
from serve_review import make_learner as make_people
from sklearn.exceptions import ConvergenceWarning

from ambilearn._utils.rounds import listen_to_rounds
from ambilearn.cli.console import describe_error
from ambilearn.review import ReviewSession
from ambilearn.review.process import SessionEndedError, SessionProcess, Worker


@pytest.mark.heavy
def test_results_are_those_of_a_session_in_the_same_process():
    said = []
    with SessionProcess() as process:
        process.start(partial(make_learner, "plcl"), said.append)
        here = ReviewSession(make_learner("plcl", progress=lambda text: None))
        assert said == ["making the learner"]
        assert process.shown.to_sets() == here.sets.to_sets()
        process.settle({3: "bob"}, {3: "anna"}, random=False)
        process.settle({5: "cleo", 7: "zoe"}, {5: "anna", 7: "anna"}, random=False)
        process.undo()
        process.skip(9)
        wait(process, lambda now: now.n_actions == 4 and not now.n_unlearned and not now.is_fitting)
        assert process.progress.has_update
        view = process.view
    here.settle(3, "bob")
    here.skip(9)
    here.learn()
    assert view.order.tolist() == [*here.next_rows(30), 3]
    shown = view.confidences[:-1] / 65535
    np.testing.assert_allclose(shown, here.results_.confidences, atol=1e-5)
    assert view.labels.tolist() == here.results_.choices.labels.tolist()


@pytest.mark.heavy
def test_progress_warnings_and_errors_come_from_the_process():
    rounds = []
    with SessionProcess() as process, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with listen_to_rounds(rounds.append):
            process.start(partial(make_learner, "plcl", max_iter=2))
    assert [each.number for each in rounds] == [1, 2]
    assert [each.category for each in caught] == [ConvergenceWarning]
    with SessionProcess() as process, pytest.raises(ValueError, match="no number"):
        process.start(partial(make_learner, NotLoadable()))


@pytest.fixture
def session():
    with SessionInThread() as session:
        yield session


def test_errors_keep_their_type(session):
    with pytest.raises(ValueError, match="'n_neighbors' parameter of PLKNN") as caught:
        session.start(partial(make_learner, "plknn", n_neighbors=-1))
    assert "in run_session" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("unpicklable", RuntimeError, "UnpicklableError: 1 and 2"),
        ("truncated", EOFError, "truncated"),  # not that of the connection
    ],
)
def test_errors_of_the_start_are_raised(session, name, kind, message):
    with pytest.raises(kind, match=message):
        session.start(partial(make_learner, name))


def test_a_process_that_ends_during_the_start_is_reported(session):
    session.end()
    with pytest.raises(SessionEndedError) as caught:
        session.start(partial(make_learner, "plknn"))
    assert describe_error(caught.value) == str(caught.value)  # not a bug of ambilearn


def test_after_the_end_of_the_process_answers_are_accepted(session):
    session.start(partial(make_learner, "plknn"))
    session.end()
    with session.changed:
        assert session.changed.wait_for(lambda: session.progress.problem, timeout=60)
    assert session.progress.problem == "The session has ended."
    session.settle({3: "bob"}, {3: "anna"}, random=False)


@pytest.mark.heavy
def test_the_end_of_the_process_is_explained():
    with SessionProcess() as process:
        process.start(partial(make_learner, "plknn"))
        process._process.kill()
        wait(process, lambda now: now.problem)
        assert "The process that fits the method has ended (exit st" in process.progress.problem


def wait(process, condition):
    with process.changed:
        assert process.changed.wait_for(lambda: condition(process.progress), timeout=60)


# --- when to fit --------------------------------------------------------------------------------


class Session(ReviewSession):
    """A session whose fits can fail, and which notes the answers of each."""

    fails, n_fits = False, 0

    def begin_fit(self):
        self.n_fits += 1
        return partial(self._fit, super().begin_fit(), self.fails)

    def _fit(self, fit, fails):
        if fails:
            raise ValueError("no\nmemory")
        return fit()


@pytest.fixture
def work():
    """Function that runs a session with few rows in a thread; returns what it sent last."""
    workers = []

    def work(refit_after):
        session = Session(make_people(), refit_after=refit_after, random_share=0)
        state = SessionInThread()
        state._session = session
        worker = Worker(session, state._take)
        thread = threading.Thread(target=worker.run, daemon=True)
        thread.start()
        workers.append((worker, thread, state))
        return worker, state

    yield work
    for worker, thread, state in workers:
        worker.inbox.put(("",))
        thread.join(60)
        state.end()


def settle(worker, *rows, label="anna"):
    labels = dict.fromkeys(rows, label)
    worker.inbox.put(("record", (labels, labels), {"random": False}))


def test_enough_answers_start_a_fit(work, monkeypatch):
    monkeypatch.setattr("ambilearn.review.process._QUIET", 600)  # also on a slow machine
    worker, state = work(3)
    settle(worker, 0, 1)
    wait(state, lambda now: now.n_actions == 1 and not now.is_fitting)
    assert (state.progress.n_unlearned, state._session.n_fits) == (2, 1)
    settle(worker, 2)
    wait(state, lambda now: now.n_actions == 2 and now.n_unlearned == 0 and not now.is_fitting)
    assert state._session.n_fits == 2
    order = state.view.order.tolist()
    same = ReviewSession(make_people(), refit_after=3, random_share=0)
    for row in range(3):
        same.settle(row, "anna")
    assert order == [*same.next_rows(30), *order[-3:]]


def test_a_few_answers_and_a_pause_start_a_fit(work, monkeypatch):
    monkeypatch.setattr("ambilearn.review.process._QUIET", 0.1)
    worker, state = work(100)
    settle(worker, 0)
    wait(state, lambda now: now.n_actions == 1 and now.n_unlearned == 0)


def test_after_a_fit_that_failed_other_answers_start_one(work, monkeypatch):
    monkeypatch.setattr("ambilearn.review.process._QUIET", 600)
    worker, state = work(2)
    wait(state, lambda now: not now.is_fitting)
    state._session.fails = True
    settle(worker, 0, 1)
    wait(state, lambda now: now.problem and not now.is_fitting)
    assert (state.progress.problem, state.progress.n_unlearned) == ("no memory", 2)
    assert 0 in state.view.order[-2:]  # the update accounts for the answers
    state._session.fails = False
    settle(worker, 0, 1, label="bob")
    wait(state, lambda now: now.n_unlearned == 0 and not now.is_fitting)
    assert state.progress.problem is None
    assert state._session.n_fits == 3


def test_an_update_that_fails_is_reported(work, monkeypatch):
    worker, state = work(1)
    wait(state, lambda now: not now.is_fitting)

    def fail():
        raise ValueError("no update")

    with monkeypatch.context() as patch:
        patch.setattr(state._session, "update", fail)
        settle(worker, 0)
        wait(state, lambda now: now.n_actions == 1 and not now.n_unlearned and not now.is_fitting)
        assert state.progress.problem == "no update"
    settle(worker, 1)
    wait(state, lambda now: now.n_actions == 2 and not now.problem and not now.n_unlearned)
    assert state._session.labels_ == {0: "anna", 1: "anna"}


# --- the end of both processes ------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("number", ["SIGKILL", "SIGINT", None])
def test_the_process_ends_with_the_one_that_started_it(number):
    code = (
        "import time; from ambilearn.review.process import SessionProcess\n"
        "if __name__ == '__main__': p = SessionProcess(); print(1, flush=True)"
    )
    code += "; time.sleep(600)" if number else ""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    parent = subprocess.Popen([sys.executable, "-c", code], start_new_session=True, **pipes)
    parent.stdout.readline()
    if number:  # as the terminal does it: to all processes
        signal_number = getattr(signal, number)
        (os.kill if number == "SIGKILL" else os.killpg)(parent.pid, signal_number)
    _, errors = parent.communicate()  # both processes have the pipes
    assert errors.count(b"Traceback") == (number == "SIGINT")


@pytest.mark.heavy
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no groups of processes")
@pytest.mark.parametrize("number", ["SIGKILL", "SIGINT"])
def test_the_processes_of_n_jobs_end_with_it(number):
    code = (
        "import time; from ambilearn.review.process import SessionProcess\n"
        "from functools import partial; from learners_of_people import make_learner\n"
        "with SessionProcess() as p:\n"
        "    p.start(partial(make_learner, 'stack', n_jobs=2))\n"
        "    print(1, flush=True); time.sleep(600)"
    )
    command = [sys.executable, "-c", code]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    paths = os.pathsep.join(filter(None, sys.path))
    parent = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": paths}, **pipes)
    assert parent.stdout.readline() == b"1\n"
    parent.send_signal(getattr(signal, number))
    parent.communicate(timeout=60)  # all processes have the pipes; those of joblib wait 300 s
