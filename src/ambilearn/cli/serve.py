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
from typing import TYPE_CHECKING

import click

from ambilearn._utils.text import pluralize, readable_file_name
from ambilearn._utils.warnings import delaying_interrupts
from ambilearn.cli.clean import write_results
from ambilearn.cli.console import Console
from ambilearn.cli.judging import FAST, correct_labels
from ambilearn.cli.outputs import check_outputs
from ambilearn.cli.plan import make_plan
from ambilearn.cli.request import Request
from ambilearn.registry import METHODS

if TYPE_CHECKING:
    from ambilearn.review.from_table import JudgedTable
    from ambilearn.review.journal import Journal
    from ambilearn.review.learner import Learner
    from ambilearn.review.process import SessionProcess
    from ambilearn.review.server import ReviewServer
    from ambilearn.review.service import ReviewService
    from ambilearn.tables.candidate_table import CandidateTable

_ADDRESS = re.compile(rb"(http://127\.0\.0\.1:(\d{1,5})/([\w-]{20,64})/)")


@dataclass(frozen=True, kw_only=True)
class ReviewOptions:
    """Options of a review, by their names."""

    image: str | None = None
    no_images: bool
    embed_images: bool
    image_folders: tuple[Path, ...]
    show: tuple[str, ...]
    journal: Path | None = None
    port: int | None = None
    no_browser: bool
    cleaned_out: Path | None = None
    checked_out: Path | None = None
    model_out: Path | None = None
    prefix: str

    @property
    def outputs(self) -> list[Path]:
        """Files that are written at the end of a served review."""
        return list(filter(None, [self.cleaned_out, self.checked_out, self.model_out]))


def read_reviewed(
    console: Console, request: Request, options: ReviewOptions
) -> "tuple[CandidateTable, CandidateTable, str | None]":
    """The table as `clean` reads it, the same for the review, and its column of images.

    In the review, the names of images are not a feature.
    """
    console.show("reading the table")  # before the imports, which take a while
    from ambilearn.review.from_table import drop_feature, image_column
    from ambilearn.review.page import check_number_of_rows

    table = request.read()
    check_number_of_rows(len(table.frame))  # before the fit
    if options.image is not None or options.no_images:
        return table, table, options.image
    image = image_column(table)
    return table, drop_feature(table, image), image


def serve_review(console: Console, request: Request, options: ReviewOptions) -> None:
    """Serve a review until it ends, then write its results."""
    request.check(console, options.cleaned_out, options.checked_out, model_out=options.model_out)
    path = options.journal or Path(f"{request.table.source}.journal")
    outputs = [path, _address_file(path), *options.outputs, request.annotators_out]
    check_outputs(outputs, request.inputs())
    from ambilearn.review.images import without_pillow_warnings
    from ambilearn.review.journal import replay
    from ambilearn.review.process import SessionProcess
    from ambilearn.tables.corrections import write_corrections

    with ExitStack() as stack:
        process = stack.enter_context(SessionProcess())  # starts while the table is read
        unchecked = replace(request, table=replace(request.table, checked=None))
        read, table, image = read_reviewed(console, unchecked, options)
        if options.cleaned_out:
            from ambilearn.tables.clean import check_new_columns
            from ambilearn.tables.writing import check_writable, format_of_name

            check_writable(format_of_name(str(options.cleaned_out)))
            check_new_columns(read, options.prefix)
        journal = stack.enter_context(_open_journal(path, table))
        stack.enter_context(without_pillow_warnings())
        service = _start_session(console, request, options, process, table, image, journal)
        labels = service.answers.labels
        if journal.entries:
            console.say(f"{pluralize(len(labels), 'row')} settled: {path}")
        server = _start_server(service, path, options.port)
        _wait(console, server, path, not options.no_browser)
        with delaying_interrupts() as interrupts:  # the answers are written in any case
            server.close()
            _address_file(path).unlink(missing_ok=True)
            process.end()
            try:
                journal.keep()
            except OSError as error:
                console.say(f"{path} was changed, and cannot be written again ({error.strerror}).")
            if journal.notice:
                console.say(journal.notice, style="yellow")
            n_rows = pluralize(len(labels), "row")
            console.say(f"{n_rows} settled; the answers are in {journal.path}")
            if options.checked_out:
                random = replay(journal.entries).random - process.progress.released
                write_corrections(options.checked_out, labels, table.texts, random)
                console.say(f"wrote {options.checked_out}: {n_rows}")
            if not options.outputs:
                console.say(
                    "To write results, repeat the command with --cleaned-out FILE, "
                    "--model-out FILE or --checked-out FILE."
                )
    # The rows that were reviewed: the file may have changed in the meantime.
    answered = read.with_checked(labels)
    _finish(console, replace(request, annotators_out=None), answered, options, interrupts)


def correct_table(console: Console, request: Request, table: "CandidateTable") -> "JudgedTable":
    """Correct the given labels, and describe the result."""
    from ambilearn.review.from_table import JudgedTable

    if request.fast:
        raise click.UsageError(FAST)
    method = request.method
    name = METHODS[method].name if method else ""
    return JudgedTable.of_corrected(correct_labels(console, request, table), name)


def _prepare(
    console: Console, request: Request, table: "CandidateTable"
) -> "tuple[JudgedTable, Callable[..., Learner]]":
    """What the page shows at first, and a function that makes the learner in its process."""
    from ambilearn.review.from_table import JudgedTable
    from ambilearn.review.learner import make_given_label_learner, make_learner

    if request.table.given_label:
        judged = correct_table(console, request, table)
        return judged, partial(
            make_given_label_learner,
            table,
            judged.table.candidates,
            request.method,
            request.parameters() if request.method else None,
            random_state=request.seed,
        )
    plan = make_plan(console, request, table)
    judged = JudgedTable.of_sets(plan.table, METHODS[plan.method].name)
    return judged, partial(
        make_learner,
        plan.table,
        plan.method,
        plan.params,
        tune=plan.tune,
        random_state=request.seed,
        device=plan.device,
        doubt=not plan.fast,
        trust_candidates=request.trust_candidates,
    )


def _start_session(
    console: Console,
    request: Request,
    options: ReviewOptions,
    process: "SessionProcess",
    table: "CandidateTable",
    image: str | None,
    journal: "Journal",
) -> "ReviewService":
    """Fit the method in its process, with the checked rows and the answers of the journal."""
    from ambilearn.review.from_table import Layout, review_from_table
    from ambilearn.review.images import ServedImages
    from ambilearn.review.service import ReviewService, label_parser
    from ambilearn.tables.corrections import read_corrections

    checked = request.table.checked
    given = read_corrections(checked, table.texts, table.candidates.classes, sep=table.sep)
    judged, make = _prepare(console, request, table)
    folder = Path(request.table.features_from or request.table.source).parent
    images = ServedImages(folder, folder, other_folders=options.image_folders)
    service = ReviewService(
        review_from_table(judged, Layout(image, images, options.show)),
        journal,
        label_parser(judged.table.candidates.classes, table.sep),
        labels=given.labels,
        images=images.paths,
        outputs=[readable_file_name(str(path)) for path in options.outputs],
    )
    console.stage(f"fitting {judged.method or 'held-out labels'}")
    answers = service.session_options() | {"random_state": request.seed}
    process.start(make, console.stage, skipped=service.skipped, **answers)
    service.connect(process)
    return service


def _open_journal(path: Path, table: "CandidateTable") -> "Journal":
    from ambilearn.review.journal import Journal, JournalInUseError, ReviewedRows
    from ambilearn.review.service import label_parser

    parse = label_parser(table.candidates.classes, table.sep)
    try:
        return Journal(path, ReviewedRows.of_table(table), parse)
    except JournalInUseError as error:
        _, _, address = _read_address(path)
        where = f" It is at {address}" if address else ""
        raise click.ClickException(f"{error}{where}") from error


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


def _start_server(service: "ReviewService", journal: Path, port: int | None) -> "ReviewServer":
    """The server, at the address of a server that was killed, if that is free."""
    from ambilearn.review.server import ReviewServer

    known_port, token, _ = _read_address(journal)
    if not port and known_port:
        with suppress(OSError, OverflowError):
            return ReviewServer(service, known_port, token).start()
    try:
        return ReviewServer(service, port or 0, token).start()
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
    options: ReviewOptions,
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
