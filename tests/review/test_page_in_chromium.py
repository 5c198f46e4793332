"""The review page in a real browser: what a person does, and what a hostile table tries."""

import csv
from dataclasses import replace

import pytest
from click.testing import CliRunner
from loopback import serve

from ambilearn.cli.main import main
from ambilearn.review import Review, ReviewRow, write_review
from ambilearn.review.images import Images

csv.field_size_limit(2**24)  # of labels of a megabyte

api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install .[test]")
expect = api.expect
pytestmark = pytest.mark.slow

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<img src=x onerror=alert(3)>",
    "<!--<script>",
    'say "hi", twice',
    "it's; two\nlines",
    "carriage\rreturn",
    "שלום עולם",
    "a\u202eevil",
    "👩‍🌾 farmer",
    "__proto__",
    "constructor",
    "{{ 7 * 7 }}",
    "&lt;b&gt; &amp;",
    "=1+1",
    "back\\slash \\u003c",
    "lines\u2028and\u2029paragraphs",
]


def shown(page):
    """Numbers of the rows in the document, from top to bottom."""
    return page.locator("article").evaluate_all("all => all.map(a => Number(a.dataset.row))")


def card(page, row):
    return page.locator(f'article[data-row="{row}"]')


def current(page):
    return page.locator("article[aria-current]")


def expect_current(page, row):
    expect(current(page)).to_have_attribute("data-row", str(row))
    expect(current(page)).to_be_focused()


def chosen(page, row):
    return card(page, row).locator(".chosen .name")


def options(page):
    return page.get_by_role("listbox", name="Labels").get_by_role("option")


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


def type_label(page, label):
    """Choose a label by typing it."""
    press(page, "o")
    page.keyboard.type(label)
    press(page, "Enter")


def download(page, folder):
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download labels").click()
    path = folder / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def read_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def ambilearn(*arguments):
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == 0, result.output


# ---- looking ----


def test_page_opens_with_the_most_ambiguous_row_in_hand(window, people_page):
    page = window.open(people_page)
    assert page.title() == "Review people.csv"
    assert shown(page) == [4, 1, 2, 5, 0, 3]
    expect_current(page, 4)
    expect(page.locator("#decided")).to_have_text("0 of 6 decided")
    expect(page.get_by_role("button", name="Download labels")).to_be_disabled()
    expect(page.locator("header")).to_contain_text("6 rows, 3 labels, confidences by PLCL")


def test_candidates_have_bars_as_long_as_their_confidences(window, people_page):
    page = window.open(people_page)
    names = card(page, 2).locator(".candidate .name")
    expect(names).to_have_text(["bob", "anna", "cleo"])
    expect(card(page, 2).locator(".share")).to_have_text(["50 %", "30 %", "20 %"])
    lengths = (
        card(page, 2)
        .locator(".bar")
        .evaluate_all("bars => bars.map(b => b.firstChild.offsetWidth / b.offsetWidth)")
    )
    assert lengths == pytest.approx([0.5, 0.3, 0.2], abs=0.02)
    expect(card(page, 2).locator("dl")).to_contain_text("Bonn")
    expect(card(page, 5).locator("dt")).to_have_text(["photo"])  # an empty cell is not shown


def test_page_of_given_labels(window, people, tmp_path):
    """The chosen label is first, also if another one is more likely; notes mark the others."""
    kept = ReviewRow(["a", ""], ["anna", "bob"], [0.7, 0.3], "bob", suggestion="anna", rank=1)
    kept = replace(kept, given="bob", label="bob", margin=-0.4)
    sure = ReviewRow(["b", ""], ["cleo"], [0.9], "cleo", given="cleo", margin=0.85, rank=2)
    unknown = replace(sure, confidences=[0.0], margin=0.0, rank=3)
    review = replace(people, rows=[sure, kept, unknown], calibrated=True)
    page = window.open(write_review(review, tmp_path / "given.html"))
    assert shown(page) == [1, 0, 2]
    expect(page.locator(".margin")).to_have_text(["margin -0.40", "margin 0.85", ""])
    expect(card(page, 2).locator(".share, .bar")).to_have_count(0)
    expect(card(page, 1).locator(".name")).to_have_text(["bob", "anna"])
    expect(card(page, 1).locator(".note")).to_have_text(["given", "suggestion"])
    expect(card(page, 0).locator(".note")).to_have_text(["given"])
    press(page, "Enter")
    expect(chosen(page, 1)).to_have_text("bob")
    expect(card(page, 1).locator(".chip")).to_have_text("accepted")
    press(page, "ArrowUp", "s")
    expect(chosen(page, 1)).to_have_text("anna")
    expect(card(page, 1).locator(".chip")).to_have_text("corrected")


def test_page_of_an_audit(window, people, tmp_path):
    """Drawn rows only, by their numbers, without scores; a key does not accept the first label."""
    rows = [replace(people.rows[i], rank=i + 1) for i in (2, 0)]
    review = replace(people, rows=rows, blind=True, numbers=[70, 5])
    page = window.open(write_review(review, tmp_path / "audit.html"))
    assert shown(page) == [5, 70]
    expect(page.locator(".share, .bar, .top")).to_have_count(0)
    expect(page.locator("main")).not_to_contain_text("margin")
    expect(page.get_by_label("Order")).to_be_hidden()
    press(page, "Enter")
    expect(page.locator("#decided")).to_have_text("0 of 2 decided")
    press(page, "1", "2", "u")
    expect(card(page, 5).locator(".chip")).to_have_text("checked")
    expect(page.locator("#decided")).to_have_text("1 of 2 decided")
    path = download(page, tmp_path)
    assert path.name == "people-audit.csv"
    [_, line] = read_csv(path)
    assert line[0] == "5"
    press(page, "Delete")
    page.locator("#file").set_input_files(path)
    expect(page.locator("#decided")).to_have_text("1 of 2 decided")


def test_filters_by_status_and_label(window, people_page):
    page = window.open(people_page)
    press(page, "Enter", "2")  # row 4 accepted, row 1 corrected
    for name, rows in [("Accepted", [4]), ("Corrected", [1]), ("Undecided", [2, 5, 0, 3])]:
        page.locator(".segments label", has_text=name).click()
        assert shown(page) == rows
        expect(page.locator(".segments label", has_text=name).locator("b")).to_have_text(
            str(len(rows))
        )
    page.get_by_label("Rows with the label").select_option("cleo")
    assert shown(page) == [2]
    page.locator(".segments label", has_text="All").click()
    assert shown(page) == [4, 2]
    page.get_by_label("Rows with the label").select_option("Any label")
    assert len(shown(page)) == 6


def test_search_and_how_to_leave_it(window, people_page):
    page = window.open(people_page)
    press(page, "/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("ROME photo")
    assert shown(page) == [0, 3]
    expect(page.locator("#shown")).to_have_text("2 shown")
    page.locator("#search").fill("cleo")
    assert shown(page) == [4, 2]
    page.locator("#search").fill("#5")
    assert shown(page) == [5]
    press(page, "Escape")
    expect_current(page, 5)
    page.locator("#search").fill("nowhere")
    assert shown(page) == []
    expect(page.get_by_text("No row passes these filters.")).to_be_visible()
    press(page, "Enter", "1", "u", "o", "Delete")  # nothing is there to act upon
    page.get_by_role("button", name="Show all rows").click()
    assert len(shown(page)) == 6
    expect(page.locator("#decided")).to_have_text("0 of 6 decided")


def test_search_finds_a_label_that_was_typed(window, people_page):
    page = window.open(people_page)
    type_label(page, "Zoë")
    page.locator("#search").fill("zoë")
    assert shown(page) == [4]
    page.locator("#search").fill("")
    page.get_by_label("Rows with the label").select_option("Zoë")
    assert shown(page) == [4]
    press(page, "Escape", "o")
    expect(options(page)).to_have_text(["Zoë"])  # no candidates


# ---- deciding ----


def test_keys_move_without_deciding(window, people_page):
    page = window.open(people_page)
    for key, row in [
        ("j", 1),
        ("ArrowDown", 2),
        ("k", 1),
        ("ArrowUp", 4),
        ("ArrowUp", 4),
        ("End", 3),
        ("j", 3),
        ("Home", 4),
        ("PageDown", 3),
        ("PageUp", 4),
    ]:
        press(page, key)
        expect_current(page, row)
    expect(page.locator("#decided")).to_have_text("0 of 6 decided")


def test_accept_and_correct_by_keyboard(window, people_page):
    page = window.open(people_page)
    press(page, "Enter")
    expect(chosen(page, 4)).to_have_text("bob")
    expect(card(page, 4).locator(".chip")).to_have_text("accepted")
    expect_current(page, 1)
    press(page, "2")
    expect(chosen(page, 1)).to_have_text("bob")
    expect(card(page, 1).locator(".chip")).to_have_text("corrected")
    expect_current(page, 2)
    press(page, "9")
    expect(page.get_by_role("status").first).to_have_text("Row 2 has no candidate 9.")
    expect(page.locator("#decided")).to_have_text("2 of 6 decided")
    progress = page.get_by_role("progressbar")
    expect(progress).to_have_attribute("aria-valuenow", "2")
    expect(progress).to_have_attribute("aria-valuemax", "6")


def test_a_key_held_down_decides_once(window, people_page):
    page = window.open(people_page)
    for _ in range(5):  # without the key being let go these are repetitions
        page.keyboard.down("Enter")
    expect(page.locator("#decided")).to_have_text("1 of 6 decided")
    page.keyboard.up("Enter")
    for _ in range(3):
        page.keyboard.down("j")
    expect_current(page, 0)
    page.keyboard.up("j")


def test_undo_and_undecide(window, people_page):
    page = window.open(people_page)
    press(page, "u")
    expect(page.get_by_role("status").first).to_have_text("There is nothing to undo.")
    press(page, "Enter", "2", "u")
    expect_current(page, 1)
    expect(chosen(page, 1)).to_have_count(0)
    expect(chosen(page, 4)).to_have_count(1)
    press(page, "k", "Delete")
    expect(chosen(page, 4)).to_have_count(0)
    expect_current(page, 4)
    press(page, "Control+z")
    expect(chosen(page, 4)).to_have_text("bob")


def test_other_label_by_type_ahead(window, people_page):
    page = window.open(people_page)
    press(page, "o", "Enter")
    expect(options(page)).to_have_count(0)  # all labels are candidates
    page.keyboard.type("c")
    expect(options(page).and_(page.locator("[aria-selected=true]"))).to_have_text("cleo")
    press(page, "Enter")
    expect(chosen(page, 4)).to_have_text("cleo")
    press(page, "o")
    expect(options(page)).to_have_text(["cleo"])
    page.keyboard.type("o")
    expect(options(page)).to_have_text(["cleo", "bob", "onew label"])  # candidates after others
    press(page, "ArrowDown", "ArrowDown", "ArrowUp", "Enter")
    expect(chosen(page, 1)).to_have_text("bob")
    press(page, "o", "Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("#decided")).to_have_text("2 of 6 decided")


def test_a_label_that_the_table_does_not_have(window, people_page):
    page = window.open(people_page)
    type_label(page, "dora|emil")
    expect(page.get_by_role("dialog")).to_contain_text("A label cannot contain “|”")
    page.get_by_role("combobox", name="Label", exact=True).fill("  dora ")
    press(page, "Enter")
    expect(chosen(page, 4)).to_have_text("dora")
    expect(card(page, 4)).to_contain_text("not a candidate")
    expect(card(page, 4).locator(".chip")).to_have_text("corrected")


def test_deciding_with_the_mouse(window, people_page):
    page = window.open(people_page)
    card(page, 0).get_by_role("button", name="bob").click()
    expect(chosen(page, 0)).to_have_text("bob")
    expect_current(page, 3)
    card(page, 5).get_by_text("photo 5").click()
    expect(current(page)).to_have_attribute("data-row", "5")
    page.get_by_role("button", name="Undo").click()
    expect(chosen(page, 0)).to_have_count(0)


def test_after_a_click_keys_act_on_the_rows(window, people_page, tmp_path):
    page = window.open(people_page)
    page.locator(".segments label", has_text="Undecided").click()
    press(page, "ArrowDown", "Enter")
    assert shown(page) == [4, 2, 5, 0, 3]
    download(page, tmp_path)
    press(page, "Enter")
    expect(page.locator("#decided")).to_have_text("2 of 6 decided")
    page.get_by_role("radio", name="Undecided").focus()
    press(page, "ArrowRight")  # who came by keyboard stays
    expect(page.get_by_role("radio", name="Accepted")).to_be_focused()
    assert shown(page) == [1, 2]


def test_a_candidate_reached_by_tab_is_chosen_by_enter(window, people_page):
    page = window.open(people_page)
    press(page, "Tab", "Tab")
    expect(card(page, 4).locator(".candidate").nth(1)).to_be_focused()
    press(page, "Enter")
    expect(chosen(page, 4)).to_have_text("anna")


def test_decided_rows_leave_the_list_of_undecided_ones(window, people_page):
    page = window.open(people_page)
    page.locator(".segments label", has_text="Undecided").click()
    press(page, "j", "Enter")
    assert shown(page) == [4, 2, 5, 0, 3]
    expect_current(page, 2)
    press(page, "u")
    assert shown(page) == [4, 1, 2, 5, 0, 3]
    expect_current(page, 1)
    press(page, "Home", *["Enter"] * 6)
    expect(page.get_by_text("Every row is decided.")).to_be_visible()


def test_keys_do_nothing_while_help_is_open(window, people_page):
    page = window.open(people_page)
    press(page, "?")
    expect(page.get_by_role("dialog", name="How to review")).to_be_visible()
    press(page, "1", "j", "u", "Enter")  # Enter closes it
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect_current(page, 4)
    expect(page.locator("#decided")).to_have_text("0 of 6 decided")


def test_forgetting_everything_is_confirmed_and_can_be_undone(window, people_page):
    page = window.open(people_page)
    press(page, "Enter", "Enter", "?")
    page.get_by_role("button", name="Forget all decisions").click()
    expect(page.get_by_role("dialog")).to_contain_text("2 of 6 decided. All these rows")
    press(page, "Enter")  # cancels
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("#decided")).to_have_text("2 of 6 decided")
    press(page, "?")
    page.get_by_role("button", name="Forget all decisions").click()
    page.get_by_role("button", name="Forget", exact=True).click()
    expect(page.locator("#decided")).to_have_text("0 of 6 decided")
    press(page, "u")
    expect(page.locator("#decided")).to_have_text("2 of 6 decided")


# ---- keeping ----


def test_reload_keeps_the_work(window, people_page):
    page = window.open(people_page)
    press(page, "Enter", "2")
    type_label(page, "dora")
    page.reload()
    expect(page.locator("#decided")).to_have_text("3 of 6 decided")
    assert [chosen(page, row).inner_text() for row in (4, 1, 2)] == ["bob", "bob", "dora"]
    expect_current(page, 5)  # where one left off


def test_the_current_row_has_the_focus_if_the_window_was_too_small_for_it(window, people_page):
    page = window.open(people_page)
    press(page, "Enter", "Enter", "Enter")
    page.set_viewport_size({"width": 1, "height": 1})  # as a tab may be while it is loaded
    page.reload()
    page.wait_for_selector("html[data-ready]")
    expect(current(page)).to_have_count(0)
    page.set_viewport_size({"width": 1200, "height": 800})
    expect_current(page, 5)


def test_a_browser_that_keeps_nothing_says_so(window, people_page, tmp_path):
    reject = "Storage.prototype.setItem = () => { throw new Error('a private window') }"
    page = window.open(people_page, script=reject)
    expect(page.get_by_role("alert")).to_contain_text("does not keep your work")
    press(page, "Enter")
    expect(chosen(page, 4)).to_have_text("bob")
    assert read_csv(download(page, tmp_path))[1] == ["4", "anna|bob|cleo", "bob"]


def test_two_tabs_share_their_work(any_window, people_page):
    """Not as a file: some loads of a file have a storage of their own (see storage.js)."""
    with serve(people_page.parent) as server:
        first, second = (any_window.open(f"{server.url}/{people_page.name}") for _ in range(2))
        press(first, "Enter")
        expect(second.locator("#decided")).to_have_text("1 of 6 decided")
        press(second, "End", "Enter")
        expect(first.locator("#decided")).to_have_text("2 of 6 decided")


# ---- files ----


def test_from_table_to_page_and_back(window, tmp_path, monkeypatch):
    """review, decide, download; then clean, fit and review take the labels back."""
    monkeypatch.chdir(tmp_path)
    table = ["id,x,names"]
    table += [
        f'p{i},{i % 2 * 5 + i / 30},"anna|{"bob" if i % 3 else "bob, jr."}"' for i in range(12)
    ]
    (tmp_path / "people.csv").write_text("\n".join(table), encoding="utf-8")
    options = ["people.csv", "--candidates", "names", "--exclude", "id", "--set", "n_neighbors=3"]
    ambilearn("review", *options, "--out", "review.html")
    page = window.open(tmp_path / "review.html")
    press(page, "1", "2")
    type_label(page, "dora")
    path = download(page, tmp_path)
    decided = {int(row): label for row, _, label in read_csv(path)[1:]}
    assert len(decided) == 3
    assert "dora" in decided.values()
    options += ["--checked", path.name]
    ambilearn("clean", *options, "--out", "cleaned.csv")
    header, *cleaned = read_csv(tmp_path / "cleaned.csv")
    labels = [dict(zip(header, row, strict=True))["label"] for row in cleaned]
    assert {row: labels[row] for row in decided} == decided
    ambilearn("fit", *options, "--out", "people.model")
    ambilearn("review", *options, "--out", "again.html")
    again = window.open(tmp_path / "again.html")
    expect(again.locator("#decided")).to_have_text("3 of 12 decided")


# ---- suggestions ----


@pytest.fixture
def suggesting_page(people, tmp_path):
    """Row 3 has the one candidate anna and probably another name, row 5 comes next."""
    hints = {
        3: {"suggestion": "cleo", "rank": 1, "doubt": 0.72},
        5: {"suggestion": "dora", "rank": 2},
    }
    rows = [replace(row, **hints.get(i, {"rank": 9})) for i, row in enumerate(people.rows)]
    return write_review(replace(people, rows=rows), tmp_path / "suggesting.html")


def test_a_suggestion_is_below_the_candidates(window, suggesting_page):
    page = window.open(suggesting_page)
    assert shown(page) == [3, 5, 4, 1, 2, 0]
    expect_current(page, 3)
    expect(card(page, 3).locator(".candidate .name")).to_have_text(["anna", "cleo"])
    suggestion = card(page, 3).locator(".suggestion")
    expect(suggestion).to_contain_text("no candidate fits well (72 %)")
    expect(suggestion.locator("kbd")).to_have_text("s")
    expect(suggestion.locator(".bar")).to_have_count(0)
    assert suggestion.evaluate("node => getComputedStyle(node).borderStyle") == "dashed"
    expect(page.locator(".suggestion")).to_have_count(2)
    page.get_by_role("searchbox").fill("dora")
    assert shown(page) == [5]


def test_a_suggestion_is_taken_by_a_key_and_by_a_click(window, suggesting_page, tmp_path):
    page = window.open(suggesting_page)
    press(page, "s")
    expect(chosen(page, 3)).to_have_text("cleo")
    expect(card(page, 3).locator(".suggestion")).to_have_attribute("aria-pressed", "true")
    expect(card(page, 3).locator(".suggestion")).to_contain_text("not a candidate")
    expect(card(page, 3).locator(".foreign")).to_have_count(0)
    expect(card(page, 3).locator(".chip")).to_have_text("corrected")
    expect_current(page, 5)
    card(page, 5).locator(".suggestion").click()
    expect_current(page, 4)
    press(page, "s")
    expect(page.locator("#message")).to_have_text("Row 4 has no suggestion.")
    found = read_csv(download(page, tmp_path))[1:]
    assert found == [["3", "anna", "cleo"], ["5", "anna|bob", "dora"]]


# ---- hostile tables ----


@pytest.fixture
def hostile():
    rows = [
        ReviewRow([text, "x"], [text, "plain"], [0.7, 0.3], f"{text}|plain", decision=None)
        for text in HOSTILE
    ]
    return Review("<b>t</b>.csv", ["<i>name</i>", "__proto__"], rows)


def test_hostile_labels_stay_text(window, hostile, tmp_path):
    page = window.open(write_review(hostile, tmp_path / "page.html"))
    page.set_viewport_size({"width": 1200, "height": 6000})  # all rows are in the document
    expect(page.locator("article")).to_have_count(len(HOSTILE))
    for i, text in enumerate(HOSTILE):
        name = card(page, i).locator(".candidate .name").first
        assert name.evaluate("element => element.textContent") == text
        assert card(page, i).locator("dd").first.evaluate("element => element.textContent") == text
        assert name.evaluate("element => element.children.length") == 0
    assert page.locator("script").count() == 2  # the data and the program
    assert page.locator("article img, article script, article b, article i").count() == 0
    expect(page.locator("h1")).to_have_text("<b>t</b>.csv")
    expect(page.locator("dt").first).to_have_text("<i>name</i>")
    press(page, "o")
    offered = options(page).evaluate_all("all => all.map(o => o.textContent)")
    assert set(offered) == {*HOSTILE[1:]}  # no candidates of the first row


def test_nothing_can_be_sent(any_window, people_page):
    page = any_window.open(people_page)
    sent = """address => Promise.all([
        fetch(address).catch(() => "rejected"),
        new Promise(done => {
            const image = new Image();
            image.onerror = () => done("rejected");
            image.onload = () => done("loaded");
            image.src = address;
        }),
    ])"""

    def both_are_reported(_message):
        return sum("Content Security Policy" in text for text in any_window.trouble) >= 2

    with page.expect_console_message(both_are_reported):
        assert page.evaluate(sent, "http://127.0.0.1:9/x.png") == ["rejected", "rejected"]


def test_script_that_gets_in_does_not_run(any_window, people_page):
    page = any_window.open(people_page)
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.hacked = true";
            document.body.append(script);
            document.body.setAttribute("onclick", "window.hacked = true");
            document.body.click();
        }"""
    )
    assert page.evaluate("window.hacked") is None


# ---- many rows ----


@pytest.fixture(scope="module")
def large_page(tmp_path_factory):
    rows = []
    for i in range(10_000):
        labels = [f"label {(i * 7 + j) % 50}" for j in range(1 + i % 12)]
        share = (i * 7919 % 10_000) / 10_000
        confidences = [1.0, *(share * 0.9**j for j in range(i % 12))]
        cells = [f"item {i}", "text " * (i % 60)]
        rows.append(ReviewRow(cells, labels, confidences, "|".join(labels)))
    path = tmp_path_factory.mktemp("large") / "large.html"
    return write_review(Review("large.csv", ["item", "text"], rows), path)


def expect_full_window(page):
    """Wait until cards follow each other over the whole height, without hole or overlap."""
    page.wait_for_function(
        """() => {
            const box = element => element.getBoundingClientRect();
            const {top, bottom} = box(document.getElementById("scroller"));
            const cards = [...document.querySelectorAll("article")].map(box);
            const gaps = cards.slice(1).map((card, i) => card.top - cards[i].bottom);
            return gaps.every(gap => Math.abs(gap - 12) < 1)
                && cards[0].top <= top + 20 && cards.at(-1).bottom >= bottom - 30;
        }"""
    )


# Number of the first row of which something is seen.
FIRST_SEEN = """() => {
    const top = document.getElementById("scroller").getBoundingClientRect().top;
    const cards = [...document.querySelectorAll("article")];
    return Number(cards.find(card => card.getBoundingClientRect().bottom > top).dataset.row);
}"""


def test_ten_thousand_rows_scroll(window, large_page):
    page = window.open(large_page)
    page.get_by_label("Order").select_option("Order of the table")
    scroller = page.locator("#scroller")
    page.mouse.move(600, 500)
    for share in (0.1, 0.35, 0.36, 0.9, 0.5, 0.02):
        scroller.evaluate("(s, share) => { s.scrollTop = share * s.scrollHeight }", share)
        expected = round(share * 10_000)
        page.wait_for_function(
            "n => Math.abs(document.querySelector('article').dataset.row - n) < 600", arg=expected
        )
        expect_full_window(page)
        assert len(shown(page)) < 60
        before = page.evaluate(f"({FIRST_SEEN})()")
        page.mouse.wheel(0, -700)  # upwards into rows whose height is not known yet
        page.wait_for_function(f"before => ({FIRST_SEEN})() < before", arg=before)
        expect_full_window(page)
    page.wait_for_function(  # asked in each frame, for the end moves while heights become known
        """() => {
            const scroller = document.getElementById("scroller");
            scroller.scrollTop = scroller.scrollHeight;
            const last = document.querySelector('article[data-row="9999"]');
            return last?.getBoundingClientRect().bottom <= scroller.getBoundingClientRect().bottom;
        }"""
    )
    expect(card(page, 9_999)).to_be_in_viewport()


def test_what_is_seen_does_not_jump_while_scrolling_up(window, large_page):
    page = window.open(large_page)
    page.get_by_label("Order").select_option("Order of the table")
    scroll = """async by => {
        const cards = document.querySelectorAll("article");
        const row = cards[cards.length >> 1].dataset.row;
        const top = () => document.querySelector(`[data-row="${row}"]`).getBoundingClientRect().top;
        const before = top();
        document.getElementById("scroller").scrollTop += by;
        for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
        return top() - before;
    }"""
    page.locator("#scroller").evaluate("s => { s.scrollTop = 0.4 * s.scrollHeight }")
    page.wait_for_function("() => document.querySelector('article').dataset.row > 3000")
    expect_full_window(page)
    for _ in range(8):  # the heights of the rows above are guesses until they are drawn
        assert page.evaluate(scroll, -250) == pytest.approx(250, abs=2)


def test_ten_thousand_rows_by_keyboard(window, large_page):
    page = window.open(large_page)
    page.get_by_label("Order").select_option("Order of the table")
    page.locator("#scroller").click(position={"x": 5, "y": 5})
    press(page, "End")
    expect_current(page, 9_999)
    expect(card(page, 9_999)).to_be_in_viewport(ratio=0.9)
    press(page, "Home")
    expect_current(page, 0)
    for row in range(1, 40):
        press(page, "j")
        assert current(page).get_attribute("data-row") == str(row)
    expect(card(page, 39)).to_be_in_viewport(ratio=0.9)
    expect_full_window(page)
    page.locator("#search").fill("#9500")
    assert shown(page) == [9_500]
    press(page, "Escape", "Enter")
    page.locator("#search").fill("")
    expect(page.locator("#decided")).to_have_text("1 of 10,000 decided")
    assert len(shown(page)) < 60


def test_more_candidates_than_keys_and_long_text_unfold(window, large_page):
    page = window.open(large_page)
    page.locator("#search").fill("#59")
    expect(card(page, 59).locator(".candidate")).to_have_count(9)
    press(page, "Escape", "e")
    expect(card(page, 59).locator(".candidate")).to_have_count(12)
    expect(card(page, 59).get_by_role("button", name="Show less")).to_be_visible()
    eleventh = card(page, 59).locator(".candidate .name").nth(10).inner_text()
    card(page, 59).get_by_role("button", name="Show less").click()
    expect(card(page, 59).locator(".candidate")).to_have_count(9)
    type_label(page, eleventh)
    expect(chosen(page, 59)).to_have_text(eleventh)  # what is chosen is never folded away
    expect(card(page, 59).locator(".candidate")).to_have_count(10)


# ---- images ----


@pytest.fixture
def pictured(people, tmp_path):
    from PIL import Image

    (tmp_path / "pics").mkdir()
    Image.new("RGB", (40, 30), "teal").save(tmp_path / "pics" / "a b#1.png")
    pixel = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw=="
    images = ["pics/a%20b%231.png", "gone.png", None, "javascript:alert(1)", pixel, None]
    rows = [replace(row, image=image) for row, image in zip(people.rows, images, strict=True)]
    rows[5] = replace(rows[5], image_problem="outside the allowed folders")
    return write_review(replace(people, rows=rows), tmp_path / "page.html")


def test_images_are_shown_and_broken_ones_are_not(any_window, pictured):
    page = any_window.open(pictured)
    page.set_viewport_size({"width": 1200, "height": 2000})
    for row, width in [(0, 40), (4, 1)]:
        image = card(page, row).locator("img")
        expect(image).to_be_visible()
        expect(image).to_have_js_property("naturalWidth", width)
    problems = {
        1: "cannot be loaded",
        3: "not allowed",
        5: "outside the allowed folders",
    }
    for row, problem in problems.items():
        expect(card(page, row).locator(".picture")).to_have_text(f"image {problem}")
        expect(card(page, row).locator("img")).to_have_count(0)
    expect(card(page, 2).locator(".picture")).to_have_count(0)
    assert not any("dialog" in text for text in any_window.trouble)


def test_an_image_is_enlarged_and_closed_again(any_window, pictured):
    page = any_window.open(pictured)
    press(page, "i")
    expect(page.get_by_role("dialog", name="Image")).to_be_visible()
    press(page, "Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    card(page, 0).get_by_role("button", name="Enlarge").click()
    expect(page.locator("#zoomed")).to_have_js_property("naturalWidth", 40)
    page.get_by_role("button", name="Close").click()
    press(page, "End", "i")
    expect(page.get_by_role("status").first).to_have_text("Row 3 has no image.")


# ---- looks ----


def test_dark_and_light_follow_the_system(window, people_page):
    page = window.open(people_page)
    colors = set()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        colors.add(page.evaluate("() => getComputedStyle(document.body).backgroundColor"))
    assert len(colors) == 2
    page.emulate_media(color_scheme="light")


def test_nothing_sticks_out_at_any_width(window, hostile, tmp_path):
    page = window.open(write_review(hostile, tmp_path / "page.html"))
    wider = """() => ["#scroller", "html", "header"].filter(name => {
        const element = document.querySelector(name);
        return element.scrollWidth > element.clientWidth;
    })"""
    for width in (320, 420, 768, 1100, 1900):
        page.set_viewport_size({"width": width, "height": 700})
        page.wait_for_function("width => innerWidth === width", arg=width)
        assert page.evaluate(wider) == [], width


def test_paper_gets_all_rows(window, people, tmp_path):
    page = window.open(write_review(replace(people, rows=people.rows * 20), tmp_path / "page.html"))
    before = len(shown(page))
    assert before < 60
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator("article")).to_have_count(120)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(page.locator("article")).to_have_count(before)


# ---- texts of a megabyte ----

LONG = {
    "latin": "x" * 10**6,
    "hebrew": "שלום" * 250_000,
    "lines": "a\n" * 500_000,
    "pairs": "🙂" * 10**5,
}


def longest_text(page):
    """Characters of the longest text that the browser has to lay out."""
    return page.evaluate(
        """() => {
            const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
            let longest = 0;
            while (texts.nextNode())
                if (!texts.currentNode.parentElement.closest("script"))
                    longest = Math.max(longest, texts.currentNode.length);
            return longest;
        }"""
    )


def test_a_cell_of_a_megabyte_leaves_the_page_alive(window, tmp_path):
    """A browser needs minutes for a text without a blank, above all from right to left."""
    rows = [ReviewRow(list(LONG.values()), ["anna", "bob"], [0.6, 0.4], "anna|bob")]
    rows += [ReviewRow([""] * len(LONG), ["anna", "bob"], [0.9, 0.1], "anna|bob")]
    page = window.open(write_review(Review("t.csv", list(LONG), rows), tmp_path / "long.html"))
    cells = card(page, 0).locator("dd")
    expect(cells.nth(0)).to_have_text("x" * 1000 + "… (1,000,000 characters)")
    expect(cells.nth(3)).to_have_text("🙂" * 500 + "… (200,000 characters)")
    assert longest_text(page) < 1100
    card(page, 0).get_by_role("button", name="Whole text").click()
    expect(cells.nth(1)).to_have_text("שלום" * 5000 + "… (1,000,000 characters)")
    assert longest_text(page) < 20_100
    page.get_by_role("searchbox").fill("שלום")
    expect(page.locator("article")).to_have_count(1)
    card(page, 0).get_by_role("button", name="anna").click()
    expect(page.locator("#decided")).to_have_text("1 of 2 decided")


def test_a_label_of_a_megabyte_is_shortened_on_the_page_alone(window, tmp_path):
    label = "\N{HEBREW LETTER SHIN}" * 10**6
    row = ReviewRow(["Rome"], ["anna", label], [0.6, 0.4], f"anna|{label}", suggestion="x" * 10**6)
    page = window.open(write_review(Review("t.csv", ["town"], [row]), tmp_path / "long.html"))
    assert longest_text(page) < 1100
    press(page, "2")
    expect(page.locator("#message")).to_contain_text("characters)")
    page.get_by_role("button", name="None of these…").click()
    assert longest_text(page) < 1100
    press(page, "Escape")
    (_, saved) = read_csv(download(page, tmp_path))
    assert saved == ["0", f"anna|{label}", label]


ACTIVE_SVG = """<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="hacked = true">
<style>@import url("URL/a.css"); rect { fill: url("URL/b.svg#a"); background: url("URL/c.png") }
</style><script>window.hacked = true; fetch("URL/d")</script><script href="URL/e.js"/>
<image href="URL/f.png"/><image><set attributeName="href" to="URL/g.png"/></image>
<use href="URL/h.svg#a"/><rect width="9" height="9"/>
<foreignObject><img xmlns="http://www.w3.org/1999/xhtml" src="URL/i.png" onerror="hacked = true"/>
<iframe xmlns="http://www.w3.org/1999/xhtml" src="URL/j"/></foreignObject></svg>"""


@pytest.mark.parametrize("embed", [False, True])
def test_a_drawing_runs_nothing_and_loads_nothing(window, people, tmp_path, embed):
    (tmp_path / "a.svg").write_text("")
    with serve(tmp_path) as server:
        text = ACTIVE_SVG.replace("URL", server.url)
        (tmp_path / "a.svg").write_text(text)
        images = Images(tmp_path, tmp_path, embed)
        rows = [replace(row, image=images.find("a.svg").address) for row in people.rows]
        page = window.open(write_review(replace(people, rows=rows), tmp_path / "page.html"))
        expect(card(page, 0).locator("img")).to_have_js_property("naturalWidth", 9)
        assert page.evaluate("window.hacked") is None
        assert server.requests == []
