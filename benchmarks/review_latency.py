"""Time of answers through the review server, and until the order accounts for them.

Another process does what the page does: it posts an answer, and requests the new state whenever
there is one, while the method learns in a process of its own, as with the command line. Prints
percentiles, in seconds, of the time until an answer is confirmed (``answer``), and of the time
until the order accounts for it (``order``); ``disk`` is the part of ``answer`` in which the journal
is written, and ``rest`` the other part. The rows are made up; fits use landmarks from 20,000
rows on, as the command line does.
"""

import argparse
import base64
import http.client
import json
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

import numpy as np
from common import make_ambiguous, print_result

from ambilearn import PLCL, PLKNN, PLStacking
from ambilearn.candidates import as_candidates
from ambilearn.review import Review, ReviewRow
from ambilearn.review.journal import Journal, ReviewedRows
from ambilearn.review.learner import Learner
from ambilearn.review.process import SessionProcess
from ambilearn.review.server import ReviewServer, prompt_replies
from ambilearn.review.service import ReviewService, label_parser

METHODS = {"plcl": PLCL, "plknn": PLKNN, "stack": PLStacking}
PERCENTILES = (50, 90, 99, 100)


def main():
    """One line for each number of rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--method", choices=METHODS, default="plcl")
    parser.add_argument("--rows", type=int, nargs="+", default=[5000, 100_000])
    parser.add_argument("--answers", type=int, default=500)
    parser.add_argument("--pause", type=float, default=0.2, help="seconds between answers")
    parser.add_argument("--client", metavar="PORT/TOKEN", help="for internal use")
    args = parser.parse_args()
    if args.client:
        json.dump(Client(*args.client.split("/")).answer(args.answers, args.pause), sys.stdout)
        return
    for n_rows in args.rows:
        with tempfile.TemporaryDirectory() as folder, prompt_replies():
            measure(args, n_rows, Path(folder, "journal"))


def measure(args, n_rows, path):
    """Serve a review, and print percentiles."""
    with Journal(path, ReviewedRows([""] * n_rows, {})) as journal, SessionProcess() as process:
        began = time.perf_counter()
        sets = make_learner(args.method, n_rows).sets
        rows = [ReviewRow([], [str(c) for c in s], [0.1] * len(s), "") for s in sets.to_sets()]
        service = ReviewService(Review("made up", [], rows), journal, label_parser(sets.classes))
        process.start(partial(make_learner, args.method, n_rows))
        first_fit = time.perf_counter() - began
        service.connect(process)
        server = ReviewServer(service).start()
        ordered, written = note_updates(process), note_writing(journal)
        options = ["--answers", str(args.answers), "--pause", str(args.pause)]
        client = [sys.executable, __file__, f"--client={server.port}/{server.token}", *options]
        done = subprocess.run(client, stdout=subprocess.PIPE, check=True)
        with process.changed:
            process.changed.wait_for(lambda: len(ordered) >= args.answers)
        server.close()
    sent, confirmed, n_states = json.loads(done.stdout)
    answer = np.subtract(confirmed, sent)
    times = {"answer": answer, "disk": written, "rest": answer - written}
    times["order"] = np.subtract(ordered, sent)
    found = {
        f"{name}_p{p}": float(np.percentile(values, p))
        for name, values in times.items()
        for p in PERCENTILES
    }
    print_result(
        "review_latency",
        method=args.method,
        rows=n_rows,
        answers=args.answers,
        states=n_states,
        first_fit=first_fit,
        **found,
    )


def make_learner(name, n_rows, progress=None):
    """A learner of made-up rows."""
    X, mask, _ = make_ambiguous(n_rows, 20, 10, 3.0)
    method = METHODS[name]()
    params = {"random_state": 0, "n_landmarks": 2000 if n_rows >= 20_000 else None}
    method.set_params(**{k: v for k, v in params.items() if k in method.get_params()})
    return Learner(method, X, as_candidates(mask))


def note_updates(process):
    """Times at which the order accounts for each answer, filled as they come."""
    times, take = [], process._take

    def noted(kind, content):
        take(kind, content)
        if kind == "view":
            with process.changed:
                n_new = process.progress.n_actions - len(times)
                times.extend([time.perf_counter()] * n_new)
                process.changed.notify_all()

    process._take = noted
    return times


def note_writing(journal):
    """Seconds that each answer takes to be on disk, filled as they come."""
    times, append = [], journal.append

    def noted(entry):
        began = time.perf_counter()
        append(entry)
        times.append(time.perf_counter() - began)

    journal.append = noted
    return times


class Client:
    """Posts answers and requests states in two threads, as a browser does."""

    def __init__(self, port, token):
        self.port, self.token = int(port), token
        self.state, self.ready, self.n_states = {}, threading.Event(), 0
        threading.Thread(target=self._poll, daemon=True).start()

    def answer(self, n_answers, pause):
        """Times at which answers were sent and confirmed, and the number of states."""
        connection, sent, confirmed, done = self._connect(), [], [], set()
        self.ready.wait()
        for i in range(n_answers):
            order = np.frombuffer(base64.b64decode(self.state["order"]), "<i4")
            row = next(int(row) for row in order if row not in done)
            done.add(row)
            action = {"id": f"a{i}", "kind": "answer", "labels": [[row, str(row % 10)]]}
            content = json.dumps(action)
            sent.append(time.perf_counter())
            self._request(connection, "POST", "act?tab=a", content)
            confirmed.append(time.perf_counter())
            time.sleep(pause)
        return sent, confirmed, self.n_states

    def _poll(self):
        connection, path = self._connect(), "state?tab=a"
        while True:
            state = json.loads(self._request(connection, "GET", path))
            self.state = self.state | state
            self.n_states += 1
            self.ready.set()
            path = f"state?tab=a&since={state['token']}"

    def _connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)

    def _request(self, connection, method, path, content=None):
        origin = {"Origin": f"http://127.0.0.1:{self.port}"}
        connection.request(method, f"/{self.token}/{path}", content, origin)
        reply = connection.getresponse()
        content = reply.read()
        assert reply.status == 200, (reply.status, content)
        return content


if __name__ == "__main__":
    main()
