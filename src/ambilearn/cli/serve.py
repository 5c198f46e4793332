"""``ambilearn review`` without --out: from the options to the results."""

import os
import re
import signal
import stat
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ambilearn._utils.interrupts import delaying_interrupts
from ambilearn._utils.text import pluralize, readable_file_name
from ambilearn.cli.clean import write_results
from ambilearn.cli.console import Console
from ambilearn.cli.outputs import check_outputs
from ambilearn.cli.plan import FAST, Request
from ambilearn.registry import METHODS

if TYPE_CHECKING:
    from ambilearn.review.images import ServedImages
    from ambilearn.review.journal import Journal
    from ambilearn.review.learner import Learner
    from ambilearn.review.process import SessionProcess
    from ambilearn.review.record import Review
    from ambilearn.review.server import ReviewServer
    from ambilearn.review.service import ReviewService
    from ambilearn.tables.read import CandidateTable

_ADDRESS = re.compile(rb"(http://127\.0\.0\.1:(\d{1,5})/([\w-]{20,64})/)")


class Shown(NamedTuple):
    """What a page shows: options about images, and columns that are shown first."""

    column: str | None
    hidden: bool
    embedded: bool
    folders: tuple[Path, ...]
    columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class ServeOptions:
    """Options of a served review."""

    journal: Path | None
    port: int
    browser: bool
    cleaned_out: Path | None
    checked_out: Path | None
    model_out: Path | None
    prefix: str = ""

    def named_outputs(self) -> list[str]:
        """Names of the files that the options name."""
        return [readable_file_name(str(path)) for path in self.outputs() if path is not None]

    def outputs(self) -> list[Path | None]:
        """Files that are written at the end."""
        return [self.cleaned_out, self.checked_out, self.model_out]


def serve_review(
    console: Console,
    request: Request,
    options: ServeOptions,
    shown: Shown,
) -> None:
    """Serve a review until it ends, then write its results."""
    journal_path = options.journal or Path(f"{request.source}.journal")
    outputs = [journal_path, _address_file(journal_path), *options.outputs()]
    check_outputs([*outputs, request.annotators_out], request.inputs())
    from ambilearn.review.images import without_pillow_warnings
    from ambilearn.review.journal import replay
    from ambilearn.review.process import SessionProcess
    from ambilearn.tables.corrections import write_corrections

    with ExitStack() as stack:
        process = stack.enter_context(SessionProcess())  # starts while the table is read
        read, table, image = _read_table(console, request, options, shown)
        journal = stack.enter_context(_open_journal(journal_path, table))
        stack.enter_context(without_pillow_warnings())
        about: dict[str, Any] = {"image": image, "images": _served_images(request, shown.folders)}
        about["show"] = shown.columns
        outputs_named = options.named_outputs()
        service = _start_session(console, request, process, table, journal, about, outputs_named)
        labels = service.answers.labels
        if journal.entries:
            console.say(f"{pluralize(len(labels), 'row')} settled: {journal_path}")
        server = _start(service, journal_path, options.port)
        _wait(console, server, journal_path, options.browser)
        with delaying_interrupts() as interrupts:  # the answers are written in any case
            _stop(server, journal_path)
            process.end()
            _keep_answers(console, journal)
            n_rows = pluralize(len(labels), "row")
            console.say(f"{n_rows} settled; the answers are in {journal.path}")
            if options.checked_out:
                random = replay(journal.entries).random - process.progress.released
                write_corrections(options.checked_out, labels, table.texts, random)
                console.say(f"wrote {options.checked_out}: {n_rows}")
            if not any(options.outputs()):
                console.say(
                    "To write results, repeat the command with --cleaned-out FILE, "
                    "--model-out FILE or --checked-out FILE."
                )
    # The rows that were reviewed: the file may have changed in the meantime.
    answered = read.with_checked(labels)
    _finish(console, replace(request, annotators_out=None), answered, options, interrupts)


def _keep_answers(console: Console, journal: "Journal") -> None:
    """Write the journal again if it was changed after the last answer."""
    try:
        journal.keep()
    except OSError as error:
        console.say(f"{journal.path} was changed, and cannot be written again ({error.strerror}).")
    if journal.notice:
        console.say(journal.notice, style="yellow")


def _read_table(
    console: Console, request: Request, options: ServeOptions, shown: Shown
) -> "tuple[CandidateTable, CandidateTable, str | None]":
    """The table without corrections, the same without images as a feature, and their column."""
    console.show("reading the table")
    from ambilearn.review.from_table import drop_feature, image_column
    from ambilearn.review.record import check_number_of_rows
    from ambilearn.tables.clean import check_new_columns
    from ambilearn.tables.writing import check_writable, format_of_name

    table = request.with_checked(None).read()
    check_number_of_rows(len(table.frame))  # before the fit
    if options.cleaned_out:
        check_writable(format_of_name(str(options.cleaned_out)))
        check_new_columns(table, options.prefix)
    if shown.column is not None or shown.hidden:
        return table, table, shown.column
    image = image_column(table)
    return table, drop_feature(table, image), image


def _served_images(request: Request, other_folders: tuple[Path, ...]) -> "ServedImages":
    from ambilearn.review.images import ServedImages

    folder = Path(request.table.features_from or request.source).parent
    return ServedImages(folder, folder, other_folders=other_folders)


def correct(console: Console, request: Request, table: Any) -> dict[str, Any]:
    """Correct the given labels: what the page shows of them."""
    if request.learning.fast:
        raise click.UsageError(FAST)
    from numpy import isnan

    corrected = request.correct(console, table)
    shown, probabilities = corrected.to_review()
    return {
        "table": shown,
        "scores": probabilities,
        # Without calibration (the features are useless), the page shows scores, as `clean` does.
        "confidences": None if isnan(corrected.choices.confidences).any() else probabilities,
        "doubt": corrected.doubt,
        "choices": corrected.choices,
        "given": corrected.given,
        "method": METHODS[request.learning.method].name if request.learning.method else "",
    }


class _Start(NamedTuple):
    """What the page shows at the start, and how the learner is made in its process."""

    table: "CandidateTable"
    name: str
    page: "Callable[..., Review]"
    make: "Callable[..., Learner]"
    arguments: tuple[Any, ...]
    options: dict[str, Any]


def _learn_candidates(console: Console, request: Request, table: "CandidateTable") -> _Start:
    from ambilearn.review.from_table import make_page
    from ambilearn.review.learner import make_learner

    plan = request.plan(console, table)
    name = METHODS[plan.method].name
    return _Start(
        plan.table,
        name,
        partial(make_page, plan.table, name),
        make_learner,
        (plan.table, plan.method, plan.params),
        {"tune": plan.tune, "device": plan.device, "doubt": not plan.fast},
    )


def _learn_given_labels(console: Console, request: Request, table: "CandidateTable") -> _Start:
    from ambilearn.review.from_table import review_from_table
    from ambilearn.review.learner import make_given_label_learner

    found, method = correct(console, request, table), request.learning.method
    shown, params = found["table"], request.learning.parameters() if method else None
    return _Start(
        shown,
        found["method"] or "held-out labels",
        partial(review_from_table, **found),
        make_given_label_learner,
        (table, shown.candidates, method, params),
        {},
    )


def _start_session(
    console: Console,
    request: Request,
    process: "SessionProcess",
    table: "CandidateTable",
    journal: "Journal",
    shown: dict[str, Any],
    outputs: list[str],
) -> "ReviewService":
    """Fit the method in its process, with the checked rows and the answers of the journal.

    ``shown`` are the arguments about images and columns of the page.
    """
    from ambilearn.review.actions import label_parser
    from ambilearn.review.service import ReviewService
    from ambilearn.tables.corrections import read_corrections

    classes, checked = table.candidates.classes, request.table.checked
    given = read_corrections(checked, table.texts, classes, sep=table.sep)
    learn = _learn_given_labels if request.table.given_label else _learn_candidates
    start = learn(console, request, table)
    service = ReviewService(
        start.page(**shown),
        journal,
        label_parser(start.table.candidates.classes, table.sep),
        labels=given.labels,
        images=shown["images"].paths,
        outputs=outputs,
    )
    console.stage(f"fitting {start.name}")
    seed = {"random_state": request.learning.seed}
    process.start(
        start.make,
        *start.arguments,
        **start.options,
        **seed,
        progress=console.stage,
        session=service.session_options() | seed,
        skipped=service.skipped,
    )
    service.connect(process)
    return service


@contextmanager
def _open_journal(path: Path, table: "CandidateTable") -> Iterator["Journal"]:
    from ambilearn.review.actions import label_parser
    from ambilearn.review.journal import Journal, JournalInUseError, ReviewedRows

    parse = label_parser(table.candidates.classes, table.sep)
    try:
        journal = Journal(path, ReviewedRows.of_table(table), parse)
    except JournalInUseError as error:
        _, _, address = _read_address(path)
        where = f" It is at {address}" if address else ""
        raise click.ClickException(f"{error}{where}") from error
    with journal:
        yield journal


def _wait(console: Console, server: "ReviewServer", journal: Path, browser: bool) -> None:
    """Wait until the page ends the review or the user presses Ctrl-C."""
    from ambilearn.review.server import prompt_replies

    note = _write_address(journal, server.address)
    try:
        with _ending_on_termination(), prompt_replies():
            console.say(f"Review at {server.address}")
            console.say("To end it, use the button Finish, or press Ctrl-C here.")
            if browser:
                with suppress(webbrowser.Error):
                    webbrowser.open(note.absolute().as_uri())
            while not server.service.ended.wait(0.5):  # Windows delivers Ctrl-C only between waits
                pass
    except KeyboardInterrupt:
        console.say("")


def _stop(server: "ReviewServer", journal: Path) -> None:
    server.close()
    _address_file(journal).unlink(missing_ok=True)


@contextmanager
def _ending_on_termination() -> Iterator[None]:
    """Treat a request to terminate the process like Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _start(service: "ReviewService", journal: Path, port: int) -> "ReviewServer":
    """The server, at the address of a server that was killed, if that is free."""
    from ambilearn.review.server import ReviewServer

    known_port, token, _ = _read_address(journal)
    if not port and known_port:
        with suppress(OSError, OverflowError):
            return ReviewServer(service, known_port, token).start()
    try:
        return ReviewServer(service, port, token).start()
    except OSError as error:
        raise click.ClickException(
            f"Port {port} cannot be used ({error.strerror}). Choose another --port, or leave it "
            "out."
        ) from error


def _address_file(journal: Path) -> Path:
    """A file that opens the review: the command line of a browser, which has no token, is public.

    Only the user may read it.
    """
    return journal.with_name(f"{journal.name}.html")


def _write_address(journal: Path, address: str) -> Path:
    file = _address_file(journal)
    file.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(os.open(file, flags, 0o600), "w", encoding="utf-8") as opened:
        opened.write(
            f'<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
            f'<meta http-equiv="refresh" content="0; url={address}"><title>Review</title>'
            f'<a href="{address}">Open the review</a>\n'
        )
    return file


def _read_address(journal: Path) -> tuple[int | None, str | None, str | None]:
    """Port, token and address of a server that runs, or was killed.

    From a file that only this user can have written.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with suppress(OSError), os.fdopen(os.open(_address_file(journal), flags), "rb") as file:
        status = os.fstat(file.fileno())
        is_own = stat.S_ISREG(status.st_mode) and (
            not hasattr(os, "geteuid")
            or (status.st_uid == os.geteuid() and not status.st_mode & 0o077)
        )
        found = _ADDRESS.search(file.read(10_000)) if is_own else None
        if found:
            return int(found[2]), found[3].decode(), found[1].decode()
    return None, None, None


def _finish(
    console: Console,
    request: Request,
    table: "CandidateTable",
    options: ServeOptions,
    interrupts: list[int],
) -> None:
    """Write what `clean` and `fit` write with the answers, unless the user interrupts."""
    if not options.cleaned_out and not options.model_out:
        return
    console.say("Press Ctrl-C to skip the final fit.")
    try:
        if interrupts:  # pressed twice at the end of the review
            raise KeyboardInterrupt
        outputs = options.cleaned_out, options.model_out
        write_results(console, request, table, *outputs, prefix=options.prefix)
    except KeyboardInterrupt:
        console.say("The final fit was interrupted. The same command continues the review.")
        raise click.exceptions.Exit(130) from None
