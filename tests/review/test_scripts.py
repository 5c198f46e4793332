"""The scripts of the page that need no document, in node."""

import csv
import io
import json
import shutil
import subprocess
from importlib.resources import files

import pytest

from ambilearn._utils.labels import normalize_label

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
        (f"row,candidates,label\n0,bob|anna,{'a' * 100_001}\n", "label of row 0 is too long"),
    ],
)
def test_other_files_are_explained(run, text, message):
    code = f"try {{ readCorrections({json.dumps(text)}, rows, '|') }} catch (error) "
    assert message in run("csv", ROWS + code + "{ return error.message }")
