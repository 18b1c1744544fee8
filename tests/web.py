"""A real web server on this machine, with a page for each way in which a server can behave."""

import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

BODY = bytes(range(256)) * 1000
SHA256 = hashlib.sha256(BODY).hexdigest()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.close_connection = True
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        self.server.asked.append((self.path, start))
        match self.path:
            case "/good":
                self.answer(BODY, start)
            case "/from-the-start-only":
                self.answer(BODY)
            case "/other":
                self.answer(BODY[::-1], start)
            case "/long":
                self.answer(BODY + b"more" * 100_000)
            case "/truncated":
                self.answer(BODY[:1000], length=len(BODY))
            case "/dropping":  # a connection that breaks after each 100,000 bytes
                self.answer(BODY[: start + 100_000], start, length=len(BODY) - start)
            case "/misplaced":
                self.answer(BODY, start, said=f"bytes {start + 1}-{len(BODY)}/{len(BODY)}")
            case "/nothing-there":
                self.send_error(416) if start else self.answer(BODY)
            case "/slow":
                self.answer(BODY, start, pause=0.02)
            case "/stalled":
                self.answer(BODY[:100_000], length=len(BODY))
                self.wfile.flush()
                self.server.over.wait(20)
            case "/trickling":  # never silent for long, and never at an end
                self.trickle(lambda: self.answer(b"", length=len(BODY)))
            case "/trickling-headers":
                self.trickle(lambda: self.wfile.write(b"HTTP/1.0 200 OK\r\nX: "))
            case "/moved":
                self.redirect("/good")
            case "/to-a-file":
                self.redirect("file:///etc/hostname")
            case "/to-ftp":
                self.redirect("ftp://127.0.0.1/good")
            case "/loop":
                self.redirect("/loop")
            case _:
                self.send_error(404)

    def answer(
        self, body: bytes, start: int = 0, *, length: int | None = None, said: str = "", pause: float = 0
    ) -> None:
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(length or len(body) - start))
        if start:
            self.send_header("Content-Range", said or f"bytes {start}-{len(BODY) - 1}/{len(BODY)}")
        self.end_headers()
        for place in range(start, len(body), 10_000):
            self.wfile.write(body[place : place + 10_000])
            time.sleep(pause)

    def trickle(self, begin: Callable[[], object]) -> None:
        begin()
        while not self.server.over.wait(0.05):
            self.wfile.write(b"x")
            self.wfile.flush()

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
    """The server's address, and the pages that it was asked for with the place in the file."""
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
