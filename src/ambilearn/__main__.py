"""``ambilearn`` and ``python -m ambilearn``: the command line, or how to install it."""

import os
import sys


def main() -> None:
    """Run the command line; without its extra, print one line and exit with status 1."""
    try:
        _run()
    except KeyboardInterrupt:  # outside of click
        sys.exit("Aborted!")


def _run() -> None:
    from ambilearn._utils.text import requires_extra

    try:
        with requires_extra("cli", purpose="The command line"):
            from ambilearn.cli.main import main as run
    except ImportError as error:
        sys.exit(str(error))
    replace_closed_streams()
    run()


def replace_closed_streams() -> None:
    """Open the null device in place of closed standard streams.

    Otherwise, the next file that is opened gets their descriptor, and messages of libraries are
    written to it. Only messages can be written to the null device: reading a closed input and
    writing to a closed output remain errors.
    """
    for number, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # takes the lowest free descriptor
    if sys.stderr is None:  # click would write messages to the standard output
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115


if __name__ == "__main__":
    main()
