"""Journals and tables that other programs change during a served review, and damaged journals."""

import os
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from ambilearn.review.journal import Journal, ReviewedRows, read_answers, replay
from ambilearn.review.service import label_parser
from torture.hostile import byte_edits, edit_bytes
from torture.oracle import REJECTED, Defect, attempt
from torture.target import Target

TEXTS = ["anna|bob", "bob", "anna|bob", "cleo|bob", "bob", "anna"]
TOWNS = ["Rome", "Oslo", "Rome", "Bonn", "Rome", "Oslo"]
N_ROWS = len(TEXTS)
PARSE = label_parser(["anna", "bob", "cleo"])

_row, _label = st.integers(0, N_ROWS - 1), st.sampled_from(["anna", "zoe", "Łódź", 'a"b', None])
_steps = st.one_of(
    st.tuples(st.just("answer"), st.dictionaries(_row, _label, min_size=1, max_size=3)),
    st.tuples(st.just("skip"), _row),
    st.tuples(st.sampled_from(["undo", "remove", "rename", "copy", "touch", "restart"])),
    st.tuples(st.just("replace"), st.sampled_from([b"", b"other\n", b'{"a": 1}\n'])),
    st.tuples(st.just("truncate"), st.floats(0, 1)),
    st.tuples(st.just("edit"), byte_edits),
)
change_cases = st.fixed_dictionaries(
    {
        "steps": st.lists(_steps, max_size=15),
        "table": st.sampled_from(["same", "longer", "new column", "sorted", "edited", "shorter"]),
    }
)


def rows_of_table(change: str = "same") -> ReviewedRows:
    """The rows of the table, perhaps after another program has changed it."""
    texts, columns = list(TEXTS), {"town": list(TOWNS)}
    if change == "longer":
        texts, columns = [*texts, "bob"], {"town": [*TOWNS, "Oslo"]}
    elif change == "new column":
        columns["size"] = list(range(N_ROWS))
    elif change == "sorted":
        texts[0], texts[2], columns["town"][2] = texts[2], texts[0], "Oslo"
    elif change == "edited":
        columns["town"][5] = "Łódź"
    elif change == "shorter":
        texts, columns = texts[:-1], {"town": TOWNS[:-1]}
    return ReviewedRows(texts, columns)


class _Reviewer:
    """A person whose answers are confirmed one after the other."""

    def __init__(self, path: Path) -> None:
        self.path, self.n_actions = path, 0
        self.answers: list[dict[int, str | None]] = []
        self.journal = Journal(path, rows_of_table(), PARSE)

    def act(self, kind: str, **content: Any) -> None:
        self.n_actions += 1
        self.journal.append({"id": f"a{self.n_actions}", "kind": kind, **content})

    def answer(self, labels: dict[int, str | None]) -> None:
        found = dict.fromkeys(map(str, labels), "bob")
        texts = {str(row): TEXTS[row] for row in labels}
        written = {str(row): label for row, label in labels.items()}
        self.act("answer", labels=written, found=found, random=False, candidates=texts)
        self.answers.append(labels)

    def undo(self) -> None:
        if self.answers:
            self.act("undo")
            self.answers.pop()

    def labels(self) -> dict[int, str]:
        settled: dict[int, str | None] = {}
        for each in self.answers:
            settled |= each
        return {row: label for row, label in settled.items() if label is not None}

    def restart(self) -> None:
        """End the review as the command does, and continue it with the file that it names."""
        self.journal.keep()
        self.journal.close()
        self.journal = Journal(self.journal.path, rows_of_table(), PARSE)
        if replay(self.journal.entries).labels != self.labels():
            raise Defect(
                "lost", f"{replay(self.journal.entries).labels} of {self.labels()}", "lost"
            )


def disturb(path: Path, way: str, *how: Any) -> None:
    """What another program does to the journal."""
    if way in ("copy", "replace"):
        content = how[0] if how else path.read_bytes() if path.exists() else b""
        path.with_name("other").write_bytes(content)
        os.replace(path.with_name("other"), path)
    elif not path.exists():
        return
    elif way == "remove":
        path.unlink()
    elif way == "rename":
        path.rename(path.with_name("renamed"))
    elif way == "touch":
        os.utime(path, (1, 1))
    elif way == "truncate":
        os.truncate(path, int(how[0] * path.stat().st_size))
    elif way == "edit":
        path.write_bytes(edit_bytes(path.read_bytes(), *how))


def check_changes(case: dict[str, Any], folder: Path) -> bool:
    """Every confirmed answer is in the journal that the command names, for the same rows."""
    reviewer = _Reviewer(folder / "people.journal")
    for way, *how in case["steps"]:
        if way in ("undo", "restart"):
            getattr(reviewer, way)()
        elif way == "answer":
            reviewer.answer(*how)
        elif way == "skip":
            reviewer.act("skip", row=how[0])
        else:
            disturb(reviewer.journal.path, way, *how)
    reviewer.restart()
    reviewer.journal.close()
    path, labels = reviewer.journal.path, reviewer.labels()
    if read_answers(path)[0] != labels:
        raise Defect("lost", "the answers without the table are others", "read_answers")
    opened = attempt(Journal, path, rows_of_table(case["table"]), PARSE)
    may_continue = case["table"] in ("same", "longer", "new column")
    if (opened is REJECTED) is may_continue:
        raise Defect("wrong", f"a table that is {case['table']}", case["table"])
    if opened is REJECTED:
        return False
    with opened:
        if replay(opened.entries).labels != labels:
            raise Defect("lost", "answers after the table has changed", "table")
    return True


@cache
def journal_bytes(folder: Path) -> bytes:
    """A journal with answers of all kinds."""
    reviewer = _Reviewer(folder / "whole.journal")
    for labels in ({0: "anna"}, {1: "zoe", 2: "bob"}, {0: None}, {3: "Łódź"}):
        reviewer.answer(labels)
    reviewer.undo()
    reviewer.act("skip", row=4)
    reviewer.journal.close()
    return reviewer.path.read_bytes()


def check_damage(case: list[Any], folder: Path) -> bool:
    """A damaged journal is rejected with its line, or all its entries can be entries."""
    path = folder / "people.journal"
    content = edit_bytes(journal_bytes(folder), case)
    path.write_bytes(content)
    opened = attempt(Journal, path, rows_of_table(), PARSE)
    if opened is REJECTED:
        if path.read_bytes() != content:
            raise Defect("destroyed", "a rejected journal was changed", "rejected")
        attempt(read_answers, path)
        return False
    with opened:
        labels = replay(opened.entries).labels
        if any(not 0 <= row < N_ROWS or not label or "|" in label for row, label in labels.items()):
            raise Defect("wrong", f"labels {labels}", "labels")
    return True


TARGETS = [
    Target("journal-changes", "inputs", change_cases, check_changes, share=3,
           outcomes=("continued", "rejected")),
    Target("journal-damage", "inputs", byte_edits, check_damage, share=2),
]  # fmt: skip
