"""A real web server on this machine, with a page for each way in which a server can behave."""

import hashlib
import io
import threading
import time
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

BODY = bytes(range(256)) * 1000
SHA256 = hashlib.sha256(BODY).hexdigest()


def _archive() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("inside/file.bin", BODY)
    return stream.getvalue()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.close_connection = True
        self.server.asked.append(self.path)
        match self.path:
            case "/good":
                self.answer(BODY)
            case "/archive":
                self.answer(_archive())
            case "/other":
                self.answer(BODY[::-1])
            case "/long":
                self.answer(BODY + b"more" * 100_000)
            case "/truncated":
                self.answer(BODY[:1000], length=len(BODY))
            case "/slow":
                self.answer(BODY, pause=0.02)
            case "/stalled":
                self.answer(BODY[:100_000], length=len(BODY))
                self.wfile.flush()
                self.server.over.wait(20)
            case "/moved":
                self.redirect("/good")
            case "/to-a-file":
                self.redirect("file:///etc/hostname")
            case "/loop":
                self.redirect("/loop")
            case _:
                self.send_error(404)

    def answer(self, body: bytes, *, length: int | None = None, pause: float = 0) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(length or len(body)))
        self.end_headers()
        for place in range(0, len(body), 10_000):
            self.wfile.write(body[place : place + 10_000])
            time.sleep(pause)

    def redirect(self, address: str) -> None:
        self.send_response(302)
        self.send_header("Location", address)
        self.end_headers()

    def log_message(self, *message: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    def handle_error(self, *request: object) -> None:
        """A client that hangs up, or is killed, is part of the tests."""


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The server's address, and the pages that it was asked for."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server(("127.0.0.1", 0), Handler) as running:
        running.asked, running.over = [], threading.Event()
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield SimpleNamespace(address=f"http://127.0.0.1:{running.server_port}", asked=running.asked)
        running.over.set()
        running.shutdown()
        thread.join()


@pytest.fixture
def server(web: SimpleNamespace) -> str:
    return web.address
