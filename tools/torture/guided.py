"""Coverage-guided fuzzing of the byte formats with atheris.

Atheris is optional (``pip install atheris``, on Linux); a campaign uses it if it is installed. To
run it alone: ``python -m torture.guided FORMAT --seconds 60``.
"""

import argparse
import io
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

FORMATS = ("csv", "jsonl", "mat", "model", "toml")


def run_guided(format: str, seconds: float, seed: int, keep: Path) -> tuple[int, str]:
    """Run atheris; returns the number of inputs, and the error of the last one or ""."""
    keep.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "torture.guided", format, "--seed", str(seed)]
    command += ["--seconds", str(max(int(seconds), 1)), "--keep", str(keep)]
    ran = subprocess.run(command, capture_output=True)
    said = ran.stderr.decode("utf-8", "replace")
    counts = re.findall(r"^(?:Done |#)(\d+)", said, re.M)
    return int(counts[-1]) if counts else 0, "" if ran.returncode == 0 else said[-1500:]


def is_installed() -> bool:
    """Whether atheris is installed."""
    return find_spec("atheris") is not None


def _reader(format: str) -> tuple[Callable[[bytes], Any], bytes]:
    """Function that reads the bytes of a format, and the first input."""
    from ambilearn.datasets import read_mat
    from ambilearn.experiments.spec import parse_spec
    from ambilearn.tables import read_candidate_table
    from ambilearn.tables.model_file import load_model
    from torture import mat_files, samples

    place = Path(tempfile.mkdtemp(prefix="torture-"), "file")

    def from_file(read: Callable[[Path], Any]) -> Callable[[bytes], Any]:
        return lambda content: (place.write_bytes(content), read(place))

    def table(content: bytes) -> Any:
        return read_candidate_table(io.BytesIO(content), candidates="names", format=format).X

    if format in ("csv", "jsonl"):
        return table, samples.table_bytes(format)
    if format == "mat":
        case = {"data": [[1, 2], [3, 4]], "partial_target": [[1, 0], [1, 1]], "target": None}
        return from_file(read_mat), mat_files.make_mat(
            case | {"kind": "sparse", "compressed": False}
        )
    if format == "model":
        return from_file(load_model), samples.model_bytes()
    return lambda content: parse_spec("mine", content.decode("latin-1")), samples.SPEC.encode()


def main() -> None:
    """Fuzz one format until the time is over or a defect is found."""
    parser = argparse.ArgumentParser()
    parser.add_argument("format", choices=FORMATS)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, default=Path("out/torture"))
    args = parser.parse_args()
    import atheris

    with atheris.instrument_imports(include=["ambilearn"], enable_loader_override=False):
        read, first = _reader(args.format)
    from torture.oracle import attempt

    warnings.simplefilter("ignore")
    corpus = Path(tempfile.mkdtemp(prefix="torture-"))
    (corpus / "first").write_bytes(first)
    options = [
        f"-max_total_time={args.seconds}",
        f"-seed={args.seed + 1}",  # 0 means a random seed for libFuzzer
        f"-artifact_prefix={args.keep}/guided-{args.format}-",
        f"-max_len={2 * len(first) + 200}",
        "-rss_limit_mb=4096",
        "-timeout=60",
    ]
    atheris.Setup([sys.argv[0], *options, str(corpus)], lambda content: attempt(read, content))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
