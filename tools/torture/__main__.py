"""``python -m torture``: run the robustness tests and report defects."""

import argparse
import ast
import json
import sys
import tempfile
from pathlib import Path

from torture.campaign import run_campaign
from torture.guided import FORMATS, is_installed, run_guided
from torture.oracle import Defect
from torture.targets import all_targets, find_target
from torture.worker import check_case

GUIDED_SHARE = 0.05  # additional time, relative to the campaign


def main() -> None:
    """Run a campaign, or replay a stored case; the exit status is 1 if there are defects."""
    parser = argparse.ArgumentParser(prog="torture", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="targets; by default all")
    parser.add_argument("--minutes", type=float, default=10.0, help="time for all targets")
    parser.add_argument("--jobs", type=int, default=1, help="number of parallel targets")
    parser.add_argument("--seed", type=int, default=0, help="seed of the cases")
    parser.add_argument("--cases", type=int, help="maximum number of cases of each target")
    parser.add_argument("--keep", type=Path, default=Path("out/torture"), help="for failing cases")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="a stored failing case")
    args = parser.parse_args()
    if args.replay:
        sys.exit(replay(args.replay))
    targets = [find_target(name) for name in args.targets] or list(all_targets().values())
    outcome = run_campaign(
        targets,
        seconds=60 * args.minutes,
        seed=args.seed,
        jobs=args.jobs,
        cases=args.cases,
        keep=args.keep,
    )
    print(outcome.summary(targets))
    found = bool(outcome.found)
    if is_installed() and not args.targets:
        for format in FORMATS:
            seconds = 60 * args.minutes * GUIDED_SHARE / len(FORMATS)
            count, wrong = run_guided(format, seconds, args.seed, args.keep)
            print(f"atheris, {format}: {count:,} inputs{', ' + wrong if wrong else ', 0 defects'}")
            found |= bool(wrong)
    sys.exit(found)


def replay(path: Path) -> int:
    """Replay a stored case in this process: 0 if it passes now."""
    kept = json.loads(path.read_text("utf-8"))
    print(f"{kept['target']}: {kept['case'][:2000]}")
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        try:
            accepted = check_case(
                find_target(kept["target"]), ast.literal_eval(kept["case"]), Path(folder, "case")
            )
        except Defect as defect:
            print(f"still fails: {defect}")
            return 1
    print("is accepted now" if accepted else "is rejected now, with an error of ambilearn")
    return 0


if __name__ == "__main__":
    main()
