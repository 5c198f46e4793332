"""A served review for tests, and requests to it."""

import atexit
import http.client
import json
import os
import socket
import threading
from contextlib import suppress
from functools import partial

import numpy as np

from ambilearn import PLKNN
from ambilearn.candidates import as_candidates
from ambilearn.review import Review, ReviewRow
from ambilearn.review.journal import Journal, ReviewedRows
from ambilearn.review.learner import Learner
from ambilearn.review.process import SessionProcess, run_session
from ambilearn.review.server import ReviewServer
from ambilearn.review.service import ReviewService, label_parser

NAMES = np.array(["anna", "bob", "cleo"])


def make_rows(learner):
    """What a journal knows of the rows of a learner."""
    return ReviewedRows(["|".join(sorted(labels)) for labels in learner.sets.to_sets()], {})


def make_learner(n=30, doubt=True, progress=None):
    """Rows of three people, with candidates."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 3
    X = np.eye(3)[y] * 3 + rng.normal(size=(n, 3))
    sets = as_candidates([{NAMES[t], NAMES[(t + 1) % 3]} for t in y])
    return Learner(PLKNN(n_neighbors=5), X, sets, doubt=doubt)


class SessionInThread(SessionProcess):
    """A session in a thread of this process, which starts faster."""

    def _start_process(self, connection):
        self._thread = threading.Thread(target=run_session, args=(connection,), daemon=True)
        self._thread.start()
        self._there = connection

    def end(self):
        atexit.unregister(self.end)
        for connection in self._connection, self._there:
            with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as line:
                line.shutdown(socket.SHUT_RDWR)

    def _describe_end(self):
        return "The session has ended."


class _Server(ReviewServer):
    """A server that knows its connections."""

    def __init__(self, *arguments):
        self.connections = []
        super().__init__(*arguments)

    def process_request(self, request, client_address):
        self.connections.append(request)
        super().process_request(request, client_address)


class Served:
    """A review with journal and server, which can be ended and started again."""

    def __init__(self, folder, n=30, images=(), port=0, token=None, doubt=True, **options):
        self.learner = make_learner(n, doubt=doubt)
        self.journal = Journal(folder / "people.journal", make_rows(self.learner))
        self.parse = label_parser(self.learner.sets.classes)
        rows = [
            ReviewRow(
                [f"photo {i}", ["Rome", "Oslo"][i % 2]],
                sorted(labels),
                [0.5] * len(labels),
                "|".join(sorted(labels)),
                f"image/{i}" if i < len(images) else None,
            )
            for i, labels in enumerate(self.learner.sets.to_sets())
        ]
        self.review = Review("people.csv", ["photo", "town"], rows, method="PLKNN")
        self.service = ReviewService(self.review, self.journal, self.parse, images=images)
        self.session = SessionInThread().start(
            partial(make_learner, n, doubt),
            skipped=self.service.skipped,
            **self.service.session_options() | options,
        )
        self.service.connect(self.session)
        self.server = _Server(self.service, port, token).start()

    @property
    def address(self):
        return self.server.address

    def close(self):
        self.server.close()
        self.session.end()
        self.journal.close()

    def kill(self):
        """End the server as if its process were killed: nothing else is told."""
        self.server.shutdown()
        self.server.server_close()
        for connection in self.server.connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.journal.close()

    def labels(self):
        """Rows and labels in the journal, as a new process would read them."""
        return {row: str(label) for row, label in self.service.answers.labels.items()}

    def wait(self, condition=lambda now: now.n_unlearned == 0 and not now.is_fitting):
        """Wait until the session has taken all answers, and a condition holds."""
        session, n = self.session, self.service._n_sent
        with session.changed:
            assert session.changed.wait_for(
                lambda: session.progress.n_actions == n and condition(session.progress), timeout=60
            )

    def request(self, method, path, content=None, token=None, **headers):
        """Status and content of the reply to a request."""
        port = self.server.port
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        body = None if content is None else json.dumps(content).encode()
        given = {"Host": f"127.0.0.1:{port}", "Origin": f"http://127.0.0.1:{port}"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        given = {name: value for name, value in given.items() if value is not None}
        token = self.server.token if token is None else token
        try:
            connection.request(method, f"/{token}/{path}", body, given)
            reply = connection.getresponse()
            text = reply.read()
            is_json = reply.headers["Content-Type"] == "application/json"
            return reply.status, json.loads(text) if is_json else text, reply.headers
        finally:
            connection.close()

    def act(self, tab="a", **action):
        return self.request("POST", f"act?tab={tab}", action)[:2]
