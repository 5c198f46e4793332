"""A real browser, and pages to open in it."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from serve_review import Served

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
        # Without this option, some loads of a file see an empty storage (Chromium 156.0.8078.79).
        options = ["--allow-file-access-from-files"]
        try:  # without its sandbox, which root may not use
            chromium = playwright.chromium.launch(
                executable_path=found, chromium_sandbox=False, args=options
            )
        except api.Error as error:
            pytest.skip(f"{found} cannot be started here: {error.message.splitlines()[0]}")
        api.expect.set_options(timeout=TIMEOUT)
        yield chromium
        chromium.close()


VIEWPORT = {"width": 1200, "height": 800}


class Window:
    """A browser window with its own storage, which records errors, dialogs and requests."""

    def __init__(self, browser):
        self.context = browser.new_context(viewport=VIEWPORT)
        self.context.set_default_timeout(TIMEOUT)
        self.trouble, self.requests = [], []
        self.context.on("console", lambda m: m.type == "error" and self.trouble.append(m.text))
        self.context.on("weberror", lambda error: self.trouble.append(str(error.error)))
        self.context.on("dialog", self.answer)
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.context.new_page()  # stays open; tabs with a script are closed after a test

    def answer(self, dialog):
        self.trouble.append(f"dialog: {dialog.message}")
        dialog.accept() if dialog.type == "beforeunload" else dialog.dismiss()

    def open(self, path, *, script=None):
        """Open a file, or the address of a server, in the empty tab or in a new one."""
        empty = [page for page in self.context.pages if page.url == "about:blank" and not script]
        page = empty[0] if empty else self.context.new_page()
        if script:
            page.add_init_script(script)
        page.goto(path if str(path).startswith("http:") else Path(path).as_uri())
        page.wait_for_selector("html[data-ready]")
        return page

    def reset(self):
        """Forget the storage, and leave one empty tab."""
        for page in self.context.pages:
            if page.url != "about:blank":
                page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
        for page in self.context.pages[1:]:
            page.close()
        for page in self.context.pages:
            page.goto("about:blank")
            page.set_viewport_size(VIEWPORT)


@pytest.fixture(scope="module")
def one_window(browser):
    """The window of all tests of a module: a new one takes a second."""
    window = Window(browser)
    yield window
    window.context.close()


@pytest.fixture
def any_window(one_window):
    """An empty window in which anything may happen."""
    one_window.trouble.clear()
    one_window.requests.clear()
    yield one_window
    one_window.reset()


@pytest.fixture
def window(any_window):
    """An empty window in which a page must stay silent and off the network."""
    yield any_window
    assert any_window.trouble == []
    sent = [u for u in any_window.requests if not u.startswith(("file:", "data:", "blob:"))]
    assert sent == []


@pytest.fixture
def people_page(people, tmp_path):
    return write_review(replace(people, calibrated=True), tmp_path / "people.html")


@pytest.fixture
def make_served(tmp_path):
    """Function that serves a review in a folder of its own."""
    opened = []

    def make(**options):
        opened.append(Served(tmp_path, **options))
        return opened[-1]

    yield make
    for served in opened:
        served.close()
