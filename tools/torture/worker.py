"""A process that checks cases of one target until the time is over or a case ends the process.

Cases come in batches with separate seeds, so that a batch can be repeated. Counts and defects are
written after each batch. The current case is in a file, so that it is known after a crash or a
hang.
"""

import argparse
import faulthandler
import json
import os
import resource
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from torture.commands import fork, wait_for
from torture.oracle import Defect, describe, signature_of
from torture.target import Target
from torture.targets import find_target

PATIENCE = 200.0  # seconds after which a case is considered hung; its commands have less
MAX_MEMORY = 8 * 2**30  # bytes
CURRENT, PROGRESS = "current.case", "progress.jsonl"


class Tally:
    """Counts of a worker since they were last written, and the smallest case of each defect."""

    def __init__(self) -> None:
        self.accepted = self.rejected = self.failed = 0
        self.found: dict[str, dict[str, Any]] = {}
        self.reported: set[str] = set()

    def note(self, defect: Defect, case: Any) -> None:
        """Store the case if it is the smallest with this defect."""
        self.failed += 1
        text = repr(case)
        known = self.found.get(defect.signature)
        # The later of two cases of equal length is used, because cases are minimized.
        if known is None or len(text) <= len(known["case"]):
            self.found[defect.signature] = {
                "signature": defect.signature,
                "kind": defect.kind,
                "message": str(defect),
                "case": text,
            }

    def write(self, path: Path, batch: int) -> None:
        """Append the counts and defects to a file, and reset the counts."""
        line = {
            "batch": batch,
            "accepted": self.accepted,
            "rejected": self.rejected,
            "failed": self.failed,
        }
        with open(path, "a", encoding="utf-8") as file:
            print(json.dumps(line | {"found": list(self.found.values())}), file=file)
        self.accepted = self.rejected = self.failed = 0


def check_case(target: Target, case: Any, folder: Path, *, isolated: bool = False) -> bool:
    """Check one case in an empty folder; True if accepted, False if rejected; or a Defect."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if not isolated:
        try:
            return target.check(case, folder)
        except Defect:
            raise
        except Exception as error:
            raise Defect("traceback", describe(error), signature_of(error)) from error
    with tempfile.TemporaryDirectory() as streams:
        child = fork(lambda: 0 if target.check(case, folder) else 1, Path(streams))
        ended = wait_for(child, Path(streams))
    if ended.status not in (0, 1):
        raise Defect("crash", f"status {ended.status}: {ended.err[-200:]}", "in isolation")
    return ended.status == 0


def run_batch(target: Target, batch: int, tally: Tally, args: Any) -> None:
    """Check a batch of cases; the first case of every new defect is minimized."""
    current, folder = args.folder / CURRENT, args.folder / "case"
    name = f"{args.seed} {target.name} {batch}"

    def check(case: Any) -> None:
        current.write_text(repr(case), "utf-8", "surrogatepass")
        faulthandler.dump_traceback_later(args.patience, exit=True, file=sys.__stderr__)
        try:
            accepted = check_case(target, case, folder, isolated=args.isolated)
        except Defect as defect:
            tally.note(defect, case)
            if defect.signature not in tally.reported:
                raise
        else:
            tally.accepted += accepted
            tally.rejected += not accepted
        finally:
            faulthandler.cancel_dump_traceback_later()

    if callable(target.cases):
        for number in range(batch * args.batch_size, (batch + 1) * args.batch_size):
            if target.most is None or number < target.most:
                with suppress(Defect):
                    check(target.cases(Random(f"{args.seed} {target.name} {number}"), number))
    else:
        with suppress(Defect):
            seed(name)(_settings(args.batch_size)(given(target.cases)(check)))()
    tally.reported |= set(tally.found)
    tally.write(args.folder / PROGRESS, batch)


def _settings(n_cases: int) -> settings:
    return settings(
        max_examples=n_cases,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )


def main() -> None:
    """Check batches until the time is over or all requested cases are checked."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--batches", type=int, default=10**9)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--batch-size", type=int)
    parser.add_argument("--patience", type=float, default=PATIENCE)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--isolated", action="store_true")
    args = parser.parse_args()
    target = find_target(args.target)
    args.batch_size = args.batch_size or target.batch_size
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.chdir(args.folder)
    tally = Tally()
    deadline = time.monotonic() + args.seconds
    for batch in range(args.first, args.first + args.batches):
        if target.most is not None and batch * args.batch_size >= target.most:
            break
        run_batch(target, batch, tally, args)
        if time.monotonic() > deadline:
            break


if __name__ == "__main__":
    main()
