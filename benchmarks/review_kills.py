"""Kill the review server between and during answers: no confirmed answer is lost or doubled.

A process serves a small review. Answers are posted to it one after the other, as the page does, and
the process is killed (SIGKILL) at a random moment and started again at the same address. An answer
without a reply is sent again. Prints one line with the number of kills, of confirmed answers, of
answers that the journal lacks, and of answers that it has twice. POSIX only.
"""

import argparse
import http.client
import json
import multiprocessing
import os
import random
import signal
import socket
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from common import print_result

from ambilearn import PLKNN
from ambilearn.candidates import as_candidates
from ambilearn.review import Review, ReviewRow
from ambilearn.review.journal import Journal, ReviewedRows
from ambilearn.review.learner import Learner
from ambilearn.review.process import SessionProcess
from ambilearn.review.server import ReviewServer
from ambilearn.review.service import ReviewService, label_parser

N_ROWS, TOKEN = 60, "a-token-for-the-benchmark"
ROWS = ReviewedRows([""] * N_ROWS, {})
NAMES = np.array(["anna", "bob", "cleo"])


def make_learner(progress=None):
    """A learner of made-up rows."""
    rng = np.random.default_rng(0)
    y = np.arange(N_ROWS) % 3
    sets = as_candidates([{NAMES[t], NAMES[(t + 1) % 3]} for t in y])
    return Learner(PLKNN(), np.eye(3)[y] * 3 + rng.normal(size=(N_ROWS, 3)), sets)


def serve(path, port):
    """Serve a review until the process is killed."""
    process = SessionProcess()
    rows = [
        ReviewRow([], sorted(s), [1 / len(s)] * len(s), "") for s in make_learner().sets.to_sets()
    ]
    service = ReviewService(Review("made up", [], rows), Journal(path, ROWS), label_parser(NAMES))
    process.start(make_learner, skipped=service.skipped, **service.session_options())
    service.connect(process)
    ReviewServer(service, port, TOKEN).start()
    signal.pause()


def post(port, action):
    """Whether an action was confirmed."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        origin = {"Origin": f"http://127.0.0.1:{port}"}
        connection.request("POST", f"/{TOKEN}/act?tab=a", json.dumps(action), origin)
        reply = connection.getresponse()
        reply.read()
        return reply.status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def main():
    """Kill a server many times, and count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    random.seed(args.seed)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    confirmed, labels, waiting = [], {}, None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "review.journal")
        for kill in range(args.kills):
            process = context.Process(target=serve, args=(path, port))
            process.start()
            deadline = None
            while deadline is None or time.monotonic() < deadline:
                if waiting is None:
                    row = random.randrange(N_ROWS)
                    label = str(random.choice([*NAMES, f"new {kill}"]))
                    name = f"k{kill}-{len(confirmed)}"
                    waiting = {"id": name, "kind": "answer", "labels": [[row, label]]}
                if post(port, waiting):
                    confirmed.append(waiting["id"])
                    labels.update(waiting["labels"])
                    waiting = None
                    deadline = deadline or time.monotonic() + random.uniform(0, 0.3)
                    if random.random() < 0.3:  # during an answer
                        break
            if random.random() < 0.5:
                time.sleep(random.uniform(0, 0.01))
            os.kill(process.pid, signal.SIGKILL)
            process.join()
        with Journal(path, ROWS) as journal:
            counts = Counter(entry["id"] for entry in journal.entries)
            kept = {}
            for entry in journal.entries:
                kept.update({int(row): label for row, label in entry["labels"].items()})
    if waiting is not None:
        kept.update({row: labels.get(row, kept.get(row)) for row, _ in waiting["labels"]})
    print_result(
        "review_kills",
        kills=args.kills,
        confirmed=len(confirmed),
        lost=sum(counts[name] == 0 for name in confirmed),
        twice=sum(count > 1 for count in counts.values()),
        wrong_labels=sum(kept.get(row) != label for row, label in labels.items()),
    )


if __name__ == "__main__":
    main()
