"""Time of answers through the review server, and until the order accounts for them.

Answers to made-up rows are posted one after the other while the method learns in the background.
Prints percentiles, in seconds, of the time until an answer is confirmed (``answer``), and of the
time until the order accounts for it (``order``).
"""

import argparse
import http.client
import json
import tempfile
import time
from pathlib import Path

import numpy as np
from common import make_ambiguous, print_result

from ambilearn import PLCL
from ambilearn.candidates import as_candidates
from ambilearn.review import Review, ReviewRow
from ambilearn.review.learner import Learner
from ambilearn.serve.from_table import continue_session, label_parser
from ambilearn.serve.journal import Journal
from ambilearn.serve.server import ReviewServer, prompt_replies
from ambilearn.serve.service import ReviewService

PERCENTILES = (50, 90, 99, 100)


def main():
    """One line for each number of rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[5000, 100_000])
    parser.add_argument("--answers", type=int, default=500)
    parser.add_argument("--pause", type=float, default=0.2, help="seconds between answers")
    args = parser.parse_args()
    for n_rows in args.rows:
        with tempfile.TemporaryDirectory() as folder, prompt_replies():
            measure(n_rows, args.answers, args.pause, Path(folder, "journal"))


def measure(n_rows, n_answers, pause, path):
    """Post answers, and print percentiles."""
    X, mask, y = make_ambiguous(n_rows, 20, 10, 3.0)
    sets = as_candidates(mask.toarray())
    landmarks = 2000 if n_rows >= 20_000 else None
    learner = Learner(PLCL(n_landmarks=landmarks, random_state=0), X, sets)
    parse = label_parser(sets.classes)
    with Journal(path, {}) as journal:
        began = time.perf_counter()
        session = continue_session(learner, [], {}, parse)
        first_fit = time.perf_counter() - began
        rows = [ReviewRow([], [str(c) for c in s], [0.1] * len(s), "") for s in sets.to_sets()]
        service = ReviewService(Review("made up", [], rows), session, journal, parse)
        server = ReviewServer(service).start()
        times = {"answer": [], "order": []}
        for i in range(n_answers):
            (row,) = session.next_rows()
            action = {"id": f"a{i}", "kind": "answer", "labels": [[row, str(y[row])]]}
            began = time.perf_counter()
            post(server, action)
            times["answer"].append(time.perf_counter() - began)
            with session.changed:
                session.changed.wait_for(lambda: not session.is_dirty, timeout=60)
            times["order"].append(time.perf_counter() - began)
            time.sleep(pause)
        server.close()
        session.close()
    found = {
        f"{name}_p{p}": float(np.percentile(values, p))
        for name, values in times.items()
        for p in PERCENTILES
    }
    print_result("review_latency", rows=n_rows, answers=n_answers, first_fit=first_fit, **found)


def post(server, action):
    """Post an action as the page does."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    origin = {"Origin": f"http://127.0.0.1:{server.port}"}
    connection.request("POST", f"/{server.token}/act?tab=a", json.dumps(action), origin)
    reply = connection.getresponse()
    reply.read()
    assert reply.status == 200, reply.status
    connection.close()


if __name__ == "__main__":
    main()
