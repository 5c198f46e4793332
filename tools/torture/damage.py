"""A table, a model and a store with one damaged byte: rejected, repaired or without effect."""

from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from ambilearn.experiments.store import Store
from ambilearn.tables.model_file import load_model
from torture.commands import run_command
from torture.oracle import REJECTED, Defect, attempt, check_canary
from torture.samples import SPEC, model_bytes, store_bytes, table_bytes
from torture.tables import check_written
from torture.target import Target

MOST = 5000  # every byte of smaller files is damaged, random bytes of larger files
# Damages of each file, and their fraction of the time.
CASES = {
    "table.csv": (1000, 1),
    "table.jsonl": (2000, 2),
    "table.parquet": (5000, 5),
    "table.xlsx": (5000, 5),
    "people.model": (5000, 3),
    "store.sqlite": (5000, 11),
}


@cache
def _content(name: str) -> bytes:
    if name == "people.model":
        return model_bytes()
    return store_bytes() if name == "store.sqlite" else table_bytes(name.partition(".")[2])


def draw_case(name: str) -> Any:
    """Function that draws the damage of a file, at consecutive or random positions."""

    def draw(random: Random, number: int) -> dict[str, Any]:
        size = len(_content(name))
        position = number if size <= MOST else random.randrange(size)
        return {"file": name, "position": position % size, "bits": random.randrange(1, 256)}

    return draw


def check_damage(case: dict[str, Any], folder: Path) -> bool:
    """A file with one changed byte is rejected, or the result is correct."""
    name = case["file"]
    content = bytearray(_content(name))
    content[case["position"]] ^= case["bits"]
    path = folder / name
    path.write_bytes(content)
    if name == "store.sqlite":
        return _check_store(path, show=case["position"] % 4 == 0)
    if name == "people.model":
        return _check_model(path)
    out = path.with_name(f"out{'.csv' if path.suffix == '.xlsx' else path.suffix}")
    ended = run_command("clean", path, "--candidates", "names", "--out", out, "--method", "plknn",
                        "--fast", "--set", "n_neighbors=2")  # fmt: skip
    check_canary()
    if ended.done:
        check_written(path, out, "clean")
    return ended.done


def _check_model(path: Path) -> bool:
    if attempt(load_model, path) is REJECTED:
        return False
    out, table = path.with_name("out.csv"), path.with_name("table.csv")
    table.write_bytes(table_bytes())
    if not run_command("predict", path, table, "--out", out).done:
        return False
    if out.read_bytes() != _predicted():
        raise Defect("wrong", "a damaged model has other predictions")
    return True


@cache
def _predicted() -> bytes:
    table, model = Path("whole.csv").absolute(), Path("whole.model").absolute()
    table.write_bytes(table_bytes())
    model.write_bytes(model_bytes())
    return run_command("predict", model, table).out


@cache
def _results() -> dict[str, Any]:
    path = Path("whole.sqlite").absolute()
    path.write_bytes(store_bytes())
    with Store(path) as store:
        return store.results()


def _check_store(path: Path, *, show: bool) -> bool:
    spec = path.with_name("mine.toml")
    spec.write_text(SPEC)
    if show:
        run_command("paper", "tables", spec, "--store", path)
    ended = run_command("paper", "run", spec, "--store", path, "--jobs", 1)
    if ended.done:
        whole = _results()
        with Store(path) as store:
            found = store.results(whole)
        if len(found) < len(whole):
            raise Defect("lost", f"{len(whole) - len(found)} results without a message", "results")
    return ended.done


TARGETS = [
    Target(
        f"damaged-{name}", "damaged bytes", draw_case(name), check_damage, share=share, most=most
    )
    for name, (most, share) in CASES.items()
]
