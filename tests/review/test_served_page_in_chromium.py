"""The page on a server in a real browser: what a person does, and what may go wrong."""

import json
import re

import numpy as np
import pytest
from PIL import Image
from serve_review import Served

from ambilearn.cli.serve import _write_address
from ambilearn.review import server
from ambilearn.review.service import Answer, parse_action
from ambilearn.review.session import ReviewSession

api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install .[test]")
expect = api.expect
pytestmark = pytest.mark.slow


@pytest.fixture
def served(tmp_path):
    served = Served(tmp_path, random_share=0.2, refit_after=5)
    yield served
    served.close()


@pytest.fixture
def visit(any_window):
    """Function that opens a served review in the window, or in another tab of it."""

    def visit(served):
        page = any_window.open(served.address)
        page.window = any_window
        return page

    return visit


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def current_row(page):
    return int(page.locator("article[aria-current]").get_attribute("data-row"))


def shown(page):
    return page.locator("article").evaluate_all("all => all.map(a => Number(a.dataset.row))")


def wait_saved(page):
    expect(page.locator("html")).to_have_attribute("data-waiting", "0")
    expect(page.locator("#saved")).to_have_text("All answers are saved.")


def in_journal(served):
    lines = served.journal.path.read_text(encoding="utf-8").splitlines()[1:]
    return [json.loads(line) for line in lines]


def test_answers_are_posted_undone_skipped_and_kept_by_a_reload(served, visit):
    page = visit(served)
    first = current_row(page)
    assert shown(page)[0] == first
    press(page, "Enter")
    second = current_row(page)
    press(page, "2")
    third = current_row(page)
    press(page, "n")
    assert len({first, second, third, current_row(page)}) == 4
    press(page, "o")
    page.keyboard.type("zoe")
    press(page, "Enter")
    wait_saved(page)
    labels = served.labels()
    assert labels.keys() >= {first, second}
    assert "zoe" in labels.values()
    assert third not in labels
    assert [entry["kind"] for entry in in_journal(served)] == ["answer", "answer", "skip", "answer"]
    expect(page.locator("#decided")).to_have_text("3 of 30 decided")
    expect(page.locator("#worth")).to_contain_text("2 corrected")
    press(page, "u")
    wait_saved(page)
    assert "zoe" not in served.labels().values()
    page.reload()
    page.wait_for_selector("html[data-ready]")
    expect(page.locator("#decided")).to_have_text("2 of 30 decided")
    kept = [entry for entry in in_journal(served)[:2] if entry["labels"] != entry["found"]]
    expect(page.get_by_role("radio", name=f"Corrected {len(kept)}")).to_be_visible()
    press(page, "u")  # an answer from before the reload
    wait_saved(page)
    assert served.labels().keys() == {first}
    assert page.window.trouble == []


def tab_in_use(served):
    return served.service._tab


def rest(served):
    """The last five rows of the order, which the page does not show."""
    return served.session.view.order[-5:].tolist()


def test_the_row_in_hand_stays_while_the_method_learns(served, visit):
    page = visit(served)
    for _ in range(6):
        press(page, "Enter")
    wait_saved(page)
    row, version = current_row(page), served.session.version
    above = shown(page)[: shown(page).index(row) + 1]
    served.service.act(tab_in_use(served), Answer("more", dict.fromkeys(rest(served), "bob")))
    served.wait()
    assert served.session.version > version
    expect(page.locator("#learning")).to_have_text("Up to date")
    assert current_row(page) == row
    expect(page.locator("article[aria-current]")).to_be_focused()
    assert shown(page)[: len(above)] == above


def shares(page, row):
    """Candidates of a row and their shares, as its card shows them."""
    candidates = page.locator(f"article[data-row='{row}'] .candidate:not(.suggestion)")
    return candidates.locator(".name, .share").all_inner_texts()


def go_to_uneven(page):
    """Move to a row that is not random, and whose candidates differ; return its number."""
    for _ in range(30):
        row = current_row(page)
        drawn = page.locator(f"article[data-row='{row}'] .chip.drawn").count()
        if not drawn and shares(page, row)[1] not in ("0.50", "1.00"):
            return row
        press(page, "ArrowDown")
    raise AssertionError("Candidates are equal in all rows.")


@pytest.mark.parametrize("key", ["u", "Delete"])
def test_a_row_whose_answer_is_undone_is_as_uncertain_as_before(served, visit, key):
    page = visit(served)
    row, learning = go_to_uneven(page), page.locator("#learning")
    before = shares(page, row)
    press(page, "2")
    wait_saved(page)
    served.wait()  # the state has the answer, by which the second candidate is certain
    expect(learning).to_have_text("Up to date")
    if key == "Delete":
        press(page, "ArrowUp")
    press(page, key)
    assert shares(page, row) == before
    wait_saved(page)
    served.wait()
    expect(learning).to_have_text("Up to date")
    assert current_row(page) == row
    assert shares(page, row) == before
    press(page, "ArrowDown", "Enter")  # another state
    wait_saved(page)
    served.wait()
    expect(learning).to_have_text("Up to date")
    assert "1.00" not in shares(page, row)


def test_a_row_whose_answer_is_undone_after_a_reload_is_up_to_date(served, visit):
    page = visit(served)
    row, learning = go_to_uneven(page), page.locator("#learning")
    before = shares(page, row)
    press(page, "2")
    wait_saved(page)
    served.wait()
    page.reload()
    page.wait_for_selector("html[data-ready]")
    expect(learning).to_have_text("Up to date")
    press(page, "u")
    wait_saved(page)
    served.wait()
    expect(page.locator(f"article[data-row='{row}'] .share").first).to_have_text(before[1])
    expect(learning).to_have_text("Up to date")
    assert shares(page, row) == before
    expect(page.locator("article[aria-current]")).to_be_focused()
    assert current_row(page) == row
    press(page, "Enter")
    wait_saved(page)
    assert served.labels() == {row: before[0]}


def test_random_rows_are_marked(served, visit):
    page = visit(served)
    drawn = set(served.service.state("x", full=True)["drawn"])
    marked = page.locator("article:has(.chip.drawn)").evaluate_all(
        "all => all.map(a => Number(a.dataset.row))"
    )
    assert marked
    assert set(marked) <= drawn


def test_the_page_shows_what_the_work_is_worth(tmp_path, visit, monkeypatch):
    # A new fit may release random rows, so that less than ten are left.
    served = Served(tmp_path, n=90, random_share=0.5, refit_after=90)
    served.wait()
    page = visit(served)
    worth, sentence = page.locator("#worth"), page.locator("#sentence")
    expect(worth).to_be_hidden()  # there is no answer
    expect(sentence).to_be_hidden()
    press(page, "Enter")
    expect(worth).to_contain_text("no estimate before ten random rows")
    hint = "Further answers change little."
    monkeypatch.setattr(ReviewSession, "stopping_hint", lambda session: hint)
    for _ in range(60):
        press(page, "Enter")  # accept what the method found
        wait_saved(page)
        served.wait(lambda now: True)
        if served.session.progress.n_random >= 10:
            break
    share = r"0 corrected, .* \d+ % of all labels are right \(\d+ to \d+ %, by \d\d random rows"
    expect(worth).to_have_text(re.compile(share))
    expect(sentence).to_have_text("Further answers change little.")
    served.close()


def test_several_rows_get_one_label_after_a_preview(served, visit):
    page = visit(served)
    chosen = []
    for _ in range(3):
        chosen.append(current_row(page))
        press(page, "m", "ArrowDown")
    press(page, "b")
    page.keyboard.type("anna")
    press(page, "Enter")
    preview = page.get_by_role("dialog", name="Label anna")
    expect(preview.get_by_role("checkbox")).to_have_count(3)
    expect(preview).to_contain_text(f"Row {chosen[0]}")
    expect(preview.get_by_role("button", name="Cancel")).to_be_focused()
    preview.get_by_role("checkbox").nth(2).uncheck()
    preview.get_by_role("button", name="Set 2 labels").click()
    wait_saved(page)
    assert served.labels() == dict.fromkeys(sorted(chosen)[:2], "anna")  # in the table's order
    assert len(in_journal(served)) == 1
    press(page, "u")
    wait_saved(page)
    assert served.labels() == {}


def test_filtered_rows_get_one_label(served, visit):
    page = visit(served)
    page.get_by_label("Search rows").fill("Oslo")
    page.get_by_label("Rows with the label").select_option(label="cleo")
    expect(page.locator("#shown")).to_have_text("10 shown")
    page.get_by_role("button", name="Several rows…").click()
    page.keyboard.type("cleo")
    press(page, "Enter")
    page.get_by_role("button", name="Set 10 labels").click()
    wait_saved(page)
    assert set(served.labels().values()) == {"cleo"}
    assert all(row % 2 for row in served.labels())


def test_a_server_that_is_started_again_gets_the_answers(tmp_path, visit):
    first = Served(tmp_path)
    page = visit(first)
    press(page, "Enter")
    wait_saved(page)
    first.kill()
    press(page, "Enter", "Enter")
    expect(page.locator("#connection")).to_contain_text("No connection.")
    again = Served(tmp_path, port=first.server.port, token=first.server.token)
    wait_saved(page)
    assert len(again.labels()) == 3
    assert len({entry["id"] for entry in in_journal(again)}) == 3
    first.session.end()
    again.close()


def test_a_second_tab_shows_a_message_and_can_take_over(served, visit):
    page = visit(served)
    press(page, "Enter")
    wait_saved(page)
    other = visit(served)
    expect(other.locator("#connection")).to_contain_text("open in another tab")
    press(other, "Enter", "n", "u", "b")  # it takes no answers
    expect(other.get_by_role("dialog")).to_have_count(0)
    expect(other.locator("#decided")).to_have_text("1 of 30 decided")
    assert len(in_journal(served)) == 1
    other.get_by_role("button", name="Continue here").click()
    expect(other.locator("#connection")).to_be_hidden()
    expect(page.locator("#connection")).to_contain_text("open in another tab")
    press(other, "Enter")
    wait_saved(other)
    assert len(served.labels()) == 2
    expect(page.locator("#decided")).to_have_text("2 of 30 decided")
    other.close()
    expect(page.locator("#connection")).to_be_hidden()  # the only one again
    press(page, "ArrowDown", "Enter")  # the row in hand was settled in the other tab
    wait_saved(page)
    assert len(served.labels()) == 3


def test_an_answer_that_the_server_rejects_is_taken_back(served, visit, monkeypatch):
    page = visit(served)
    # Not by a route of the browser: Chromium may still send the next request past a new one.
    monkeypatch.setattr(server, "parse_action", lambda _: parse_action({"id": "bad"}))
    press(page, "Enter")
    expect(page.get_by_role("alertdialog", name="An answer was rejected")).to_be_visible()
    press(page, "Escape")
    expect(page.locator("#decided")).to_have_text("0 of 30 decided")


def test_the_page_says_why_the_journal_cannot_be_written(served, visit, monkeypatch):
    def fail(entry):
        raise OSError(28, "No space left on device")

    page = visit(served)
    with monkeypatch.context() as patch:
        patch.setattr(served.journal, "append", fail)
        press(page, "Enter")
        expect(page.locator("#saved")).to_have_text(
            "1 not saved yet: The journal cannot be written (No space left on device)."
        )
    wait_saved(page)


def test_the_end_names_another_journal(served, visit):
    page = visit(served)
    with served.journal.path.open("a", encoding="utf-8") as file:
        file.write("of another program\n")
    press(page, "Enter")
    wait_saved(page)
    expect(page.locator("#notice")).to_contain_text("people.journal-2")
    page.get_by_role("button", name="Finish…").click()
    expect(page.get_by_role("dialog", name="End the review?")).to_contain_text(
        "The same command with --journal people.journal-2 continues the review."
    )


def test_the_button_ends_the_review(served, visit):
    page = visit(served)
    press(page, "Enter")
    wait_saved(page)
    page.get_by_role("button", name="Finish…").click()
    dialog = page.get_by_role("dialog", name="End the review?")
    expect(dialog).to_contain_text("1 of 30 decided")
    expect(dialog).to_contain_text("The same command continues the review.")
    dialog.get_by_role("button", name="Finish").click()
    expect(page.locator("#connection")).to_contain_text("The review has ended.")
    assert served.service.ended.wait(60)
    press(page, "Enter", "u")  # not decided, because it would not be saved
    expect(page.locator("#decided")).to_have_text("1 of 30 decided")
    expect(page.locator("html")).to_have_attribute("data-waiting", "0")


def test_a_label_that_was_shown_first_is_accepted_whatever_the_method_finds_meanwhile(
    served, visit, monkeypatch
):
    page = visit(served)
    served.wait()
    other = served.session.view._replace(labels=np.full(30, "new"))
    monkeypatch.setattr(served.session, "view", other)
    press(page, "Enter")
    wait_saved(page)
    expect(page.locator("#worth")).to_contain_text("0 corrected")
    expect(page.get_by_role("radio", name="Accepted 1")).to_be_visible()


def test_all_by_keyboard_and_with_names_for_screen_readers(served, visit):
    page = visit(served)
    for name in ("Undo", "Load…", "Download labels", "Finish…", "Help", "Several rows…"):
        expect(page.get_by_role("button", name=name, exact=True)).to_be_visible()
    for role, name in (("searchbox", "Search rows"), ("combobox", "Order"), ("feed", "Rows")):
        expect(page.get_by_role(role, name=name)).to_be_visible()
    expect(page.locator("article[aria-current]")).to_have_role("article")
    row = current_row(page)
    expect(page.get_by_role("article", name=f"Row {row}", exact=True)).to_be_focused()
    press(page, "Tab", "Enter")  # its first candidate
    wait_saved(page)
    assert list(served.labels()) == [row]
    unnamed = page.evaluate(
        "[...document.querySelectorAll('button, input, select')].filter(e => e.checkVisibility()"
        " && !(e.ariaLabel || e.innerText || e.labels?.length || e.title)).length"
    )
    assert unnamed == 0


def test_twenty_thousand_rows(tmp_path, visit):
    served = Served(tmp_path, n=20_000, doubt=False)
    page = visit(served)
    expect(page.locator("#decided")).to_have_text("0 of 20,000 decided")
    first = current_row(page)
    press(page, "Enter", "2")
    wait_saved(page)
    assert first in served.labels()
    assert len(served.labels()) == 2
    press(page, "End")
    expect(page.locator("article[aria-current]")).to_be_in_viewport()
    press(page, "n")  # skip the last row
    wait_saved(page)
    page.get_by_label("Search rows").fill("#19999")
    expect(page.locator("#shown")).to_have_text("1 shown")
    assert len(shown(page)) == 1
    assert page.window.trouble == []
    served.close()


def test_a_narrow_window_shows_everything(served, visit):
    page = visit(served)
    page.set_viewport_size({"width": 380, "height": 700})
    page.wait_for_function("innerWidth === 380")
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 380
    assert page.locator("header").bounding_box()["height"] < 0.4 * 700
    for name in ("Finish…", "Several rows…", "Undo"):
        expect(page.get_by_role("button", name=name)).to_be_in_viewport()
    for name in ("Rows with the label", "Order"):  # wide enough for "First to look at"
        assert page.get_by_label(name, exact=True).bounding_box()["width"] > 150
    press(page, "?")
    assert page.get_by_role("dialog").evaluate("dialog => dialog.scrollTop") == 0
    assert page.get_by_role("dialog").evaluate("d => d.scrollHeight > d.clientHeight")
    press(page, "Enter")
    page.locator("article[aria-current] .candidate").first.click()
    wait_saved(page)
    assert len(served.labels()) == 1


def test_the_rows_in_sight_stay_when_the_window_becomes_narrower(served, visit):
    page = visit(served)
    press(page, *["ArrowDown"] * 12)
    row = current_row(page)
    page.set_viewport_size({"width": 380, "height": 700})
    expect(page.locator("#list")).to_have_css("width", "356px")
    assert current_row(page) == row
    first = page.locator("#scroller").evaluate(
        "s => [...document.querySelectorAll('article')]"
        ".find(a => a.getBoundingClientRect().bottom > s.getBoundingClientRect().top)"
        ".dataset.row"
    )
    places = shown(page)
    assert 0 <= places.index(row) - places.index(int(first)) <= 5


def test_the_file_that_is_opened_leads_to_the_page(served, any_window, tmp_path):
    """The token must not be in the command line of the browser."""
    file = _write_address(tmp_path / "people.csv.journal", served.address)
    page = any_window.open(file)
    assert page.url == served.address
    press(page, "Enter")
    wait_saved(page)
    assert len(in_journal(served)) == 1


def test_an_image_that_was_not_complete_is_shown_when_its_card_is_drawn_again(make_pictured, visit):
    served, path, content = make_pictured
    page = visit(served)
    expect(page.locator("article .picture").first).to_have_text("image cannot be loaded")
    path.write_bytes(content)
    page.locator("#search").fill("photo")
    expect(page.locator("article img").first).to_have_js_property("naturalWidth", 4)


@pytest.fixture
def make_pictured(tmp_path):
    path = tmp_path.resolve() / "a.png"
    Image.new("RGB", (4, 4)).save(path)
    content = path.read_bytes()
    path.write_bytes(content[:30])
    served = Served(tmp_path, images=[path] * 30)
    yield served, path, content
    served.close()


def test_rows_like_the_current_one_are_labeled_at_once_and_undone_at_once(tmp_path, visit):
    path = tmp_path.resolve() / "a.png"
    Image.new("RGB", (4, 4)).save(path)
    served = Served(tmp_path, images=[path] * 30, random_share=0)
    page = visit(served)
    row = current_row(page)
    label = page.locator("article[aria-current] .candidate .name").first.inner_text()
    page.locator("article[aria-current]").get_by_role("button", name="More like this").click()
    page.keyboard.type(label)
    press(page, "Enter")
    boxes = page.locator("#preview-rows input")
    expect(boxes).to_have_count(30)
    expect(page.locator("#preview-rows img").first).to_have_js_property("naturalWidth", 4)
    expect(page.locator("#preview-rows span").first).to_have_text(f"Row {row}: {label}")
    assert boxes.evaluate_all("all => all.filter(box => box.checked).length") == 20  # that fit
    boxes.nth(1).uncheck()
    n = boxes.evaluate_all("all => all.filter(box => box.checked).length")
    page.get_by_role("button", name=f"Set {n} labels").click()
    wait_saved(page)
    assert served.labels()[row] == label
    assert set(served.labels().values()) == {label}
    assert len(served.labels()) == n
    press(page, "u")
    wait_saved(page)
    assert served.labels() == {}
    press(page, "Enter", "ArrowUp")
    wait_saved(page)
    press(page, "l")  # of a row that is decided: its label
    expect(page.locator("#preview-title")).to_have_text(f"Label {label}")
    served.close()


def test_a_random_row_is_labeled_by_itself(served, visit):
    page = visit(served)
    while not page.locator("article[aria-current] .chip.drawn").count():
        press(page, "ArrowDown")
    press(page, "l")
    expect(page.locator("#message")).to_contain_text("is a random row: label it first")
