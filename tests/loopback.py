"""A real HTTP server on the loopback interface that can misbehave on demand."""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote


@contextmanager
def serve(folder, fault=None):
    """Serve the files of a folder; yields the server, whose ``url`` ends without a slash.

    ``fault``: ``"cut"`` announces the whole file and hangs up halfway; ``"half"`` sends half of the
    file as if it were all; ``"flip"`` changes one bit; ``"stall"`` accepts and stays silent;
    ``"pause"`` sends half, then waits until ``release`` is set; ``"404"`` and ``"503"`` answer with
    that status.
    """
    release = threading.Event()
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            path = folder / unquote(self.path).lstrip("/")
            if fault == "stall":
                release.wait()
                return
            if fault in ("404", "503") or not path.is_file():
                self.send_error(503 if fault == "503" else 404)
                return
            content = path.read_bytes()
            half = len(content) // 2
            if fault == "half":
                content = content[:half]
            elif fault == "flip":
                content = content[:half] + bytes([content[half] ^ 1]) + content[half + 1 :]
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            try:
                if fault == "cut":
                    self.wfile.write(content[:half])
                elif fault == "pause":
                    self.wfile.write(content[:half])
                    self.wfile.flush()
                    release.wait()
                    self.wfile.write(content[half:])
                else:
                    self.wfile.write(content)
            except OSError:
                pass  # the client hung up

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    server.requests = requests
    server.release = release
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        release.set()
        server.shutdown()
        server.server_close()
        thread.join()
