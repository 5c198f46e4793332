"""A learner in a separate process, so that a server can answer during a fit.

A fit in a thread of the server's process delays its answers: some routines of NumPy, SciPy and
scikit-learn hold the interpreter for tenths of a second, and the threads of BLAS use all cores.
"""

import atexit
import multiprocessing
import os
import pickle
import signal
import threading
import traceback
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, Self

from ambilearn._utils.rounds import listen_to_rounds, report_round

if TYPE_CHECKING:  # the process starts before these are imported
    from ambilearn.candidates import CandidateSets
    from ambilearn.review.learner import Labels, Learner
    from ambilearn.review.standing import Standing, Updater


class LearnerEndedError(ChildProcessError):
    """The process of the learner has ended."""


class LearnerProcess:
    """Fits and updates of a learner in another process.

    The process starts when the object is created, and imports the libraries meanwhile. It ends with
    :meth:`end`, and when the process that created it ends in any way. A fit and an update can run
    at the same time. Warnings and the progress of a fit are reported as if it ran in the calling
    thread.

    Attributes
    ----------
    shown : CandidateSets
        The candidates that a person chooses from.
    has_update : bool
        Whether answers change the outputs of other rows before the next fit.
    """

    shown: "CandidateSets"

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._fits, fits = context.Pipe()
        self._updates, updates = context.Pipe()
        self._process = context.Process(target=_serve, args=(fits, updates))
        self.has_update = False
        with _without_interrupts():
            self._process.start()
        for connection in fits, updates:  # otherwise the end of the process is not noticed
            connection.close()
        atexit.register(self.end)

    def start(
        self,
        make: "Callable[..., Learner]",
        *args: Any,
        progress: Callable[[str], None] = lambda text: None,
        **options: Any,
    ) -> Self:
        """Make the learner by a function, which is sent to the process with its arguments.

        The function has a parameter ``progress``, like :func:`ambilearn.tables.fit_table`.
        """
        self._progress = progress
        self.shown = self._call(self._fits, "start", make, args, options)
        return self

    def learn(self, labels: "Labels") -> Iterator[None]:
        """Fit as :meth:`Updater.learn` does."""
        found = self._call(self._fits, "learn", dict(labels))
        while found is not None:
            self.has_update = found
            yield
            found = self._call(self._fits, "continue_learning")

    def update(self, labels: "Labels", last: Collection[int] = ()) -> "Standing":
        """State of all rows, by :meth:`Updater.update`."""
        standing: Standing = self._call(self._updates, "update", dict(labels), list(last))
        return standing

    def end(self) -> None:
        """End the process immediately; calls that wait for it raise LearnerEndedError."""
        atexit.unregister(self.end)
        if self._process.pid is not None:
            _end_group(self._process.pid)
        self._process.kill()
        self._process.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.end()

    def _call(self, connection: "Connection[Any, Any]", *request: Any) -> Any:
        """Result of a method of :class:`_Engine`."""
        raised: Exception | None = None  # in this process; the next call must not get this result
        self._transfer(connection.send, request)
        while True:
            kind, content = self._transfer(connection.recv)
            if kind == "error":
                raise content
            if kind == "result":
                break
            try:
                self._report(kind, content)
            except Exception as error:
                raised = raised or error
        if raised is not None:
            raise raised
        return content

    def _report(self, kind: str, content: Any) -> None:
        """Report a round, a warning or the progress in the calling thread."""
        if kind == "round":
            report_round(content)
        elif kind == "warning":
            warnings.warn(content, stacklevel=4)
        else:
            self._progress(content)

    def _transfer(self, function: Callable[..., Any], *content: Any) -> Any:
        try:
            return function(*content)
        except (EOFError, ConnectionError) as error:
            self._process.join()
            raise LearnerEndedError(
                "The process that fits the method has ended (exit status "
                f"{self._process.exitcode}), perhaps because memory was short. Answers are kept: "
                "to fit again, end the review, free some memory, and repeat the command."
            ) from error


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Block Ctrl-C, which is not for the new process; where signals cannot be blocked, nothing."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # otherwise it starts with the process, and unblocks Ctrl-C
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_group(group: int) -> None:
    """End the processes of a group, such as those of ``n_jobs``; 0 is the own group.

    SIGTERM, because a process of joblib that ignores it then removes the shared memory.
    """
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):  # none is left, or not yet a group
            os.killpg(group, signal.SIGTERM)


# --- in the process ---------------------------------------------------------------------------


class _Engine:
    """What the process does; each method is called by one of two threads."""

    _updater: "Updater"
    _fit: Iterator[None]

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress = progress

    def start(self, make: "Callable[..., Learner]", args: Any, options: Any) -> "CandidateSets":
        from ambilearn.review.standing import Updater

        self._updater = Updater(make(*args, progress=self._progress, **options))
        return self._updater.shown

    def learn(self, labels: "Labels") -> bool | None:
        self._fit = self._updater.learn(labels)
        return self.continue_learning()

    def continue_learning(self) -> bool | None:
        """Whether updates are possible after the next result of the fit; None if it is complete."""
        for _ in self._fit:
            return self._updater.has_update
        return None

    def update(self, labels: "Labels", last: Collection[int]) -> "Standing":
        return self._updater.update(labels, last)


class _Line:
    """A connection to which several threads send."""

    def __init__(self, connection: "Connection[Any, Any]") -> None:
        self._connection, self._sending = connection, threading.Lock()

    def send(self, kind: str, content: Any) -> None:
        with self._sending, suppress(OSError):  # the other process has ended
            self._connection.send((kind, content))

    def answer(self, engine: _Engine) -> None:
        """Answer requests, until the other process ends."""
        while True:
            try:
                name, *arguments = self._connection.recv()
            except (EOFError, OSError):
                _end_group(0)
                os._exit(0)  # even during a fit in the other thread
            except Exception as error:  # an argument whose class cannot be imported here
                self.send("error", _picklable(error))
                continue
            try:
                self.send("result", getattr(engine, name)(*arguments))
            except Exception as error:
                self.send("error", _picklable(error))

    def send_warning(self, message: Warning | str, *_: Any, **__: Any) -> None:
        self.send("warning", message if _can_be_sent(message) else str(message))


def _serve(fits: "Connection[Any, Any]", updates: "Connection[Any, Any]") -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Windows cannot block it
    if hasattr(os, "setpgrp"):
        os.setpgrp()  # a group with the processes that it will start; see _end_group
    line = _Line(fits)
    engine = _Engine(partial(line.send, "progress"))
    warnings.simplefilter("always")  # the filters of the other process apply
    warnings.showwarning = line.send_warning
    import ambilearn.review.standing  # noqa: F401 - while the other process reads the table

    threading.Thread(target=_Line(updates).answer, args=(engine,), daemon=True).start()
    with listen_to_rounds(partial(line.send, "round")):
        line.answer(engine)


def _picklable(error: Exception) -> Exception:
    """The error with its traceback as a note, as another type if it cannot be sent."""
    error.add_note("".join(traceback.format_exception(error)))
    return error if _can_be_sent(error) else RuntimeError(f"{type(error).__name__}: {error}")


def _can_be_sent(content: Any) -> bool:
    try:
        pickle.loads(pickle.dumps(content))
    except Exception:
        return False
    return True
