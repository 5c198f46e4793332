"""Many requests to a served review: none without the token has an effect, no answer is lost.

Posts answers as fast as possible, first with a wrong token, then with the right one, and counts the
replies by their status. Then every answer with status 200 must be in the journal once, and the
journal must contain no other.
"""

import argparse
import http.client
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from common import print_result

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from serve_review import Served


def main():
    """One line for each token."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        served = Served(Path(folder), n=300)
        for token in ("wrong", served.server.token):
            flood(served, token, args.requests)
        served.close()


def flood(served, token, n_requests):
    """Post answers, and compare the journal with the replies."""
    began, replies = time.perf_counter(), {}
    known = {entry["id"] for entry in served.journal.entries}
    connection = http.client.HTTPConnection("127.0.0.1", served.server.port, timeout=60)
    origin = {"Origin": f"http://127.0.0.1:{served.server.port}"}
    for i in range(n_requests):
        action = {"id": f"a{i}", "kind": "answer", "labels": [[i % 300, "anna"]]}
        connection.request("POST", f"/{token}/act?tab=a", json.dumps(action), origin)
        reply = connection.getresponse()
        reply.read()
        replies[action["id"]] = reply.status
    seconds = time.perf_counter() - began
    lines = served.journal.path.read_text(encoding="utf-8").splitlines()[1:]
    written = Counter(json.loads(line)["id"] for line in lines)
    confirmed = {name for name, status in replies.items() if status == 200}
    print_result(
        "review_flood",
        token="wrong" if token == "wrong" else "right",
        requests=n_requests,
        seconds=seconds,
        statuses=Counter(replies.values()),
        lost=len(confirmed - written.keys()),
        not_confirmed=len(written.keys() - confirmed - known),
        twice=sum(count > 1 for count in written.values()),
    )


if __name__ == "__main__":
    main()
