"""The scripts of the page that need no document, in node."""

import csv
import io
import json
import shutil
import subprocess
from importlib.resources import files

import numpy as np
import pytest

from ambilearn._utils.text import normalize_label
from ambilearn.tables.corrections import read_corrections

HOSTILE = [
    'say "hi", twice',
    "it's; two\nlines",
    "carriage\rreturn",
    "=1+1",
    "back\\slash \\u003c",
    "lines\u2028and\u2029paragraphs",
    "__proto__",
]

# What a browser has and node does not; requests are answered by `reply(path, content)`.
BROWSER = """
globalThis.stores = {};
const storage = (name) => ({
  getItem: (key) => stores[name]?.[key] ?? null,
  setItem: (key, text) => ((stores[name] ??= {})[key] = text),
  removeItem: (key) => delete stores[name]?.[key],
});
globalThis.window = globalThis;
globalThis.localStorage = storage("local");
globalThis.sessionStorage = storage("session");
const sent = [];
globalThis.fetch = async (address, { body }) => {
  const path = address.split("?")[0];
  const content = JSON.parse(body ?? "null");
  sent.push([path, content, body?.length]);
  const [status, answer = {}] = reply(path, content);
  if (status === 0) throw new TypeError("no connection");
  return { ok: status === 200, status, json: async () => answer };
};
globalThis.setTimeout = (act) => queueMicrotask(act);
"""


@pytest.fixture
def run():
    """Function that runs scripts of the page, then more code, and returns its value."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")

    def run(names, code):
        assets = files("ambilearn.review").joinpath("assets")
        parts = [assets.joinpath(f"{name}.js").read_text("utf-8") for name in names.split()]
        code = f"(async () => {{{code}}})().then((x) => console.log(JSON.stringify(x)))"
        done = subprocess.run(
            [node, "--input-type=module"],
            input="\n".join([BROWSER, *parts, code]),
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


# --- connection -----------------------------------------------------------------------------------

SEND = """
const connection = new Connection("key");
const rejected = [];
connection.onRejected = (text) => rejected.push(text);
for (const action of actions) connection.waiting.push(action);
await connection.flush();
return { sent, rejected, waiting: connection.waiting, writer: connection.writer };
"""
ANSWERS = """
const actions = ["a", "b"].map((id, i) => ({ id, kind: "answer", labels: [[i, "anna"]] }));
"""


def send(run, reply, actions=ANSWERS):
    return run("decisions connection", f"globalThis.reply = {reply};{actions}{SEND}")


def test_actions_are_sent_in_their_order(run):
    found = send(run, "() => [200]")
    assert [content["id"] for _, content, _ in found["sent"]] == ["a", "b"]
    assert (found["waiting"], found["rejected"]) == ([], [])


@pytest.mark.parametrize("status", [0, 403, 408, 428, 429, 503, 507])
def test_an_action_is_sent_until_it_is_confirmed(run, status):
    found = send(run, f"() => [sent.length < 4 ? {status} : 200]")
    assert [content["id"] for _, content, _ in found["sent"]] == [*"aaaab"]
    assert (found["waiting"], found["rejected"]) == ([], [])


@pytest.mark.parametrize("status", [400, 404, 411, 413, 414, 431, 500, 501])
def test_an_action_that_is_refused_for_good_is_shown_and_the_next_one_is_sent(run, status):
    found = send(run, f"(_, {{ id }}) => id === 'a' ? [{status}, {{ error: 'no' }}] : [200]")
    assert [content["id"] for _, content, _ in found["sent"]] == ["a", "b"]
    assert (found["waiting"], found["rejected"]) == ([], ["no"])


def test_actions_of_another_tab_wait(run):
    found = send(run, "() => [409]")
    assert [each["id"] for each in found["waiting"]] == ["a", "b"]
    assert not found["writer"]


LARGE = """
const labels = [...Array(100_000).keys()].map((i) => [i, `label ${i} of an animal`]);
const actions = [{ id: "a", kind: "answer", labels }, { id: "b", kind: "skip", row: 1 }];
"""


def test_a_large_answer_is_sent_in_parts(run):
    found = send(run, "() => [200]", LARGE)
    assert all(length < 2**22 for _, _, length in found["sent"])
    *parts, last, skip = [(path, content) for path, content, _ in found["sent"]]
    assert [path for path, _ in parts] == ["part"] * len(parts)
    assert [content["part"] for _, content in parts] == list(range(len(parts)))
    assert (last[0], last[1]["parts"], skip[1]["id"]) == ("act", len(parts), "b")
    rows = [row for _, content in [*parts, last] for row, _ in content["labels"]]
    assert rows == list(range(100_000))


def test_a_label_that_no_request_can_hold_is_refused_here(run):
    """The server hangs up before it has read such a request, as if it could not be reached."""
    label = 'const actions = [{ id: "a", kind: "answer", labels: [[1, "x".repeat(5e6)]] }];'
    found = send(run, "() => [0]", label)
    assert (found["sent"], found["waiting"]) == ([], [])
    assert found["rejected"] == ["A label is too long."]


def test_all_parts_are_sent_again_if_the_server_has_lost_them(run):
    reply = "(path) => [path === 'act' && sent.length < 12 ? 428 : 200]"
    found = send(run, reply, LARGE)
    paths = [path for path, _, _ in found["sent"]]
    once = paths[: paths.index("act") + 1]
    assert paths == [*once * (len(paths) // len(once)), "act"]
    assert len(paths) > 12


def test_actions_that_wait_are_kept_by_the_browser(run):
    code = """
    globalThis.reply = () => [409];
    const connection = new Connection("key");
    connection.send({ id: "a", kind: "skip", row: 1 });
    const again = new Connection("key");
    stores.local["key:waiting"] = "{broken";
    return [again.waiting, again.tab === connection.tab, new Connection("key").waiting];
    """
    waiting = [{"id": "a", "kind": "skip", "row": 1}]
    assert run("decisions connection", code) == [waiting, True, []]


# --- decisions ------------------------------------------------------------------------------------

DECISIONS = """
const kept = [];
Decisions.prototype.keep = (action) => kept.push(action);
const decisions = new Decisions();
const now = () => [...decisions.labels].filter(([, label]) => label !== null);
"""


def test_decisions_are_undone_step_by_step(run):
    code = """
    decisions.decide([[1, "anna"]]);
    decisions.decide([[1, "bob"], [2, "bob"]]);
    decisions.decide([[1, "bob"]]);  // changes nothing, and is no step
    const before = now();
    const undone = [decisions.undo(), decisions.undo(), decisions.undo()];
    return [before, undone, now(), kept.map(({ kind }) => kind), kept[0].labels];
    """
    kinds = ["answer", "answer", "undo", "undo"]
    expected = [[[1, "bob"], [2, "bob"]], [[1, 2], [1], []], [], kinds, [[1, "anna"]]]
    assert run("decisions", DECISIONS + code) == expected


def test_an_undo_names_its_answer(run):
    code = """
    decisions.decide([[1, "anna"]]);
    decisions.undo();
    return [kept[0].id === kept[1].of, kept[0].id !== kept[1].id, decisions.unsaved];
    """
    assert run("decisions", DECISIONS + code) == [True, True, True]


# --- csv ------------------------------------------------------------------------------------------

ROWS = """
const rows = [{ index: 0, raw: "anna|bob" }, { index: 7, raw: 'b"o\\nb' }];
"""


def test_labels_are_normalized_as_those_of_tables(run):
    texts = [" anna\u200b", "Zoe\u0308", "\u00a0a\u00a0b ", "\ufeff", "plain"]
    found = run("csv", f"return {json.dumps(texts)}.map(normalizedLabel)")
    assert found == [normalize_label(text) for text in texts]


@pytest.mark.parametrize("text", ["a,b\n1,2\n", '"a""b",c\r\n"x\ny",z', "\ufeffa,b\n\n\n1,\n", ""])
def test_csv_is_read_as_python_reads_it(run, text):
    expected = [row for row in csv.reader(io.StringIO(text.removeprefix("\ufeff"))) if row]
    assert run("csv", f"return parseCsv({json.dumps(text)})") == expected


def test_corrections_are_written_and_read_again(run):
    code = """
    const decisions = { labelOf: (row) => ({ 0: 'an"na', 7: "x,y" })[row] ?? null };
    const text = correctionsCsv(rows, decisions);
    return [text, readCorrections(text, rows, "|")];
    """
    text, pairs = run("csv", ROWS + code)
    assert pairs == [[0, 'an"na'], [7, "x,y"]]
    assert next(csv.reader(io.StringIO(text))) == ["row", "candidates", "label"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "its header has no column “row”"),
        ("row,candidates,label\n5,bob,bob\n", "Line 2: this table has no row “5”"),
        ("row,candidates,label\n0,bob,bob\n", "The file belongs to another table: row 0 has"),
        ("row,candidates,label\n0,bob|anna,a\n0,anna|bob,b\n", "Line 3: row 0 occurs a second"),
        ("row,candidates,label\n0,bob|anna, \n", "Line 2: row 0 has no label"),
        ('row,candidates,label\n0,"bob|anna,a\n', "A quotation mark is opened"),
    ],
)
def test_other_files_are_explained(run, text, message):
    code = f"try {{ readCorrections({json.dumps(text)}, rows, '|') }} catch (error) "
    assert message in run("csv", ROWS + code + "{ return error.message }")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_labels_come_back_unchanged(run, text):
    code = f"""
    const text = {json.dumps(text)};
    const rows = [{{ index: 0, raw: `${{text}}|plain` }}];
    const file = correctionsCsv(rows, {{ labelOf: () => text }});
    return [file, readCorrections(file, rows, "|")];
    """
    file, pairs = run("csv", code)
    assert pairs == [[0, text]]
    read = read_corrections(io.StringIO(file), [f"{text}|plain"], np.array([text, "plain"]))
    assert read.labels == {0: text}


# --- storage --------------------------------------------------------------------------------------

STORED = """
const open = (given) => new StoredDecisions("key", given);
const shown = (decisions) => [...decisions.labels].filter(([, label]) => label !== null);
const given = [null, "cleo", null];
"""


def test_decisions_are_stored_and_those_of_the_page_can_be_taken_back(run):
    code = """
    const first = open(given);
    first.decide([[1, null]]);
    first.decide([[2, "bob"]]);
    delete stores.local;  // as in loads of a file that have a storage of their own
    return [shown(first), shown(open(given)), first.kept];
    """
    assert run("csv decisions storage", STORED + code) == [[[2, "bob"]], [[2, "bob"]], True]


def test_labels_that_are_given_later_come_before_stored_ones(run):
    code = """
    open([null, null, null]).decide([[0, "anna"], [2, "bob"]]);
    const again = open([null, null, "cleo"]);
    const now = shown(again);
    again.undo();
    return [now, again.newlyGiven, shown(again), shown(open([null, null, "cleo"]))];
    """
    expected = [[[2, "cleo"], [0, "anna"]], 1, [[2, "bob"], [0, "anna"]]]
    assert run("csv decisions storage", STORED + code) == [*expected, expected[2]]


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ('[[0, "bob"]]', [[1, "cleo"], [0, "bob"]]),  # of version 0.1
        *[
            (text, [[1, "cleo"]])
            for text in ("{broken", "null", "7", '{"0": "bob"}', '{"time": 9e15, "labels": 7}',
                         '[7, [0, 7], [99, "bob"]]', '{"time": 9e15, "labels": [["x", "bob"]]}')
        ],
    ],
)  # fmt: skip
def test_what_else_is_stored_is_ignored(run, text, labels):
    code = f"stores.local = {{ key: {json.dumps(text)} }}; return shown(open(given));"
    assert run("csv decisions storage", STORED + code) == labels


# --- view and card --------------------------------------------------------------------------------

VIEW = """
const shares = [[.9, .1], [.55, .45], [.5, .3, .2], [1], [.34, .33, .33], [.7, .3]];
const names = [["anna"], ["anna"], ["bob"], ["anna"], ["bob"], ["anna"]];
const rows = shares.map((row, index) => ({
  index, rank: 0, cells: [`photo ${index}`], suggestion: null, margin: row[0] - (row[1] ?? 0),
  candidates: row.map((confidence, i) => ({ label: names[index][i] ?? "cleo", confidence })),
}));
globalThis.rowOf = new Map(rows.map((row) => [row.index, row]));
globalThis.data = { blind: false, calibrated: true };
const decisions = { labelOf: (row) => ({ 1: "Zoë" })[row] ?? null, labels: new Map([[1, "Zoë"]]) };
"""


@pytest.mark.parametrize(
    ("order", "rows"),
    [
        ("certain", [3, 0, 5, 2, 1, 4]),
        ("table", [0, 1, 2, 3, 4, 5]),
        ("label", [5, 0, 3, 4, 2, 1]),
        ("candidates", [4, 2, 1, 5, 0, 3]),
        ("ambiguous", [4, 1, 2, 5, 0, 3]),
        ("review", [4, 1, 2, 5, 0, 3]),
    ],
)
def test_orders_of_the_rows(run, order, rows):
    code = f"return sortedRows([...rows], decisions, '{order}').map(({{ index }}) => index)"
    assert run("view", VIEW + code) == rows


def test_a_search_finds_cells_labels_and_typed_labels(run):
    code = """
    const find = (query) => rows.filter(matcher(query, decisions)).map(({ index }) => index);
    const counts = countByStatus(rows.length, decisions);
    return [["PHOTO bob", "zoë", "#5", "nowhere"].map(find), counts];
    """
    found, counts = run("view", VIEW + code)
    assert found == [[2, 4], [1], [5], []]
    assert counts == {"all": 6, "undecided": 5, "accepted": 0, "corrected": 1}


def test_confidences_are_per_cent_and_scores_are_not(run):
    code = """
    const texts = [0, .001, .5, .999, 1].map(shownConfidence);
    data.calibrated = false;
    return [texts, shownConfidence(.5)];
    """
    assert run("card", VIEW + code) == [["0 %", "< 1 %", "50 %", "> 99 %", "100 %"], "0.50"]
