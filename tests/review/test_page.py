"""The page as a file: self-contained, escaped, complete or not there at all."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ambilearn._utils.text import normalize_label
from ambilearn.review import Review, ReviewRow, render_review, write_review
from ambilearn.review import page as page_module
from ambilearn.review.page import MAX_ROWS


class Elements(HTMLParser):
    """Elements of a page, with the text in its scripts and styles."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.texts, self.inside = [], [], False
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.inside = tag in ("script", "style")
        if self.inside:
            self.texts.append("")

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.texts[-1] += data

    def one(self, tag, **attributes):
        (found,) = (a for t, a in self.tags if t == tag and attributes.items() <= a.items())
        return found


def data_of(html):
    return json.loads(Elements(html).texts[1])


def test_data_is_what_was_given(people):
    data = data_of(render_review(people))
    assert data["columns"] == ["photo", "town"]
    assert data["classes"] == ["anna", "bob", "cleo"]
    assert data["fingerprint"] == people.fingerprint
    assert data["rows"][2] == [
        ["photo 2", "Bonn"],
        "anna|bob|cleo",
        [1, 0, 2],
        [0.5, 0.3, 0.2],
        None,
        None,
        None,
        None,
        0,
        None,
        None,
        None,
    ]
    assert data["rows"][0][2:] == [[0, 1], [0.9, 0.1], None, None, None, None, 0, None, None, None]
    hinted = replace(people.rows[0], suggestion="cleo", rank=4, doubt=0.718)
    data = data_of(render_review(replace(people, rows=[hinted, *people.rows[1:]])))
    assert data["rows"][0][6:] == [2, None, 4, None, None, 72]
    given = replace(people.rows[0], given="bob", label="bob", suggestion="anna", margin=-0.8)
    data = data_of(render_review(replace(people, rows=[given, *people.rows[1:]])))
    assert data["rows"][0][2:] == [[1, 0], [0.1, 0.9], None, None, 0, None, 0, 1, -0.8, None]


@example(["e\u0301\x85", "\x85"])
@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=2, max_size=2))
def test_any_text_stays_data(texts):
    label, cell = texts
    html = render_review(Review(cell, [cell], [ReviewRow([cell], [label], [1.0], label)]))
    data = data_of(html)
    assert data["classes"] == [normalize_label(label)]
    assert data["rows"][0][:2] == [[cell], label]
    empty = render_review(Review("", [""], [ReviewRow([""], ["a"], [1.0], "a")]))
    assert [t for t, _ in Elements(html).tags] == [t for t, _ in Elements(empty).tags]


def test_a_served_page_names_the_output_files(people):
    html = render_review(people, served=True, outputs=["a.csv", "<b>.model"])
    assert "The output files are written: a.csv, &lt;b&gt;.model." in html
    assert "No output file is written" in render_review(people, served=True)


def test_script_in_the_table_cannot_end_the_data(people):
    evil = "</script><script>alert(1)</script><!--"
    html = render_review(replace(people, title=evil, columns=[evil, evil]))
    assert html.count("<script") == 2
    assert html.count("</script") == 2
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in html  # the title, as text
    assert data_of(html)["columns"] == [evil, evil]


def test_policy_allows_our_script_and_style_alone(people):
    elements = Elements(render_review(people))
    policy = elements.one("meta", **{"http-equiv": "Content-Security-Policy"})["content"]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    style, _, script = elements.texts

    def digest(text):
        return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"

    assert rules == {
        "default-src": "'none'",
        "script-src": digest(script),
        "style-src": digest(style),
        "img-src": "'self' file: data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_network_is_allowed_only_for_images_that_need_it(people):
    local = render_review(people)
    rows = [replace(people.rows[0], image="https://example.org/a.png"), *people.rows[1:]]
    remote = render_review(replace(people, rows=rows))
    assert "http: https:" not in local
    assert "img-src &#39;self&#39; file: data: http: https:" in remote
    assert "Nothing is sent to another machine" in local
    assert "Nothing is sent to another machine" not in remote
    assert "Images come from the addresses in the table" in remote


def test_page_refers_to_no_other_file(people):
    elements = Elements(render_review(people))
    addresses = {v for _, a in elements.tags for k, v in a.items() if k in ("src", "href")}
    assert addresses == {"data:,"}
    style, _, script = elements.texts
    assert not re.search(r"url\(|@import|@font-face", style)
    assert not re.search(
        r"\bimport\b|https?://|fetch\(|XMLHttpRequest|WebSocket|sendBeacon", script
    )


def test_script_never_makes_markup_from_text(people):
    script = Elements(render_review(people)).texts[2]
    assert "textContent" in script
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", script)


def test_same_review_same_bytes(people, tmp_path):
    first = write_review(people, tmp_path / "a.html").read_bytes()
    assert write_review(people, tmp_path / "new" / "folder" / "b.html").read_bytes() == first


def test_a_failure_leaves_the_old_page(people, tmp_path, monkeypatch):
    path = write_review(people, tmp_path / "page.html")
    before = path.read_bytes()

    def break_off(source, target):
        raise OSError("no space left")

    monkeypatch.setattr("ambilearn._utils.files.os.replace", break_off)
    with pytest.raises(OSError, match="no space left"):
        write_review(replace(people, title="new"), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


def test_half_a_character_is_rejected_with_its_place(people, tmp_path):
    rows = [replace(people.rows[0], raw="before\ud83d"), *people.rows[1:]]
    with pytest.raises(ValueError, match=r"lone surrogate\) after '.*before'"):
        write_review(replace(people, rows=rows), tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_all_scripts_of_the_folder_are_in_the_page(people):
    from importlib.resources import files

    folder = files(page_module.__package__).joinpath("assets")
    scripts = {file.name for file in folder.iterdir() if file.name.endswith(".js")}
    assert scripts == {f"{name}.js" for name in page_module.SCRIPTS}


def test_ten_thousand_rows_are_a_file_of_ordinary_size(people, tmp_path):
    path = write_review(replace(people, rows=people.rows * 1667), tmp_path / "page.html")
    assert path.stat().st_size < 2_000_000


# --- what a page shows ----------------------------------------------------------------------------


ROW = ReviewRow(["1"], ["a", "b"], [0.5, 0.5], "a|b")


def test_ranked_keeps_the_order_of_equals():
    row = ReviewRow([], ["c", "a", "b"], [0.2, 0.4, 0.4], "c|a|b")
    assert row.ranked() == [("a", 0.4), ("b", 0.4), ("c", 0.2)]
    assert replace(row, label="c").ranked() == [("c", 0.2), ("a", 0.4), ("b", 0.4)]


def test_classes_are_all_labels_sorted_as_people_sort(people):
    rows = [*people.rows, replace(people.rows[0], decision="Bea", suggestion="dora")]
    assert replace(people, rows=rows).classes == ["anna", "Bea", "bob", "cleo", "dora"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "no row to review"),
        ([ROW] * (MAX_ROWS + 1), f"at most {MAX_ROWS} rows, not {MAX_ROWS + 1}: split"),
        ([ROW, replace(ROW, cells=[])], "Row 1 has 0 cells, not 1"),
        ([ROW, replace(ROW, labels=[], confidences=[])], "Row 1 has no candidate label"),
        ([replace(ROW, confidences=[1.0])], "Row 0 has 2 candidates and 1 confidences"),
        ([ROW, replace(ROW, suggestion="b")], "Row 1 has the candidate 'b' as suggestion"),
        ([replace(ROW, confidences=[float("nan"), 1.0])], "Row 0 has a confidence that is not"),
        ([replace(ROW, confidences=[float("inf"), 1.0])], "Row 0 has a confidence that is not"),
    ],
)
def test_parts_that_do_not_fit_are_rejected(rows, message):
    with pytest.raises(ValueError, match=message):
        Review("t.csv", ["x"], rows)


def test_numbers_of_all_rows_are_needed():
    with pytest.raises(ValueError, match="2 rows, but 1 numbers"):
        Review("t.csv", ["x"], [ROW, ROW], numbers=[1])


def test_fingerprint_is_that_of_the_table(people):
    first = people.rows[0]

    def changed(**parts):
        return replace(people, rows=[replace(first, **parts), *people.rows[1:]]).fingerprint

    assert changed() == people.fingerprint
    assert changed(confidences=[0.4, 0.6]) == people.fingerprint
    assert changed(image="a.png", decision="bob") == people.fingerprint
    assert changed(suggestion="cleo", rank=3) == people.fingerprint
    assert replace(people, title="other.csv", method="SURE").fingerprint == people.fingerprint
    others = {
        changed(raw="bob|anna"),
        changed(cells=["photo 0", "Roma"]),
        replace(people, rows=people.rows[:-1]).fingerprint,
        replace(people, rows=people.rows[::-1]).fingerprint,
        replace(people, columns=["photo", "city"]).fingerprint,
    }
    assert len(others) == 5
    assert people.fingerprint not in others


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("people.csv", "people-corrections.csv"),
        ("my people (2).parquet", "my-people-2-corrections.csv"),
        ("../../etc/passwd.csv", "passwd-corrections.csv"),
        ("Über:uns.csv", "Über-uns-corrections.csv"),
        ("...", "review-corrections.csv"),
        ("", "review-corrections.csv"),
    ],
)
def test_name_of_the_download(people, title, name):
    assert replace(people, title=title).download == name
