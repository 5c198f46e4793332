"""``ambilearn`` and ``python -m ambilearn``: the command line, or how to install it."""

import sys


def main() -> None:
    """Run the command line; without its extra, print one line and exit with status 1."""
    try:
        _run()
    except KeyboardInterrupt:  # outside of click
        sys.exit("Aborted!")


def _run() -> None:
    from ambilearn._utils.optional import requires_extra

    try:
        with requires_extra("cli", purpose="The command line"):
            from ambilearn.cli.console import prepare_streams
            from ambilearn.cli.main import main as run
    except ImportError as error:
        sys.exit(str(error))
    prepare_streams()
    run()


if __name__ == "__main__":
    main()
