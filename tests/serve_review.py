"""A served review for tests, and requests to it."""

import http.client
import json
import socket
from contextlib import suppress

import numpy as np

from ambilearn import PLKNN
from ambilearn.candidates import as_candidates
from ambilearn.review import Review, ReviewRow
from ambilearn.review.learner import Learner
from ambilearn.serve.from_table import continue_session, label_parser
from ambilearn.serve.journal import Journal, ReviewedRows
from ambilearn.serve.server import ReviewServer
from ambilearn.serve.service import ReviewService

NAMES = np.array(["anna", "bob", "cleo"])


def make_rows(learner):
    """What a journal knows of the rows of a learner."""
    return ReviewedRows(["|".join(sorted(labels)) for labels in learner.sets.to_sets()], {})


def make_learner(n=30, seed=0, doubt=True):
    """Rows of three people, with candidates."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = np.eye(3)[y] * 3 + rng.normal(size=(n, 3))
    sets = as_candidates([{NAMES[t], NAMES[(t + 1) % 3]} for t in y])
    return Learner(PLKNN(n_neighbors=5), X, sets, doubt=doubt)


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
        self.session = continue_session(
            self.learner, self.journal.entries, {}, self.parse, **options
        )
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
        self.service = ReviewService(
            self.review, self.session, self.journal, self.parse, images=images
        )
        self.server = _Server(self.service, port, token).start()

    @property
    def address(self):
        return self.server.address

    def close(self):
        self.server.close()
        self.session.close()
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
        return {row: str(label) for row, label in self.session.labels_.items()}

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
