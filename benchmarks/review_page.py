"""Time of keys on the page of a served review, in Chromium, and of taking over a new order.

Prints percentiles, in seconds, of the time from a key to the end of its handler (``key``), and of
the tasks of more than 50 ms that the browser reports (``long``, also from new orders), in which a
key would wait.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from common import print_result
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from serve_review import Served

OBSERVE = """
window.found = {key: [], long: []};
const observe = (type, note) =>
  new PerformanceObserver((list) => list.getEntries().forEach(note))
    .observe({type, durationThreshold: 16, buffered: true});
observe("event", (e) => e.name === "keydown" && found.key.push(e.processingEnd - e.startTime));
observe("longtask", (e) => found.long.push(e.duration));
"""


def main():
    """One line for each number of rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[5000, 20_000, 100_000])
    parser.add_argument("--answers", type=int, default=50)
    parser.add_argument("--pause", type=float, default=0.3, help="seconds between answers")
    args = parser.parse_args()
    for n_rows in args.rows:
        with tempfile.TemporaryDirectory() as folder:
            served = Served(Path(folder), n=n_rows, doubt=False)
            measure(served, n_rows, args.answers, args.pause)
            served.close()


def measure(served, n_rows, n_answers, pause):
    """Accept rows by a key, and print percentiles."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(120_000)
        page.add_init_script(OBSERVE)
        page.goto(served.address)
        page.wait_for_selector("html[data-ready]")
        page.wait_for_timeout(2000)
        page.evaluate("found.key.length = found.long.length = 0")
        for _ in range(n_answers):
            page.keyboard.press("Enter")
            page.wait_for_timeout(1000 * pause)
        found = page.evaluate("found")
        browser.close()
    keys = found["key"] + [0.0] * (n_answers - len(found["key"]))  # not reported below 16 ms
    values = {f"key_p{p}": float(np.percentile(keys, p)) / 1000 for p in (50, 90, 99, 100)}
    longest = max(found["long"], default=0.0) / 1000
    print_result(
        "review_page",
        rows=n_rows,
        answers=n_answers,
        **values,
        long_tasks=len(found["long"]),
        longest=longest,
    )


if __name__ == "__main__":
    main()
