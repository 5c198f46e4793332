"""Model files that are damaged, rewritten with valid checksums, or try to execute code."""

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from ambilearn.registry import installed_methods
from ambilearn.tables.model_file import load_model
from torture.commands import run_command
from torture.hostile import PICKLE, byte_edits, edit_bytes, edit_json, json_edits
from torture.oracle import REJECTED, attempt, check_canary
from torture.samples import model_bytes, table_bytes
from torture.tables import check_written
from torture.target import Target

METHODS = [name for name in ("plknn", "plcl", "ipal", "deepplcl") if name in installed_methods()]

byte_cases = st.fixed_dictionaries({"method": st.sampled_from(METHODS), "edits": byte_edits})

# Objects in a model file that would execute code when loaded.
_NODES = st.sampled_from(
    [
        {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode"},
        {"__class__": "system", "__module__": "posix", "__loader__": "TypeNode"},
        {"__class__": "partial", "__module__": "functools", "__loader__": "PartialNode"},
        {"__class__": "Popen", "__module__": "subprocess", "__loader__": "ObjectNode"},
        {"__class__": "methodcaller", "__module__": "operator", "__loader__": "OperatorFuncNode"},
        {"__class__": "X", "__module__": "builtins", "__loader__": "ReduceNode"},
        {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode",
         "type": "numpy", "file": "evil.npy"},
        {"__class__": "RandomState", "__module__": "numpy.random", "__loader__": "RandomStateNode"},
    ]
)  # fmt: skip
_hostile_nodes = st.lists(
    st.tuples(st.lists(st.integers(0, 30), min_size=1, max_size=8), st.just("replace"), _NODES),
    max_size=1,
)

rewritten_cases = st.fixed_dictionaries(
    {
        "method": st.sampled_from(METHODS),
        "about": st.just([]) | json_edits,
        "schema": st.just([]) | json_edits | _hostile_nodes,
        "array": st.none() | st.tuples(st.integers(0, 50), byte_edits),
    }
)


def check_model_bytes(case: dict[str, Any], folder: Path) -> bool:
    """A damaged model is rejected, or predicts."""
    return _check_model(edit_bytes(model_bytes(case["method"]), case["edits"]), folder)


def check_rewritten(case: dict[str, Any], folder: Path) -> bool:
    """A model that was changed together with its checksums is rejected, or predicts."""
    members = _unpack(model_bytes(case["method"]))
    about = edit_json(json.loads(members["about.json"]), case["about"])
    members["about.json"] = json.dumps(about).encode()
    inner = _unpack(members["pipeline.skops"])
    schema = edit_json(json.loads(inner["schema.json"]), case["schema"])
    inner["schema.json"] = json.dumps(schema).encode()
    inner["evil.npy"] = b"\x93NUMPY\x01\x00\x16\x00{'descr':'|O','shape':()}" + PICKLE
    arrays = sorted(name for name in inner if name.endswith((".npy", ".npz")))
    if case["array"] and arrays:
        which, edits = case["array"]
        name = arrays[which % len(arrays)]
        inner[name] = edit_bytes(inner[name], edits)
    members["pipeline.skops"] = _pack(inner)
    members["SHA256SUMS"] = "".join(
        f"{hashlib.sha256(members[name]).hexdigest()}  {name}\n"
        for name in ("about.json", "pipeline.skops")
    ).encode()
    return _check_model(_pack(members), folder)


def _check_model(content: bytes, folder: Path) -> bool:
    model, table, out = folder / "people.model", folder / "table.csv", folder / "out.csv"
    model.write_bytes(content)
    table.write_bytes(table_bytes())
    if attempt(load_model, model) is REJECTED:
        check_canary()
        return False
    ended = run_command("predict", model, table, "--out", out)
    check_canary()
    if ended.done:
        check_written(table, out, "predict")
    return ended.done


def _unpack(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _pack(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


TARGETS = [
    Target("model-bytes", "inputs", byte_cases, check_model_bytes, share=7),
    Target("models", "inputs", rewritten_cases, check_rewritten, share=7),
]
