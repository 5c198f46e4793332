"""Threads that learn from the answers of a review while a person continues."""

import atexit
import threading
from time import sleep
from typing import Protocol

from ambilearn._utils.rounds import Round, listen_to_rounds

_SOON = 0.02  # seconds before an update, in which a server confirms the answer
_QUIET = 3.0  # seconds without an answer after which even few answers are learned


class Session(Protocol):
    """What the threads use of a session; ``changed`` guards it."""

    changed: threading.Condition
    version_: int
    refit_after: int
    is_dirty: bool

    @property
    def _n_untried(self) -> int: ...

    def update(self) -> None: ...  # noqa: D102

    def learn(self) -> None: ...  # noqa: D102

    def interrupt(self) -> None: ...  # noqa: D102


class _StoppedError(BaseException):
    """The fit is not needed any more. Not an Exception, which an estimator may handle."""


class Worker:
    """Two threads: one updates the order after each answer, one fits the method again.

    The first fit begins immediately. ``is_fitting`` is whether the method is being fitted, and
    ``problem`` why the last fit failed, after which updates and answers continue.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._stopped = False
        self.is_fitting = False
        self.problem: str | None = None
        self._threads = [
            threading.Thread(target=loop, name=loop.__name__, daemon=True)
            for loop in (self._keep_updating, self._keep_fitting)
        ]
        for thread in self._threads:
            thread.start()
        # The process must not exit while a thread is inside of BLAS: it would crash.
        atexit.register(self.stop)

    def stop(self) -> None:
        """End the threads, and a fit that is running after its current iteration."""
        with self._session.changed:
            self._stopped = True
            self._session.changed.notify_all()
        self._session.interrupt()
        for thread in self._threads:
            thread.join()
        atexit.unregister(self.stop)

    def _check_stopped(self, _: Round) -> None:
        if self._stopped:
            raise _StoppedError

    def _keep_updating(self) -> None:
        while True:
            with self._session.changed:
                self._session.changed.wait_for(lambda: self._stopped or self._session.is_dirty)
                if self._stopped:
                    return
            sleep(_SOON)  # LAPACK does not let other threads run
            try:
                self._session.update()
            except Exception as error:
                self._report(error)

    def _report(self, error: Exception) -> None:
        """Show an error of an estimator, or of its process; answers are safe."""
        with self._session.changed:
            if self._stopped:
                return
            self.problem = " ".join(str(error).split()) or type(error).__name__
            self._session.version_ += 1
            self._session.changed.notify_all()

    def _keep_fitting(self) -> None:
        while not self._stopped:
            with self._session.changed:
                self.is_fitting = True
                self._session.changed.notify_all()
            try:
                with listen_to_rounds(self._check_stopped):
                    self._session.learn()
                self.problem = None
            except _StoppedError:
                pass
            except Exception as error:
                self._report(error)
            with self._session.changed:
                self.is_fitting = False
                self._session.version_ += 1
                self._session.changed.notify_all()
            self._wait_for_answers()

    def _wait_for_answers(self) -> None:
        """Wait for enough answers, or for some and a pause; after an error for other ones."""
        session = self._session
        with session.changed:
            while not self._stopped:
                n_new = session._n_untried
                if n_new >= session.refit_after:
                    return
                woken = session.changed.wait(_QUIET if n_new else None)
                if not woken and n_new:
                    return
