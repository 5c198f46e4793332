"""Experiment files and stores with unusual content."""

import json
import sqlite3
import tomllib
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from torture.commands import run_command
from torture.hostile import (
    byte_edits,
    edit_bytes,
    edit_json,
    encodable_texts,
    json_edits,
    json_values,
)
from torture.oracle import check_canary
from torture.samples import SPEC, store_bytes
from torture.target import Target

spec_cases = st.one_of(
    st.fixed_dictionaries({"edits": json_edits, "quick": st.booleans()}),
    st.fixed_dictionaries({"bytes": byte_edits, "quick": st.booleans()}),
)


def check_spec(case: dict[str, Any], folder: Path) -> bool:
    """An experiment is rejected with one message, or its tables are shown."""
    spec, store = folder / "mine.toml", folder / "store.sqlite"
    if "bytes" in case:
        spec.write_bytes(edit_bytes(SPEC.encode(), case["bytes"]))
    else:
        spec.write_text(to_toml(edit_json(tomllib.loads(SPEC), case["edits"])), "utf-8")
    store.write_bytes(store_bytes())
    ended = run_command("paper", "tables", spec, "--store", store, *["--quick"] * case["quick"])
    check_canary()
    return ended.done


def to_toml(content: dict[str, Any]) -> str:
    """A value as TOML; None becomes empty text."""
    return "\n".join(f"{json.dumps(key)} = {_inline(value)}" for key, value in content.items())


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key)} = {_inline(each)}" for key, each in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    return "''" if value is None else json.dumps(value, ensure_ascii=False)


_COLUMNS = ("key", "status", "result", "environment", "finished")
_values = st.one_of(
    json_values.map(json.dumps), encodable_texts, st.integers(-1, 2**40), st.binary(max_size=4)
)
store_cases = st.fixed_dictionaries(
    {
        "changes": st.lists(
            st.tuples(st.sampled_from(_COLUMNS), st.integers(0, 15), _values), max_size=2
        ),
        "statement": st.sampled_from(
            ["", "", "DROP TABLE results", "UPDATE results SET environment = 'x'",
             "ALTER TABLE results DROP COLUMN result", "CREATE TABLE other (a)",
             "ALTER TABLE results ADD COLUMN more",
             "UPDATE results SET result = json_set(result, '$.seconds', 'x')",
             "PRAGMA user_version = 7", "CREATE VIEW v AS SELECT * FROM results"]
        ),
        "edits": st.just([]) | byte_edits,
        "command": st.sampled_from(["tables", "verify", "report", "run"]),
    }
)  # fmt: skip


def check_store(case: dict[str, Any], folder: Path) -> bool:
    """A store is rejected with one message, or used."""
    spec, store = folder / "mine.toml", folder / "store.sqlite"
    spec.write_text(SPEC)
    store.write_bytes(store_bytes())
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = 1")
        keys = [key for (key,) in connection.execute("SELECT key FROM results ORDER BY key")]
        for column, row, value in case["changes"]:
            with suppress(sqlite3.Error):
                connection.execute(
                    f'UPDATE results SET "{column}" = ? WHERE key = ?', [value, keys[row]]
                )
        with suppress(sqlite3.Error):
            connection.execute(case["statement"])
        connection.execute("PRAGMA journal_mode = DELETE")
    if case["edits"]:
        store.write_bytes(edit_bytes(store.read_bytes(), case["edits"]))
    options = ["--jobs", 1] if case["command"] == "run" else []
    ended = run_command("paper", case["command"], spec, "--store", store, *options)
    check_canary()
    return ended.done


TARGETS = [
    Target("specs", "inputs", spec_cases, check_spec, share=6),
    Target("stores", "inputs", store_cases, check_store, share=5),
]
