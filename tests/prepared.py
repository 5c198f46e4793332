"""Python in a process of its own that need not import the large libraries, which takes seconds.

Where the system can fork, the process is a fork of one that has imported them, and nothing of ours.
"""

import multiprocessing
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

_LIBRARIES = ["numpy", "pandas", "scipy.optimize", "scipy.stats", "sklearn.compose"]
_LIBRARIES += ["sklearn.linear_model", "sklearn.model_selection", "sklearn.neighbors"]
_LIBRARIES += ["sklearn.feature_extraction.text", "array_api_compat.numpy", "click"]
_FORKS = "forkserver" in multiprocessing.get_all_start_methods()
_PROCESSES = multiprocessing.get_context("forkserver" if _FORKS else "spawn")
# Dask's configuration for workers that are forks, too.
WORKERS = {"distributed.worker.multiprocessing-method": _PROCESSES.get_start_method()}
COMMAND_LINE = "from ambilearn.__main__ import main\nmain()"


def run(*arguments, input=b"", **options):
    """Exit status, output and errors of a process, the latter as bytes; see :func:`start`.

    The streams stdin, stdout and stderr may be names of other files, and None where closed.
    """
    with TemporaryDirectory() as folder:
        files = {name: Path(folder, name) for name in ("stdin", "stdout", "stderr")}
        for path in files.values():
            path.write_bytes(input if path.name == "stdin" else b"")
        streams = {name: options.pop(name, path) for name, path in files.items()}
        process = start(arguments, streams, **options)
        process.join()
        return process.exitcode, files["stdout"].read_bytes(), files["stderr"].read_bytes()


def start(arguments, streams, code=COMMAND_LINE, folder=".", paths=(), file_size=None):
    """A process that runs code, the command line if none is given, in a folder.

    Modules are looked for in ``paths`` first; a file may have ``file_size`` bytes.
    """
    if _FORKS:
        _PROCESSES.set_forkserver_preload(_LIBRARIES)
    words = [str(argument) for argument in arguments]
    place = os.path.abspath(folder), [str(path) for path in paths], dict(os.environ)
    process = _PROCESSES.Process(target=_run, args=(code, words, streams, place, file_size))
    process.start()
    return process


def _run(code, words, streams, place, file_size):
    folder, paths, variables = place
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    sys.path[:0] = paths
    sys.argv = ["-c", *words]
    for number, (name, path) in enumerate(streams.items()):
        if path is not None:
            mode = os.O_WRONLY | os.O_CREAT | os.O_APPEND if number else os.O_RDONLY
            os.dup2(os.open(path, mode), number)
        setattr(sys, name, _stream(number, name) if path is not None else None)
    for number, path in enumerate(streams.values()):
        if path is None:
            os.close(number)
    if file_size is not None:
        import resource

        sys.dont_write_bytecode = True  # compiled modules would be cut off, and stay
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, resource.RLIM_INFINITY))
    exec(compile(code, "<code>", "exec"), {"__name__": "__main__"})


def _stream(number, name):
    stream = open(number, "w" if number else "r", encoding="utf-8", closefd=False)  # noqa: SIM115
    stream.buffer.raw.name = f"<{name}>"
    return stream
