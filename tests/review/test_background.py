"""Threads of a session, with a session that does nothing by itself."""

import atexit
import threading

from ambilearn._utils.rounds import Round, report_round
from ambilearn.review.background import Worker


class EndlessSession:
    """Its fit has no last iteration."""

    def __init__(self):
        self.changed = threading.Condition()
        self.version_, self.refit_after, self._n_untried, self.is_dirty = 0, 5, 0, False
        self.began = threading.Event()

    def update(self):
        self.is_dirty = False

    def learn(self):
        while True:
            self.began.set()
            report_round(Round("endless", 1, 2, 1.0, 0.0))

    def interrupt(self):
        pass


def test_a_running_fit_ends_with_its_iteration():
    session = EndlessSession()
    worker = Worker(session)
    session.began.wait()
    assert worker.is_fitting
    worker.stop()
    assert not any(thread.is_alive() for thread in worker._threads)
    assert worker.problem is None
    assert not worker.is_fitting
    worker.stop()  # a second time: nothing


def test_the_threads_end_before_the_process_does(monkeypatch):
    registered = []
    monkeypatch.setattr(atexit, "register", registered.append)
    worker = Worker(EndlessSession())
    (stop,) = registered
    stop()
    assert not any(thread.is_alive() for thread in worker._threads)


class FailingSession(EndlessSession):
    """Neither its fits nor its updates succeed."""

    def __init__(self):
        super().__init__()
        self.n_fits, self.n_updates = 0, 0

    def update(self):
        self.is_dirty = False
        self.n_updates += 1
        raise ValueError(f"update {self.n_updates}")

    def learn(self):
        self.n_fits += 1
        self._n_untried = 0
        raise ValueError("no fit")

    def answer(self, n):
        with self.changed:
            self._n_untried, self.is_dirty = n, True
            self.changed.notify_all()

    def wait_for(self, condition):
        with self.changed:
            self.changed.wait_for(condition)


def test_after_an_error_the_threads_wait_for_other_answers(monkeypatch):
    monkeypatch.setattr("ambilearn.review.background._QUIET", 600)  # also on a slow machine
    session = FailingSession()
    session._n_untried = 7  # more than enough for a fit
    worker = Worker(session)
    session.wait_for(lambda: worker.problem == "no fit" and not worker.is_fitting)
    for number, n_answers in enumerate([1, 2], start=1):
        session.answer(n_answers)
        session.wait_for(lambda number=number: worker.problem == f"update {number}")
    session.answer(5)
    session.wait_for(lambda: (session.n_fits, session.n_updates) == (2, 3))
    session.wait_for(lambda: not worker.is_fitting)
    session.answer(0)
    session.wait_for(lambda: worker.problem == "update 4")
    worker.stop()
    assert session.n_fits == 2
