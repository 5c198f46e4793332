"""The entry point: Ctrl-C ends it without a traceback, also while it is still importing."""

import subprocess
import sys

import pytest

# Ctrl-C at the moment at which a module is looked for.
INTERRUPTED = """
import runpy, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == moment:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)

moment = sys.argv.pop(1)
sys.meta_path.insert(0, Interrupt())
runpy.run_module("ambilearn", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize(
    "moment",
    ["ambilearn._utils.text", "ambilearn.cli.main", "click", "lazy_loader",
     "ambilearn.cli.console", "rich.console"],
)  # fmt: skip
def test_an_interrupt_prints_no_traceback(moment):
    ran = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, moment, "data", "list"], capture_output=True, text=True
    )
    assert (ran.returncode, ran.stdout, ran.stderr.strip()) == (1, "", "Aborted!")
