"""The web server: only this machine, only with the token, only from its own page.

The standard library's server is enough for one person, and keeps the installation small.
"""

import hmac
import io
import json
import secrets
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic
from typing import Any, Self
from urllib.parse import parse_qs

from ambilearn.review.journal import is_name
from ambilearn.review.service import InvalidActionError, ReviewService, parse_action, parse_part

HOST = "127.0.0.1"
MAX_BODY = 4 * 2**20  # bytes; larger answers come in parts
_DIGITS = 12  # of a length
MAX_CONNECTIONS = 64  # with the token, and as many without
_PATIENCE = 20.0  # seconds for the head of a request, for its body, and for each part of a reply
_SWITCH = 0.0005  # seconds that a thread may run while another one waits
_HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_NO_FRAMES = "frame-ancestors 'none'"  # besides the policy in the page itself
_NO_SCRIPTS = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


class RateLimit:
    """Allows a number of requests per second in the long run, and more of them at once.

    >>> limit = RateLimit(1, 2, clock=lambda: 0.0)
    >>> [limit.allows() for _ in range(3)]
    [True, True, False]
    """

    def __init__(
        self, per_second: float, at_once: float, clock: Callable[[], float] = monotonic
    ) -> None:
        self._per_second, self._at_once, self._clock = per_second, at_once, clock
        self._left, self._last = at_once, clock()
        self._lock = threading.Lock()

    def allows(self) -> bool:
        """Whether one more request is allowed; counts it if so."""
        with self._lock:
            now = self._clock()
            passed = (now - self._last) * self._per_second
            self._left, self._last = min(self._at_once, self._left + passed), now
            if self._left < 1:
                return False
            self._left -= 1
            return True


class ReviewServer(ThreadingHTTPServer):
    """Serves a review on the loopback interface.

    Parameters
    ----------
    service : ReviewService
        What it serves.
    port : int, default=0
        Port; 0 for any that is free.
    token : str, optional
        Secret part of the address; by default a new one.

    Attributes
    ----------
    address : str
        Address of the page, with the token.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, service: ReviewService, port: int = 0, token: str | None = None) -> None:
        self.service = service
        self.token = token or secrets.token_urlsafe(24)
        self.with_token = RateLimit(100, 400)
        self.without_token = RateLimit(5, 20)
        self._places = threading.Lock()
        self._unknown: dict[Any, None] = {}  # connections without the token so far, oldest first
        self._admitted: set[Any] = set()
        super().__init__((HOST, port), _Handler)
        self.port: int = self.server_address[1]
        self.hosts = {f"{name}:{self.port}" for name in (HOST, "localhost")}
        self.address = f"http://{HOST}:{self.port}/{self.token}/"
        self._thread = threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True)

    def start(self) -> Self:
        """Answer requests in a thread."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop answering."""
        self.service.end()
        self.shutdown()
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread; hang up on the oldest connection without the token if necessary."""
        with self._places:
            if len(self._unknown) >= MAX_CONNECTIONS:
                oldest = next(iter(self._unknown))
                del self._unknown[oldest]
                with suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)
            self._unknown[request] = None
        super().process_request(request, client_address)

    def admit(self, request: Any) -> bool:
        """Give a connection that has sent the token a place that no other connection takes."""
        with self._places:
            if request not in self._admitted:
                if len(self._admitted) >= MAX_CONNECTIONS:
                    return False
                self._unknown.pop(request, None)
                self._admitted.add(request)
            return True

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer the requests of a connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._places:
                self._unknown.pop(request, None)
                self._admitted.discard(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing about clients that close the connection or send invalid requests."""


@contextmanager
def prompt_replies() -> Iterator[None]:
    """Let threads interrupt each other ten times as often as by default.

    An answer waits for the interpreter several times, and each time as long as another thread may
    run: one that sends the state of 100,000 rows, or one that fits the method in this process.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(_SWITCH, before))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class _RejectedError(Exception):
    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


class _Received(io.RawIOBase):
    """What a connection receives, until a deadline for all of it."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.deadline = 0.0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self.deadline - monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        try:
            return self._connection.recv_into(buffer)
        finally:
            self._connection.settimeout(_PATIENCE)


class _Handler(BaseHTTPRequestHandler):
    server: ReviewServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "ambilearn", ""
    timeout = _PATIENCE
    wbufsize = -1  # a reply is sent in one piece

    def setup(self) -> None:
        super().setup()
        with suppress(OSError):
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = _Received(self.connection)
        self.rfile = io.BufferedReader(self._received)

    def handle_one_request(self) -> None:
        self._received.deadline = monotonic() + _PATIENCE
        super().handle_one_request()

    def handle_expect_100(self) -> bool:
        """Answer at once: the client waits with the body."""
        super().handle_expect_100()
        self.wfile.flush()
        return True

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def _answer(self, respond: Any) -> None:
        try:
            length = self._check_length()
            path = self._check()
            what, _, query = path.partition("?")
            respond(what, parse_qs(query), self._read_body(length))
        except _RejectedError as error:
            self._reject(error.status, str(error))
        except InvalidActionError as error:
            self._reject(error.status, str(error), close=False)
        except OSError:
            raise  # the client hung up
        except Exception as error:
            text = f"The server could not do this ({type(error).__name__}: {error})."
            self._reject(HTTPStatus.INTERNAL_SERVER_ERROR, text)

    # --- checks ---------------------------------------------------------------------------------

    def _check(self) -> str:
        """Check that a request comes from the page; return the path after the token."""
        token, slash, path = self.path.lstrip("/").partition("/")
        known = hmac.compare_digest(token.encode(), self.server.token.encode())
        limit = self.server.with_token if known else self.server.without_token
        if not limit.allows():
            raise _RejectedError(HTTPStatus.TOO_MANY_REQUESTS, "Too many requests.")
        if not known or not slash:
            raise _RejectedError(HTTPStatus.FORBIDDEN, "Open the address that the command printed.")
        if not self.server.admit(self.connection):
            raise _RejectedError(HTTPStatus.SERVICE_UNAVAILABLE, "Too many connections.")
        if self.headers.get_all("Host", []) not in [[host] for host in self.server.hosts]:
            raise _RejectedError(HTTPStatus.FORBIDDEN, "This server answers on this machine only.")
        origins = self.headers.get_all("Origin", [])
        is_own = origins == [f"http://{self.headers['Host']}"]
        is_opened = self.command == "GET" and not origins  # by its address, or by the page itself
        fetched = [self.headers.get(f"Sec-Fetch-{name}") for name in ("Site", "Mode", "Dest")]
        # The redirecting file that the command opens is no page of this server.
        is_opening = is_opened and not path and fetched[1:] == ["navigate", "document"]
        is_foreign = fetched[0] in ("cross-site", "same-site") and not is_opening
        if is_foreign or not (is_own or is_opened):
            raise _RejectedError(HTTPStatus.FORBIDDEN, "Requests from other pages are not allowed.")
        return path

    def _check_length(self) -> int:
        """Length of the body; an error if it is too long, or not stated exactly once."""
        lengths = self.headers.get_all("Content-Length", ["0"])
        is_plain = len(lengths) == 1 and lengths[0].isascii() and lengths[0].isdecimal()
        # After a defect, further headers are not read.
        if self.headers.defects or "Transfer-Encoding" in self.headers or not is_plain:
            raise _RejectedError(
                HTTPStatus.LENGTH_REQUIRED, "The length of the request is not known."
            )
        if len(lengths[0]) > _DIGITS or int(lengths[0]) > MAX_BODY:
            raise _RejectedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "The request is too large.")
        return int(lengths[0])

    def _read_body(self, length: int) -> Any:
        self._received.deadline = monotonic() + _PATIENCE
        content = self.rfile.read(length)
        if len(content) < length:
            raise _RejectedError(HTTPStatus.BAD_REQUEST, "The request is not complete.")
        if self.command != "POST":
            return None
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            raise _RejectedError(HTTPStatus.BAD_REQUEST, "The request is not JSON.") from None

    # --- answers --------------------------------------------------------------------------------

    def _get(self, what: str, query: dict[str, list[str]], _: Any) -> None:
        if what == "":
            self._send(self.server.service.page, "text/html; charset=utf-8", _NO_FRAMES)
        elif what == "state":
            since, full = query.get("since", [""])[0], "full" in query
            self._send_json(self.server.service.state(self._tab(query), since, full))
        elif what == "similar":
            self._tab(query)
            row = _parse_number(query.get("row", [""])[0])
            self._send_json({"rows": self.server.service.similar_rows(row)})
        elif what.startswith("image/"):
            self._send_image(what.removeprefix("image/"))
        else:
            raise _RejectedError(HTTPStatus.NOT_FOUND, "There is nothing here.")

    def _post(self, what: str, query: dict[str, list[str]], content: Any) -> None:
        service, tab = self.server.service, self._tab(query)
        if what == "act":
            try:
                self._send_json(service.act(tab, parse_action(content)))
            except OSError as error:
                text = f"The journal cannot be written ({error.strerror})."
                self._reject(HTTPStatus.INSUFFICIENT_STORAGE, text, close=False)
        elif what == "part":
            service.collect(parse_part(content))
            self._send_json({})
        elif what == "take":
            service.take_over(tab)
            self._send_json({})
        elif what == "leave":
            service.leave(tab)
            self._send_json({})
        elif what == "end":
            self._send_json({})
            service.end()
        else:
            raise _RejectedError(HTTPStatus.NOT_FOUND, "There is nothing here.")

    def _tab(self, query: dict[str, list[str]]) -> str:
        tab = query.get("tab", [""])[0]
        if not is_name(tab):
            raise _RejectedError(HTTPStatus.BAD_REQUEST, "The request does not name its tab.")
        return tab

    def _send_image(self, number: str) -> None:
        found = None
        # Only inside of a page: as a document, an SVG image could contain scripts and links.
        if self.headers.get("Sec-Fetch-Dest", "image") != "image":
            raise _RejectedError(HTTPStatus.FORBIDDEN, "Images are shown on the page only.")
        if (place := _parse_number(number)) >= 0:
            found = self.server.service.image(place)
        if found is None:
            raise _RejectedError(HTTPStatus.NOT_FOUND, "This image cannot be shown.")
        self._send(found.content, found.media_type, _NO_SCRIPTS)

    def _send_json(self, content: Any) -> None:
        self._send(json.dumps(content).encode(), "application/json", _NO_SCRIPTS)

    def _reject(self, status: HTTPStatus, text: str, *, close: bool = True) -> None:
        if close:  # the rest of the request is not read
            self.close_connection = True
        content = json.dumps({"error": text}).encode()
        self._send(content, "application/json", _NO_SCRIPTS, status)

    def _send(
        self, content: bytes, media_type: str, policy: str, status: HTTPStatus = HTTPStatus.OK
    ) -> None:
        self.send_response(status)
        headers = {
            **_HEADERS,
            "Content-Security-Policy": policy,
            "Content-Type": media_type,
            "Content-Length": str(len(content)),
        }
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            headers["Retry-After"] = "1"
        if self.close_connection:
            headers["Connection"] = "close"
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(OSError):  # the client hung up
            self.wfile.write(content)
            self.wfile.flush()

    def log_message(self, *_: Any) -> None:
        """Print nothing: addresses contain the token."""


def _parse_number(text: str) -> int:
    """A number in an address; -1 if it is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else -1
