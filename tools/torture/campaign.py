"""The campaign: runs every target in a separate process and collects the results."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from torture.oracle import KINDS
from torture.target import Target
from torture.worker import CURRENT, PATIENCE, PROGRESS

TOOLS = Path(__file__).resolve().parents[1]
TESTS = TOOLS.parent / "tests"  # contains the test server
# Forked copies must not inherit threads, and one core is enough for one worker.
_WORKERS: set[subprocess.Popen[bytes]] = set()  # running workers
SINGLE_THREADED = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@dataclass
class Outcome:
    """Results of a campaign.

    Attributes
    ----------
    accepted, rejected : Counter
        Cases of each target with a result, and with an error of ambilearn.
    found : dict
        The smallest case of each defect, by target and signature.
    """

    accepted: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    found: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def add(self, target: str, line: dict[str, Any]) -> None:
        """Add the log of a worker."""
        self.accepted[target] += line.get("accepted", 0)
        self.rejected[target] += line.get("rejected", 0)
        self.failed[target] += line.get("failed", 0)
        for defect in line["found"]:
            key = target, defect["signature"]
            if key not in self.found or len(defect["case"]) < len(self.found[key]["case"]):
                self.found[key] = defect | {"target": target}

    def count(self, target: Target) -> int:
        """Number of checked cases of a target, without commands that ended before their kill."""
        accepted = 0 if target.counted_as == "kills" else self.accepted[target.name]
        return accepted + self.rejected[target.name] + self.failed[target.name]

    def summary(self, targets: Iterable[Target]) -> str:
        """Number of cases and defects of each kind."""
        counts: Counter[str] = Counter()
        for target in targets:
            counts[target.counted_as] += self.count(target)
        parts = [f"{count:,} {what}" for what, count in counts.items()]
        return ", ".join(parts + [f"{count} {kind}" for kind, count in self.kinds().items()])

    def kinds(self) -> dict[str, int]:
        """Number of different defects of each kind."""
        counts = Counter(defect["kind"] for defect in self.found.values())
        return {kind: counts[kind] for kind in KINDS}


def run_campaign(
    targets: Iterable[Target],
    *,
    seconds: float,
    seed: int,
    jobs: int = 1,
    cases: int | None = None,
    patience: float = PATIENCE,
    keep: Path,
    say: Callable[[str], None] = print,
) -> Outcome:
    """Run a campaign on the given targets.

    Parameters
    ----------
    targets : iterable of Target
        Targets of the campaign.
    seconds : float
        Time for all targets, divided by their shares.
    seed : int
        Seed of the cases; their number depends on the time.
    jobs : int, default=1
        Number of parallel targets.
    cases : int, optional
        Maximum number of cases of each target, regardless of the time.
    patience : float
        Seconds after which a case is considered hung.
    keep : Path
        Folder for failing cases.
    say : callable
        Called with each line of the report.

    Returns
    -------
    Outcome
    """
    targets = sorted(targets, key=lambda target: -target.share)
    outcome = Outcome()
    seconds_per_share = seconds * jobs / sum(target.share for target in targets)

    def torture(target: Target) -> None:
        with tempfile.TemporaryDirectory(prefix="torture-") as folder:
            options = ["--seed", str(seed), "--patience", str(patience), "--folder", folder]
            time_limit = min(seconds_per_share * target.share, seconds)
            _torture(target, time_limit, options, cases, outcome)
        for line in _describe(target, outcome, keep):
            say(line)

    with ThreadPoolExecutor(jobs) as pool:
        try:
            list(pool.map(torture, targets))
        except BaseException:
            for worker in list(_WORKERS):
                os.killpg(worker.pid, signal.SIGKILL)
            pool.shutdown(cancel_futures=True)
            raise
    return outcome


def _describe(target: Target, outcome: Outcome, keep: Path) -> Iterator[str]:
    """Report of a target; failing cases are stored."""
    found = [defect for (name, _), defect in outcome.found.items() if name == target.name]
    yes, no = target.outcomes
    yield (
        f"{target.name:<20} {outcome.count(target):>7,} {target.counted_as}: "
        f"{outcome.accepted[target.name]:,} {yes}, {outcome.rejected[target.name]:,} {no}, "
        f"{len(found)} defects"
    )
    for defect in found:
        path = keep_case(defect, keep)
        yield f"  {defect['message'][:500]}"
        yield f"    smallest case: {defect['case'][:300]}\n    saved in {path}"


def keep_case(defect: dict[str, Any], keep: Path) -> Path:
    """Write a failing case to a file for replay; returns the file."""
    keep.mkdir(parents=True, exist_ok=True)
    text = f"{defect['target']} {defect['signature']}"
    number = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    path = keep / f"{defect['target']}-{defect['kind']}-{number}.json"
    path.write_text(json.dumps(defect, indent=1), "utf-8")
    return path


def _torture(
    target: Target, seconds: float, options: list[str], cases: int | None, outcome: Outcome
) -> None:
    """Run workers until the time is over; a crashed worker is replaced."""
    deadline = time.monotonic() + seconds
    folder = Path(options[-1])
    batches = 10**9
    if cases is not None:
        options = [*options, "--batch-size", str(min(cases, target.batch_size))]
        batches = -(-cases // target.batch_size)
    batch = 0
    while batch < batches and (batch == 0 or time.monotonic() < deadline):
        left = str(max(deadline - time.monotonic(), 0))
        several = ["--first", str(batch), "--batches", str(batches - batch), "--seconds", left]
        status, said, done = _run_worker(target, [*options, *several], folder, outcome)
        batch += done
        if status == 0:
            return
        end = _end_of_worker(status, said, folder / CURRENT)
        known = len(outcome.found)
        if "Timeout" not in said:  # repeat with one process per case, to minimize the case
            once = ["--first", str(batch), "--batches", "1", "--isolated"]
            _run_worker(target, [*options, *once], folder, outcome)
        if len(outcome.found) == known:
            outcome.add(target.name, end)
        batch += 1


def _run_worker(
    target: Target, options: list[str], folder: Path, outcome: Outcome
) -> tuple[int, str, int]:
    """Run a worker until it ends: exit status, output, number of batches."""
    progress = folder / PROGRESS
    progress.unlink(missing_ok=True)
    paths = [str(TOOLS), str(TESTS), os.environ.get("PYTHONPATH", "")]
    private = {
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "TORTURE_CANARY": str(folder / "canary"),
        "AMBILEARN_DEBUG": "1",  # unexpected errors print a traceback
        "AMBILEARN_DATA": str(folder / "data"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "NO_PROXY": "*",
    }
    command = [sys.executable, "-X", "faulthandler", "-m", "torture.worker", target.name, *options]
    worker = subprocess.Popen(
        command,
        env=os.environ | SINGLE_THREADED | private,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,  # so that it can be ended with all its child processes
    )
    _WORKERS.add(worker)
    said = worker.communicate()[1].decode("utf-8", "replace")
    _WORKERS.remove(worker)
    lines = progress.read_text("utf-8").splitlines() if progress.exists() else []
    for line in lines:
        outcome.add(target.name, json.loads(line))
    return worker.returncode, said, len(lines)


def _end_of_worker(status: int, said: str, current: Path) -> dict[str, Any]:
    """Defect for the case during which a worker ended."""
    kind = "hang" if "Timeout" in said else "crash"
    case = current.read_text("utf-8", "surrogatepass") if current.exists() else "None"
    frames = [line.strip() for line in said.splitlines() if "ambilearn" in line and "File" in line]
    where = frames[0] if frames else said[-300:]
    message = f"{kind}: the process ended with status {status}, at {where}"
    defect = {"signature": f"{kind} {where}", "kind": kind, "message": message, "case": case}
    return {"failed": 1, "found": [defect]}
