"""Threads of a session, with a session that does nothing by itself."""

import atexit
import threading

from ambilearn._utils.rounds import Round, report_round
from ambilearn.review.background import Worker


class EndlessSession:
    """Its fit has no last iteration."""

    def __init__(self):
        self.changed = threading.Condition()
        self.version_, self.refit_after, self.n_unlearned, self.is_dirty = 0, 5, 0, False
        self.began = threading.Event()

    def update(self):
        self.is_dirty = False

    def learn(self):
        while True:
            self.began.set()
            report_round(Round("endless", 1, 2, 1.0, 0.0))


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
