"""A real browser, and pages to open in it."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ambilearn.review import Review, ReviewRow, write_review

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@pytest.fixture
def people():
    """Six rows with margins that are all different."""
    shares = [[0.9, 0.1], [0.55, 0.45], [0.3, 0.5, 0.2], [1.0], [0.33, 0.34, 0.33], [0.7, 0.3]]
    names = ["anna", "bob", "cleo"]
    rows = [
        ReviewRow([f"photo {i}", town], names[: len(s)], s, "|".join(names[: len(s)]))
        for i, (s, town) in enumerate(
            zip(shares, ["Rome", "Oslo", "Bonn", "Rome", "Łódź", ""], strict=True)
        )
    ]
    return Review("people.csv", ["photo", "town"], rows, method="PLCL")


TIMEOUT = 60_000  # milliseconds after which something is wrong; a busy machine takes a while


@pytest.fixture(scope="module")
def browser():
    """Chromium. Not for the whole session, because its event loop is in the way of others."""
    api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install .[test]")
    with api.sync_playwright() as playwright:
        found = next(filter(None, map(shutil.which, BROWSERS)), playwright.chromium.executable_path)
        if not Path(found).exists():
            pytest.skip(f"needs Chromium or Chrome: none of {', '.join(BROWSERS)} is on the path")
        try:  # without its sandbox, which root may not use
            chromium = playwright.chromium.launch(executable_path=found, chromium_sandbox=False)
        except api.Error as error:
            pytest.skip(f"{found} cannot be started here: {error.message.splitlines()[0]}")
        api.expect.set_options(timeout=TIMEOUT)
        yield chromium
        chromium.close()


class Window:
    """A browser window with its own storage, which writes down what must not happen."""

    def __init__(self, browser, **options):
        options = {"viewport": {"width": 1200, "height": 800}} | options
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(TIMEOUT)
        self.trouble, self.requests = [], []

    def open(self, path, *, script=None):
        page = self.context.new_page()
        page.on("console", lambda m: m.type == "error" and self.trouble.append(m.text))
        page.on("pageerror", lambda error: self.trouble.append(str(error)))
        page.on("dialog", lambda d: (self.trouble.append(f"dialog: {d.message}"), d.dismiss()))
        page.on("request", lambda request: self.requests.append(request.url))
        if script:
            page.add_init_script(script)
        page.goto(Path(path).as_uri())
        page.wait_for_selector("html[data-ready]")
        return page


@pytest.fixture
def window(browser):
    """A window in which a page must stay silent and off the network."""
    window = Window(browser)
    yield window
    window.context.close()
    assert window.trouble == []
    assert [u for u in window.requests if not u.startswith(("file:", "data:", "blob:"))] == []


@pytest.fixture
def make_window(browser):
    """Function that opens windows in which anything may happen."""
    opened = []

    def make(**options):
        opened.append(Window(browser, **options))
        return opened[-1]

    yield make
    for window in opened:
        window.context.close()


@pytest.fixture
def people_page(people, tmp_path):
    return write_review(replace(people, calibrated=True), tmp_path / "people.html")
