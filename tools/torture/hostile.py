"""Hostile and unusual text, numbers and bytes."""

import struct
from typing import Any

from hypothesis import strategies as st

from torture.oracle import CANARY

_TOUCH = f"open({str(CANARY)!r}, 'w')"

# Text that creates the canary file if it is evaluated, rendered or unpickled.
EXECUTABLE = (
    f"=cmd|'/c echo > {CANARY}'!A1",
    f"__import__('builtins').{_TOUCH}",
    "{{ self.__init__.__globals__.__builtins__." + _TOUCH + " }}",
    f"$(touch {CANARY})",
    f"`touch {CANARY}`",
    f"!!python/object/apply:os.system ['touch {CANARY}']",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)//",
    "javascript:alert(1)",
    "%s%n%x {0.__class__}",
)
PICKLE = b"cposix\nsystem\n(S'touch " + str(CANARY).encode() + b"'\ntR."

WORDS = ("a", "b", "c", "anna", "bob", "1", "2", "0", "-1", "x y", "ß", "名", "A", "a ")
MISSING = ("", " ", "NA", "nan", "None", "null", "N/A", "-")
ODD = (
    "\r", "\n", "\r\n", "\t", "a\rb", "\0", "a\0", "\x1b[31m", "\ufeff", "\u2028", "\u202e",
    "\u200b",
    '"', "'", ",", ";", "|", "a|", "|a", "||", "a|b", '"a|b', "#", "\\", "\\N", "e\u0301", "é", "İ",
    "1e400", "-0", "0.0", "007", "1_000", "٣", "1,5", "9" * 400, "1" * 30, "0x10", "inf",
    "Infinity",
    "True", "false", "2021-02-29", "9999-12-31", "0001-01-01", "12:60", "label", "confidence",
    "row", "self", "index", "[1, 2]", "[1, nan]", "[]", "{}", '{"a": 1}', "[[[[", "\U0001f600",
    "\ud800", "a" * 5000,
)  # fmt: skip

words = st.sampled_from(WORDS)
texts = st.one_of(
    words,
    st.sampled_from(MISSING),
    st.sampled_from(ODD),
    st.sampled_from(EXECUTABLE),
    st.text(max_size=6),
)
encodable_texts = texts.filter(lambda text: text.isascii() or _encodable(text))

# Numbers without a literal are text.
numbers = st.one_of(
    st.integers(-3, 3),
    st.floats(-1e3, 1e3, allow_nan=False).map(lambda x: round(x, 3)),
    st.sampled_from(
        ["nan", "inf", "-inf", "1e300", "-1e300", "1e-300", "1e9", "1e15", "5e-324", "1e154"]
    ),
)
tame_numbers = st.one_of(st.integers(-3, 3), st.floats(-5, 5).map(lambda x: round(x, 2)))

json_leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([10**12, -1, 2**31, 2**63, 0]),
    encodable_texts,
)
json_values = st.recursive(
    json_leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(encodable_texts, inner, max_size=3),
    max_leaves=5,
)

# An edit of bytes: kind, position (a share of the length) and value.
byte_edits = st.lists(
    st.tuples(
        st.sampled_from(["flip", "set", "delete", "insert", "repeat", "cut", "word"]),
        st.integers(0, 10**6),
        st.integers(0, 255),
    ),
    min_size=1,
    max_size=4,
)
_TOKENS = (
    b"\0" * 8, b"\xff" * 8, b"\xff\xff\xff\x7f", b"\0\0\0\x80", b'"', b"\r", b"\n", b",", b"|",
    b"{",
    b"[" * 50, b"PK\x03\x04", b"PAR1", b"\xef\xbb\xbf", b"NaN", b"1e999", b"\xc3\x28", PICKLE,
)  # fmt: skip


def _encodable(text: str) -> bool:
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


def edit_bytes(content: bytes, edits: list[tuple[str, int, int]]) -> bytes:
    """The bytes after some edits."""
    edited = bytearray(content)
    for what, where, value in edits:
        at = where * (len(edited) + 1) // (10**6 + 1)
        length = 1 + value % 16
        if what == "flip" and at < len(edited):
            edited[at] ^= 1 << value % 8
        elif what == "set" and at < len(edited):
            edited[at] = value
        elif what == "delete":
            del edited[at : at + length]
        elif what == "insert":
            edited[at:at] = _TOKENS[value % len(_TOKENS)]
        elif what == "repeat":
            edited[at:at] = edited[at : at + length] * (1 + value % 7)
        elif what == "cut":
            del edited[at:]
        elif what == "word" and at + 4 <= len(edited):  # a size or an index
            (old,) = struct.unpack_from("<I", edited, at)
            edited[at : at + 4] = struct.pack("<I", (old + (value - 128)) % 2**32)
    return bytes(edited)


def edit_json(content: Any, edits: list[tuple[list[int], str, Any]]) -> Any:
    """A JSON value with some parts replaced or removed; steps are the path to a part."""
    for steps, what, value in edits:
        parent, key, node = None, None, content
        for step in steps:
            if isinstance(node, dict) and node:
                parent, key = node, sorted(node)[step % len(node)]
            elif isinstance(node, list) and node:
                parent, key = node, step % len(node)
            else:
                break
            node = parent[key]
        if parent is None:
            continue
        if what == "remove":
            del parent[key]
        else:
            parent[key] = value
    return content


json_edits = st.lists(
    st.tuples(
        st.lists(st.integers(0, 30), min_size=1, max_size=8),
        st.sampled_from(["replace", "remove"]),
        json_values,
    ),
    min_size=1,
    max_size=2,
)
