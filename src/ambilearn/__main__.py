"""``python -m ambilearn``: the command line."""

from ambilearn.cli.main import main

if __name__ == "__main__":
    main(prog_name="python -m ambilearn")
