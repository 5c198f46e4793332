"""A learner in another process: the same results, and the end of either process."""

import os
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest
from learners_of_people import NotLoadable, make_learner
from sklearn.exceptions import ConvergenceWarning

from ambilearn._utils.rounds import listen_to_rounds
from ambilearn.cli.errors import describe_error
from ambilearn.review import ReviewSession
from ambilearn.review.process import LearnerEndedError, LearnerProcess
from ambilearn.review.standing import Updater

pytestmark = pytest.mark.heavy
LABELS = {3: "bob", 5: "cleo", 7: "anna"}


@pytest.fixture(scope="module")
def process():
    with LearnerProcess() as process:
        yield process


def test_results_are_those_of_the_same_process(process):
    said = []
    process.start(make_learner, "plcl", progress=said.append)
    here = Updater(make_learner("plcl", progress=lambda text: None))
    assert said == ["making the learner"]
    assert process.shown.to_sets() == here.shown.to_sets()
    assert not process.has_update
    results = []
    for each in process, here:
        standings = []
        for _ in each.learn({0: "anna"}):
            standings.append(each.update({0: "anna"}))
        standings.append(each.update(LABELS, [9]))
        results.append(standings)
    assert process.has_update
    assert [len(each) for each in results] == [2, 2]
    for theirs, ours in zip(*results, strict=True):
        np.testing.assert_array_equal(theirs.confidences, ours.confidences)
        np.testing.assert_array_equal(theirs.order, ours.order)
        np.testing.assert_array_equal(theirs.doubt.score, ours.doubt.score)
        assert theirs.n_since == ours.n_since


def test_a_fit_that_is_not_completed_gives_way_to_the_next(process):
    process.start(make_learner, "stack")
    first = process.learn({})
    next(first)  # the thorough doubt is not computed
    assert len(list(process.learn(LABELS))) == 2


def test_progress_and_warnings_are_reported(process):
    process.start(make_learner, "plcl", max_iter=2)
    rounds = []
    with warnings.catch_warnings(record=True) as caught, listen_to_rounds(rounds.append):
        warnings.simplefilter("always")
        next(process.learn({}))
    assert [each.number for each in rounds] == [1, 2]
    assert [each.category for each in caught] == [ConvergenceWarning]
    with pytest.warns(UserWarning, match="1 and 2"):
        process.start(make_learner, "warning")


def test_errors_keep_their_type_and_the_process_goes_on(process):
    process.start(make_learner, "plknn", n_neighbors=-1)
    with pytest.raises(ValueError, match="'n_neighbors' parameter of PLKNN") as caught:
        next(process.learn({}))
    assert "in continue_learning" in caught.value.__notes__[0]
    with pytest.raises(RuntimeError, match="UnpicklableError: 1 and 2"):
        process.start(make_learner, "unpicklable")
    with pytest.raises(EOFError, match="truncated"):  # not that of the connection
        process.start(make_learner, "truncated")
    with pytest.raises(ValueError, match="no number"):
        process.start(make_learner, NotLoadable())
    assert len(process.start(make_learner, "plknn").shown) == 30


def test_an_error_by_a_warning_does_not_change_the_next_results(process):
    process.start(make_learner, "plcl", max_iter=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ConvergenceWarning):
            next(process.learn({}))
    assert len(process.start(make_learner, "plcl").shown) == 30
    assert len(list(process.learn({}))) == 1


def test_after_the_end_of_the_process_answers_are_accepted():
    with LearnerProcess() as process:
        process.start(make_learner, "plknn")
        with ReviewSession(process, background=True) as session:
            process._process.kill()
            session.settle(3, "bob")
            with session.changed:
                session.changed.wait_for(lambda: session.problem)
            assert "The process that fits the method has ended (exit status" in session.problem
            session.settle(4, "bob")
            assert session.labels_ == {3: "bob", 4: "bob"}
        with pytest.raises(LearnerEndedError) as caught:
            process.update({})
        assert describe_error(caught.value) == str(caught.value)  # not a bug of ambilearn


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("number", ["SIGKILL", "SIGINT", None])
def test_the_process_ends_with_the_one_that_started_it(number):
    code = (
        "import time; from ambilearn.review.process import LearnerProcess\n"
        "if __name__ == '__main__': p = LearnerProcess(); print(1, flush=True)"
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


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no groups of processes")
@pytest.mark.parametrize("number", ["SIGKILL", "SIGINT"])
def test_the_processes_of_n_jobs_end_with_it(number):
    code = (
        "import time; from ambilearn.review.process import LearnerProcess\n"
        "from learners_of_people import make_learner\n"
        "with LearnerProcess() as p:\n"
        "    list(p.start(make_learner, 'stack', n_jobs=2).learn({}))\n"
        "    print(1, flush=True); time.sleep(600)"
    )
    command = [sys.executable, "-c", code]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    paths = os.pathsep.join(filter(None, sys.path))
    parent = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": paths}, **pipes)
    assert parent.stdout.readline() == b"1\n"
    parent.send_signal(getattr(signal, number))
    parent.communicate(timeout=60)  # all processes have the pipes; those of joblib wait 300 s
