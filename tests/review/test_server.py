"""Requests that do not come from the page are rejected, and the review continues."""

import http.client
import json
import os
import socket
import sys
import time
from contextlib import suppress

import pytest
from PIL import Image
from serve_review import Served

from ambilearn.review import server
from ambilearn.review.server import MAX_BODY, MAX_CONNECTIONS, RateLimit, prompt_replies

ANSWER = {"kind": "answer", "labels": [[3, "anna"]]}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """One server for all tests of this file, with a secret file in its folder."""
    folder = tmp_path_factory.mktemp("table")
    (folder.parent / "secret.png").write_bytes(b"secret")
    for name, size in (("small.png", 4), ("large.png", 900)):
        Image.new("RGB", (size, size)).save(folder / name)
    (folder / "broken.png").write_bytes(b"no image")
    (folder / "drawing.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>')
    (folder / "script.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>')
    names = ("small.png", "large.png", "broken.png", "drawing.svg", "script.svg", "gone.png")
    folder = folder.resolve()
    served = Served(folder, images=[folder / name for name in names])
    yield served
    served.close()


def raw(served, request):
    """Reply to bytes as they are sent."""
    with socket.create_connection(("127.0.0.1", served.server.port), timeout=60) as connection:
        with suppress(OSError):  # it may hang up before all is sent
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
        reply = b""
        with suppress(OSError):
            while part := connection.recv(65536):
                reply += part
        return reply


def posting(served, headers, body=""):
    """Bytes of a request that posts an action."""
    host = f"127.0.0.1:{served.server.port}"
    head = f"POST /{served.server.token}/act?tab=a HTTP/1.1\r\nHost: {host}\r\n"
    return f"{head}Origin: http://{host}\r\n{headers}\r\n\r\n{body}".encode()


def assert_untouched(served, n):
    assert len(served.journal.entries) == n
    assert served.request("GET", "state?tab=a")[0] == 200


def test_the_page_and_its_headers(served):
    status, page, headers = served.request("GET", "", Origin=None)
    assert status == 200
    assert page.startswith(b"<!doctype html>")
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    policy = page.decode().split('http-equiv="Content-Security-Policy" content="')[1]
    policy = policy.split('"')[0].replace("&#39;", "'")
    assert "connect-src 'self'" in policy
    assert "img-src 'self' data:;" in policy
    assert "file:" not in policy
    assert "http:" not in policy


def test_a_fit_is_interrupted_often_while_the_review_is_served():
    before = sys.getswitchinterval()
    with prompt_replies():
        assert sys.getswitchinterval() <= 0.001
    assert sys.getswitchinterval() == before


def test_a_reply_is_sent_in_one_piece(served, monkeypatch):
    pieces = []
    send = socket.socket.send

    def keep(connection, content):
        pieces.append(bytes(content))
        return send(connection, content)

    monkeypatch.setattr(socket.socket, "send", keep)
    assert served.act(id="in-one-piece", **ANSWER)[0] == 200
    (reply,) = [piece for piece in pieces if piece.startswith(b"HTTP/1.1 200")]
    assert b'{"n"' in reply


def test_it_listens_on_the_loopback_interface_only(served):
    assert served.server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize("token", ["", "x", "A" * 32, "%00", "..", "é"])
def test_a_wrong_token_is_rejected(served, token):
    n = len(served.journal.entries)
    line = f"GET /{token}/state?tab=a HTTP/1.1\r\nHost: 127.0.0.1:{served.server.port}\r\n\r\n"
    served.server.without_token = RateLimit(5, 20)
    assert b" 403 " in raw(served, line.encode()).splitlines()[0]
    assert_untouched(served, n)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1:1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": None},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_other_hosts_and_origins_neither_read_nor_write(served, headers):
    n = len(served.journal.entries)
    action = {"id": "evil", **ANSWER}
    assert served.request("POST", "act?tab=a", action, **headers)[0] == 403
    for what in ("take?tab=b", "leave?tab=a", "end?tab=a"):
        assert served.request("POST", what, {}, **headers)[0] == 403
    if headers != {"Origin": None}:  # a page that is opened by its address has no origin
        for what in ("", "state?tab=a", "image/0"):
            assert served.request("GET", what, **headers)[0] == 403
    assert not served.service.ended.is_set()
    assert_untouched(served, n)


def test_two_hosts_in_a_request_are_rejected(served):
    port, token = served.server.port, served.server.token
    head = f"GET /{token}/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\n\r\n"
    assert b" 403 " in raw(served, head.encode()).splitlines()[0]


def test_its_other_name_is_localhost(served):
    port = served.server.port
    headers = {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"}
    assert served.request("GET", "state?tab=a", **headers)[0] == 200
    mixed = headers | {"Origin": f"http://127.0.0.1:{port}"}
    assert served.request("GET", "state?tab=a", **mixed)[0] == 403


@pytest.mark.parametrize(
    "path",
    [
        "image/../../secret.png",
        "image/..%2f..%2fsecret.png",
        "image/6",
        "image/-1",
        "image/0x0",
        "image/99999999999999999999",
        "image/",
        "image//etc/passwd",
        "../secret.png",
        "%2e%2e/secret.png",
        "people.journal",
        "state/x?tab=a",
        "//127.0.0.1",
        "http://[::1",
    ],
)
def test_only_images_of_the_table_are_sent(served, path):
    status, content, _ = served.request("GET", path)
    assert status == 404
    assert "error" in content


def test_images_are_checked_before_they_are_sent(served):
    status, content, headers = served.request("GET", "image/0")
    assert (status, headers["Content-Type"]) == (200, "image/png")
    assert content.startswith(b"\x89PNG")
    assert "sandbox" in headers["Content-Security-Policy"]
    assert served.request("GET", "image/1")[2]["Content-Type"] == "image/webp"  # reduced
    assert served.request("GET", "image/3")[2]["Content-Type"] == "image/svg+xml"
    assert "default-src 'none'" in served.request("GET", "image/4")[2]["Content-Security-Policy"]
    for bad in (2, 5):
        assert served.request("GET", f"image/{bad}")[0] == 404


def test_a_body_of_100_megabytes_is_rejected_unread(served):
    n = len(served.journal.entries)
    for length in (100 * 2**20, MAX_BODY + 1):
        reply = raw(served, posting(served, f"Content-Length: {length}"))
        assert b" 413 " in reply.splitlines()[0]
    lengths = [f"Content-Length: {length}" for length in ("-1", "1e9", "x", "")]
    for headers in [*lengths, "Transfer-Encoding: chunked"]:
        assert b" 411 " in raw(served, posting(served, headers)).splitlines()[0]
    assert_untouched(served, n)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ("Content-Length: {n}\r\nContent-Length: {n}", 411),
        ("Content-Length: {n}\r\nContent-Length: 0", 411),
        ("Content-Length: +{n}", 411),
        ("Content-Length: {n}\r\nTransfer-Encoding: chunked", 411),
        ("Content-Length: {n}\r\nTransfer-Encoding : chunked", 411),
        ("Content-Length: 0000000000009999999999", 413),
        (f"Content-Length: {'9' * 5000}", 413),
        ("Content-Length: 500", 400),  # and the connection ends before
        ("Content-Length: {n}\r\nOrigin: http://evil.example", 403),
    ],
)
def test_a_request_whose_end_or_origin_is_not_clear_is_rejected(served, headers, status):
    n = len(served.journal.entries)
    body = json.dumps({"id": "unclear", **ANSWER})
    request = posting(served, headers.format(n=len(body)), body)
    assert raw(served, request).startswith(f"HTTP/1.1 {status} ".encode())
    assert_untouched(served, n)


def test_the_body_of_a_rejected_request_is_not_taken_for_a_request(served):
    n = len(served.journal.entries)
    path, inner = f"/{served.server.token}/act?tab=a", json.dumps({"id": "inner", **ANSWER})
    inner = posting(served, f"Content-Length: {len(inner)}", inner).decode()
    outer = posting(served, f"Content-Length: {len(inner)}", inner).decode()
    served.server.without_token = RateLimit(5, 20)
    for line in (f"POST {path}", "POST /wrong/act", f"PUT {path}", f"GET {path}"):
        request = outer.replace(f"POST {path}", line, 1)
        assert raw(served, request.encode()).count(b"HTTP/1.1 ") == 1
    assert_untouched(served, n)


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
def test_an_image_that_becomes_a_link_is_not_sent(make_served, tmp_path):
    inside, outside = tmp_path / "inside.png", tmp_path.parent / "outside.png"
    for path in (inside, outside):
        Image.new("RGB", (4, 4)).save(path)
    served = make_served(images=[inside])
    assert served.request("GET", "image/0")[0] == 200
    inside.unlink()
    inside.symlink_to(outside)
    assert served.request("GET", "image/0")[0] == 404


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"id": "a"}', b"null", b'"\\ud800"']
)
def test_a_body_that_is_no_action_is_rejected(served, body):
    n = len(served.journal.entries)
    connection = http.client.HTTPConnection("127.0.0.1", served.server.port, timeout=60)
    origin = {"Origin": f"http://127.0.0.1:{served.server.port}"}
    connection.request("POST", f"/{served.server.token}/act?tab=a", body, origin)
    reply = connection.getresponse()
    assert reply.status == 400
    assert json.loads(reply.read())["error"]
    connection.close()
    assert_untouched(served, n)


@pytest.mark.parametrize("tab", ["", "?tab=", "?tab=a%0a", "?tab=" + "a" * 65])
def test_a_request_without_a_sound_tab_is_rejected(served, tab):
    assert served.request("GET", f"state{tab}")[0] == 400
    assert served.request("POST", f"act{tab}", {"id": "q", **ANSWER})[0] == 400


def test_other_methods_and_garbage_are_rejected(served):
    n = len(served.journal.entries)
    for method in ("PUT", "DELETE", "OPTIONS", "HEAD"):
        assert served.request(method, "state?tab=a")[0] == 501
    for garbage in (b"\0\1\2\r\n\r\n", b"GET\r\n\r\n", b"G" * 70_000, b"POST / HTTP/9.9\r\n\r\n"):
        assert b" 200 " not in raw(served, garbage)
    assert_untouched(served, n)


def test_many_requests_with_a_wrong_token_leave_the_review_alone(served):
    n = len(served.journal.entries)
    served.server.without_token = RateLimit(0, 20)
    connection = http.client.HTTPConnection("127.0.0.1", served.server.port, timeout=60)
    found = []
    for _ in range(300):
        connection.request("GET", "/wrong/state?tab=a")
        reply = connection.getresponse()
        reply.read()
        found.append(reply.status)
        connection.close()
    assert found == [403] * 20 + [429] * 280
    status, _ = served.act(id="after-the-flood", **ANSWER)
    assert status == 200
    assert_untouched(served, n + 1)


def test_too_many_requests_with_the_token_wait(served):
    n = len(served.journal.entries)
    limit, served.server.with_token = served.server.with_token, RateLimit(0, 2)
    replies = [served.request("POST", "act?tab=a", {"id": f"r{i}", **ANSWER}) for i in range(4)]
    served.server.with_token = limit
    assert [status for status, *_ in replies] == [200, 200, 429, 429]
    assert replies[-1][2]["Retry-After"] == "1"
    assert_untouched(served, n + 2)


def test_silent_connections_keep_nobody_out(served):
    port = served.server.port
    opened = []
    with suppress(OSError):
        for _ in range(2 * MAX_CONNECTIONS):
            opened.append(socket.create_connection(("127.0.0.1", port), timeout=60))
            opened[-1].sendall(b"G")
    assert served.request("GET", "state?tab=a")[0] == 200
    assert opened[0].recv(1) == b""  # the oldest ones are closed
    for connection in opened:
        connection.close()


def test_the_head_of_a_request_has_a_limit_of_time(make_served, monkeypatch):
    monkeypatch.setattr(server, "_PATIENCE", 1.0)
    served = make_served()
    with socket.create_connection(("127.0.0.1", served.server.port), timeout=60) as connection:
        for _ in range(600):  # a byte at a time is not silence
            try:
                connection.sendall(b"G")
            except OSError:  # it hung up
                break
            time.sleep(0.1)
        else:
            pytest.fail("The server waits for the rest of the request.")


def test_a_client_that_waits_with_the_body_gets_an_answer(served):
    with socket.create_connection(("127.0.0.1", served.server.port), timeout=10) as connection:
        connection.sendall(posting(served, "Content-Length: 2\r\nExpect: 100-continue"))
        assert connection.recv(100).startswith(b"HTTP/1.1 100 Continue")


def test_large_answers_in_parts(served):
    n = len(served.journal.entries)
    for number, expected in ((1, 428), (0, 200)):
        part = {"id": "p", "part": number, "labels": [[1, "a"]]}
        assert served.request("POST", "part?tab=a", part)[0] == expected
    assert served.act(id="p", parts=1, **ANSWER) == (200, {"n": n + 1})
    assert served.act(id="q", parts=1, **ANSWER)[0] == 428
    for content in ([], {"id": "p"}, {"id": "p", "part": 0}):
        assert served.request("POST", "part?tab=a", content)[0] == 400
    assert_untouched(served, n + 1)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_the_place_of_an_image_does_not_block(make_served, tmp_path):
    path = tmp_path.resolve() / "pipe.png"
    os.mkfifo(path)
    served = make_served(images=[path])
    assert served.request("GET", "image/0")[0] == 404


def test_the_page_may_be_opened_by_a_file_and_images_only_by_the_page(served):
    opening = {"Origin": None, "Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}
    assert served.request("GET", "", **opening, Sec_Fetch_Dest="document")[0] == 200
    assert served.request("GET", "", **opening, Sec_Fetch_Dest="iframe")[0] == 403
    assert served.request("GET", "image/0", **opening, Sec_Fetch_Dest="document")[0] == 403
    own = {"Sec_Fetch_Site": "same-origin", "Sec_Fetch_Dest": "document"}
    assert served.request("GET", "image/0", **own)[0] == 403
    assert served.request("GET", "image/0", **own | {"Sec_Fetch_Dest": "image"})[0] == 200


def test_actions_and_their_replies(served):
    status, reply = served.act(id="s1", kind="skip", row=5)
    assert (status, reply) == (200, {"n": len(served.journal.entries)})
    assert served.act(id="s2", kind="undo", of="nothing")[0] == 400
    assert served.act(tab="b", id="s3", **ANSWER) == (
        409,
        {"error": "Another tab of the browser is in use for this review."},
    )
    assert served.request("POST", "take?tab=b", {})[0] == 200
    assert served.act(tab="b", id="s3", **ANSWER)[0] == 200
    assert served.request("POST", "leave?tab=b", {})[0] == 200
    assert served.act(tab="a", id="s4", **ANSWER)[0] == 200


def test_similar_rows(served):
    status, reply, _ = served.request("GET", "similar?tab=a&row=3")
    assert status == 200
    assert 3 not in reply["rows"]
    for row in ("30", "-1", "x", "", "9" * 30):
        assert served.request("GET", f"similar?tab=a&row={row}")[0] == 400


def test_a_journal_that_cannot_be_written_is_reported(served, monkeypatch):
    def fail(entry):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(served.journal, "append", fail)
        status, reply = served.act(id="full", **ANSWER)
    assert status == 507
    assert reply["error"] == "The journal cannot be written (No space left on device)."
    assert served.act(id="full", **ANSWER)[0] == 200


def test_the_page_can_end_the_review(make_served):
    served = make_served()
    assert served.request("POST", "end?tab=a", {})[0] == 200
    assert served.service.ended.wait(60)


def test_an_unexpected_error_is_reported(served, monkeypatch):
    def fail(tab, action):
        raise RuntimeError("something else")

    monkeypatch.setattr(served.service, "act", fail)
    status, reply = served.act(id="odd", **ANSWER)
    assert status == 500
    assert reply["error"] == "The server could not do this (RuntimeError: something else)."


def test_requests_come_back_with_time():
    now = 0.0
    limit = RateLimit(2, 3, clock=lambda: now)
    assert [limit.allows() for _ in range(5)] == [True, True, True, False, False]
    now = 1.0
    assert [limit.allows() for _ in range(3)] == [True, True, False]
    now = 100.0
    assert [limit.allows() for _ in range(5)] == [True, True, True, False, False]
