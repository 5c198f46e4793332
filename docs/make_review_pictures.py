"""Take the pictures of the review page: ``_static/review.png`` and ``_static/review-serve.png``.

Needs Chromium and the package playwright.
"""

import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent
PEOPLE = HERE.parent / "examples" / "people.csv"
REVIEW = [sys.executable, "-m", "ambilearn", "review", str(PEOPLE), "--candidates", "names"]


def take(page: Page, address: str, keys: list[str], name: str) -> None:
    """Open the page, press keys, and save a picture."""
    page.goto(address)
    for key in keys:
        page.keyboard.press(key)
        page.wait_for_timeout(300)
    page.wait_for_timeout(1500)
    page.screenshot(path=HERE / "_static" / name)


def main() -> None:
    """Take both pictures."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page(viewport={"width": 1200, "height": 760})
        file = Path(folder, "review.html")
        subprocess.run([*REVIEW, "--out", str(file)], check=True)
        take(page, file.as_uri(), ["Enter", "2"], "review.png")
        command = [*REVIEW, "--no-browser", "--journal", str(Path(folder, "journal"))]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as served:
            address = next(filter(None, (re.search(r"http\S+", line) for line in served.stderr)))
            keys = ["Enter", "Enter", "2", "Enter", "2", "Enter"]
            take(page, address[0], keys, "review-serve.png")
            served.send_signal(signal.SIGINT)
        browser.close()


if __name__ == "__main__":
    main()
