"""The session of a served review in a process of its own, so that the server answers during a fit.

A fit in a thread of the server's process delays its answers: some routines of NumPy, SciPy and
scikit-learn hold the interpreter for tenths of a second, and the threads of BLAS use all cores.
In this process, one thread owns the session: it takes answers and results of fits from a queue, and
updates the order. A second thread computes the fits.
"""

import atexit
import multiprocessing
import os
import pickle
import signal
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from ambilearn._utils.rounds import listen_to_rounds, report_round
from ambilearn._utils.types import Array, Label

if TYPE_CHECKING:  # the process starts before these are imported
    from ambilearn.candidates import CandidateSets
    from ambilearn.review.learner import Learner
    from ambilearn.review.session import ReviewSession

HEAD = 200  # rows at the front of the order, in which random rows are mixed
_PATIENCE = 10.0  # seconds that a request for similar rows waits
_QUIET = 3.0  # seconds without an answer after which even few answers are learned


class SessionEndedError(ChildProcessError):
    """The process of the session has ended."""


class View(NamedTuple):
    """What a page shows of all rows.

    Parameters
    ----------
    order : ndarray of shape (n,)
        Rows in the order in which a person should look at them, with random rows among the first.
    drawn : set of int
        Rows that are marked as drawn at random.
    confidences : ndarray of shape (n_pairs + 1,)
        Confidence of every candidate, as a 16-bit integer; then a zero.
    suggestions : ndarray of shape (3, k)
        Rows with a suggestion, the class of each (-1 for a new label), and the probability that no
        candidate is right, in percent.
    labels : ndarray of shape (n,)
        Class of the label of each row by the method.
    settled : ndarray of shape (s,)
        Rows whose confidences are those of an answer, which a person may have undone since.
    """

    order: Array
    drawn: set[int]
    confidences: Array
    suggestions: Array
    labels: Array
    settled: Array


class Progress(NamedTuple):
    """How far a session has come.

    Parameters
    ----------
    n_actions : int
        Number of actions of a person that the session has taken.
    n_unlearned : int
        Number of answers that the last fit does not have.
    has_update : bool
        Whether the order accounts for an answer before the next fit; not with images.
    is_fitting : bool
        Whether the method is being fitted.
    problem : str or None
        Why the last fit failed, after which updates and answers continue.
    n_changed : int
        Rows that the person did not settle, with another label than at the start.
    share : tuple of float or None
        Estimated share of right labels, and its interval.
    n_random, released : int, set of int
        Random rows that are held back; those that the order has reached.
    hint : str or None
        Message that the last answers changed few labels.
    """

    n_actions: int = 0
    n_unlearned: int = 0
    has_update: bool = False
    is_fitting: bool = False
    problem: str | None = None
    n_changed: int = 0
    share: tuple[float, float, float] | None = None
    n_random: int = 0
    released: frozenset[int] = frozenset()
    hint: str | None = None


class SessionProcess:
    """A session in another process.

    The process starts when the object is created, and imports the libraries meanwhile. It ends with
    :meth:`end`, and when the process that created it ends in any way. Answers that are sent to a
    process that has ended are ignored: the journal has them.

    Attributes
    ----------
    shown : CandidateSets
        The candidates that a person chooses from.
    view, progress : View, Progress
        The last state of the session.
    version : int
        Increases with every view.
    revision : int
        Increases with every change of ``progress``.
    changed : threading.Condition
        Guards these attributes, and is notified when one changes.
    """

    shown: "CandidateSets"
    view: View

    def __init__(self) -> None:
        self.progress, self.version, self.revision = Progress(), 0, 0
        self.changed = threading.Condition()
        self._asking = threading.Lock()
        self._connection, connection = multiprocessing.get_context("spawn").Pipe()
        self._start_process(connection)
        atexit.register(self.end)

    def _start_process(self, connection: "Connection[Any, Any]") -> None:
        context = multiprocessing.get_context("spawn")
        self._process = context.Process(target=_serve, args=(connection,))
        with _without_interrupts():
            self._process.start()
        connection.close()  # otherwise the end of the process is not noticed

    def start(
        self,
        make: "Callable[..., Learner]",
        progress: Callable[[str], None] = lambda text: None,
        *,
        skipped: tuple[int, ...] = (),
        **options: object,
    ) -> Self:
        """Make the learner by a function, and fit it.

        The function is sent to the process; it has a parameter ``progress``, like
        :func:`ambilearn.tables.fit_table`. ``skipped`` are rows that were skipped before, and
        ``options`` are those of :class:`~ambilearn.review.ReviewSession`. Warnings and the rounds
        of the first fit are reported in the calling thread.
        """
        self._send(make, options, skipped)
        try:
            while self.version == 0:
                self._take_first(progress)
        except Exception:  # of the process, or a warning that is an error
            self.end()
            raise
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def _take_first(self, progress: Callable[[str], None]) -> None:
        """Take a message before the result of the first fit."""
        try:
            kind, content = self._connection.recv()
        except (EOFError, OSError) as error:
            raise SessionEndedError(self._describe_end()) from error
        if kind == "round":
            report_round(content)
        elif kind == "progress":
            progress(content)
        elif kind == "error":
            raise content
        else:
            self._take(kind, content)

    def settle(
        self, labels: Mapping[int, Label], found: Mapping[int, Label], *, random: bool
    ) -> None:
        """Record labels; ``found`` are those of the method."""
        self._act("record", labels, found, random=random)

    def undo(self) -> None:
        """Revert the last step."""
        self._act("undo")

    def skip(self, row: int) -> None:
        """Move a row to the end of the order."""
        self._act("skip", row)

    def similar_rows(self, row: int) -> list[int]:
        """The nearest rows that are neither settled nor drawn at random."""
        with self._asking:
            self._similar: tuple[int | None, list[int]] = None, []
            self._act("similar_rows", row)
            with self.changed:
                self.changed.wait_for(lambda: self._similar[0] == row, timeout=_PATIENCE)
            return self._similar[1]

    def end(self) -> None:
        """End the process immediately."""
        atexit.unregister(self.end)
        if self._process.pid is not None:
            _end_group(self._process.pid)
        self._process.kill()
        self._process.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def _act(self, name: str, *args: object, **options: object) -> None:
        with suppress(OSError):
            self._send(name, args, options)

    def _send(self, *content: object) -> None:
        try:
            self._connection.send(content)
        except OSError as error:
            raise SessionEndedError(self._describe_end()) from error

    def _listen(self) -> None:
        """Take what the process sends, until it ends."""
        while True:
            try:
                kind, content = self._connection.recv()
            except (EOFError, OSError):
                problem = self._describe_end()
                self._take("state", self.progress._replace(problem=problem, is_fitting=False))
                return
            with suppress(Exception):  # a warning that is an error
                self._take(kind, content)

    def _take(self, kind: str, content: Any) -> None:
        if kind == "warning":
            warnings.warn(content, stacklevel=3)
            return
        with self.changed:
            if kind == "shown":
                self.shown = content
            elif kind == "state":
                self.progress = content
                self.revision += 1
            elif kind == "similar":
                self._similar = content
            elif kind == "view":
                self.view, self.progress = content
                self.version += 1
            self.changed.notify_all()

    def _describe_end(self) -> str:
        self._process.join()
        return (
            f"The process that fits the method has ended (exit status {self._process.exitcode}), "
            "perhaps because memory was short. Answers are kept: to fit again, end the review, "
            "free some memory, and repeat the command."
        )


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


class _Line:
    """A connection to which several threads send."""

    def __init__(self, connection: "Connection[Any, Any]") -> None:
        self._connection, self._sending = connection, threading.Lock()

    def send(self, kind: str, content: object) -> None:
        with self._sending, suppress(OSError):  # the other process has ended
            self._connection.send((kind, content))

    def send_warning(self, message: Warning | str, *_: object, **__: object) -> None:
        self.send("warning", message if _can_be_sent(message) else str(message))


class Worker:
    """Keeps a session up to date: answers and results of fits come in a queue."""

    def __init__(self, session: "ReviewSession", send: Callable[[str, object], None]) -> None:
        self.inbox: SimpleQueue[tuple[Any, ...]] = SimpleQueue()
        self._session, self._send = session, send
        self._n_actions, self._is_fitting = 0, False
        self._problem: str | None = None
        self._progress = Progress()

    def run(self) -> None:
        """Take messages, until one has no name."""
        self._update()
        while True:
            has_new, message = False, self._next_message()
            while message is not None:
                if not message[0]:
                    return
                has_new |= self._handle(*message)
                message = None if self.inbox.empty() else self.inbox.get()
            if has_new:
                self._update()
            else:
                self._send_progress()
            if not self._is_fitting and self._session.n_untried >= self._session.refit_after:
                self._fit()

    def _next_message(self) -> tuple[Any, ...] | None:
        waits = self._session.n_untried and not self._is_fitting
        try:
            return self.inbox.get(timeout=_QUIET if waits else None)
        except Empty:  # a pause: even few answers are learned
            self._fit()
            return None

    def _handle(self, name: str, args: Any, options: Any) -> bool:
        """Do what a message says; return whether the results change."""
        if name in ("record", "undo", "skip"):
            self._n_actions += 1
            getattr(self._session, name)(*args, **options)
            return True
        if name == "learned":
            self._problem, self._is_fitting = None, False
            try:
                self._session.take(*args)
            except Exception as error:  # the update is tried again
                self._report(error)
            return True
        if name == "similar_rows":
            self._send("similar", (*args, self._session.similar_rows(*args)))
        elif name == "failed":
            self._report(*args)
            self._is_fitting = False
        return False

    def _update(self) -> None:
        try:
            while not self._session.is_current:
                self._session.update()
        except Exception as error:
            self._report(error)
            self._send_progress()
        else:
            self._send_view()

    def _fit(self) -> None:
        self._is_fitting = True
        self._send_progress()
        fit = self._session.begin_fit()
        threading.Thread(target=self._compute, args=(fit,), daemon=True).start()

    def _compute(self, fit: "Callable[[], Any]") -> None:
        """Fit, in a thread."""
        try:
            self.inbox.put(("learned", (fit(),), {}))
        except Exception as error:
            self.inbox.put(("failed", (error,), {}))

    def _report(self, error: Exception) -> None:
        """Show an error of an estimator; answers are safe."""
        self._problem = " ".join(str(error).split()) or type(error).__name__

    def _send_view(self) -> None:
        import numpy as np

        session, results = self._session, self._session.current_results
        head, drawn = session.next_and_random(HEAD)
        is_later = np.ones(session.n_rows, dtype=bool)
        is_later[head] = False
        order = np.concatenate([np.array(head, "<i4"), results.order[is_later[results.order]]])
        classes = {label: j for j, label in enumerate(session.sets.classes.tolist())}
        suggestions = np.empty((3, 0), "<i4")
        if results.doubt is not None:
            rows = np.flatnonzero(results.doubt.doubtful)
            names = results.doubt.suggestion[rows].tolist()
            found = [classes.get(name, -1) for name in names]
            percent = np.rint(100 * results.doubt.score[rows])
            suggestions = np.array([rows, found, percent], "<i4")
        share = session.estimate()
        self._progress = self._progress._replace(
            n_changed=session.count_changes()[1],
            share=None if share is None else (share.share, share.low, share.high),
            n_random=len(session.random_rows_),
            released=frozenset(session.released_rows()),
            hint=session.stopping_hint(),
        )
        view = View(
            order.astype("<i4"),
            {*drawn, *session.random_rows_},
            np.rint(65535 * np.append(results.confidences, 0.0)).astype("<u2"),
            suggestions,
            results.choices.labels,
            np.array(session.used_rows(), "<i4"),
        )
        self._send("view", (view, self._now()))

    def _send_progress(self) -> None:
        self._send("state", self._now())

    def _now(self) -> Progress:
        self._progress = self._progress._replace(
            n_actions=self._n_actions,
            n_unlearned=self._session.n_unlearned,
            has_update=self._session.learner.has_update,
            is_fitting=self._is_fitting,
            problem=self._problem,
        )
        return self._progress


def _serve(connection: "Connection[Any, Any]") -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Windows cannot block it
    if hasattr(os, "setpgrp"):
        os.setpgrp()  # a group with the processes that it will start; see _end_group
    line = _Line(connection)
    warnings.simplefilter("always")  # the filters of the other process apply
    warnings.showwarning = line.send_warning
    import ambilearn.review.session  # noqa: F401 - while the other process reads the table

    try:
        run_session(connection, line)
    finally:
        _end_group(0)
        os._exit(0)  # even during a fit in the other thread


def run_session(connection: "Connection[Any, Any]", line: _Line | None = None) -> None:
    """Run a session with the messages of a connection, until it is closed."""
    from ambilearn.review.session import ReviewSession

    line = line or _Line(connection)
    try:
        make, options, skipped = connection.recv()
    except (EOFError, OSError):
        return
    except Exception as error:  # an argument whose class cannot be imported here
        line.send("error", _picklable(error))
        return
    try:
        with listen_to_rounds(partial(line.send, "round")):
            learner = make(progress=partial(line.send, "progress"))
            session = ReviewSession(learner, **options)
    except Exception as error:
        line.send("error", _picklable(error))
        return
    for row in skipped:
        session.skip(row)
    line.send("shown", session.sets)
    worker = Worker(session, line.send)
    threading.Thread(target=_receive, args=(connection, worker.inbox), daemon=True).start()
    worker.run()


def _receive(connection: "Connection[Any, Any]", inbox: "SimpleQueue[tuple[Any, ...]]") -> None:
    with suppress(EOFError, OSError):
        while True:
            inbox.put(connection.recv())
    inbox.put(("",))


def _picklable(error: Exception) -> Exception:
    """The error with its traceback as a note, as another type if it cannot be sent."""
    error.add_note("".join(traceback.format_exception(error)))
    return error if _can_be_sent(error) else RuntimeError(f"{type(error).__name__}: {error}")


def _can_be_sent(content: object) -> bool:
    try:
        pickle.loads(pickle.dumps(content))
    except Exception:
        return False
    return True
