"""Commands with random options and values."""

import os
from pathlib import Path

from hypothesis import strategies as st

from torture.commands import run_command
from torture.hostile import encodable_texts, words
from torture.oracle import Defect, check_canary
from torture.samples import write_samples
from torture.target import Target

COMMANDS = (
    "clean", "fit", "predict", "review", "data list", "data check", "data fetch",
    "paper tables", "paper verify", "paper report",
)  # fmt: skip
FILES = ("table.csv", "people.model", "mine.toml", "store.sqlite", "-", "nowhere.csv", ".", "",
         "out.csv", "out.parquet", "out.jsonl", "out.model", "out.html", "link.csv")  # fmt: skip
OPTIONS = (
    "--candidates", "--given-label", "--sep", "--min-votes", "--fallback", "--missing", "--checked",
    "--label", "--truth", "--exclude", "--features", "--categorical", "--format", "--encoding",
    "--delimiter", "--sheet", "--method", "--set", "--seed", "--prefix", "--out", "--model-out",
    "--store", "--item", "--annotator", "--answer", "--features-from", "--annotators-out",
    "--no-answer", "--image", "--runs", "--scaling", "--data-home", "--image-folder",
)  # fmt: skip
FLAGS = (
    "--tune",
    "--fast",
    "--na-is-label",
    "--weight-annotators",
    "--no-images",
    "--embed-images",
    "--quick",
    "--nonsense",
)

_values = st.one_of(
    st.sampled_from(FILES),
    st.sampled_from(["x", "town", "names", "*", "csv", "n_neighbors=2", "plknn", "kernel=linear",
                     "n_neighbors=1e400", "reg=nan", "=", "|", "2", "-1", "9" * 400, "\\t"]),
    encodable_texts,
)  # fmt: skip
_tame = st.just(["table.csv", "--candidates", "names", "--out", "out.csv", "--method", "plknn"])
command_line_cases = st.tuples(
    st.sampled_from(COMMANDS).map(str.split),
    st.lists(st.sampled_from(FILES) | words, max_size=2) | _tame,
    st.lists(
        st.tuples(st.sampled_from(OPTIONS), _values) | st.tuples(st.sampled_from(FLAGS)), max_size=3
    ),
).map(lambda parts: [*parts[0], *parts[1], *(word for option in parts[2] for word in option)])

SAMPLES = ("table.csv", "people.model", "mine.toml", "store.sqlite")
OUTPUT_OPTIONS = ("--out", "--model-out", "--annotators-out", "--store")


def check_command_line(case: list[str], folder: Path) -> bool:
    """A command succeeds or prints an error, and changes no file but its outputs."""
    write_samples(folder)
    os.symlink("table.csv", folder / "link.csv")
    before = {name: (folder / name).read_bytes() for name in SAMPLES}
    here = Path.cwd()
    os.chdir(folder)
    try:
        arguments = [argument.replace("\0", "") for argument in case]  # not allowed in arguments
        ended = run_command(*arguments, stdin=before["table.csv"])
    finally:
        os.chdir(here)
    check_canary()
    for name, content in before.items():
        if name == "store.sqlite" or name in _outputs_only(case):
            continue  # SQLite may rewrite the store; its content is checked elsewhere
        if not (folder / name).exists() or (folder / name).read_bytes() != content:
            raise Defect("destroyed", f"{name} has changed", name)
    return ended.done


def _outputs_only(case: list[str]) -> set[str]:
    """Files that the command line names as outputs and nowhere else: these may be replaced."""
    named = {True: set[str](), False: set[str]()}
    for option, word in zip(["", *case], case, strict=False):
        named[option in OUTPUT_OPTIONS].add(word)
    return named[True] - named[False]


TARGETS = [Target("command-lines", "inputs", command_line_cases, check_command_line, share=6)]
